"""The simulated clock of a live twin: an epoch in Redis that every process reads, by the wall clock of Redis.

A change anchors the clock at the time that the fabrics have reached. So a lag that all share is forgiven and
never made up in a jump; a single slow fabric catches up.
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
"""Rises with every change. A change computed from an older version is computed again."""
PENDING_PREFIX = "note:"
"""Prefix of the fields that wait for the operations log."""
TRIES = 100
BEAT_US_MAX = 10 * US_PER_S
"""If no sequencer kept the clock for longer, time stood still meanwhile."""


class ClockStore(StateStore, GlobalNotes, Protocol):
    """The store's methods that a clock needs."""

    def fabrics(self) -> dict[str, FabricPlace]: ...


STOPPED_EPOCH = Epoch(0, 0, 1.0, paused=True)
"""If Redis has no clock, time stands still."""


def read_epoch(store: ClockStore) -> Epoch | None:
    """The setting of the clock; None if the store has none."""
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
    """Move pending operations to the operations log; returns their number. A change of the clock and its
    operation are one write, so none is lost. A process that dies in between appends one twice, which has no
    effect."""
    notes = store.read_globals(CLOCK_NOTE)
    waiting = {name: text for name, text in notes.items() if name.startswith(PENDING_PREFIX)}
    decoded = [decode_operation(text.encode()) for text in waiting.values()]
    for operation in sorted((o for o in decoded if o is not None), key=lambda o: o.wall_us):
        operations.append(operation)
    if waiting:
        store.set_globals(CLOCK_NOTE, dict.fromkeys(waiting))
    return len(waiting)


def queue_operation(store: GlobalNotes, operation: Operation) -> None:
    """Queue an operation for the sequencer, which appends it to its log; the caller needs no access to
    Kafka."""
    store.set_globals(CLOCK_NOTE, {f"{PENDING_PREFIX}{operation.id}": encode_operation(operation).decode()})


def write_clock_beat(store: ClockStore) -> None:
    """Record that a sequencer keeps the clock."""
    store.set_globals(CLOCK_NOTE, {"beat_us": str(store.wall_us())})


def is_beat_missing(store: ClockStore) -> bool:
    """Whether no sequencer has kept the clock recently."""
    beat_us = store.read_globals(CLOCK_NOTE).get("beat_us")
    return beat_us is not None and store.wall_us() - int(beat_us) > BEAT_US_MAX


def processed_us(sites: Iterable[SiteClock], clock_us: int, *, quiet: bool) -> int:
    """Simulated time up to which everything is processed in every site of a partition."""
    if not quiet:
        return min([clock_us, *(site.now_us for site in sites)])
    dues = (site.due.due_us for site in sites if site.due is not None)
    return min([clock_us, *(due_us for due_us in dues if due_us is not None)])


@dataclass(frozen=True, slots=True)
class _PartitionProgress:
    """The progress of a partition's sites, and whether nothing is left to read or append."""

    sites: tuple[SiteClock, ...]
    quiet: bool


class LiveClock(Clock):
    """A `Clock` over the epoch in Redis. `achieved_speed` returns the speed as the sequencer measures it.
    `services_of` returns the services of a kind of fabric. Each change is a compare-and-set, and includes its
    operation for the operations log, which a sequencer appends (`log_pending_operations`)."""

    def __init__(
        self, store: ClockStore, services_of: ServiceNamesOf, achieved_speed: Callable[[], float]
    ) -> None:
        self._store = store
        self._services_of = services_of
        self._achieved_speed = achieved_speed

    def show(self) -> ClockState:
        """A reading; without a clock in the store, time stands still where the fabrics are."""
        epoch = read_epoch(self._store)
        wall_us = self._store.wall_us()
        if epoch is None:
            now_us = max(_times_us(self._readings()), default=0)
            return Epoch(now_us, wall_us, STOPPED_EPOCH.speed, paused=True).state(now_us, wall_us, 0.0)
        return epoch.state(
            _all_processed_us(self._readings(), epoch.clock_us(wall_us)), wall_us, self._achieved_speed()
        )

    def change(self, request: ClockChange, who: str) -> Epoch:
        """OperationFailed if other changes interfere repeatedly."""
        for _ in range(TRIES):
            notes = self._store.read_globals(CLOCK_NOTE)
            epoch = _epoch(notes)
            if epoch is None:
                raise NotFound(
                    "clock: this Redis has no twin; `lightwave live rebuild` creates it from the log"
                )
            wall_us, readings = self._store.wall_us(), self._readings()
            now_us = _all_processed_us(readings, epoch.clock_us(wall_us))
            changed = epoch.changed(request, now_us, wall_us, max(_times_us(readings), default=0))
            if self._set(changed, who, notes.get(VERSION)):
                return changed
        raise OperationFailed(f"clock: {TRIES} concurrent changes interfered; try again")

    def anchor(self, who: str) -> None:
        """Continue from the time that the fabrics have reached, as if no wall time had passed since."""
        self.change(ClockChange(), who)

    def hold_at_start(self) -> None:
        """Keep the clock of a new twin at its start until someone uses it. This needs no entry on the
        operations log."""
        notes = self._store.read_globals(CLOCK_NOTE)
        epoch = _epoch(notes)
        if epoch is not None:
            at_start = replace(epoch, anchor_us=0, wall_us=self._store.wall_us())
            self._store.swap_globals(CLOCK_NOTE, VERSION, notes.get(VERSION), _fields(at_start))

    def start(self, epoch: Epoch, who: str) -> bool:
        """Set a clock if the store has none; it continues from where the fabrics are. False if another
        process has set one."""
        times = _times_us(self._readings()) or [0]
        begin = replace(epoch, wall_us=self._store.wall_us())
        if begin.until_us is not None and begin.until_us <= min(times):
            begin = replace(begin, until_us=None, run_speed=None)
        is_stopped = begin.paused and begin.until_us is None
        return self._set(replace(begin, anchor_us=min(times) if is_stopped else max(times)), who, None)

    def _set(self, epoch: Epoch, who: str, version: str | None) -> bool:
        """Set the clock and queue its operation in one write, unless the clock has changed since this
        version."""
        operation = new_operation(epoch.body(), who, epoch.wall_us)
        fields = _fields(epoch) | {
            VERSION: str(int(version or 0) + 1),
            f"{PENDING_PREFIX}{operation.id}": encode_operation(operation).decode(),
        }
        return self._store.swap_globals(CLOCK_NOTE, VERSION, version, fields)

    def _readings(self) -> list[_PartitionProgress]:
        """The progress of every partition with a fabric, each read once."""
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
    """Simulated time up to which everything is processed in every partition."""
    return min(
        [clock_us, *(processed_us(reading.sites, clock_us, quiet=reading.quiet) for reading in readings)]
    )


def _times_us(readings: Iterable[_PartitionProgress]) -> list[int]:
    """The simulated time of each site."""
    return [site.now_us for reading in readings for site in reading.sites]
