"""The status of a live twin: the progress of each service, which process holds it, and what is wrong."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from shared.basics.errors import OperationFailed
from shared.basics.units import US_PER_S
from shared.runtimes.live.live_clock import STOPPED_EPOCH, processed_us, read_epoch
from shared.runtimes.live.process.process_registry import ProcessState
from shared.runtimes.simulated_clock import Epoch
from shared.storage.store.fabric_registry import (
    ServiceNamesOf,
    registered_fabrics,
    services_in_partition,
    site_clocks,
)
from shared.storage.store.redis_store import RedisStore
from shared.storage.store.state_store import PartitionSnapshot

LAG_S_MAX = 30.0
"""Wall time by which simulated time may be behind the clock, at the requested speed."""
REQUEST_WAIT_S_MAX = 60.0
"""How long a request may wait for its place on the log."""
WAITING_MAX = 1_000
"""Requests that may wait in a partition's inbox."""
HISTORIAN = "historian"
"""A kind of process, and the key of its problems that concern the twin."""


@dataclass(frozen=True, slots=True)
class ServiceStatus:
    """One service in one partition."""

    service: str
    position: int
    lag: int
    """The number of messages that it has not read."""
    holder: str | None
    """The worker that reads them, or None."""
    stopped: str | None
    """The error with which it stopped, or None."""
    stopped_in: str | None = None
    """The fabric in which it stopped."""


@dataclass(frozen=True, slots=True)
class PartitionStatus:
    """The state of one partition."""

    partition: int
    fabrics: Mapping[str, str]
    """Fabric → its site."""
    end: int
    processed_us: int
    """Simulated time up to which everything is processed."""
    lag_s: float
    """Wall time by which it is behind the clock."""
    waiting: int
    """The number of waiting requests."""
    oldest_s: float
    """How long the oldest of them has waited."""
    services: tuple[ServiceStatus, ...]


def partition_statuses(
    store: RedisStore, services_of: ServiceNamesOf, rows: Sequence[ProcessState]
) -> list[PartitionStatus]:
    """Every partition with a fabric; `rows` are the processes from `process_registry.processes`."""
    inside: dict[int, dict[str, str]] = {}
    for fabric, place in store.fabrics().items():
        inside.setdefault(place.partition, {})[fabric] = place.site
    holders = {
        (row["service"], partition): row["name"]
        for row in rows
        if row["alive"] and row["kind"] == "worker"
        for partition in row["partitions"]
    }
    epoch = read_epoch(store) or STOPPED_EPOCH
    statuses = []
    for partition, fabrics in sorted(inside.items()):
        wall_us = store.wall_us()
        snapshot = store.snapshot(partition, [])
        end = max([int(snapshot.values.get("end", 0)), *snapshot.positions.values()])
        services = []
        for service in services_in_partition(registered_fabrics(snapshot.values), services_of):
            position = snapshot.positions.get(service, 0)
            stopped = json.loads(snapshot.values.get(f"stopped:{service}", "{}"))
            holder = holders.get((service, partition))
            services.append(
                ServiceStatus(
                    *(service, position, end - position, holder),
                    *(stopped.get("sentence"), stopped.get("fabric")),
                )
            )
        clock_us = epoch.clock_us(wall_us)
        reached_us = _processed_us(snapshot, clock_us)
        delays = (
            reached_us,
            _lag_s(epoch, clock_us, reached_us),
            store.size(partition),
            _oldest_s(store, partition, wall_us),
        )
        statuses.append(PartitionStatus(partition, fabrics, end, *delays, tuple(services)))
    return statuses


def _processed_us(snapshot: PartitionSnapshot, clock_us: int) -> int:
    return processed_us(
        site_clocks(registered_fabrics(snapshot.values), snapshot.progress).values(), clock_us, quiet=True
    )


def _lag_s(epoch: Epoch, clock_us: int, reached_us: int) -> float:
    """How long the clock has been past the next due time."""
    return 0.0 if epoch.paused else (clock_us - reached_us) / (epoch.speed * US_PER_S)


