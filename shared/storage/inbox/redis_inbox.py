"""The inbox on Redis.

Requests of partition P and their keys are under `lightwave:{P}:inbox…`, in one slot of a cluster. A *claim*
makes an idempotency key unique in the whole twin. It is a Redis key of its own, in any slot, set before the
request is put; its value names the request.

A claim whose request never arrives expires. Once its request is in the inbox, a claim is permanent.
"""

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from zlib import crc32

import orjson

from schemas.body import Body
from schemas.messages.sequencer import FabricCommissioned
from schemas.registry import TYPES
from schemas.request_metadata import idempotency_key
from shared.basics.errors import OperationFailed, UpgradeNeeded
from shared.engine.message_order import Request
from shared.storage.inbox.request_inbox import (
    CLAIM_EXPIRES_S,
    WAITING_MAX,
    CancelOutcome,
    InboxReceipt,
    KnownRequest,
    LoggedRequest,
    allowance_error,
    fingerprint,
    inbox_numbers,
    key_cancelled_error,
    key_reused_error,
    known_request,
    name_taken_error,
    requester_of,
    requests_by_key,
)
from shared.storage.store import redis_layout as layout
from shared.storage.store.redis_client import RedisClient

CLAIM_SHARDS = 64
"""Number of slots that claims are spread over, so that many claims are written in a few calls."""
WAITING_PLACE = "-"
"""Stands for the log position of a request that still waits."""
CANCELLED = "cancelled"
"""Value of the claim of a cancelled request."""
ROWS_MAX = 500
"""Requests per script call: Lua limits the number of arguments."""

AHEAD_US_MAX = 2**50
"""How far beyond its clock the inbox counts, in microseconds: 35 years. A higher number is not its own."""
FIELDS = (b"fabric", b"type", b"body")
"""Fields of every request."""
TYPE_NAME = re.compile(r"[A-Z][A-Za-z0-9]{0,99}")
"""Names of message types, of this and of any other version."""
NUMBER_DIGITS_MAX = 16

log = logging.getLogger("lightwave.inbox")

CLAIM = """
local before = redis.call('GET', KEYS[1])
if not before then redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2]) end
return before
"""

PUT = f"""{layout.WHOLE}
local key, row = ARGV[1], ARGV[2]
if key ~= '' then
  local before = redis.call('HGET', KEYS[3], key)
  if before then
    local number, place = before:match('^(%d+) (%S+)')
    -- Check that a waiting request exists: a truncated file may contain the key alone.
    if number and (place ~= '-' or #redis.call('XRANGE', KEYS[1], number .. '-0', number .. '-0') == 1) then
      return {{before, 1}}
    end
  end
end
for at = 10, #ARGV, 2 do
  if (redis.call('HGET', KEYS[6], ARGV[at]) or ARGV[at + 1]) ~= ARGV[at + 1] then return {{'', 4}} end
end
local asked = whole(redis.call('HGET', KEYS[5], ARGV[8]))
if asked >= tonumber(ARGV[9]) then return {{'', 3}} end
if ARGV[7] ~= '' and redis.call('HSETNX', KEYS[4], ARGV[7], '') == 0 then return {{'', 2}} end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local last = whole(redis.call('GET', KEYS[2]))
if last > now + {AHEAD_US_MAX} then last = 0 end
local number = string.format('%.0f', math.max(last + 1, now))
redis.call('SET', KEYS[2], number)
local kept = number .. ' ' .. row
if key ~= '' then redis.call('HSET', KEYS[3], key, kept) end
local function add()
  return redis.pcall('XADD', KEYS[1], number .. '-0', 'fabric', ARGV[3], 'type', ARGV[4], 'body', ARGV[5],
    'asker', ARGV[8], 'key', key)
end
local added, gone = add(), {{}}
if type(added) == 'table' and added.err and (added.err:find('smaller') or added.err:find('exhausted')) then
  -- Something else added a higher number, which the stream remembers: make it again from the others.
  local rows = redis.call('XRANGE', KEYS[1], '-', '+')
  redis.call('DEL', KEYS[1])
  for _, one in ipairs(rows) do
    local low = one[1]:match('^(%d+)-0$')
    if low and whole(low) > 0 and whole(low) < tonumber(number) then
      redis.call('XADD', KEYS[1], one[1], unpack(one[2]))
    else
      gone[#gone + 1] = one[1]
    end
  end
  added = add()
end
if type(added) == 'table' and added.err then return added end
redis.call('HSET', KEYS[5], ARGV[8], string.format('%.0f', asked + 1))
redis.call('PUBLISH', ARGV[6], number)
return {{kept, 0, gone}}
"""
KEY_USED, JOINED_BEFORE, ALLOWANCE_USED, OUTDATED = 1, 2, 3, 4
"""Reasons why PUT stored nothing; 0 if it stored the request."""

