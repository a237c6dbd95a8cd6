"""Answers the queries of a due service from the committed states of its site.

Only what changed is loaded: the partition's head has a digest of every state, and it is checked before. So a
decoded state is used again while its digest stays the same, and of a state that changed only the changed
fields are decoded.
"""

import time
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from schemas.envelope import Envelope
from schemas.messages.sequencer import Tick
from schemas.site_readings import SiteReading
from shared.basics.errors import OperationFailed, StateRefused
from shared.engine.dispatch import ServiceInstance
from shared.engine.service import AnyService, StoredFields
from shared.engine.site import ServicesOf, Site
from shared.engine.state_codec import restore_instance
from shared.storage.store.fabric_registry import FabricRegistration
from shared.storage.store.sealed_commits import StateKey
from shared.storage.store.state_digests import StateDigests, TrackedSum, parse_sums
from shared.storage.store.state_store import PartitionSnapshot, SequencerView, StateStore


@dataclass(frozen=True, slots=True)
class TickReader:
    """What a sequencer needs for readings. `services` are the names of the services that may have queries.
    `load` returns the function that returns the services of a kind of fabric. It is called at the first
    reading, because it imports every service, and most twins never run a drill."""

    services: Set[str]
    load: Callable[[], ServicesOf]


@dataclass(slots=True)
class ReadingCounts:
    """Counters of the readings since the process started."""

    ticks: int = 0
    loaded: int = 0
    """Number of states that were loaded from the store."""
    seconds: float = 0.0


@dataclass(slots=True)
class _KnownState:
    """A state as it was last loaded."""

    stored: StoredFields
    tracked: TrackedSum | None
    """The digest of what is stored; None if the twin keeps no digests."""
    instance: ServiceInstance


class TickReadings:
    """The readings of one partition. Not thread-safe; one call at a time."""

    def __init__(
        self,
        partition: int,
        store: StateStore,
        reader: TickReader,
        digests: StateDigests | None = None,
        counts: ReadingCounts | None = None,
    ) -> None:
        self.counts = counts or ReadingCounts()
        self._partition = partition
        self._store = store
        self._reader = reader
        self._digests = digests
        self._known: dict[StateKey, _KnownState] = {}
        self._remembered: dict[str, dict[Any, Any]] = {}
        """Site → what its reader remembers."""

    def may_have_queries(self, root: Envelope) -> bool:
        """Whether a root message is a Tick that may need readings."""
        return isinstance(root.body, Tick) and root.body.service in self._reader.services

    def with_readings(
        self, tick: Envelope, view: SequencerView, registered: Mapping[str, FabricRegistration]
    ) -> Envelope | None:
        """The Tick with its readings, if its service has queries. None if the states are no longer those of
        `view`, whose head is checked. StateRefused if a state was changed outside of the twin."""
        body = tick.body
        assert isinstance(body, Tick)  # noqa: S101 -- as `may_have_queries` has checked
        began_s = time.perf_counter()
        services_of = self._reader.load()
        site = registered[tick.fabric].site
        services = {
            (service.name, fabric): service
            for fabric, registration in registered.items()
            if registration.site == site
            for service in services_of(registration.kind)
        }
        key = (body.service, tick.fabric)
        own = services[key]
        if not self._refresh({key: own}, view):
            return None
        due = self._known[key].instance
        if own.queries is None or due.state is None or not own.queries(due.state):
            return tick
        if not self._refresh(services, view):
            return None
        quiet = Site(site, services_of, [self._known[one].instance for one in services])
        quiet.remembered = self._remembered.setdefault(site, quiet.remembered)
        readings = self._read(quiet, due, tick)
        self.counts.ticks += 1
        self.counts.seconds += time.perf_counter() - began_s
        return tick.model_copy(update={"body": body.model_copy(update={"readings": readings})})

    def _read(self, site: Site, due: ServiceInstance, tick: Envelope) -> tuple[SiteReading, ...] | None:
        try:
            return site.readings_for(due)
        except OperationFailed:
            raise
        except Exception as error:
            raise OperationFailed(
                f"partition {self._partition}: the queries of {tick.id} cannot be answered: "
                f"{type(error).__name__}: {error}"
            ) from error

    def _refresh(self, wanted: Mapping[StateKey, AnyService], view: SequencerView) -> bool:
        """Load what changed of these states; False if the store has moved on from the view."""
        changed = [key for key in wanted if self._is_outdated(key, view)]
        if not changed:
            return True
        snapshot = self._store.snapshot(self._partition, changed)
        if not _is_same(snapshot, view, changed):
            return False
        for key in changed:
            self._known[key] = self._loaded(key, wanted[key], snapshot.states[key], view)
        self.counts.loaded += len(changed)
        return True

    def _is_outdated(self, key: StateKey, view: SequencerView) -> bool:
        known = self._known.get(key)
        return known is None or known.tracked is None or known.tracked.total != _expected(key, view)

    def _loaded(
        self, key: StateKey, service: AnyService, stored: StoredFields, view: SequencerView
    ) -> _KnownState:
        """A checked and decoded state; reuses what is the same as in the one before."""
        known = self._known.pop(key, None)
        tracked = None
        if self._digests is not None:
            tracked = TrackedSum(self._digests.keyed("state", *key))
            if known is not None and known.tracked is not None:
                tracked = known.tracked
            before: StoredFields = {} if known is None else known.stored
            written = {name: value for name, value in stored.items() if before.get(name) != value}
            tracked.change(written, before.keys() - stored.keys())
            if tracked.total != _expected(key, view):
                raise StateRefused(
                    f"{key[0]} of {key[1]}: its state in Redis was changed outside of the twin; "
                    f"{self._digests.advice}"
                )
        before_instance = None if known is None else (known.instance, known.stored)
        return _KnownState(stored, tracked, restore_instance(service, key[1], stored, before_instance))


def _expected(key: StateKey, view: SequencerView) -> int:
    """The digest of a state by the head."""
    text = view.sums.get(key)
    return 0 if text is None else parse_sums(text).state


def _is_same(snapshot: PartitionSnapshot, view: SequencerView, keys: Sequence[StateKey]) -> bool:
    """Whether the store has the same states as at the time of the view, and is quiet."""
    return (
        snapshot.positions == view.positions
        and not snapshot.outbox_size
        and all(snapshot.sums.get(key) == view.sums.get(key) for key in keys)
    )
