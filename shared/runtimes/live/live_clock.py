"""The simulated clock of a live twin: an epoch in Redis that every process reads, by Redis's own wall clock.

Whoever changes the clock anchors it anew where the fabrics have come to, so a lag that all share is forgiven
and never made up in a jump; one that is behind the others catches up with them.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from schemas.files.operations_log import Operation, decode_operation, encode_operation
from shared.basics.errors import NotFound, OperationFailed
from shared.basics.units import US_PER_S
from shared.runtimes.operations_log import OperationsLog, new_operation
from shared.runtimes.simulated_clock import Clock, ClockChange, ClockState, Epoch
from shared.storage.store.fabric_registry import (
    ServiceNamesOf,
    SiteClock,
    registered_fabrics,
    services_in_partition,
    site_clocks,
)
from shared.storage.store.state_store import FabricPlace, GlobalNotes, StateStore

CLOCK_NOTE = "clock"
VERSION = "version"
"""Rises with every change: a change that was computed from another version is computed again."""
PENDING_PREFIX = "note:"
"""Beginning of the fields that wait for the operations log."""
TRIES = 100
BEAT_US_MAX = 10 * US_PER_S
"""A clock that no sequencer has kept for longer stood still meanwhile."""


class ClockStore(StateStore, GlobalNotes, Protocol):
    """What a clock needs of the store."""

    def fabrics(self) -> dict[str, FabricPlace]: ...


STOPPED_EPOCH = Epoch(0, 0, 1.0, paused=True)
"""Where Redis holds no clock: time stands still wherever it is."""


def read_epoch(store: ClockStore) -> Epoch | None:
    """The clock as it was last asked for; None if the store holds none."""
    return _epoch(store.read_globals(CLOCK_NOTE))


def _epoch(notes: Mapping[str, str]) -> Epoch | None:
    if "speed" not in notes:
        return None
    until_us, run_speed = notes.get("until_us"), notes.get("run_speed")
    return Epoch(
        anchor_us=int(notes["anchor_us"]),
        wall_us=int(notes["wall_us"]),
        speed=float(notes["speed"]),
        paused=notes["paused"] == "1",
        until_us=None if until_us is None else int(until_us),
        run_speed=None if run_speed is None else float(run_speed),
    )


def write_epoch(store: ClockStore, epoch: Epoch) -> None:
    """Set the clock for every process, whatever it was."""
    store.set_globals(CLOCK_NOTE, _fields(epoch))


def _fields(epoch: Epoch) -> dict[str, str | None]:
    return {
        "anchor_us": str(epoch.anchor_us),
        "wall_us": str(epoch.wall_us),
        "speed": repr(epoch.speed),
        "paused": "1" if epoch.paused else "0",
        "until_us": None if epoch.until_us is None else str(epoch.until_us),
        "run_speed": None if epoch.run_speed is None else repr(epoch.run_speed),
        "beat_us": str(epoch.wall_us),
    }


def log_pending_operations(store: ClockStore, operations: OperationsLog) -> int:
    """Put on the operations log what was noted since, and say that it stands there: how many. A change of the
    clock and its note are one write, so that none is forgotten; who dies in between notes it twice, which
    is once."""
    notes = store.read_globals(CLOCK_NOTE)
    waiting = {name: text for name, text in notes.items() if name.startswith(PENDING_PREFIX)}
    found = [decode_operation(text.encode()) for text in waiting.values()]
    for change in sorted((c for c in found if c is not None), key=lambda c: c.wall_us):
        operations.append(change)
    if waiting:
        store.set_globals(CLOCK_NOTE, dict.fromkeys(waiting))
    return len(waiting)


def queue_operation(store: GlobalNotes, found: Operation) -> None:
    """Let a sequencer put an operation on its log: who notes it need not reach Kafka."""
    store.set_globals(CLOCK_NOTE, {f"{PENDING_PREFIX}{found.id}": encode_operation(found).decode()})


def write_clock_beat(store: ClockStore) -> None:
    """Note that a sequencer keeps the clock."""
    store.set_globals(CLOCK_NOTE, {"beat_us": str(store.wall_us())})


def is_beat_missing(store: ClockStore) -> bool:
    """Whether no sequencer has kept the clock of late."""
    beat_us = store.read_globals(CLOCK_NOTE).get("beat_us")
    return beat_us is not None and store.wall_us() - int(beat_us) > BEAT_US_MAX


def processed_us(sites: Iterable[SiteClock], clock_us: int, *, quiet: bool) -> int:
    """Simulated time up to which everything has been done in every site of a partition."""
    if not quiet:
        return min([clock_us, *(site.now_us for site in sites)])
    dues = (site.due.due_us for site in sites if site.due is not None)
    return min([clock_us, *(due_us for due_us in dues if due_us is not None)])


@dataclass(frozen=True, slots=True)
class _PartitionProgress:
    """What a look at a partition tells: its sites, and whether nothing is left to be read or appended."""

    sites: tuple[SiteClock, ...]
    quiet: bool


class LiveClock(Clock):
    """A `Clock` over the epoch in Redis. `held` gives the speed held as the sequencer measures it;
    `services_of` says which services each kind of fabric has. Each change compares and sets, and carries its
    own note for the operations log, which a sequencer puts there (`note_changes`)."""

    def __init__(self, store: ClockStore, services_of: ServiceNamesOf, held: Callable[[], float]) -> None:
        self._store = store
        self._services_of = services_of
        self._achieved_speed = held

    def show(self) -> ClockState:
        """One reading; without a clock in the store time stands still where the fabrics have come to."""
        epoch = read_epoch(self._store)
        wall_us = self._store.wall_us()
        if epoch is None:
            now_us = max(_times_us(self._readings()), default=0)
            return Epoch(now_us, wall_us, STOPPED_EPOCH.speed, paused=True).state(now_us, wall_us, 0.0)
        return epoch.state(
            _all_processed_us(self._readings(), epoch.clock_us(wall_us)), wall_us, self._achieved_speed()
        )

    def change(self, request: ClockChange, who: str) -> None:
        """OperationFailed if others changed it again and again meanwhile."""
        for _ in range(TRIES):
            notes = self._store.read_globals(CLOCK_NOTE)
            epoch = _epoch(notes)
            if epoch is None:
                raise NotFound(
                    "clock: this Redis holds no twin; `lightwave live rebuild` makes it from the log"
                )
            wall_us, readings = self._store.wall_us(), self._readings()
            now_us = _all_processed_us(readings, epoch.clock_us(wall_us))
            changed = epoch.changed(request, now_us, wall_us, max(_times_us(readings), default=0))
            if self._set(changed, who, notes.get("version")):
                return
        raise OperationFailed(f"clock: others changed it {TRIES} times meanwhile; try again")

    def anchor(self, who: str) -> None:
        """Go on from where time has come to, as if no wall time had passed since."""
        self.change(ClockChange(), who)

    def hold_at_start(self) -> None:
        """Let the clock of a twin with which nobody has begun yet stand at its beginning. Nothing is changed
        by that which the operations log would have to know."""
        notes = self._store.read_globals(CLOCK_NOTE)
        epoch = _epoch(notes)
        if epoch is not None:
            held = replace(epoch, anchor_us=0, wall_us=self._store.wall_us())
            self._store.swap_globals(CLOCK_NOTE, VERSION, notes.get(VERSION), _fields(held))

    def start(self, epoch: Epoch, who: str) -> bool:
        """Set a clock where the store holds none, to go on from where the fabrics have come to. False if
        somebody else has set one."""
        times = _times_us(self._readings()) or [0]
        begin = replace(epoch, wall_us=self._store.wall_us())
        if begin.until_us is not None and begin.until_us <= min(times):
            begin = replace(begin, until_us=None, run_speed=None)
        stands = begin.paused and begin.until_us is None
        return self._set(replace(begin, anchor_us=min(times) if stands else max(times)), who, None)

    def _set(self, epoch: Epoch, who: str, version: str | None) -> bool:
        """Set the clock and note it in one write, unless somebody else has changed it since this version."""
        found = new_operation(epoch.body(), who, epoch.wall_us)
        fields = _fields(epoch) | {
            VERSION: str(int(version or 0) + 1),
            f"{PENDING_PREFIX}{found.id}": encode_operation(found).decode(),
        }
        return self._store.swap_globals(CLOCK_NOTE, VERSION, version, fields)

    def _readings(self) -> list[_PartitionProgress]:
        """Every partition that holds a fabric, each read once."""
        partitions = {place.partition for place in self._store.fabrics().values()}
        return [self._reading(partition) for partition in sorted(partitions)]

    def _reading(self, partition: int) -> _PartitionProgress:
        snapshot = self._store.snapshot(partition, [])
        registered = registered_fabrics(snapshot.values)
        at_end = int(snapshot.values.get("end", 0))
        positions = (
            snapshot.positions.get(name, 0) for name in services_in_partition(registered, self._services_of)
        )
        quiet = all(position == at_end for position in positions) and not snapshot.outbox_size
        return _PartitionProgress(tuple(site_clocks(registered, snapshot.progress).values()), quiet)


def _all_processed_us(readings: Iterable[_PartitionProgress], clock_us: int) -> int:
    """Simulated time up to which everything has been done in every partition."""
    return min([clock_us, *(processed_us(one.sites, clock_us, quiet=one.quiet) for one in readings)])


def _times_us(readings: Iterable[_PartitionProgress]) -> list[int]:
    """Simulated time that each site has come to."""
    return [site.now_us for one in readings for site in one.sites]
