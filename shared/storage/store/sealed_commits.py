"""Adds digests to the commits of a process, and checks what it loads against them.

The store's head has two kinds of digests, written in the same transaction as what they cover:

- the *sums* of a service in a fabric: of its state and of every outbox entry that it ever added, and the
  number of its documents by kind;
- the *seal* of a service: over its position in the partition, and for all of its fabrics over site, kind,
  progress and sums.

Registrations and code versions have digests of their own (`sealed_values`).

A document is not part of a sum, because it follows from the state: after the state is checked, each document
must be the one that the service writes for it.

The sequencer keeps the sum of the outbox entries that it removed. So the entries in the outbox must add up to
what all services added, less that.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from shared.basics.errors import StateRefused
from shared.engine.dispatch import ServiceInstance
from shared.engine.message_order import ServiceProgress
from shared.storage.store.change_tracking import document_differences
from shared.storage.store.fabric_registry import FabricRegistration, registered_fabrics
from shared.storage.store.sealed_values import check_values, commit_with_marks, trim_with_marks
from shared.storage.store.state_digests import (
    MODULUS,
    ServiceSums,
    StateDigests,
    TrackedSum,
    outbox_total,
    parse_sums,
    sum_of,
)
from shared.storage.store.state_store import Commit, OutboxEntry, OutboxTrim, PartitionSnapshot, SequencerView

StateKey = tuple[str, str]
"""(service, fabric)."""


class SealedHead(Protocol):
    """A consistent view of a partition's head."""

    @property
    def positions(self) -> Mapping[str, int]: ...
    @property
    def values(self) -> Mapping[str, str]: ...
    @property
    def progress(self) -> Mapping[StateKey, ServiceProgress]: ...
    @property
    def sums(self) -> Mapping[StateKey, str]: ...
    @property
    def seals(self) -> Mapping[str, str]: ...
    @property
    def trimmed(self) -> str: ...


# --- checks -------------------------------------------------------------------------------------------------


def is_sealed(head: SealedHead) -> bool:
    """Whether the partition has any digest: versions before digests wrote none."""
    return bool(head.seals or head.sums)


def check_head_values(digests: StateDigests, partition: int, head: SealedHead) -> None:
    """Check the fabrics and the code of a partition, before code versions are compared. StateRefused names
    what was changed. Accepts a partition without any digest."""
    check_values(digests, partition, head.values, has_digests=is_sealed(head), has_states=bool(head.sums))


def check_seals(
    digests: StateDigests, partition: int, head: SealedHead, services: Collection[str] | None = None
) -> dict[StateKey, ServiceSums]:
    """Check fabrics, code, and the position, progress and sums of some services, or of all; returns the sums
    of all services. StateRefused names the service and its fabrics."""
    check_head_values(digests, partition, head)
    known = {*head.positions, *head.seals, *(service for service, _ in {*head.sums, *head.progress})}
    lines = _lines(digests, head)
    for service in sorted(known if services is None else known & {*services}):
        seal = digests.seal(partition, service, head.positions.get(service, 0), lines.get(service, 0))
        has_rows = {key for key in head.progress if key[0] == service} == {
            key for key in head.sums if key[0] == service
        }
        if head.seals.get(service) == seal and has_rows:
            continue
        fabrics = sorted({fabric for name, fabric in {*head.sums, *head.progress} if name == service})
        where = f"{service} of {', '.join(fabrics) or 'no fabric'} in partition {partition}"
        if not is_sealed(head):
            raise StateRefused(
                f"{where}: its state has no digests, because it was stored by a version without digests, or "
                f"because they were removed; {digests.advice}"
            )
        raise StateRefused(
            f"{where}: its position, progress or digests in Redis were changed outside of the twin, or "
            f"have another key; {digests.advice}"
        )
    try:
        return {key: parse_sums(text) for key, text in head.sums.items()}
    except ValueError:
        raise StateRefused(
            f"partition {partition}: its digests in Redis are of another version of this software; "
            f"{digests.advice}"
        ) from None


def _lines(digests: StateDigests, head: SealedHead) -> dict[str, int]:
    """Service → the sum of its lines."""
    registered = registered_fabrics(head.values)
    lines: dict[str, int] = defaultdict(int)
    for (service, fabric), text in head.sums.items():
        row = head.progress.get((service, fabric))
        if row is not None:
            line = digests.line(row, registered.get(fabric), text)
            lines[service] = (lines[service] + line) % MODULUS
    return lines


def check_states(digests: StateDigests, partition: int, snapshot: PartitionSnapshot) -> None:
    """Check the states of a snapshot; StateRefused names the service and the fabric."""
    sums = check_seals(digests, partition, snapshot, {service for service, _ in snapshot.states})
    for key, stored in snapshot.states.items():
        _checked_state(digests, key, stored, sums)


