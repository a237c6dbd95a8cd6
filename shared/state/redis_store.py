"""The state store on Redis (7.0 or newer) or Valkey (7.2 or newer).

Everything of partition P lies under keys that begin `lightwave:{P}:`, so that a transaction stays on one node
of a Redis Cluster. A commit is one Lua script behind a fence: if a position is not as expected, it changes
nothing.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any, cast

import redis
from pydantic import ValidationError
from redis.backoff import NoBackoff
from redis.retry import Retry

from schemas.body import Body
from schemas.registry import TYPES
from shared.errors import InvalidInput, OperationFailed, StoreUnreachable
from shared.state.memory import KEY_KEPT_S, absent, fingerprint, reused
from shared.state.store import Commit, Received, Snapshot, Waiting

FABRICS = "lightwave:fabrics"
PAIRS_MAX = 1_000
"""Fields of one HSET: Lua passes a bounded number of arguments to a command."""

COMMIT = """
local expected = tonumber(ARGV[1])
local at = 2
for _ = 1, expected do
  if (redis.call('HGET', KEYS[1], ARGV[at]) or '0') ~= ARGV[at + 1] then return 0 end
  at = at + 2
end
while at <= #ARGV do
  local size = tonumber(ARGV[at])
  redis.call(unpack(ARGV, at + 1, at + size))
  at = at + size + 1
end
return 1
"""

PUT = """
if ARGV[1] ~= '' then
  local before = redis.call('HMGET', KEYS[3], 'number', 'mark')
  if before[1] then return {before[1], before[2], 1} end
end
local time = redis.call('TIME')
local last = tonumber(redis.call('GET', KEYS[2]) or '0')
local number = string.format('%.0f', math.max(last + 1, time[1] * 1000000 + time[2]))
redis.call('SET', KEYS[2], number)
redis.call('XADD', KEYS[1], number .. '-0', 'fabric', ARGV[3], 'type', ARGV[4], 'body', ARGV[5])
if ARGV[1] ~= '' then
  redis.call('HSET', KEYS[3], 'number', number, 'mark', ARGV[2])
  redis.call('EXPIRE', KEYS[3], ARGV[6])
