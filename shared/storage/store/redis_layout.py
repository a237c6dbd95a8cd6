"""Layout of the state store in Redis: keys, fields, and the scripts that change them.

Everything of partition P is under keys that start with `lightwave:{P}:`, so that a transaction stays on one
node of a Redis Cluster.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any
from zlib import crc32

from shared.basics.errors import StateRefused
from shared.engine.message_order import ServiceProgress
from shared.engine.state_codec import COUNTERS
from shared.storage.store.state_store import Commit, GuardedFields, OutboxEntry

FABRICS = "lightwave:fabrics"
NAMES = "lightwave:names"
"""Name of a fabric → the site that claimed it first."""
INBOX_KEYS = "inbox:keys"
"""The idempotency keys of a partition; a rebuild reads them from the log again."""
PAIRS_MAX = 1_000
"""Fields of one HSET: Lua limits the number of arguments of a command."""

WHOLE = """
local function whole(text)
  local is_whole = text and #text <= 16 and text:match('^%d+$')
  if is_whole and tonumber(text) < 2^53 - 2^40 then return tonumber(text) end
  return 0
end
"""
"""A number that a script reads: 0 in place of anything that no script writes."""

REMOVE = f"""{WHOLE}
local function remove(inbox, askers, taken, first, last)
  for _, row in ipairs(redis.call('XRANGE', inbox, first, last)) do
    for at = 1, #row[2], 2 do
      if row[2][at] == 'asker' then
        local left = whole(redis.call('HGET', askers, row[2][at + 1])) - 1
        if left > 0 then redis.call('HSET', askers, row[2][at + 1], string.format('%.0f', left))
        else redis.call('HDEL', askers, row[2][at + 1]) end
      end
    end
    redis.call('XDEL', inbox, row[1])
    redis.call('ZREM', taken, row[1]:match('^%d+'))
  end
  if redis.call('XLEN', inbox) == 0 then redis.call('DEL', askers) end
end
"""
"""Removes requests from the inbox, and updates the number of waiting requests of each requester. It counts
down before the removal; PUT counts up after the insertion. So a truncated Redis file leaves a count too low,
never too high."""

COMMIT = f"""{REMOVE}
local expected = tonumber(ARGV[1])
local at = 2
for _ = 1, expected do
  if (redis.call('HGET', KEYS[1], ARGV[at]) or '0') ~= ARGV[at + 1] then return 0 end
  at = at + 2
end
local agreed = tonumber(ARGV[at])
at = at + 1
for _ = 1, agreed do
  if (redis.call('HGET', KEYS[1], ARGV[at]) or ARGV[at + 1]) ~= ARGV[at + 1] then return 0 end
  at = at + 2
end
local together = tonumber(ARGV[at])
local first_reader = at + 2
local channel = ARGV[at + 1]
at = first_reader + together
while at <= #ARGV do
  local size = tonumber(ARGV[at])
  if ARGV[at + 1] == 'REMOVE' then
    remove(unpack(ARGV, at + 2, at + size))
  else
    redis.call(unpack(ARGV, at + 1, at + size))
  end
  at = at + size + 1
end
if together > 0 then
  local position = redis.call('HGET', KEYS[1], ARGV[first_reader]) or '0'
  for reader = first_reader + 1, first_reader + together - 1 do
    if (redis.call('HGET', KEYS[1], ARGV[reader]) or '0') ~= position then return 1 end
  end
  redis.call('PUBLISH', channel, position)