def _checked_state(
    digests: StateDigests,
    key: StateKey,
    stored: Mapping[str, bytes],
    sums: Mapping[StateKey, ServiceSums],
) -> TrackedSum:
    service, fabric = key
    found = sum_of(digests.keyed("state", service, fabric), stored)
    expected = sums[key].state if key in sums else 0
    if found.total != expected:
        raise StateRefused(
            f"{service} of {fabric}: its state in Redis was changed outside of the twin; {digests.advice}"
        )
    return found


def check_outbox(
    digests: StateDigests,
    partition: int,
    head: SealedHead,
    outbox: Sequence[OutboxEntry],
    sums: Mapping[StateKey, ServiceSums],
) -> int:
    """Check the outbox against sums that are checked; returns the sum of the entries removed so far.
    StateRefused names what was changed."""
    try:
        trimmed = int(head.trimmed.partition(" ")[0] or "0", 16)
    except ValueError:
        trimmed = -1
    if head.trimmed and head.trimmed != digests.trimmed(partition, trimmed):
        raise StateRefused(
            f"partition {partition}: the digest of its outbox in Redis was changed outside of the twin; "
            f"{digests.advice}"
        )
    added = sum(one.emitted for one in sums.values())
    if (added - trimmed - outbox_total(digests, outbox)) % MODULUS:
        services = sorted({f"{entry.service} of {entry.fabric}" for entry in outbox})
        where = f" ({', '.join(services)})" if services else ""
        raise StateRefused(
            f"partition {partition}: an outbox entry{where} was changed, added or removed outside of the "
            f"twin; {digests.advice}"
        )
    return trimmed


# --- commits ------------------------------------------------------------------------------------------------


