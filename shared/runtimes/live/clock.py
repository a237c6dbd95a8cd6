"""The simulated clock of a live twin: an epoch in Redis that every process reads, by Redis's own wall clock.

Whoever changes the clock anchors it anew at the time that has been processed, so a lag is forgiven and never
made up in a jump.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from shared.basics.errors import NotFound
from shared.basics.units import US_PER_S
from shared.runtimes.clock import ClockState, check_speed
from shared.storage.redis_store import RedisStore
from shared.storage.residents import NamesOf, SiteClock, awaited, residents, site_clocks

CLOCK = "clock"
BEAT_US_MAX = 10 * US_PER_S
"""A clock that no sequencer has kept for longer stood still meanwhile."""


@dataclass(frozen=True, slots=True)
class Epoch:
    """Simulated time is `anchor_us` at the wall time `wall_us`, and goes on at `speed`."""

    anchor_us: int
    wall_us: int
    speed: float
    paused: bool

    def clock_us(self, wall_us: int) -> int:
        """Simulated time that this wall time asks for."""
        if self.paused:
            return self.anchor_us
        return self.anchor_us + max(0, int((wall_us - self.wall_us) * self.speed))

    def wall_s_until(self, sim_us: int, wall_us: int) -> float:
        """Wall seconds from this wall time until the clock reaches a simulated time; infinite if paused."""
        if self.paused:
            return math.inf
        return max(0.0, (sim_us - self.clock_us(wall_us)) / (self.speed * US_PER_S))


STOPPED = Epoch(0, 0, 1.0, paused=True)
"""Where Redis holds no clock: time stands still wherever it is."""


def read_epoch(store: RedisStore) -> Epoch | None:
    """The clock as it was last asked for; None if the store holds none."""
    notes = store.read_globals(CLOCK)
    if "speed" not in notes:
        return None
    paused = notes["paused"] == "1"
    return Epoch(int(notes["anchor_us"]), int(notes["wall_us"]), float(notes["speed"]), paused)


def write_epoch(store: RedisStore, epoch: Epoch) -> None:
    """Set the clock for every process."""
    fields = {
        "anchor_us": str(epoch.anchor_us),
        "wall_us": str(epoch.wall_us),
        "speed": repr(epoch.speed),
        "paused": "1" if epoch.paused else "0",
        "beat_us": str(epoch.wall_us),
    }
    store.set_globals(CLOCK, fields)


def keep_beating(store: RedisStore) -> None:
    """Note that a sequencer keeps the clock."""
    store.set_globals(CLOCK, {"beat_us": str(store.wall_us())})


def stood_still(store: RedisStore) -> bool:
    """Whether no sequencer has kept the clock of late."""
    beat_us = store.read_globals(CLOCK).get("beat_us")
    return beat_us is not None and store.wall_us() - int(beat_us) > BEAT_US_MAX


def processed_us(sites: Iterable[SiteClock], clock_us: int, *, quiet: bool) -> int:
    """Simulated time up to which everything has been done in every site of a partition."""
    if not quiet:
        return min([clock_us, *(site.now_us for site in sites)])
    dues = (site.due.due_us for site in sites if site.due is not None)
    return min([clock_us, *(due_us for due_us in dues if due_us is not None)])


class LiveClock:
    """A `shared.runtimes.clock.Clock` over the epoch in Redis. `held` gives the speed held as the sequencer
    measures it; `services_of` says which services each kind of fabric has."""

    def __init__(self, store: RedisStore, services_of: NamesOf, held: Callable[[], float]) -> None:
        self._store = store
        self._services_of = services_of
        self._held = held

    def show(self) -> ClockState:
        """One reading; without a clock in the store time stands still where the fabrics have come to."""
        epoch = read_epoch(self._store) or STOPPED
        asked_us = epoch.clock_us(self._store.wall_us())
        now_us = self._processed_us(asked_us) if epoch is not STOPPED else self._come_to_us()
        return ClockState(
            now_us=now_us,
            speed=epoch.speed,
            paused=epoch.paused,
            achieved_speed=0.0 if epoch.paused else self._held(),
            lag_us=max(0, asked_us - now_us),
        )

    def pause(self) -> None:
        self._change(paused=True)

    def resume(self) -> None:
        self._change(paused=False)

    def set_speed(self, speed: float) -> None:
        self._change(speed=check_speed(speed))

    def anchor(self) -> None:
        """Go on from the time that has been processed, as if no wall time had passed since."""
        self._change()

    def start(self, speed: float, *, paused: bool) -> None:
        """Set a clock where the store holds none, at the time that all fabrics have come to: none of them
        advances while it is paused."""
        sites = [site for partition in self._partitions() for site in self._sites(partition)]
        now_us = min((site.now_us for site in sites), default=0)
        write_epoch(self._store, Epoch(now_us, self._store.wall_us(), check_speed(speed), paused))

    def _change(self, *, speed: float | None = None, paused: bool | None = None) -> None:
        epoch = read_epoch(self._store)
        if epoch is None:
            raise NotFound("clock: this Redis holds no twin; `lightwave live rebuild` makes it from the log")
        wall_us = self._store.wall_us()
        anchor_us = self._processed_us(epoch.clock_us(wall_us))
        new_speed = epoch.speed if speed is None else speed
        write_epoch(
            self._store, Epoch(anchor_us, wall_us, new_speed, epoch.paused if paused is None else paused)
        )

    def _processed_us(self, clock_us: int) -> int:
        times = [clock_us]
        for partition in self._partitions():
            snapshot = self._store.snapshot(partition, [])
            living = residents(snapshot.values)
            at_end = int(snapshot.values.get("end", 0))
            stand = (snapshot.positions.get(name, 0) for name in awaited(living, self._services_of))
            quiet = all(position == at_end for position in stand) and not snapshot.outbox_size
            sites = site_clocks(living, snapshot.progress).values()
            times.append(processed_us(sites, clock_us, quiet=quiet))
        return min(times)

    def _come_to_us(self) -> int:
        sites = [site for partition in self._partitions() for site in self._sites(partition)]
        return max((site.now_us for site in sites), default=0)

    def _sites(self, partition: int) -> list[SiteClock]:
        snapshot = self._store.snapshot(partition, [])
        return list(site_clocks(residents(snapshot.values), snapshot.progress).values())

    def _partitions(self) -> list[int]:
        return sorted({place.partition for place in self._store.fabrics().values()})
