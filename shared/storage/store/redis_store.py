"""The state store on Redis (7.0 or newer) or Valkey (7.2 or newer), one server or a cluster.

All keys of partition P start with `lightwave:{P}:`, so that a transaction stays on one node of a Redis
Cluster. A commit is one Lua script with a fence: if a position is not as expected, it changes nothing.
"""

import contextlib
import re
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import redis
from redis.exceptions import ResponseError

from schemas.names import fabric_order
from shared.basics.errors import OperationFailed, StateRefused
from shared.engine.message_order import ServiceProgress
from shared.storage.inbox.redis_inbox import RedisInbox
from shared.storage.store import redis_layout as layout
from shared.storage.store.redis_client import RedisClient, WrongType
from shared.storage.store.state_store import (
    ORDER_PREFIX,
    Commit,
    FabricPlace,
    OutboxTrim,
    PartitionSnapshot,
    SequencerView,
    fabric_not_in_store,
)

CLOCK = "lightwave:clock"
STAGE_BYTES = 1_000_000
"""Bytes of an image written in one transaction."""
VERSIONS_MIN = (("valkey_version", (7, 2)), ("redis_version", (7, 0)))


ServerInfo = dict[str, str | int | float]
"""The fields of Redis' command INFO."""


@dataclass(frozen=True, slots=True)
class RedisServer:
    """The settings that one server reports; None if it does not report them."""

    name: str
    appends: bool | None
    """Whether it keeps an append-only file."""
    bytes_max: int
    """Its memory limit; 0 means none."""
    policy: str | None
    """What it does beyond that limit."""