RAISE_NUMBER = f"""{layout.WHOLE}
local last = whole(redis.call('GET', KEYS[1]))
if last < tonumber(ARGV[1]) then redis.call('SET', KEYS[1], ARGV[1]) end
return 1
"""

RECORD_LOGGED = f"""{layout.REMOVE}
local last = whole(redis.call('GET', KEYS[5]))
local function gone(number)
  remove(KEYS[1], KEYS[2], KEYS[3], number .. '-0', number .. '-0')
end
local numbers = tonumber(ARGV[1])
for at = 2, numbers + 1 do
  gone(ARGV[at])
  last = math.max(last, tonumber(ARGV[at]))
end
redis.call('SET', KEYS[5], string.format('%.0f', last))
for at = numbers + 2, #ARGV, 2 do
  local before = redis.call('HGET', KEYS[4], ARGV[at])
  if before then
    local number, place = before:match('^(%d+) (%S+)')
    if number and place == '-' then gone(number) end
    local logged = ARGV[at + 1]:match('^%d+ (%d+)')
    if tonumber(place or '') and tonumber(place) <= tonumber(logged) then before = 'stays' end
  end
  if before ~= 'stays' then redis.call('HSET', KEYS[4], ARGV[at], ARGV[at + 1]) end
end
return 1
"""

TAKE = """
local found = {}
for _, number in ipairs(ARGV) do
  if #redis.call('XRANGE', KEYS[1], number .. '-0', number .. '-0') == 1 then
    redis.call('ZADD', KEYS[2], number, number)
    found[#found + 1] = number
  end
end
return found
"""

CANCEL = f"""{layout.REMOVE}
local found = redis.call('XRANGE', KEYS[1], ARGV[1] .. '-0', ARGV[1] .. '-0')
if #found == 0 then return {{'unknown'}} end
if redis.call('ZSCORE', KEYS[3], ARGV[1]) then return {{'too late'}} end
local row = {{}}
for at = 1, #found[1][2], 2 do row[found[1][2][at]] = found[1][2][at + 1] end
if (row['key'] or '') ~= '' then redis.call('HDEL', KEYS[4], row['key']) end
if row['type'] == ARGV[2] then redis.call('HDEL', KEYS[5], row['fabric']) end
remove(KEYS[1], KEYS[2], KEYS[3], ARGV[1] .. '-0', ARGV[1] .. '-0')
return {{'done', row['key'] or '', row['type'], row['fabric']}}
"""


