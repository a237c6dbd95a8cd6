"""The state store on Redis (7.0 or newer) or Valkey (7.2 or newer).

Everything of partition P lies under keys that begin `lightwave:{P}:`, so that a transaction stays on one node
of a Redis Cluster. A commit is one Lua script behind a fence: if a position is not as expected, it changes
nothing.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

import redis
from pydantic import ValidationError
from redis.backoff import NoBackoff
from redis.retry import Retry

from schemas.body import Body
from schemas.registry import TYPES
from shared.errors import InvalidInput, OperationFailed, StoreUnreachable
from shared.state import redis_form as form
from shared.state.memory import KEY_KEPT_S, absent, fingerprint, reused
from shared.state.store import Commit, Moment, Progress, Received, Settlement, Snapshot, Waiting


class RedisStore:
    """A `StateStore`, a `DocumentReader` and an `Inbox`. Safe to use from several threads."""

    def __init__(self, url: str, *, cluster: bool = False) -> None:
        self.url = url
        self.name = _without_password(url)
        try:
            # No retries: a commit sent twice could run twice.
            self._redis = redis.Redis.from_url(url, socket_timeout=5, retry=Retry(NoBackoff(), 0))
        except ValueError as error:
            raise InvalidInput(
                f"Redis URL {self.name!r}: {error}; allowed: redis://HOST:PORT/DB, rediss://…, unix://PATH"
            ) from None
        self._commit = self._redis.register_script(form.COMMIT)
        self._put = self._redis.register_script(form.PUT)

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
                    raise OperationFailed(f"{name} {found} at {self.name}: needed is {wanted} or newer")
                return
        raise OperationFailed(f"{self.name}: the server says no version of Redis or Valkey")

    def place(self, fabric: str, partition: int) -> None:
        """Say in which partition a fabric lives."""
        with self._reached():
            self._redis.hset(form.FABRICS, fabric, str(partition))

    def flush(self) -> None:
        """Empty the whole database."""
        with self._reached():
            self._redis.flushdb()

    # --- StateStore -----------------------------------------------------------------------------------------

    def commit(self, commit: Commit) -> bool:
        keys, arguments = form.commit_arguments(commit)
        with self._reached():
            return bool(self._commit(keys=keys, args=arguments))

    def positions(self, partition: int) -> dict[str, int]:
        return dict(self.snapshot(partition, []).positions)

    def values(self, partition: int) -> dict[str, str]:
        return dict(self.snapshot(partition, []).values)

    def progress(self, partition: int) -> dict[tuple[str, str], Progress]:
        return dict(self.snapshot(partition, []).progress)

    def load(self, partition: int, service: str, fabric: str) -> dict[str, bytes]:
        return dict(self.snapshot(partition, [(service, fabric)]).states[service, fabric])

    def snapshot(self, partition: int, states: Sequence[tuple[str, str]]) -> Snapshot:
        with self._reached(), self._redis.pipeline(transaction=True) as pipe:
            pipe.hgetall(form.key(partition, "progress"))
            pipe.hlen(form.key(partition, "outbox"))
            for service, fabric in states:
                pipe.hgetall(form.state_key(partition, service, fabric))
            head, unsaid, *rest = pipe.execute()
        return Snapshot(
            form.positions(head),
            form.under(head, "value:"),
            form.progress(head),
            {
                key: {name.decode(): value for name, value in fields.items()}
                for key, fields in zip(states, rest, strict=True)
            },
            unsaid,
        )

    def moment(self, partition: int, waiting: int) -> Moment:
        with self._reached(), self._redis.pipeline(transaction=True) as pipe:
            pipe.hgetall(form.key(partition, "progress"))
            pipe.hgetall(form.key(partition, "outbox"))
            pipe.hgetall(form.key(partition, "dead"))
            pipe.xrange(form.key(partition, "inbox"), count=max(1, waiting))
            pipe.time()
            head, outbox, dead, inbox, (seconds, micros) = pipe.execute()
        return Moment(
            positions=form.positions(head),
            values=form.under(head, "value:"),
            progress=form.progress(head),
            sayings=form.sayings(outbox),
            dead_letters={int(at): row for at, row in dead.items()},
            waiting=tuple(
                self._request(partition, int(entry.split(b"-")[0]), row) for entry, row in inbox[:waiting]
            ),
            wall_us=seconds * 1_000_000 + micros,
        )

    def settle(self, settlement: Settlement) -> None:
        partition = settlement.partition
        said = [form.saying_field(saying) for saying in settlement.sayings]
        commands = [
            *form.hdel(form.key(partition, "outbox"), said),
            *form.hdel(form.key(partition, "dead"), [str(at) for at in settlement.dead_letters]),
            *form.note_values(form.key(partition, "progress"), settlement.fields),
        ]
        if settlement.requests:
            taken = [f"{number}-0" for number in settlement.requests]
            commands.append(["XDEL", form.key(partition, "inbox"), *taken])
        self._run_together(commands)

    def erase(self, partition: int) -> None:
        kept = (form.key(partition, "inbox").encode(), form.key(partition, "key:").encode())
        with self._reached():
            found = self._redis.scan_iter(match=form.key(partition, "*"), count=1_000)
            gone = [key for key in found if not key.startswith(kept)]
            if gone:
                # At once: positions without their states, or states without positions, would be taken up.
                self._redis.delete(*gone)

    # --- what belongs to no partition -----------------------------------------------------------------------

    def wall_us(self) -> int:
        """Microseconds since 1970 by the server's clock, the one that all machines share."""
        with self._reached():
            seconds, micros = self._redis.time()
        return seconds * 1_000_000 + micros

    def notes(self, name: str) -> dict[str, str]:
        """All fields of `lightwave:NAME`, such as `clock` or `processes`."""
        with self._reached():
            return {k.decode(): v.decode() for k, v in self._all(f"lightwave:{name}").items()}

    def note(self, name: str, fields: Mapping[str, str | None]) -> None:
        """Set fields of `lightwave:NAME`, and remove those that are None; in one transaction."""
        commands = [
            *form.hdel(f"lightwave:{name}", [field for field, value in fields.items() if value is None]),
            *form.hset(f"lightwave:{name}", {k: v for k, v in fields.items() if v is not None}),
        ]
        self._run_together(commands)

    def _run_together(self, commands: Sequence[form.Command]) -> None:
        """In one transaction."""
        if not commands:
            return
        pipe: Any  # the client types its pipelines' commands only one by one
        with self._reached(), self._redis.pipeline(transaction=True) as pipe:
            for command in commands:
                pipe.execute_command(*command)
            pipe.execute()

    @contextmanager
    def woken(self, partitions: Iterable[int]) -> Iterator[Callable[[float], set[int]]]:
        """A function that waits up to so many seconds, and says which of these partitions have something to
        do for their sequencer. What comes while nobody listens is lost: look now and then all the same."""
        channels = {form.channel(partition).encode(): partition for partition in partitions}
        with self._reached():
            client: Any = self._redis  # whose pubsub() has no types
            hearing = client.pubsub(ignore_subscribe_messages=True)
            hearing.subscribe(*channels)

        def wait(seconds: float) -> set[int]:
            found: set[int] = set()
            with self._reached():
                message = hearing.get_message(timeout=seconds)
                while message is not None:
                    if message["channel"] in channels:
                        found.add(channels[message["channel"]])
                    message = hearing.get_message(timeout=0)
            return found

        try:
            yield wait
        finally:
            hearing.close()

    # --- DocumentReader -------------------------------------------------------------------------------------

    def fabrics(self) -> dict[str, int]:
        with self._reached():
            rows = self._all(form.FABRICS)
        placed = {name.decode(): int(partition) for name, partition in rows.items()}
        return dict(sorted(placed.items(), key=lambda pair: int(pair[0].rpartition("-")[2])))

    def all(self, fabric: str, kind: str) -> dict[str, bytes]:
        with self._reached():
            key = form.documents_key(self._partition_of(fabric), fabric, kind)
            rows = self._all(key)
        return {name.decode(): text for name, text in rows.items()}

    def one(self, fabric: str, kind: str, name: str) -> bytes | None:
        with self._reached():
            key = form.documents_key(self._partition_of(fabric), fabric, kind)
            return self._one(key, name)

    # --- Inbox ----------------------------------------------------------------------------------------------

    def put(self, partition: int, fabric: str, body: Body, key: str | None) -> Received:
        mark = fingerprint(fabric, body)
        keys = [form.key(partition, part) for part in ("inbox", "inbox:last", f"key:{key or ''}")]
        text = body.model_dump_json()
        arguments = ["" if key is None else "keyed", mark, fabric, type(body).__name__, text, str(KEY_KEPT_S)]
        arguments.append(form.channel(partition))
        with self._reached():
            number, before, repeated = self._put(keys=keys, args=arguments)
        if repeated and before.decode() != mark:
            raise reused(str(key))
        return Received(int(number), repeated=bool(repeated))

    def waiting(self, partition: int, most: int) -> list[Waiting]:
        with self._reached():
            rows: Any = self._redis.xrange(form.key(partition, "inbox"), count=most)
        return [self._request(partition, int(entry.split(b"-")[0]), row) for entry, row in rows]

    def _request(self, partition: int, number: int, row: dict[bytes, bytes]) -> Waiting:
        try:
            body = TYPES[row[b"type"].decode()].model_validate_json(row[b"body"])
            return Waiting(number, row[b"fabric"].decode(), body)
        except (KeyError, ValidationError):
            what = row.get(b"type", b"no type").decode("utf-8", "replace")
            raise OperationFailed(
                f"inbox {form.key(partition, 'inbox')}: this version cannot read request {number} ({what}); "
                f"remove it with XDEL {number}-0, or run the version that took it"
            ) from None

    def size(self, partition: int) -> int:
        with self._reached():
            return int(self._redis.xlen(form.key(partition, "inbox")))

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
            raise OperationFailed(f"Redis at {self.name}: {error}") from None
        except redis.exceptions.ResponseError as error:
            # It answers, and refuses: out of memory, its disk is full, read only. Waiting would not help.
            raise OperationFailed(f"Redis at {self.name} refuses: {error}") from None
        except redis.exceptions.RedisError as error:
            raise StoreUnreachable(
                f"Redis at {self.name} does not answer: {error}; see that it runs at this URL"
            ) from None

    def _partition_of(self, fabric: str) -> int:
        partition = self._one(form.FABRICS, fabric)
        if partition is None:
            raise absent(fabric)
        return int(partition)


def _without_password(url: str) -> str:
    """The URL as people may see it."""
    return re.sub(r"(?<=password=)[^&]*", "***", re.sub(r"(?<=//)[^/]*@", "***@", url))