class RedisStore(RedisInbox):
    """A `StateStore`, a `DocumentReader` and an `Inbox`; thread-safe. With `cluster`, the URL is that of any
    node of a Redis Cluster."""

    def __init__(self, url: str, *, cluster: bool = False) -> None:
        self.url = url
        self._client = RedisClient(url, cluster=cluster)
        self.name = self._client.name

    def close(self) -> None:
        self._client.close()

    def check(self) -> None:
        """OperationFailed unless every server answers and is new enough."""
        for name, node in self._client.nodes().items():
            with self._client.translated_errors():
                about: ServerInfo = node.info("server")
            _check_version(name, about)

    def servers(self) -> list[RedisServer]:
        """The settings of every server."""
        return [self._server(name, node) for name, node in self._client.nodes().items()]

    def _server(self, name: str, node: Any) -> RedisServer:
        info: ServerInfo = {}
        for section in ("persistence", "memory"):
            with self._client.translated_errors(), contextlib.suppress(ResponseError):
                info |= node.info(section)
        appends, most = info.get("aof_enabled"), int(info.get("maxmemory", 0))
        policy = info.get("maxmemory_policy")
        text = None if policy is None else str(policy)
        return RedisServer(f"Redis at {name}", None if appends is None else bool(appends), most, text)

    def place(self, fabric: str, where: FabricPlace) -> None:
        """Record where a fabric is."""
        retired = "" if where.retired_us is None else f" {where.retired_us}"
        text = f"{where.partition} {where.site} {where.kind}{retired}"
        self._client.call(layout.FABRICS, "HSET", layout.FABRICS, fabric, text)

    def claim(self, fabric: str, site: str) -> str:
        """Claim a name for a site; returns the site that claimed it first."""
        commands = [["HSETNX", layout.NAMES, fabric, site], ["HGET", layout.NAMES, fabric]]
        _, owner = self._client.transaction(layout.NAMES, commands)
        return str(owner.decode())

    def forget_fabrics(self) -> None:
        """Forget all fabrics and claimed names."""
        for key in (layout.FABRICS, layout.NAMES):
            self._client.call(key, "DEL", key)

    def fabric_names(self) -> set[bytes]:
        """The names in all rows of fabrics, also in those that the twin did not write."""
        return {*self._all(layout.FABRICS)}

    def remove_wrong_types(self, partitions: int, other: Mapping[str, bytes]) -> list[str]:
        """Remove keys of the inboxes, of the fabrics, and of `other` (key → type) that have another type than
        the twin gave them, and return them. No command on such a key works until it is removed."""
        removed = []
        for key, kind in (layout.shared_key_types(partitions) | dict(other)).items():
            if self._client.call(key, "TYPE", key) not in (kind, b"none"):
                self._client.call(key, "DEL", key)
                removed.append(key)
        return removed

    def is_empty(self) -> bool:
        """Whether the whole database is empty, including keys that are not the twin's."""
        with self._client.translated_errors():
            return not any(node.dbsize() for node in self._client.primaries())

    def flush(self) -> None:
        """Empty the whole database; in a cluster, that of every node."""
        for node in self._client.primaries():
            with self._client.translated_errors():
                node.flushdb()

    # --- StateStore -----------------------------------------------------------------------------------------

    def commit(self, commit: Commit) -> bool:
        keys, arguments = layout.commit_arguments(commit)
        return bool(self._client.run_script(layout.COMMIT, keys, arguments))

    def positions(self, partition: int) -> dict[str, int]:
        return dict(self.snapshot(partition, []).positions)

    def values(self, partition: int) -> dict[str, str]:
        return dict(self.snapshot(partition, []).values)

    def progress(self, partition: int) -> dict[tuple[str, str], ServiceProgress]:
        return dict(self.snapshot(partition, []).progress)

    def load(self, partition: int, service: str, fabric: str) -> dict[str, bytes]:
        return dict(self.snapshot(partition, [(service, fabric)]).states[service, fabric])

    def snapshot(
        self, partition: int, states: Sequence[tuple[str, str]], *, whole: bool = False
    ) -> PartitionSnapshot:
        head_key = layout.key(partition, "progress")
        outbox_key = layout.key(partition, "outbox")
        places = self._document_keys(partition) if whole else []
        while True:
            state_keys = [layout.state_key(partition, service, fabric) for service, fabric in states]
            read = [
                _whole_hash(head_key),
                _whole_hash(outbox_key) if whole else ["HLEN", outbox_key],
                *map(_whole_hash, state_keys),
                *map(_whole_hash, places),
            ]
            with _readable(partition):
                head, outbox, *rest = self._client.transaction(head_key, read)
                missing = layout.document_keys(partition, head) - {*places} if whole else set()
            if not missing:
                break
            places = sorted({*places, *missing})  # a service wrote its first document of a kind in between
        with _readable(partition):
            found = {
                key: {name.decode(): value for name, value in fields.items()}
                for key, fields in zip(states, rest[: len(states)], strict=True)
            }
            for (service, fabric), stored in found.items():
                layout.check_stored_state(head, service, fabric, stored)
            return PartitionSnapshot(
                layout.positions(head),
                layout.values(head),
                layout.progress(head),
                found,
                len(outbox) if whole else outbox,
                layout.whole_number(head.get(b"generation", "0")),
                layout.sums(head),
                layout.fields_with_prefix(head, "seal:"),
                head.get(b"trimmed", b"").decode(),
                {
                    layout.document_place(partition, place): {
                        name.decode(): text for name, text in rows.items()
                    }
                    for place, rows in zip(places, rest[len(states) :], strict=True)
                    if rows
                }
                if whole
                else None,
                layout.outbox(outbox) if whole else None,
            )

    def _document_keys(self, partition: int) -> list[bytes]:
        """The keys of all documents of a partition, also of those that something else wrote. SCAN does not
        block the server, and may miss keys that are written meanwhile."""

        def scan(node: redis.Redis) -> set[bytes]:
            return {*node.scan_iter(match=layout.key(partition, "docs:*"), count=1_000)}

        return sorted(self._client.run_on_node(layout.key(partition, "progress"), scan))

    def view(self, partition: int, waiting: int) -> SequencerView:
        head_key = layout.key(partition, "progress")
        read = [
            ["HGETALL", head_key],
            ["HGETALL", layout.key(partition, "outbox")],
            ["HGETALL", layout.key(partition, "dead")],
            ["XRANGE", layout.key(partition, "inbox"), "-", "+", "COUNT", str(max(1, waiting))],
            *self._last_commands(partition),  # with the time of the node that holds the partition
        ]
        with _readable(partition):
            head, outbox, dead, inbox, last, (seconds, micros) = self._client.transaction(head_key, read)
        wall_us = seconds * 1_000_000 + micros
        requests = tuple(self._requests(partition, inbox[:waiting], last, wall_us))
        with _readable(partition):
            return SequencerView(
                positions=layout.positions(head),
                values=layout.values(head),
                progress=layout.progress(head),
                outbox=layout.outbox(outbox),
                dead_letters={int(at): row for at, row in dead.items()},
                waiting=requests,
                wall_us=wall_us,
                inbox_informed=layout.whole_number(head.get(b"noted", "0")),
                sums=layout.sums(head),
                seals=layout.fields_with_prefix(head, "seal:"),
                trimmed=head.get(b"trimmed", b"").decode(),
            )

    def trim(self, trim: OutboxTrim) -> None:
        partition = trim.partition
        appended = [layout.outbox_field(entry) for entry in trim.outbox]
        commands = [
            *(
                layout.hdel(layout.key(partition, "outbox"), appended)
                if trim.trimmed is None
                else [layout.trim_outbox_command(partition, trim.trimmed, appended)]
            ),
            *layout.hdel(layout.key(partition, "dead"), [str(at) for at in trim.dead_letters]),
            *layout.set_values(layout.key(partition, "progress"), trim.fields),
        ]
        for reader, position in trim.begin.items():
            commands.append(["HSETNX", layout.key(partition, "progress"), f"at:{reader}", str(position)])
        for reader, seal in trim.begin_seals.items():
            commands.append(["HSETNX", layout.key(partition, "progress"), f"seal:{reader}", seal])
        if trim.requests:
            taken = [f"{number}-0" for number in trim.requests]
            commands.append(["EVAL", layout.REMOVE_EACH, "3", *layout.inbox_keys(partition), *taken])
        if trim.end is not None or trim.guarded:
            commands.append(layout.guarded_command(partition, trim.end, trim.guarded))
        if trim.inbox_informed:
            commands.append(layout.inbox_informed_command(partition, trim.inbox_informed))
        if commands:
            self._client.transaction(layout.key(partition, "progress"), commands)

    def erase(self, partition: int) -> None:
        kept = layout.key(partition, "inbox").encode()
        # While a cluster moves a slot, a node has only some of its keys, and refuses commands with others.
        # `none` exists in no partition, so the command then fails as a whole.
        none = layout.key(partition, "none").encode()

        def erase(node: redis.Redis) -> None:
            found = node.scan_iter(match=layout.key(partition, "*"), count=1_000)
            gone = [key for key in found if not key.startswith(kept)]
            # In one command: a reader would load positions without states, or states without positions.
            node.delete(none, *gone)

        self._client.run_on_node(layout.key(partition, "progress"), erase)

    # --- staged images --------------------------------------------------------------------------------------

    def stage(self, image: Commit, mark: str) -> bool:
        pointer = layout.key(image.partition, "staged")
        stage = layout.key(image.partition, f"stage:{uuid.uuid4().hex}:")
        sizes: Counter[str] = Counter()
        for some in _chunks(layout.staged_commands(image, stage)):
            self._client.transaction(pointer, some)
            for command in some:
                sizes[str(command[1])] += len(command) // 2 - 1
        keys = [pointer, pointer, *sizes]
        return bool(
            self._client.run_script(layout.SEAL_STAGED, keys, [stage, mark, *map(str, sizes.values())])
        )

    def staged(self, partition: int) -> str | None:
        mark = self._one(layout.key(partition, "staged"), "mark")
        return None if mark is None else mark.decode()

    def promote_staged(self, partition: int, generation: int | None = None) -> bool:
        # `none` exists in no partition: a node whose slot is moving refuses the script, instead of running it
        # on half of the keys.
        keys = [layout.key(partition, part) for part in ("progress", "none", "staged")]
        own, orders = layout.key(partition, ""), f"value:{ORDER_PREFIX}"
        expected = "" if generation is None else str(generation)
        return bool(self._client.run_script(layout.PROMOTE_STAGED, keys, [own, orders, expected]))

    def discard_staged(self, partition: int) -> None:
        pointer, none = layout.key(partition, "staged"), layout.key(partition, "none")

        def remove(node: redis.Redis) -> None:
            found = node.scan_iter(match=layout.key(partition, "stage:*"), count=1_000)
            node.delete(none, pointer, *found)

        self._client.run_on_node(pointer, remove)

    # --- outside of partitions ------------------------------------------------------------------------------

    def wall_us(self) -> int:
        """Microseconds since 1970 by the server's clock, which all machines share. In a cluster it is the
        clock of the node with `lightwave:clock`."""
        # EXISTS has a key and so selects the node; any node answers TIME.
        _, (seconds, micros) = self._client.transaction(CLOCK, [["EXISTS", CLOCK], ["TIME"]])
        return int(seconds) * 1_000_000 + int(micros)

    def read_globals(self, name: str) -> dict[str, str]:
        """All fields of `lightwave:NAME`, such as `clock` or `processes`."""
        return {k.decode(): v.decode() for k, v in self._all(f"lightwave:{name}").items()}

    def set_globals(self, name: str, fields: Mapping[str, str | None]) -> None:
        """Set fields of `lightwave:NAME`, and remove those that are None; in one transaction."""
        key = f"lightwave:{name}"
        commands = [
            *layout.hdel(key, [field for field, value in fields.items() if value is None]),
            *layout.hset(key, {k: v for k, v in fields.items() if v is not None}),
        ]
        if commands:
            self._client.transaction(key, commands)

    def swap_globals(
        self, name: str, field: str, expected: str | None, fields: Mapping[str, str | None]
    ) -> bool:
        gone = [name for name, value in fields.items() if value is None]
        pairs = [part for pair in fields.items() if pair[1] is not None for part in pair]
        arguments = [field, "" if expected is None else expected, str(len(gone)), *gone, *map(str, pairs)]
        return bool(self._client.run_script(layout.SWAP, [f"lightwave:{name}"], arguments))

    @contextmanager
    def woken(self, partitions: Iterable[int]) -> Iterator[Callable[[float], set[int]]]:
        """Yields a function that waits up to some seconds and returns the partitions whose sequencer has
        work. Notifications are lost while it does not wait, so poll now and then as well."""
        channels = {layout.channel(partition).encode(): partition for partition in partitions}

        def subscribed(node: Any) -> Any:  # its pubsub() has no types
            listener = node.pubsub()
            listener.subscribe(*channels)
            return listener

        # The nodes of a cluster forward published messages to each other, so any node will do.
        subscription = self._client.run_on_node(layout.FABRICS, subscribed)

        def wait(seconds: float) -> set[int]:
            found: set[int] = set()
            until_s = time.monotonic() + seconds
            with self._client.translated_errors():
                message = subscription.get_message(timeout=seconds)
                while message is not None:
                    if message["type"] == "message":  # not the reply to a subscription
                        found.add(channels[message["channel"]])
                    rest_s = 0.0 if found else max(0.0, until_s - time.monotonic())
                    message = subscription.get_message(timeout=rest_s)
            return found

        try:
            yield wait
        finally:
            subscription.close()

    # --- DocumentReader -------------------------------------------------------------------------------------

    def fabrics(self) -> dict[str, FabricPlace]:
        placed = {name.decode(): _place(text) for name, text in self._all(layout.FABRICS).items()}
        return dict(sorted(placed.items(), key=lambda pair: fabric_order(pair[0])))

    def all(self, fabric: str, kind: str) -> dict[str, bytes]:
        rows = self._all(layout.documents_key(self._partition_of(fabric), fabric, kind))
        return {name.decode(): text for name, text in rows.items()}

    def one(self, fabric: str, kind: str, name: str) -> bytes | None:
        return self._one(layout.documents_key(self._partition_of(fabric), fabric, kind), name)

    # --- telemetry ------------------------------------------------------------------------------------------

    def keep_frame(self, name: str, frame: bytes) -> None:
        """Store a frame of this name (a fabric, or a service of one, `pod-0/ocs`) in place of the previous
        one. A worker that rereads messages renders their frames again up to the newest, so the last write is
        the newest frame."""
        key = self._frame_key(name)
        self._client.call(key, "SET", key, frame)

    def frame(self, name: str) -> bytes | None:
        """The newest frame of a name, or None."""
        key = self._frame_key(name)
        found: bytes | None = self._client.call(key, "GET", key)
        return found

    def _frame_key(self, name: str) -> str:
        return layout.key(self._partition_of(name.partition("/")[0]), f"frame:{name}")

    # --- single keys ----------------------------------------------------------------------------------------

    def _all(self, key: str) -> dict[bytes, bytes]:
        rows: dict[bytes, bytes] = self._client.call(key, "HGETALL", key)
        return rows

    def _one(self, key: str, field: str) -> bytes | None:
        value: bytes | None = self._client.call(key, "HGET", key, field)
        return value

    def _partition_of(self, fabric: str) -> int:
        found = self._one(layout.FABRICS, fabric)
        if found is None:
            raise fabric_not_in_store(fabric)
        return _place(found).partition