class RedisInbox:
    """An `Inbox` on Redis; thread-safe."""

    _client: RedisClient
    _required: Mapping[str, str] = MappingProxyType({})

    def require_for_requests(self, values: Mapping[str, str]) -> None:
        """From now on, `put` raises UpgradeNeeded unless these values of a partition are equal or absent: a
        process that was stopped while its twin was upgraded must not accept requests."""
        self._required = MappingProxyType(dict(values))

    def put(self, partition: int, fabric: str, body: Body) -> InboxReceipt:
        key, mark = idempotency_key(body), fingerprint(fabric, body)
        claimed = key is not None and self._claim(partition, key, mark)
        parts = ("inbox", "inbox:last", "inbox:keys", "joining", "inbox:askers")
        keys = [layout.key(partition, part) for part in (*parts, "progress")]
        joins_site = body.site if isinstance(body, FabricCommissioned) else None
        row = f"{WAITING_PLACE} {mark} {fabric} {type(body).__name__}"
        arguments = [key or "", row, fabric, type(body).__name__, body.model_dump_json()]
        arguments += [layout.channel(partition), "" if joins_site is None else fabric]
        arguments += [requester_of(body), str(WAITING_MAX)]
        arguments += [word for name, value in self._required.items() for word in (f"value:{name}", value)]
        before, kept, *more = self._client.run_script(PUT, keys, arguments)
        for gone in more[0] if more else ():
            _warn_discarded(partition, gone)
        if claimed and kept in (JOINED_BEFORE, ALLOWANCE_USED, OUTDATED):
            self._client.call(claim_key(str(key)), "DEL", claim_key(str(key)))
        if kept == JOINED_BEFORE:
            raise name_taken_error(fabric, str(joins_site))
        if kept == ALLOWANCE_USED:
            raise allowance_error(requester_of(body))
        if kept == OUTDATED:
            raise UpgradeNeeded(
                f"inbox: {fabric} was upgraded while this gateway was stopped, so it accepts no more "
                "requests; retry with the same idempotency key at a gateway of the new version"
            )
        found = _known_request(partition, before)
        if key is not None:
            if found.mark != mark:
                raise key_reused_error(key)
            self._keep_claims({key: claim_value(found)})
        return InboxReceipt(found.number, repeated=kept == KEY_USED)

    def find_repeat(self, partition: int, fabric: str, body: Body) -> InboxReceipt | None:
        key, mark = str(idempotency_key(body)), fingerprint(fabric, body)
        self._check_claim(key, f"{partition} {mark}", self._current_claim(key))
        found = self._find_in(partition, key)
        if found is not None and found.mark != mark:
            raise key_reused_error(key)
        if found is None or (found.place is None and not self._waits(partition, found.number)):
            return None
        return InboxReceipt(found.number, repeated=True)

    def find(self, key: str) -> KnownRequest | None:
        claim = self._current_claim(key)
        if claim is None or claim == CANCELLED:
            return None
        partition = claim.split(" ")[0]
        return self._find_in(int(partition), key) if partition.isdecimal() else None

    def was_cancelled(self, key: str) -> bool:
        return self._current_claim(key) == CANCELLED

    def record_logged(self, partition: int, requests: Sequence[LoggedRequest]) -> None:
        keys = [
            *layout.inbox_keys(partition),
            layout.key(partition, "inbox:keys"),
            layout.key(partition, "inbox:last"),
        ]
        for start in range(0, len(requests), ROWS_MAX):
            part = requests[start : start + ROWS_MAX]
            numbers = inbox_numbers(part)
            known = {key: known_request(partition, request) for key, request in requests_by_key(part)}
            rows = [word for key, found in known.items() for word in (key, key_row(found))]
            self._client.run_script(RECORD_LOGGED, keys, [str(len(numbers)), *map(str, numbers), *rows])
            self._keep_claims({key: claim_value(found) for key, found in known.items()})

    def discard_after(self, partition: int, end: Callable[[], int]) -> None:
        place = layout.key(partition, "inbox:keys")
        rows: dict[bytes, bytes] = self._client.call(place, "HGETALL", place)
        ends = end()
        unreadable: list[bytes] = []
        gone: list[str] = []
        for key, row in rows.items():
            try:
                name, found = key.decode(), _known_request(partition, row)
            except (ValueError, OperationFailed):
                unreadable.append(key)  # not the twin's; the log has the keys of all that it accepted
                continue
            if found.place is not None and found.place >= ends:
                gone.append(name)
        for command in layout.hdel(place, gone):
            self._client.call(place, *command)
        for other in unreadable:
            self._client.call(place, "HDEL", place, other)
        for name in gone:
            self._client.call(claim_key(name), "DEL", claim_key(name))

    def raise_last_number(self, partition: int, number: int) -> None:
        last = layout.key(partition, "inbox:last")
        self._client.run_script(RAISE_NUMBER, [last], [str(number)])

    def take(self, partition: int, numbers: Sequence[int]) -> list[int]:
        inbox, _, taken = layout.inbox_keys(partition)
        return [int(number) for number in self._client.run_script(TAKE, [inbox, taken], [*map(str, numbers)])]

    def cancel(self, partition: int, number: int) -> CancelOutcome:
        keys = [
            *layout.inbox_keys(partition),
            layout.key(partition, "inbox:keys"),
            layout.key(partition, "joining"),
        ]
        word, *row = self._client.run_script(CANCEL, keys, [str(number), FabricCommissioned.__name__])
        if row:
            key, kind, fabric = (part.decode() for part in row)
            if key:
                place = claim_key(key)
                self._client.call(place, "SET", place, CANCELLED, "EX", str(CLAIM_EXPIRES_S))
            if kind == FabricCommissioned.__name__:
                self._client.call(layout.NAMES, "HDEL", layout.NAMES, fabric)
        return CancelOutcome(word.decode())

    def waiting(self, partition: int, most: int) -> list[Request]:
        key = layout.key(partition, "inbox")
        read = ["XRANGE", key, "-", "+", "COUNT", str(most)], *self._last_commands(partition)
        rows, last, (seconds, micros) = self._client.transaction(key, read)
        return self._requests(partition, rows, last, seconds * 1_000_000 + micros)

    @staticmethod
    def _last_commands(partition: int) -> list[list[str]]:
        """Commands that read the last number, and the time of the node."""
        return [["GET", layout.key(partition, "inbox:last")], ["TIME"]]

    def _requests(
        self,
        partition: int,
        rows: Sequence[tuple[bytes, dict[bytes, bytes]]],
        last: bytes | None,
        wall_us: int,
    ) -> list[Request]:
        """The requests in these rows. Removes rows that the inbox cannot have made, with a line on the
        log. `last` is the last number that it assigned."""
        is_number = last is not None and last.isdigit() and len(last) <= NUMBER_DIGITS_MAX
        counted = int(last) if last is not None and is_number else 0
        highest = max(wall_us, counted if counted <= wall_us + AHEAD_US_MAX else 0)
        foreign = [entry for entry, row in rows if not _is_own(entry, row, highest)]
        if foreign:
            keys = [*layout.inbox_keys(partition)]
            self._client.run_script(layout.REMOVE_EACH, keys, [entry.decode() for entry in foreign])
        for entry in foreign:
            _warn_discarded(partition, entry)
        return [self._request(partition, entry, row) for entry, row in rows if entry not in foreign]

    def remove_unreadable(self, partition: int) -> None:
        """Remove the requests that this version cannot read, with a line on the log for each."""
        key = layout.key(partition, "inbox")
        unreadable: list[str] = []
        for entry, row in self._client.call(key, "XRANGE", key, "-", "+"):
            try:
                self._request(partition, entry, row)
            except OperationFailed as error:
                log.warning("%s; removed it", str(error).partition(";")[0])
                unreadable.append(entry.decode())
        for start in range(0, len(unreadable), ROWS_MAX):
            some = unreadable[start : start + ROWS_MAX]
            self._client.run_script(layout.REMOVE_EACH, [*layout.inbox_keys(partition)], some)

    def _request(self, partition: int, entry: bytes, row: dict[bytes, bytes]) -> Request:
        """A waiting request. OperationFailed if it is not as this version writes requests."""
        number = entry.decode().partition("-")[0]
        try:
            body = TYPES[row[b"type"].decode()].model_validate_json(row[b"body"])
            return Request(int(number), row[b"fabric"].decode(), body)
        except (KeyError, ValueError):  # also ValidationError and UnicodeDecodeError
            what = row.get(b"type", b"no type").decode("utf-8", "replace")
            raise OperationFailed(
                f"inbox {layout.key(partition, 'inbox')}: this version cannot read request {number} "
                f"({what}); run the version that accepted it, or remove it: with XDEL {entry.decode()}, or "
                "with a start by `lightwave up --rebuild`"
            ) from None

    def _waits(self, partition: int, number: int) -> bool:
        key, entry = layout.key(partition, "inbox"), f"{number}-0"
        return bool(self._client.call(key, "XRANGE", key, entry, entry))

    def oldest(self, partition: int) -> int | None:
        """The number of the oldest waiting request, even if this version cannot read it."""
        key = layout.key(partition, "inbox")
        rows = self._client.call(key, "XRANGE", key, "-", "+", "COUNT", "1")
        return int(rows[0][0].split(b"-")[0]) if rows else None

    def size(self, partition: int) -> int:
        key = layout.key(partition, "inbox")
        return int(self._client.call(key, "XLEN", key))

    # --- claims ---------------------------------------------------------------------------------------------

    def _claim(self, partition: int, key: str, mark: str) -> bool:
        """Claim a key for a request; True if it was free, False if the same request has it. InvalidInput if
        another request has it."""
        place, wanted = claim_key(key), f"{partition} {mark}"
        before = self._client.run_script(CLAIM, [place], [wanted, str(CLAIM_EXPIRES_S)])
        self._check_claim(key, wanted, None if before is None else before.decode())
        return before is None

    def _check_claim(self, key: str, wanted: str, claim: str | None) -> None:
        if claim == CANCELLED:
            raise key_cancelled_error(key)
        if claim is not None and claim != wanted:
            raise key_reused_error(key)

    def _current_claim(self, key: str) -> str | None:
        value: bytes | None = self._client.call(claim_key(key), "GET", claim_key(key))
        return None if value is None else value.decode("utf-8", "replace")

    def _keep_claims(self, claims: dict[str, str]) -> None:
        """Make these claims permanent."""
        shards: dict[int, list[list[str]]] = {}
        for key, claim in claims.items():
            shards.setdefault(_shard(key), []).append(["SET", claim_key(key), claim])
        for commands in shards.values():
            self._client.transaction(commands[0][1], commands)

    def _find_in(self, partition: int, key: str) -> KnownRequest | None:
        place = layout.key(partition, "inbox:keys")
        row: bytes | None = self._client.call(place, "HGET", place, key)
        return None if row is None else _known_request(partition, row)


