"""The state store in memory: for tests, and as the reference implementation of the port."""

import itertools
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from schemas.body import Body
from schemas.messages.sequencer import FabricCommissioned
from schemas.names import fabric_order
from schemas.request_metadata import idempotency_key
from shared.engine.message_order import Request, ServiceProgress
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
from shared.storage.store.state_store import (
    ORDER_PREFIX,
    Commit,
    DocumentChange,
    FabricPlace,
    OutboxEntry,
    OutboxTrim,
    PartitionSnapshot,
    SequencerView,
    StateChange,
    fabric_not_in_store,
)


@dataclass
class _Partition:
    """Everything stored of one partition."""

    positions: dict[str, int] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)
    states: dict[tuple[str, str], dict[str, bytes]] = field(default_factory=lambda: defaultdict(dict))
    documents: dict[tuple[str, str], dict[str, bytes]] = field(default_factory=lambda: defaultdict(dict))
    progress: dict[tuple[str, str], ServiceProgress] = field(default_factory=dict)
    outbox: dict[tuple[int, str, str, int], OutboxEntry] = field(default_factory=dict)
    dead_letters: dict[int, bytes] = field(default_factory=dict)
    inbox: list[Request] = field(default_factory=list)
    last_number: int = 0
    taken: set[int] = field(default_factory=set)
    """Numbers of requests that are about to be appended."""
    keys: dict[str, KnownRequest] = field(default_factory=dict)
    ahead: dict[int, int] = field(default_factory=dict)
    """Ranges of the log reported to the inbox, from → to, that start beyond the contiguous part."""
    inbox_informed: int = 0
    joining: set[str] = field(default_factory=set)
    """Fabrics whose commissioning was put into the inbox."""
    generation: int = 0
    document_owners: dict[tuple[str, str, str], str] = field(default_factory=dict)
    """(fabric, kind, name) → the service whose document it is."""
    sums: dict[tuple[str, str], str] = field(default_factory=dict)
    seals: dict[str, str] = field(default_factory=dict)
    trimmed: str = ""


def _note(values: dict[str, str], fields: Mapping[str, str | None]) -> None:
    for name, value in fields.items():
        if value is None:
            values.pop(name, None)
        else:
            values[name] = value


@dataclass
class _Claim:
    """The request that claimed a key. `mark` is None if it was cancelled. The claim expires at `until_s`,
    unless that is None."""

    partition: int
    mark: str | None
    until_s: float | None