end
return 1
"""

REMOVE_EACH = f"""{REMOVE}
for _, entry in ipairs(ARGV) do remove(KEYS[1], KEYS[2], KEYS[3], entry, entry) end
return 1
"""

INFORM_INBOX = f"""{WHOLE}
local last = whole(redis.call('HGET', KEYS[1], 'noted'))
for at = 1, #ARGV, 2 do redis.call('HSET', KEYS[2], ARGV[at], ARGV[at + 1]) end
local rows, parts = redis.call('HGETALL', KEYS[2]), {{}}
for at = 1, #rows, 2 do
  if rows[at]:match('^%d+$') then parts[#parts + 1] = {{whole(rows[at]), whole(rows[at + 1])}} end
end
table.sort(parts, function(one, other) return one[1] < other[1] end)
for _, part in ipairs(parts) do
  if part[1] <= last then
    last = math.max(last, part[2])
    redis.call('HDEL', KEYS[2], string.format('%.0f', part[1]))
  end
end
redis.call('HSET', KEYS[1], 'noted', string.format('%.0f', last))
return 1
"""
"""Merges contiguous ranges of the log, from and to."""

SET_GUARDED = f"""{WHOLE}
local stored, seen, finish = redis.call('HGET', KEYS[1], 'value:end'), ARGV[1], ARGV[2]
if finish ~= '' and not (stored and stored ~= seen and whole(stored) > whole(finish)) then
  redis.call('HSET', KEYS[1], 'value:end', finish)
end
local at = 3
while at <= #ARGV do
  local is_as_seen = (redis.call('HGET', KEYS[1], ARGV[at]) or '') == ARGV[at + 1]
  local last = at + 2 + tonumber(ARGV[at + 2])
  if is_as_seen then redis.call('HSET', KEYS[1], unpack(ARGV, at + 3, last)) end
  at = last + 1
end
return 1
"""
"""Sets the known end of the log, unless another process has stored a higher one. Then sets groups of fields,
each only if its first one is as the sequencer saw it."""

SWAP = """
if (redis.call('HGET', KEYS[1], ARGV[1]) or '') ~= ARGV[2] then return 0 end
local gone = tonumber(ARGV[3])
for at = 4, 3 + gone do redis.call('HDEL', KEYS[1], ARGV[at]) end
for at = 4 + gone, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[at], ARGV[at + 1]) end
return 1
"""

TRIM_OUTBOX = """
if (redis.call('HGET', KEYS[1], 'trimmed') or '') ~= ARGV[1] then return 0 end
for at = 3, #ARGV, 1000 do
  redis.call('HDEL', KEYS[2], unpack(ARGV, at, math.min(at + 999, #ARGV)))
end
redis.call('HSET', KEYS[1], 'trimmed', ARGV[2])
return 1
"""
"""Removes outbox entries together with the change of their digest, unless another sequencer was faster."""

SEAL_STAGED = """
local kind = redis.call('TYPE', KEYS[1]).ok
if kind ~= 'hash' then redis.call('DEL', KEYS[1]) end
for n = 3, #KEYS do
  if redis.call('HLEN', KEYS[n]) ~= tonumber(ARGV[n]) then return 0 end
end
redis.call('HSET', KEYS[1], 'stage', ARGV[1], 'mark', ARGV[2])
return 1
"""

PROMOTE_STAGED = """
-- A head of another type, or a generation that does not count up, was left by another writer.
if redis.call('TYPE', KEYS[1]).ok ~= 'hash' then redis.call('DEL', KEYS[1]) end
local stage = redis.call('HGET', KEYS[3], 'stage')
if not stage then return 0 end
local current = redis.call('HGET', KEYS[1], 'generation') or '0'
if ARGV[3] ~= '' and current ~= ARGV[3] then return 0 end
local own = ARGV[1]
local made = {}
for _, from in ipairs(redis.call('KEYS', stage .. '*')) do
  local to = own .. string.sub(from, #stage + 1)
  made[to] = true
  if to ~= KEYS[1] then redis.call('COPY', from, to, 'REPLACE') end
end
for _, pattern in ipairs({'state:*', 'docs:*', 'outbox', 'dead', 'noted'}) do
  for _, old in ipairs(redis.call('KEYS', own .. pattern)) do
    if not made[old] then redis.call('DEL', old) end
  end
end
local head = stage .. 'progress'
local generation = redis.call('HGET', KEYS[1], 'generation') or '0'
if #generation > 15 or not generation:match('^%d+$') then generation = redis.call('TIME')[1] end
generation = tonumber(generation) + 1
redis.call('HSET', head, 'generation', string.format('%.0f', generation))
local before = redis.call('HGETALL', KEYS[1])
for n = 1, #before, 2 do
  if string.sub(before[n], 1, #ARGV[2]) == ARGV[2] then redis.call('HSET', head, before[n], before[n + 1]) end
end
redis.call('COPY', head, KEYS[1], 'REPLACE')
return 1
"""

Command = list[str | bytes]


def key(partition: int, rest: str) -> str:
    return f"lightwave:{{{partition}}}:{rest}"


def inbox_keys(partition: int) -> tuple[str, str, str]:
    """Keys of the waiting requests, of their number by requester, and of those about to be appended."""
    return key(partition, "inbox"), key(partition, "inbox:askers"), key(partition, "inbox:taken")


def shared_key_types(partitions: int) -> dict[str, bytes]:
    """Key → type of the keys that are not a part of the states: the places of fabrics, and the inboxes."""
    inbox = {
        "inbox": b"stream",
        "inbox:askers": b"hash",
        "inbox:taken": b"zset",
        "inbox:last": b"string",
        INBOX_KEYS: b"hash",
        "joining": b"hash",
        "noted": b"hash",
        "dead": b"hash",
    }
    found = {key(partition, part): kind for partition in range(partitions) for part, kind in inbox.items()}
    return {FABRICS: b"hash", NAMES: b"hash"} | found


def state_key(partition: int, service: str, fabric: str) -> str:
    return key(partition, f"state:{service}@{fabric}")


def documents_key(partition: int, fabric: str, kind: str) -> str:
    return key(partition, f"docs:{fabric}:{kind}")


def document_keys(partition: int, head: Mapping[bytes, bytes]) -> set[bytes]:
    """The keys of the documents that a partition's head counts (`ServiceSums`)."""
    counts = [
        (fabric, word.rpartition("="))
        for (_, fabric), text in sums(head).items()
        for word in text.split(" ")[3:]
    ]
    return {
        documents_key(partition, fabric, kind).encode() for fabric, (kind, _, count) in counts if count != "0"
    }


def document_place(partition: int, place: bytes) -> tuple[str, str]:
    """(fabric, kind) of a key of documents."""
    fabric, _, kind = place.decode().removeprefix(key(partition, "docs:")).rpartition(":")
    return fabric, kind


def channel(partition: int) -> str:
    """The channel that wakes a partition's sequencer."""
    return key(partition, "wake")


def fields_with_prefix(head: Mapping[bytes, bytes], prefix: str) -> dict[str, str]:
    """The fields of a partition's head with this prefix, without it."""
    start = prefix.encode()
    return {k[len(start) :].decode(): v.decode() for k, v in head.items() if k.startswith(start)}


def whole_number(text: bytes | str) -> int:
    """The number that a commit wrote. ValueError for any other text, also for `07` or `1_0`: a fence compares
    texts, and would never agree."""
    found = text.decode() if isinstance(text, bytes) else text
    if str(int(found)) != found:
        raise ValueError(f"{found} is not a number as commits write them")
    return int(found)


def values(head: Mapping[bytes, bytes]) -> dict[str, str]:
    """The values of a partition; ValueError if the end of its log is not a number."""
    found = fields_with_prefix(head, "value:")
    whole_number(found.get("end", "0"))
    return found


def positions(head: Mapping[bytes, bytes]) -> dict[str, int]:
    return {name: whole_number(at) for name, at in fields_with_prefix(head, "at:").items()}


def progress(head: Mapping[bytes, bytes]) -> dict[tuple[str, str], ServiceProgress]:
    dues, nows, ticked = (fields_with_prefix(head, f"{word}:") for word in ("due", "now", "ticked"))
    by_service = {}
    for source, count in fields_with_prefix(head, "ticks:").items():
        service, _, fabric = source.partition("@")
        due_us = whole_number(dues[source]) if dues[source] else None
        now_us, ticked_us = (whole_number(one.get(source, "0")) for one in (nows, ticked))
        row = ServiceProgress(service, fabric, due_us, whole_number(count), now_us, ticked_us)
        by_service[service, fabric] = row
    return by_service


def sums(head: Mapping[bytes, bytes]) -> dict[tuple[str, str], str]:
    """(service, fabric) → digests."""
    found = {}
    for source, text in fields_with_prefix(head, "sums:").items():
        service, _, fabric = source.partition("@")
        found[service, fabric] = text
    return found


def outbox(rows: Mapping[bytes, bytes]) -> tuple[OutboxEntry, ...]:
    entries = []
    for place, value in rows.items():
        position, fabric, service, index = place.decode().split(" ")
        head, _, line = value.partition(b"\n")
        kind, source = head.decode().split(" ")
        entries.append(OutboxEntry(int(position), fabric, service, int(index), kind, source, line))
    return tuple(sorted(entries, key=lambda entry: entry.order))


def outbox_field(entry: OutboxEntry) -> str:
    return " ".join(map(str, entry.place))


def commit_arguments(commit: Commit) -> tuple[list[str], list[Any]]:
    """(keys, arguments) of COMMIT."""
    head = key(commit.partition, "progress")
    commands = list(_commands(commit, head))
    fence = [("generation", str(commit.generation))]
    fence += [(f"at:{reader}", str(at)) for reader, at in commit.expected.items()]
    required_values = [(f"value:{name}", value) for name, value in commit.required_values.items()]
    named = {str(name) for command in commands for name in command[1 : 4 if command[0] == "REMOVE" else 2]}
    keys = [head, *sorted(named - {head})]
    flat = chain.from_iterable([str(len(command)), *command] for command in commands)
    wake_readers = [f"at:{reader}" for reader in commit.wake_readers]
    wake = [str(len(wake_readers)), channel(commit.partition), *wake_readers]
    fences = [
        part for pairs in (fence, required_values) for part in (str(len(pairs)), *chain.from_iterable(pairs))
    ]
    return keys, [*fences, *wake, *flat]


def staged_commands(image: Commit, stage: str) -> Iterator[Command]:
    """The image of a partition as Redis commands, under keys that start with `stage`."""
    own = key(image.partition, "")
    for command in _commands(image, key(image.partition, "progress")):
        yield [command[0], stage + str(command[1]).removeprefix(own), *command[2:]]


def _commands(commit: Commit, head: str) -> Iterator[Command]:
    """The commit as Redis commands, or REMOVE, each with its key in second place; the head comes last.

    A server whose file was truncated may execute only the first part of a transaction (`check_stored_state`).
    Then the position has not moved, and the next commit writes the same again, or a state exists whose
    counters the head does not know.
    """
    partition = commit.partition
    outputs = {
        outbox_field(entry): f"{entry.kind} {entry.source}\n".encode() + entry.line for entry in commit.outbox
    }
    yield from hset(key(partition, "outbox"), outputs)
    yield from hset(key(partition, "dead"), {str(at): row for at, row in commit.dead_letters.items()})
    kinds: dict[str, dict[str, bytes | None]] = {}
    for document in commit.documents:
        place = documents_key(partition, document.fabric, document.kind)
        kinds.setdefault(place, {})[document.name] = document.text
    for place, documents in kinds.items():
        yield from hdel(place, [name for name, text in documents.items() if text is None])
        yield from hset(place, {name: text for name, text in documents.items() if text is not None})
    for state in commit.states:
        place = state_key(partition, state.service, state.fabric)
        yield from hset(place, dict(state.written))
        yield from hdel(place, state.removed)
    yield from hset(head, _head_fields(commit))
    yield from set_values(head, commit.fields)
    if commit.inbox_taken is not None:
        yield ["REMOVE", *inbox_keys(partition), "-", f"{commit.inbox_taken}-0"]


def _head_fields(commit: Commit) -> dict[str, str]:
    fields = {f"at:{reader}": str(at) for reader, at in commit.positions.items()}
    for row in commit.progress:
        source = f"{row.name}@{row.fabric}"
        fields[f"due:{source}"] = "" if row.due_us is None else str(row.due_us)
        fields[f"ticks:{source}"] = str(row.ticks)
        fields[f"now:{source}"] = str(row.now_us)
        fields[f"ticked:{source}"] = str(row.ticked_us)
    for state in commit.states:
        if COUNTERS in state.written:
            fields[f"counters:{state.service}@{state.fabric}"] = _counters_checksum(state.written)
    fields |= {f"sums:{service}@{fabric}": text for (service, fabric), text in commit.sums.items()}
    fields |= {f"seal:{reader}": seal for reader, seal in commit.seals.items()}
    return fields


def check_stored_state(
    head: Mapping[bytes, bytes], service: str, fabric: str, stored: Mapping[str, bytes]
) -> None:
    """StateRefused unless the state is the one that was committed with this head. This needs no key of the
    twin's digests.

    Redis keeps a script's writes as one transaction in its append-only file. If a file ends within one, Redis
    7.0 removes the truncated command but not those before it. At the next start it executes them with the
    transaction that follows.
    """
    noted = head.get(f"counters:{service}@{fabric}".encode(), b"").decode()
    if noted != (_counters_checksum(stored) if COUNTERS in stored else ""):
        raise StateRefused(
            f"stored state of {service} in {fabric}: contains half of a commit, because the file of Redis "
            "was truncated, or was changed outside of the twin; `lightwave live rebuild` or "
            "`lightwave up --rebuild` rebuilds it from the log"
        )


def _counters_checksum(stored: Mapping[str, bytes]) -> str:
    """Checksum of the counters alone, which change with every message that a service reads."""
    return f"{crc32(stored[COUNTERS]):08x}"


def trim_outbox_command(partition: int, trimmed: tuple[str, str], fields: Sequence[str]) -> Command:
    """Remove outbox entries if the digest of removed entries is as expected."""
    places = [key(partition, "progress"), key(partition, "outbox")]
    return ["EVAL", TRIM_OUTBOX, str(len(places)), *places, *trimmed, *fields]


def inbox_informed_command(partition: int, parts: Sequence[tuple[int, int]]) -> Command:
    """Record that the inbox knows all requests in these ranges of the log."""
    places = [key(partition, "progress"), key(partition, "noted")]
    return ["EVAL", INFORM_INBOX, str(len(places)), *places, *map(str, chain.from_iterable(parts))]


def guarded_command(partition: int, end: tuple[str, int] | None, guarded: Sequence[GuardedFields]) -> Command:
    """Set the known end of the log, from (value in the view, new end), unless a higher one is stored that
    differs from the former; and each group of fields whose guard is as in the view."""
    seen, finish = ("", "") if end is None else (end[0], str(end[1]))
    groups: list[str] = []
    for one in guarded:
        pairs = [part for name, text in one.fields.items() for part in (f"value:{name}", text)]
        groups += [f"value:{one.name}", one.seen or "", str(len(pairs)), *pairs]
    return ["EVAL", SET_GUARDED, "1", key(partition, "progress"), seen, finish, *groups]


def set_values(head: str, values: Mapping[str, str | None]) -> Iterator[Command]:
    """Set values of a partition, and remove those that are None."""
    yield from hdel(head, [f"value:{name}" for name, value in values.items() if value is None])
    yield from hset(head, {f"value:{name}": value for name, value in values.items() if value is not None})


def hset(place: str, fields: Mapping[str, str | bytes]) -> Iterator[Command]:
    pairs = iter(fields.items())
    while part := list(islice(pairs, PAIRS_MAX)):
        yield ["HSET", place, *chain.from_iterable(part)]


def hdel(place: str, names: Sequence[str]) -> Iterator[Command]:
    for start in range(0, len(names), PAIRS_MAX):
        yield ["HDEL", place, *names[start : start + PAIRS_MAX]]