def _is_own(entry: bytes, row: Mapping[bytes, bytes], highest: int) -> bool:
    """Whether the inbox may have made this row: some version of it, if the type is unknown here."""
    number, _, part = entry.partition(b"-")
    return part == b"0" and 0 < int(number) <= highest and is_request(row)


def is_request(row: Mapping[bytes, bytes]) -> bool:
    """Whether some version may have made the fields of this row: all names are there, and the body is a JSON
    object."""
    try:
        fabric, kind, body = [row[field].decode() for field in FIELDS]
        return bool(fabric) and TYPE_NAME.fullmatch(kind) is not None and isinstance(orjson.loads(body), dict)
    except (KeyError, ValueError):  # also UnicodeDecodeError and JSONDecodeError
        return False


def _warn_discarded(partition: int, entry: bytes) -> None:
    """Log that a request was removed which the inbox did not number."""
    where = layout.key(partition, "inbox")
    log.warning("inbox %s: removed request %s, which the twin did not accept", where, entry.decode())


def _shard(key: str) -> int:
    return crc32(key.encode()) % CLAIM_SHARDS


def claim_key(key: str) -> str:
    return f"lightwave:claims:{{{_shard(key)}}}:{key}"


def claim_value(found: KnownRequest) -> str:
    return f"{found.partition} {found.mark}"


def key_row(found: KnownRequest) -> str:
    place = WAITING_PLACE if found.place is None else str(found.place)
    return f"{found.number} {place} {found.mark} {found.fabric} {found.kind}"


def _known_request(partition: int, row: bytes) -> KnownRequest:
    """The request that a key belongs to. OperationFailed if the row is not as the twin writes it."""
    try:
        number, place, mark, fabric, kind = row.decode().split(" ")
        at = None if place == WAITING_PLACE else int(place)
        return KnownRequest(partition, int(number), at, mark, fabric, kind)
    except ValueError:
        raise OperationFailed(
            f"inbox {layout.key(partition, 'inbox:keys')}: has a row that the twin did not write "
            f"({row.decode('utf-8', 'replace')[:80]}); remove it with HDEL, or rebuild the states"
        ) from None