class MemoryStore:
    """A `StateStore`, a `DocumentReader` and an `Inbox`. `number` returns the next unused request number."""

    def __init__(
        self, number: Callable[[], int] | None = None, wall_s: Callable[[], float] = time.monotonic
    ) -> None:
        self.name = "memory"
        self._wall_s = wall_s
        self._partitions: dict[int, _Partition] = defaultdict(_Partition)
        self._fabrics: dict[str, FabricPlace] = {}
        self._names: dict[str, str] = {}
        self._staged: dict[int, tuple[Commit, str]] = {}
        self._globals: dict[str, dict[str, str]] = defaultdict(dict)
        self._claims: dict[str, _Claim] = {}
        self._number = number or itertools.count(time.time_ns() // 1_000).__next__

    def place(self, fabric: str, where: FabricPlace) -> None:
        """Record where a fabric is."""
        self._fabrics[fabric] = where

    def claim(self, fabric: str, site: str) -> str:
        """Claim a name for a site; returns the site that claimed it first."""
        return self._names.setdefault(fabric, site)

    # --- GlobalNotes ----------------------------------------------------------------------------------------

    def wall_us(self) -> int:
        return int(self._wall_s() * 1e6)

    def read_globals(self, name: str) -> dict[str, str]:
        return dict(self._globals[name])

    def set_globals(self, name: str, fields: Mapping[str, str | None]) -> None:
        _note(self._globals[name], fields)

    def swap_globals(
        self, name: str, field: str, expected: str | None, fields: Mapping[str, str | None]
    ) -> bool:
        if self._globals[name].get(field) != expected:
            return False
        _note(self._globals[name], fields)
        return True

    # --- StateStore -----------------------------------------------------------------------------------------

    def commit(self, commit: Commit) -> bool:
        partition = self._partitions[commit.partition]
        if partition.generation != commit.generation:
            return False
        if any(partition.positions.get(reader, 0) != at for reader, at in commit.expected.items()):
            return False
        if any(partition.values.get(name, value) != value for name, value in commit.required_values.items()):
            return False
        partition.positions.update(commit.positions)
        _note(partition.values, commit.fields)
        for state in commit.states:
            stored = partition.states[state.service, state.fabric]
            for name in state.removed:
                stored.pop(name, None)
            stored.update(state.written)
        for document in commit.documents:
            kept = partition.documents[document.fabric, document.kind]
            partition.document_owners[document.fabric, document.kind, document.name] = document.service
            kept.pop(document.name, None) if document.text is None else kept.update(
                {document.name: document.text}
            )
        for progress in commit.progress:
            partition.progress[progress.name, progress.fabric] = progress
        partition.outbox.update({entry.place: entry for entry in commit.outbox})
        partition.sums.update(commit.sums)
        partition.seals.update(commit.seals)
        partition.dead_letters.update(commit.dead_letters)
        if commit.inbox_taken is not None:
            taken = commit.inbox_taken
            partition.inbox = [waiting for waiting in partition.inbox if waiting.number > taken]
            partition.taken = {number for number in partition.taken if number > taken}
        return True

    def positions(self, partition: int) -> dict[str, int]:
        return dict(self._partitions[partition].positions)

    def values(self, partition: int) -> dict[str, str]:
        return dict(self._partitions[partition].values)

    def load(self, partition: int, service: str, fabric: str) -> dict[str, bytes]:
        return dict(self._partitions[partition].states.get((service, fabric), {}))

    def progress(self, partition: int) -> dict[tuple[str, str], ServiceProgress]:
        return dict(self._partitions[partition].progress)

    def view(self, partition: int, waiting: int) -> SequencerView:
        kept = self._partitions[partition]
        return SequencerView(
            positions=self.positions(partition),
            values=self.values(partition),
            progress=self.progress(partition),
            outbox=tuple(sorted(kept.outbox.values(), key=lambda entry: entry.order)),
            dead_letters=dict(kept.dead_letters),
            waiting=tuple(self.waiting(partition, waiting)),
            wall_us=self.wall_us(),
            inbox_informed=kept.inbox_informed,
            sums=dict(kept.sums),
            seals=dict(kept.seals),
            trimmed=kept.trimmed,
        )

    def trim(self, trim: OutboxTrim) -> None:
        kept = self._partitions[trim.partition]
        if trim.trimmed is None or trim.trimmed[0] == kept.trimmed:
            kept.trimmed = kept.trimmed if trim.trimmed is None else trim.trimmed[1]
            for entry in trim.outbox:
                kept.outbox.pop(entry.place, None)
        for position in trim.dead_letters:
            kept.dead_letters.pop(position, None)
        kept.inbox = [waiting for waiting in kept.inbox if waiting.number not in trim.requests]
        kept.taken.difference_update(trim.requests)
        kept.ahead.update(trim.inbox_informed)
        for start, stop in sorted(kept.ahead.items()):
            if start <= kept.inbox_informed:
                kept.inbox_informed = max(kept.inbox_informed, stop)
                del kept.ahead[start]
        _note(kept.values, trim.fields)
        if trim.end is not None:
            seen, end = trim.end
            stored = kept.values.get("end", seen)
            kept.values["end"] = str(end) if stored == seen else str(max(end, int(stored)))
        for one in trim.guarded:
            if kept.values.get(one.name) == one.seen:
                kept.values.update(one.fields)
        for reader, position in trim.begin.items():
            kept.positions.setdefault(reader, position)
        for reader, seal in trim.begin_seals.items():
            kept.seals.setdefault(reader, seal)

    def snapshot(
        self, partition: int, states: Sequence[tuple[str, str]], *, whole: bool = False
    ) -> PartitionSnapshot:
        loaded = {key: self.load(partition, *key) for key in states}
        kept = self._partitions[partition]
        return PartitionSnapshot(
            self.positions(partition),
            self.values(partition),
            self.progress(partition),
            loaded,
            len(kept.outbox),
            kept.generation,
            dict(kept.sums),
            dict(kept.seals),
            kept.trimmed,
            {key: dict(rows) for key, rows in kept.documents.items() if rows} if whole else None,
            tuple(sorted(kept.outbox.values(), key=lambda entry: entry.order)) if whole else None,
        )

    def erase(self, partition: int) -> None:
        old = self._partitions[partition]
        self._partitions[partition] = _Partition(
            inbox=old.inbox, last_number=old.last_number, taken=old.taken, keys=old.keys
        )

    def image(self, partition: int) -> Commit:
        """Everything that a log produces in a partition, as the commit that creates it from nothing; without
        digests."""
        kept = self._partitions[partition]
        return Commit(
            partition=partition,
            expected={},
            positions=dict(kept.positions),
            states=tuple(StateChange(*key, dict(stored)) for key, stored in kept.states.items()),
            documents=tuple(
                DocumentChange(fabric, kind, name, text, kept.document_owners[fabric, kind, name])
                for (fabric, kind), documents in kept.documents.items()
                for name, text in documents.items()
            ),
            progress=tuple(kept.progress.values()),
            outbox=tuple(kept.outbox.values()),
            dead_letters=dict(kept.dead_letters),
            fields=dict(kept.values),
        )

    def stage(self, image: Commit, mark: str) -> bool:
        self._staged[image.partition] = image, mark
        return True

    def staged(self, partition: int) -> str | None:
        return self._staged[partition][1] if partition in self._staged else None

    def promote_staged(self, partition: int, generation: int | None = None) -> bool:
        kept = self._partitions[partition]
        if partition not in self._staged or generation not in (None, kept.generation):
            return False
        image, _ = self._staged[partition]
        kept.values = {name: value for name, value in kept.values.items() if name.startswith(ORDER_PREFIX)}
        for made in (
            kept.positions,
            kept.states,
            kept.documents,
            kept.progress,
            kept.outbox,
            kept.dead_letters,
            kept.document_owners,
            kept.sums,
            kept.seals,
        ):
            made.clear()
        kept.trimmed = ""
        kept.ahead.clear()
        kept.inbox_informed = 0
        self.commit(replace(image, generation=kept.generation))
        kept.generation += 1
        return True

    def discard_staged(self, partition: int) -> None:
        self._staged.pop(partition, None)

    # --- DocumentReader -------------------------------------------------------------------------------------

    def fabrics(self) -> dict[str, FabricPlace]:
        return dict(sorted(self._fabrics.items(), key=lambda pair: fabric_order(pair[0])))

    def all(self, fabric: str, kind: str) -> dict[str, bytes]:
        if fabric not in self._fabrics:
            raise fabric_not_in_store(fabric)
        partition = self._partitions[self._fabrics[fabric].partition]
        return dict(partition.documents.get((fabric, kind), {}))

    def one(self, fabric: str, kind: str, name: str) -> bytes | None:
        return self.all(fabric, kind).get(name)

    # --- Inbox ----------------------------------------------------------------------------------------------

    def put(self, partition: int, fabric: str, body: Body) -> InboxReceipt:
        kept, key, mark = self._partitions[partition], idempotency_key(body), fingerprint(fabric, body)
        if key is not None:
            repeat = self.find_repeat(partition, fabric, body)
            if repeat is not None:
                return repeat
        name = requester_of(body)
        if sum(requester_of(waiting.body) == name for waiting in kept.inbox) >= WAITING_MAX:
            raise allowance_error(name)
        if isinstance(body, FabricCommissioned):
            if fabric in kept.joining:
                raise name_taken_error(fabric, body.site)
            kept.joining.add(fabric)
        number = max(kept.last_number + 1, self._number())
        kept.last_number = number
        kept.inbox.append(Request(number, fabric, body))
        if key is not None:
            kept.keys[key] = KnownRequest(partition, number, None, mark, fabric, type(body).__name__)
            self._claims[key] = _Claim(partition, mark, None)
        return InboxReceipt(number, repeated=False)

    def find_repeat(self, partition: int, fabric: str, body: Body) -> InboxReceipt | None:
        key, mark = str(idempotency_key(body)), fingerprint(fabric, body)
        claim = self._claim(key)
        if claim is not None and claim.mark is None:
            raise key_cancelled_error(key)
        found = self._partitions[partition].keys.get(key)
        if (claim is not None and (claim.partition, claim.mark) != (partition, mark)) or (
            found is not None and found.mark != mark
        ):
            raise key_reused_error(key)
        waits = [request.number for request in self._partitions[partition].inbox]
        if found is None or (found.place is None and found.number not in waits):
            return None
        return InboxReceipt(found.number, repeated=True)

    def find(self, key: str) -> KnownRequest | None:
        claim = self._claim(key)
        if claim is None or claim.mark is None:
            return None
        return self._partitions[claim.partition].keys.get(key)

    def was_cancelled(self, key: str) -> bool:
        claim = self._claim(key)
        return claim is not None and claim.mark is None

    def record_logged(self, partition: int, requests: Sequence[LoggedRequest]) -> None:
        kept = self._partitions[partition]
        gone = set(inbox_numbers(requests))
        kept.last_number = max([kept.last_number, *gone])
        for key, request in requests_by_key(requests):
            before, found = kept.keys.get(key), known_request(partition, request)
            if before is not None and before.place is None:
                gone.add(before.number)
            if before is None or before.place is None or before.place > request.place:
                kept.keys[key] = found
            self._claims[key] = _Claim(partition, found.mark, None)
        kept.inbox = [request for request in kept.inbox if request.number not in gone]
        kept.taken -= gone

    def discard_after(self, partition: int, end: Callable[[], int]) -> None:
        kept, ends = self._partitions[partition], end()
        for key, found in list(kept.keys.items()):
            if found.place is not None and found.place >= ends:
                del kept.keys[key]
                self._claims.pop(key, None)

    def take(self, partition: int, numbers: Sequence[int]) -> list[int]:
        kept = self._partitions[partition]
        found = [request.number for request in kept.inbox if request.number in numbers]
        kept.taken.update(found)
        return found

    def cancel(self, partition: int, number: int) -> CancelOutcome:
        kept = self._partitions[partition]
        request = next((request for request in kept.inbox if request.number == number), None)
        if request is None:
            return CancelOutcome.UNKNOWN
        if number in kept.taken:
            return CancelOutcome.TOO_LATE
        kept.inbox.remove(request)
        key = idempotency_key(request.body)
        if key is not None:
            kept.keys.pop(key, None)
            self._claims[key] = _Claim(partition, None, self._wall_s() + CLAIM_EXPIRES_S)
        if isinstance(request.body, FabricCommissioned):
            kept.joining.discard(request.fabric)
            self._names.pop(request.fabric, None)
        return CancelOutcome.DONE

    def _claim(self, key: str) -> _Claim | None:
        claim = self._claims.get(key)
        if claim is not None and claim.until_s is not None and claim.until_s <= self._wall_s():
            del self._claims[key]
            return None
        return claim

    def raise_last_number(self, partition: int, number: int) -> None:
        kept = self._partitions[partition]
        kept.last_number = max(kept.last_number, number)

    def waiting(self, partition: int, most: int) -> list[Request]:
        return self._partitions[partition].inbox[:most]

    def size(self, partition: int) -> int:
        return len(self._partitions[partition].inbox)
