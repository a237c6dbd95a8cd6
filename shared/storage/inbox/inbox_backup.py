"""Backup and restore of a twin's inbox: waiting requests, and the keys of cancelled ones."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import attrgetter

from pydantic import ValidationError
from redis import Redis
from redis.exceptions import ResponseError

from schemas.body import Body
from schemas.files.backup_manifest import CancelledKey, WaitingRequest
from schemas.messages.sequencer import FabricCommissioned
from schemas.registry import TYPES
from schemas.request_metadata import idempotency_key
from shared.basics.errors import OperationFailed
from shared.storage.inbox.redis_inbox import CANCELLED, claim_key, claim_value, is_request, key_row
from shared.storage.inbox.request_inbox import KnownRequest, fingerprint, requester_of
from shared.storage.store import redis_layout as layout
from shared.storage.store.redis_client import RedisClient

CLAIMS = "lightwave:claims:{*}:*"
KEYS_AT_ONCE = 1_000


class InboxBackup:
    """Reads the inboxes of a twin's Redis, and fills empty ones. `sites` are the names of its partitions, in
    order."""

    def __init__(self, url: str, sites: Sequence[str]) -> None:
        self._client = RedisClient(url)
        self._sites = sites

    def close(self) -> None:
        self._client.close()

    def waiting(self) -> tuple[WaitingRequest, ...]:
        """All waiting requests of one point in time, site by site, oldest first."""
        places = [layout.key(partition, "inbox") for partition in range(len(self._sites))]
        inboxes = self._client.transaction(places[0], [["XRANGE", place, "-", "+"] for place in places])
        return tuple(
            WaitingRequest(
                site=site,
                number=int(entry.split(b"-")[0]),
                fabric=row[b"fabric"].decode(),
                type=row[b"type"].decode(),
                body=row[b"body"].decode(),
            )
            for site, rows in zip(self._sites, inboxes, strict=True)
            for entry, row in rows
            if is_request(row)  # a start removes others
        )

    def cancelled(self) -> tuple[CancelledKey, ...]:
        """The keys of requests that were cancelled within the last day."""
        cancelled = []
        for node in self._client.primaries():
            with self._client.translated_errors():
                for place in node.scan_iter(match=CLAIMS, count=KEYS_AT_ONCE):
                    if _value(node, place) != CANCELLED.encode():
                        continue
                    left_s = node.ttl(place)
                    if isinstance(left_s, int) and left_s > 0:
                        key = place.decode().split("}:", 1)[1]
                        cancelled.append(CancelledKey(key=key, kept_s=left_s))
        return tuple(sorted(cancelled, key=attrgetter("key")))

    def fill(self, waiting: Sequence[WaitingRequest], cancelled: Sequence[CancelledKey]) -> None:
        """Put requests into the inbox under their old numbers; OperationFailed if this version cannot read
        one."""
        partitions = {site: number for number, site in enumerate(self._sites)}
        for site, rows in groupby(waiting, key=attrgetter("site")):
            self._fill_partition(partitions[site], {row.number: (row, _body_of(row)) for row in rows})
        for row in cancelled:
            place = claim_key(row.key)
            self._client.call(place, "SET", place, CANCELLED, "EX", str(row.kept_s))

    def _fill_partition(self, partition: int, rows: Mapping[int, tuple[WaitingRequest, Body]]) -> None:
        inbox, askers, _ = layout.inbox_keys(partition)
        keys, joining = layout.key(partition, "inbox:keys"), layout.key(partition, "joining")
        commands: list[list[str]] = []
        for number, (row, body) in sorted(rows.items()):
            key, requester = idempotency_key(body), requester_of(body)
            fields = {"fabric": row.fabric, "type": row.type, "body": row.body, "asker": requester}
            flat = [part for pair in (fields | {"key": key or ""}).items() for part in pair]
            commands += [["XADD", inbox, f"{number}-0", *flat], ["HINCRBY", askers, requester, "1"]]
            if isinstance(body, FabricCommissioned):
                commands.append(["HSETNX", joining, row.fabric, ""])
                self._client.call(layout.NAMES, "HSETNX", layout.NAMES, row.fabric, body.site)
            if key is not None:
                known = KnownRequest(
                    partition, number, None, fingerprint(row.fabric, body), row.fabric, row.type
                )
                commands.append(["HSET", keys, key, key_row(known)])
                self._client.call(claim_key(key), "SET", claim_key(key), claim_value(known))
        commands.append(["SET", layout.key(partition, "inbox:last"), str(max(rows))])
        self._client.transaction(inbox, commands)


def _value(node: Redis, place: bytes) -> object:
    """The value of a claim; None if something else wrote a key of another type there."""
    try:
        return node.get(place)
    except ResponseError as error:
        if "WRONGTYPE" in str(error):
            return None
        raise


def _body_of(row: WaitingRequest) -> Body:
    try:
        return TYPES[row.type].model_validate_json(row.body)
    except (KeyError, ValidationError):
        raise OperationFailed(
            f"waiting request {row.number} of {row.site} ({row.type}): this version cannot read it"
        ) from None