end
return {number, ARGV[2], 0}
"""

Command = list[str | bytes]


class RedisStore:
    """A `StateStore`, a `DocumentReader` and an `Inbox`. Safe to use from several threads."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._name = _without_password(url)
        try:
            # No retries: a commit sent twice could run twice.
            self._redis = redis.Redis.from_url(url, socket_timeout=5, retry=Retry(NoBackoff(), 0))
        except ValueError as error:
            raise InvalidInput(
                f"Redis URL {self._name!r}: {error}; allowed: redis://HOST:PORT/DB, rediss://…, unix://PATH"
            ) from None
        self._commit = self._redis.register_script(COMMIT)
        self._put = self._redis.register_script(PUT)

    def close(self) -> None:
        self._redis.close()

    def check(self) -> None:
        """OperationFailed unless a server that is new enough answers."""
        with self._reached():
            about: dict[str, Any] = self._redis.info("server")
        for name, least in (("valkey_version", (7, 2)), ("redis_version", (7, 0))):
            if name in about:
                found = str(about[name])
                if tuple(int(part) for part in re.findall(r"\d+", found)[:2]) < least:
                    wanted = ".".join(map(str, least))
                    raise OperationFailed(f"{name} {found} at {self._name}: needed is {wanted} or newer")
                return
        raise OperationFailed(f"{self._name}: the server says no version of Redis or Valkey")

    def place(self, fabric: str, partition: int) -> None:
        """Say in which partition a fabric lives."""
        with self._reached():
            self._redis.hset(FABRICS, fabric, str(partition))

    def flush(self) -> None:
        """Empty the whole database."""
        with self._reached():
            self._redis.flushdb()

    # --- StateStore -----------------------------------------------------------------------------------------

    def commit(self, commit: Commit) -> bool:
        head = _key(commit.partition, "progress")
        commands = list(_commands(commit, head))
        fence = [(f"at:{reader}", str(at)) for reader, at in commit.expected.items()]
        arguments = [str(len(fence)), *chain.from_iterable(fence)]
        keys = [head, *sorted({str(command[1]) for command in commands} - {head})]
        flat = chain.from_iterable([str(len(command)), *command] for command in commands)
        with self._reached():
            return bool(self._commit(keys=keys, args=[*arguments, *flat]))

    def positions(self, partition: int) -> dict[str, int]:
        return dict(self.snapshot(partition, []).positions)

    def values(self, partition: int) -> dict[str, str]:
        return dict(self.snapshot(partition, []).values)

    def progress(self, partition: int) -> dict[tuple[str, str], tuple[int | None, int]]:
        return dict(self.snapshot(partition, []).progress)

    def load(self, partition: int, service: str, fabric: str) -> dict[str, bytes]:
        return dict(self.snapshot(partition, [(service, fabric)]).states[service, fabric])

    def snapshot(self, partition: int, states: Sequence[tuple[str, str]]) -> Snapshot:
        with self._reached(), self._redis.pipeline(transaction=True) as pipe:
            pipe.hgetall(_key(partition, "progress"))
            for service, fabric in states:
                pipe.hgetall(_state_key(partition, service, fabric))
            head, *rest = pipe.execute()
        return Snapshot(
            {name: int(at) for name, at in _under(head, "at:")},
            dict(_under(head, "value:")),
            _progress(head),
            {
                key: {name.decode(): value for name, value in fields.items()}
                for key, fields in zip(states, rest, strict=True)
            },
        )

    def sayings(self, partition: int) -> list[tuple[int, int, bytes]]:
        with self._reached():
            rows = self._all(_key(partition, "outbox"))
        found = []
        for place, saying in rows.items():
            position, index = place.split(b"-")
            found.append((int(position), int(index), saying))
        return sorted(found)

    def trim_sayings(self, partition: int, below: int) -> None:
        gone = [f"{at}-{index}" for at, index, _ in self.sayings(partition) if at < below]
        if gone:
            with self._reached():
                self._redis.hdel(_key(partition, "outbox"), *gone)

    def erase(self, partition: int) -> None:
        kept = (_key(partition, "inbox").encode(), _key(partition, "key:").encode())
        with self._reached():
            found = self._redis.scan_iter(match=_key(partition, "*"), count=1_000)
            gone = [key for key in found if not key.startswith(kept)]
            if gone:
                # At once: positions without their states, or states without positions, would be taken up.
                self._redis.delete(*gone)

    # --- DocumentReader -------------------------------------------------------------------------------------

    def fabrics(self) -> dict[str, int]:
        with self._reached():
            rows = self._all(FABRICS)
        placed = {name.decode(): int(partition) for name, partition in rows.items()}
        return dict(sorted(placed.items(), key=lambda pair: int(pair[0].rpartition("-")[2])))

    def all(self, fabric: str, kind: str) -> dict[str, bytes]:
        with self._reached():
            key = _documents_key(self._partition_of(fabric), fabric, kind)
            rows = self._all(key)
        return {name.decode(): text for name, text in rows.items()}

    def one(self, fabric: str, kind: str, name: str) -> bytes | None:
        with self._reached():
            key = _documents_key(self._partition_of(fabric), fabric, kind)
            return self._one(key, name)

    # --- Inbox ----------------------------------------------------------------------------------------------

    def put(self, partition: int, fabric: str, body: Body, key: str | None) -> Received:
        mark = fingerprint(fabric, body)
        keys = [_key(partition, part) for part in ("inbox", "inbox:last", f"key:{key or ''}")]
        text = body.model_dump_json()
        arguments = ["" if key is None else "keyed", mark, fabric, type(body).__name__, text, str(KEY_KEPT_S)]
        with self._reached():
            number, before, repeated = self._put(keys=keys, args=arguments)
        if repeated and before.decode() != mark:
            raise reused(str(key))
        return Received(int(number), repeated=bool(repeated))

    def waiting(self, partition: int, most: int) -> list[Waiting]:
        with self._reached():
            rows: Any = self._redis.xrange(_key(partition, "inbox"), count=most)
        return [self._request(partition, int(entry.split(b"-")[0]), row) for entry, row in rows]

    def _request(self, partition: int, number: int, row: dict[bytes, bytes]) -> Waiting:
        try:
            body = TYPES[row[b"type"].decode()].model_validate_json(row[b"body"])
            return Waiting(number, row[b"fabric"].decode(), body)
        except (KeyError, ValidationError):
            what = row.get(b"type", b"no type").decode("utf-8", "replace")
            raise OperationFailed(
                f"inbox {_key(partition, 'inbox')}: this version cannot read request {number} ({what}); "
                f"remove it with XDEL {number}-0, or run the version that took it"
            ) from None

    def size(self, partition: int) -> int:
        with self._reached():
            return int(self._redis.xlen(_key(partition, "inbox")))

    # --- the connection -------------------------------------------------------------------------------------

    # The client's types speak for its asynchronous form as well; this one is synchronous.

    def _all(self, key: str) -> dict[bytes, bytes]:
        return cast(dict[bytes, bytes], self._redis.hgetall(key))

    def _one(self, key: str, field: str) -> bytes | None:
        return cast(bytes | None, self._redis.hget(key, field))

    @contextmanager
    def _reached(self) -> Iterator[None]:
        try:
            yield
        except redis.exceptions.AuthenticationError as error:
            raise OperationFailed(f"Redis at {self._name}: {error}") from None
        except redis.exceptions.ResponseError as error:
            # It answers, and refuses: out of memory, its disk is full, read only. Waiting would not help.
            raise OperationFailed(f"Redis at {self._name} refuses: {error}") from None
        except redis.exceptions.RedisError as error:
            raise StoreUnreachable(
                f"Redis at {self._name} does not answer: {error}; see that it runs at this URL"
            ) from None

    def _partition_of(self, fabric: str) -> int:
        partition = self._one(FABRICS, fabric)
        if partition is None:
            raise absent(fabric)
        return int(partition)