class SealedCommits:
    """The digests of one process in one partition: those of the services whose states it commits.

    `load` when the process loads its states, `sealed` for every commit. After a commit that failed, call
    `load` again. `software` is the build that writes documents."""

    def __init__(self, digests: StateDigests, partition: int, software: str = "") -> None:
        self._digests = digests
        self._software = software
        self._partition = partition
        self._sums: dict[StateKey, ServiceSums] = {}
        self._states: dict[StateKey, TrackedSum] = {}
        self._documents: dict[tuple[str, str], set[str]] = {}
        """(fabric, kind) → names of the documents in the store, of all services."""
        self._progress: dict[StateKey, ServiceProgress] = {}
        self._fabric_lines: dict[str, dict[str, int]] = {}
        """Service → fabric → hash of its line."""

    def load(self, snapshot: PartitionSnapshot, services: Collection[str]) -> None:
        """Check and continue with a whole snapshot that has the states of these services in all of their
        fabrics. Also checks the outbox if these are all services. StateRefused names the service, the fabric
        and what was changed."""
        digests = self._digests
        sums = check_seals(digests, self._partition, snapshot)
        own = {key: one for key, one in sums.items() if key[0] in services}
        if len(own) == len(sums) and snapshot.outbox is not None:
            # Without other writers: a live worker leaves the outbox to the sequencer.
            check_outbox(digests, self._partition, snapshot, snapshot.outbox, sums)
        missing = own.keys() - snapshot.states.keys()
        if missing:
            raise ValueError(f"snapshot without the states of {sorted(missing)}")
        self._states = {
            key: _checked_state(digests, key, stored, sums) for key, stored in snapshot.states.items()
        }
        self._documents = self._checked_names(snapshot, services, sums)
        self._sums = own
        self._progress = {key: snapshot.progress[key] for key in own}
        registered = registered_fabrics(snapshot.values)
        self._fabric_lines = {service: {} for service in services}
        for (service, fabric), one in own.items():
            line = digests.line(self._progress[service, fabric], registered.get(fabric), one.text)
            self._fabric_lines[service][fabric] = line

    def _checked_names(
        self,
        snapshot: PartitionSnapshot,
        services: Collection[str],
        sums: Mapping[StateKey, ServiceSums],
    ) -> dict[tuple[str, str], set[str]]:
        """The names of the documents of every kind of these services. Checks their number, and that no kind
        of documents was added."""
        owners: dict[tuple[str, str], list[str]] = defaultdict(list)
        counts: dict[tuple[str, str], int] = defaultdict(int)
        for (service, fabric), one in sums.items():
            for kind, count in one.documents.items():
                owners[fabric, kind].append(service)
                counts[fabric, kind] += count
        stored = snapshot.documents or {}
        found = {}
        for fabric, kind in sorted({*owners, *stored}):
            of = owners[fabric, kind]
            if of and not {*of} & {*services}:
                continue  # another process checks them
            names = {*stored.get((fabric, kind), {})}
            if len(names) != counts[fabric, kind]:
                raise StateRefused(
                    f"{', '.join(sorted(of)) or 'no service'} of {fabric}: documents of kind {kind} in Redis "
                    f"were added or removed outside of the twin; {self._digests.advice}"
                )
            found[fabric, kind] = names
        return found

    def sealed(self, commit: Commit, registered: Mapping[str, FabricRegistration]) -> Commit:
        """The commit with the digests that follow from it. `registered` has the registrations after it."""
        changed = {(row.name, row.fabric) for row in commit.progress}
        for state in commit.states:
            key = (state.service, state.fabric)
            changed.add(key)
            tracked = self._states.get(key)
            if tracked is None:
                tracked = self._states[key] = TrackedSum(self._digests.keyed("state", *key))
            tracked.change(state.written, state.removed)
            self._sums_of(key).state = tracked.total
        self._count_documents(commit, changed)
        for entry in commit.outbox:
            own = self._sums_of((entry.service, entry.fabric))
            own.emitted = (own.emitted + self._digests.entry(entry)) % MODULUS
            changed.add((entry.service, entry.fabric))
        self._progress |= {(row.name, row.fabric): row for row in commit.progress}
        texts = {}
        for service, fabric in sorted(changed):
            self._sums_of((service, fabric)).software = self._software
            row = self._progress.get((service, fabric))
            if row is None:
                continue  # nothing of it is in the head
            texts[service, fabric] = text = self._sums_of((service, fabric)).text
            line = self._digests.line(row, registered.get(fabric), text)
            self._fabric_lines.setdefault(service, {})[fabric] = line
        seals = {service: self._seal(service, at) for service, at in commit.positions.items()}
        return replace(commit_with_marks(self._digests, commit), sums=texts, seals=seals)

    def check_documents(
        self,
        instances: Iterable[ServiceInstance],
        documents: Mapping[tuple[str, str], Mapping[str, bytes]],
    ) -> None:
        """Check the stored documents of services whose states are checked. StateRefused names the first one
        that its service would not write. Documents of another build may differ: they are all written again
        with the next commit of their service."""
        for instance in instances:
            own, state = self._sums.get((instance.name, instance.fabric)), instance.state
            if own is not None and own.software != self._software and state is not None:
                state.changed_documents.update(instance.service.document_keys(state))
                continue
            for row in document_differences([instance], documents, whole=False):
                raise StateRefused(
                    f"{row.service} of {row.fabric}: the document {row.name} of kind {row.kind} in Redis was "
                    f"changed outside of the twin; {self._digests.advice}"
                )

    def _count_documents(self, commit: Commit, changed: set[StateKey]) -> None:
        for document in commit.documents:
            names = self._documents.setdefault((document.fabric, document.kind), set())
            is_new = document.text is not None
            if is_new == (document.name in names):
                continue
            key = (document.service, document.fabric)
            own = self._sums_of(key)
            own.documents[document.kind] = own.documents.get(document.kind, 0) + (1 if is_new else -1)
            names.symmetric_difference_update((document.name,))
            changed.add(key)

    def _sums_of(self, key: StateKey) -> ServiceSums:
        found = self._sums.get(key)
        if found is None:
            found = self._sums[key] = ServiceSums()
        return found

    def _seal(self, service: str, position: int) -> str:
        lines = sum(self._fabric_lines.get(service, {}).values()) % MODULUS
        return self._digests.seal(self._partition, service, position, lines)


def sealed_image(digests: StateDigests | None, image: Commit, software: str = "") -> Commit:
    """A whole partition, as the commit that creates it from nothing, with its digests. `software` is the
    build that wrote its documents."""
    if digests is None:
        return image
    values = {name: value for name, value in image.fields.items() if value is not None}
    return SealedCommits(digests, image.partition, software).sealed(image, registered_fabrics(values))


class SealedOutbox:
    """The digests of one sequencer in one partition."""

    def __init__(self, digests: StateDigests, partition: int) -> None:
        self._digests = digests
        self._partition = partition
        self._trimmed = 0
        self._text = ""

    def load(self, view: SequencerView) -> None:
        """Check a view: progress, positions and outbox. StateRefused names what was changed."""
        sums = check_seals(self._digests, self._partition, view)
        self._trimmed = check_outbox(self._digests, self._partition, view, view.outbox, sums)
        self._text = view.trimmed

    def sealed(self, trim: OutboxTrim) -> OutboxTrim:
        """The trim with the digests that follow from it."""
        trim = trim_with_marks(self._digests, trim)
        seals = {
            reader: self._digests.seal(self._partition, reader, position, 0)
            for reader, position in trim.begin.items()
        }
        if not trim.outbox:
            return replace(trim, begin_seals=seals)
        before = self._text
        self._trimmed = (self._trimmed + outbox_total(self._digests, trim.outbox)) % MODULUS
        self._text = self._digests.trimmed(self._partition, self._trimmed)
        return replace(trim, begin_seals=seals, trimmed=(before, self._text))