def _oldest_s(store: RedisStore, partition: int, wall_us: int) -> float:
    """A request's number is the time of its receipt, in microseconds by the clock of Redis."""
    number = store.oldest(partition)
    return 0.0 if number is None else max(0.0, (wall_us - number) / US_PER_S)


class DelayMonitor:
    """Finds what takes longer than allowed; thread-safe.

    It remembers the progress of each partition. The lag alone is not enough: anchoring the clock forgives it,
    so a clock that keeps losing its beat shows no lag although nothing moves.
    """

    def __init__(
        self, store: RedisStore, services_of: ServiceNamesOf, wall_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._services_of = services_of
        self._wall_s = wall_s
        self._moved: dict[int, tuple[int, float]] = {}
        """Partition → its processed time, and when it was first seen there."""

    def problems(self) -> list[str]:
        """One sentence per problem, also if the store does not answer."""
        try:
            places = partition_statuses(self._store, self._services_of, [])
            epoch = read_epoch(self._store) or STOPPED_EPOCH
        except OperationFailed as error:
            return [str(error)]
        return [problem for place in places for problem in self._problems(place, epoch)]

    def _problems(self, place: PartitionStatus, epoch: Epoch) -> Iterator[str]:
        names = ", ".join(place.fabrics)
        still_s = self._still_s(place, epoch)
        if place.lag_s > LAG_S_MAX:
            yield (
                f"the time of {names} is {place.lag_s:.0f} s of wall time behind the clock at × "
                f"{epoch.speed:g} (must be at most {LAG_S_MAX:.0f} s); reduce the speed, or find what "
                "delays it"
            )
        elif still_s > LAG_S_MAX:
            yield (
                f"the time of {names} has stood still for {still_s:.0f} s of wall time, but the clock "
                f"is not paused (must be at most {LAG_S_MAX:.0f} s)"
            )
        if place.waiting > WAITING_MAX or place.oldest_s > REQUEST_WAIT_S_MAX:
            yield (
                f"{place.waiting} requests of {names} wait, the oldest for {place.oldest_s:.0f} s (must be "
                f"at most {WAITING_MAX} and {REQUEST_WAIT_S_MAX:.0f} s); send fewer requests, or find what "
                "delays them"
            )

    def _still_s(self, place: PartitionStatus, epoch: Epoch) -> float:
        """How long the partition has made no progress; 0 while it need not."""
        reached_us, now_s = place.processed_us, self._wall_s()
        before_us, since_s = self._moved.get(place.partition, (None, now_s))
        if reached_us != before_us or epoch.state(reached_us, 0, 0.0).paused:
            self._moved[place.partition] = (reached_us, now_s)
            return 0.0
        return now_s - since_s


def historian_findings(rows: Sequence[ProcessState]) -> tuple[list[str], list[str]]:
    """The historians' findings, each with its process's name: errors in log or states, and problems of the
    historians themselves, which do not affect the twin."""
    wrong: list[str] = []
    notes: list[str] = []
    for row in rows:
        if row["alive"] and row["kind"] == HISTORIAN:
            for sentence in row["problems"]:
                target = wrong if sentence in row["extra"].get("wrong", ()) else notes
                target.append(f"{row['name']}: {sentence}")
    return wrong, notes


def standstill_reasons(
    store: RedisStore, services_of: ServiceNamesOf, rows: Sequence[ProcessState]
) -> list[str]:
    """Why simulated time stands still somewhere, in one sentence each."""
    reasons = []
    sequencers = [row for row in rows if row["kind"] == "sequencer" and row["alive"]]
    if not sequencers:
        reasons.append("no sequencer runs: simulated time stands still")
    for row in sequencers:
        reasons += [problem for problem in row["problems"] if problem not in reasons]
    for place in partition_statuses(store, services_of, rows):
        names = ", ".join(place.fabrics)
        for service in place.services:
            if service.stopped is not None:
                reasons.append(
                    f"{service.stopped}; `lightwave live skip {service.stopped_in}` skips the message; "
                    f"until then the time of {names} stands still"
                )
            elif service.holder is None:
                reasons.append(f"no worker of {service.service} serves {names}: its time stands still")
    return reasons