def _key(partition: int, rest: str) -> str:
    return f"lightwave:{{{partition}}}:{rest}"


def _state_key(partition: int, service: str, fabric: str) -> str:
    return _key(partition, f"state:{service}@{fabric}")


def _documents_key(partition: int, fabric: str, kind: str) -> str:
    return _key(partition, f"docs:{fabric}:{kind}")


def _under(head: dict[bytes, bytes], prefix: str) -> list[tuple[str, str]]:
    start = prefix.encode()
    return [(k[len(start) :].decode(), v.decode()) for k, v in head.items() if k.startswith(start)]


def _progress(head: dict[bytes, bytes]) -> dict[tuple[str, str], tuple[int | None, int]]:
    dues = dict(_under(head, "due:"))
    found = {}
    for source, count in _under(head, "ticks:"):
        service, _, fabric = source.partition("@")
        found[service, fabric] = (int(dues[source]) if dues[source] else None, int(count))
    return found


def _without_password(url: str) -> str:
    """The URL as people may see it."""
    return re.sub(r"(?<=password=)[^&]*", "***", re.sub(r"(?<=//)[^/]*@", "***@", url))


def _commands(commit: Commit, head: str) -> Iterator[Command]:
    """The commit as Redis commands, each with its key in second place."""
    partition = commit.partition
    progress: dict[str, str | bytes] = {f"at:{reader}": str(at) for reader, at in commit.positions.items()}
    progress |= {f"value:{name}": value for name, value in commit.fields.items()}
    for row in commit.progress:
        source = f"{row.service}@{row.fabric}"
        progress[f"due:{source}"] = "" if row.due_us is None else str(row.due_us)
        progress[f"ticks:{source}"] = str(row.ticks)
    yield from _hset(head, progress)
    for state in commit.states:
        key = _state_key(partition, state.service, state.fabric)
        if state.removed:
            yield from _hdel(key, state.removed)
        yield from _hset(key, dict(state.written))
    kinds: dict[str, dict[str, bytes | None]] = {}
    for document in commit.documents:
        key = _documents_key(partition, document.fabric, document.kind)
        kinds.setdefault(key, {})[document.name] = document.text
    for key, documents in kinds.items():
        yield from _hdel(key, [name for name, text in documents.items() if text is None])
        yield from _hset(key, {name: text for name, text in documents.items() if text is not None})
    yield from _hset(
        _key(partition, "outbox"), {f"{at}-{index}": saying for at, index, saying in commit.sayings}
    )
    if commit.inbox_taken is not None:
        yield ["XTRIM", _key(partition, "inbox"), "MINID", str(commit.inbox_taken + 1)]


def _hset(key: str, fields: dict[str, Any]) -> Iterator[Command]:
    pairs = iter(fields.items())
    while part := list(islice(pairs, PAIRS_MAX)):
        yield ["HSET", key, *chain.from_iterable(part)]


def _hdel(key: str, names: Sequence[str]) -> Iterator[Command]:
    for start in range(0, len(names), PAIRS_MAX):
        yield ["HDEL", key, *names[start : start + PAIRS_MAX]]