def _whole_hash(place: str | bytes) -> layout.Command:
    return ["HGETALL", place]


@contextmanager
def _readable(partition: int) -> Iterator[None]:
    """StateRefused if fields or keys of a partition are not as a commit writes them."""
    what = "a field"
    try:
        yield
        return
    except WrongType as error:
        if error.key.startswith(layout.key(partition, "inbox")):
            raise
        what = f"{error.key}, a key of another type,"
    except (ValueError, KeyError):
        pass
    raise StateRefused(
        f"partition {partition}: Redis has {what} in its progress, states, documents or outbox that the twin "
        "did not write; `lightwave live rebuild` or `lightwave up --rebuild` rebuilds it from the log"
    )


def _chunks(commands: Iterator[layout.Command]) -> Iterator[list[layout.Command]]:
    """Commands in lists of about a megabyte."""
    some: list[layout.Command] = []
    size = 0
    for command in commands:
        some.append(command)
        size += sum(map(len, command))
        if size > STAGE_BYTES:
            yield some
            some, size = [], 0
    if some:
        yield some


def _place(text: bytes) -> FabricPlace:
    """OperationFailed if the twin did not write this."""
    try:
        partition, site, kind, *retired = text.decode().split(" ")
        return FabricPlace(int(partition), site, kind, *map(int, retired))
    except (TypeError, ValueError):
        raise OperationFailed(
            f"{layout.FABRICS} in Redis has a row that the twin did not write "
            f"({text.decode('utf-8', 'replace')[:80]}); a restart of the twin removes it, and "
            "writes the rows of its fabrics again"
        ) from None


def _check_version(where: str, about: ServerInfo) -> None:
    for name, least in VERSIONS_MIN:
        if name in about:
            found = str(about[name])
            if tuple(int(part) for part in re.findall(r"\d+", found)[:2]) < least:
                wanted = ".".join(map(str, least))
                raise OperationFailed(f"{name} {found} at {where}: must be {wanted} or newer")
            return
    raise OperationFailed(f"{where}: the server reports no version of Redis or Valkey")
