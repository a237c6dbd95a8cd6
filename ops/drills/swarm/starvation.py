"""Starvation: slices wait although enough cubes are free for longer than `STARVED_US`.

It is read from the log alone, not from the scheduler's own reasons. Two cases count, in pods with OCSes:

- **in the queue**: the free cubes are enough for each of the waiting slices of the highest waiting tier, so
  for whichever of them is first in line, and none of them gets cubes.
- **interrupted**: a slice waits for another cube (not for a repair, and not on a way around), and a cube is
  free for each of its lost ones.

A cube is free if it is healthy, not drained, has no planned drain, and no slice has it. Cubes that the pod
keeps (`hot_spares`, and `hold_back_cubes` with `hold_back` fixed) do not count for the queue. Nothing counts
while an OCS makes no circuits, because circuits of whole cubes pass through all OCSes; while a multislice job
keeps cubes; while starts pause after failed preflights; or while `hold_back` is availability, which the log
does not state in cubes. Slices of multislice jobs, and slices that back off, do not wait for cubes.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from schemas.config.pods import AnyPodConfig
from schemas.envelope import Envelope
from schemas.messages.cubes import (
    CubeDrained,
    CubeHealthy,
    CubeUndrained,
    CubeUnhealthy,
    DrainPlanned,
    PlannedDrainCancelled,
)
from schemas.messages.failures import ParametersChanged
from schemas.messages.ocs import OcsDown, OcsFreed, OcsHeld, OcsUp
from schemas.messages.scheduler import (
    CubeSwapped,
    PodHeld,
    SliceAdmitted,
    SliceBackedOff,
    SliceCompleted,
    SliceDegraded,
    SliceEvicted,
    SlicePreflight,
    SliceRecovering,
    SliceRefused,
    SliceRequeued,
    SliceRestored,
    SliceStarted,
    StartsPaused,
    StartsResumed,
)
from schemas.messages.sequencer import FabricCommissioned
from schemas.messages.workload import SliceRequested
from schemas.names import Tier
from shared.basics.time_format import format_duration
from shared.basics.units import US_PER_HOUR
from shared.models.superpod.wiring import CUBE_SIDE

STARVED_US = US_PER_HOUR
"""A slice starves if it waits longer than this while enough cubes are free."""
TIERS: tuple[Tier, ...] = ("production", "research", "filler")
_WAITS_FOR_CUBES = (None, "swap", "spare", "evict")
"""Choices of an interrupted slice that need another cube, or none made yet."""
_RELEVANT = (
    *(CubeDrained, CubeHealthy, CubeUndrained, CubeUnhealthy, DrainPlanned, PlannedDrainCancelled),
    *(CubeSwapped, PodHeld, SliceAdmitted, SliceBackedOff, SliceCompleted, SliceDegraded, SliceEvicted),
    *(SlicePreflight, SliceRecovering, SliceRefused, SliceRequested, SliceRequeued, SliceRestored),
    *(SliceStarted, OcsDown, OcsFreed, OcsHeld, OcsUp, ParametersChanged, FabricCommissioned),
    *(StartsPaused, StartsResumed),
)


@dataclass
class _Wanted:
    """A slice that has not ended: its tier, the cubes that it needs, and those that it has."""

    tier: Tier
    need: int
    cubes: tuple[int, ...] = ()
    multislice: bool = False
    backs_off_until_us: int = 0


class StarvationChecker:
    """Follows one pod; reports each time of starvation once."""

    def __init__(self) -> None:
        self._config: AnyPodConfig | None = None
        self._reserve, self._is_known = 0, False
        self._slices: dict[str, _Wanted] = {}
        self._interrupted: dict[str, bool] = {}
        """Interrupted slice → whether its choice needs another cube."""
        self._unfit: dict[int, set[str]] = {}
        self._ocs_out: set[tuple[str, int]] = set()
        self._held_until_us = 0
        self._starts_pause = False
        self._since_us: dict[str, int] = {}
        """Case → since when it is true without a break."""
        self._sentences: dict[str, str] = {}
        self._reported: set[str] = set()

    def see(self, message: Envelope) -> Iterator[str]:
        yield from self._late(message.at_us)
        if not isinstance(message.body, _RELEVANT):
            return
        self._follow(message)
        if isinstance(message.body, SliceAdmitted):
            self._since_us = {case: since for case, since in self._since_us.items() if "queue" not in case}
        now = dict(self._cases(message.at_us))
        self._since_us = {case: self._since_us.get(case, message.at_us) for case in now}
        self._reported &= now.keys()
        self._sentences = now

    def _late(self, at_us: int) -> Iterator[str]:
        """The cases that are true for too long by now."""
        for case, since_us in self._since_us.items():
            if at_us - since_us > STARVED_US and case not in self._reported:
                self._reported.add(case)
                yield f"{self._sentences[case]} for more than {format_duration(STARVED_US)}"

    def _cases(self, at_us: int) -> Iterator[tuple[str, str]]:
        if not self._is_known or self._ocs_out or self._starts_pause or at_us < self._held_until_us:
            return
        free = self._free()
        waiting = [
            row
            for row in self._slices.values()
            if not row.cubes and not row.multislice and at_us >= row.backs_off_until_us
        ]
        for tier in TIERS:
            needs = [row.need for row in waiting if row.tier == tier]
            if needs:
                reserve = 0 if tier == "filler" else self._reserve
                if max(needs) <= free - reserve:
                    yield (
                        f"queue {tier}",
                        f"{tier} slices wait and get no cubes, although enough are free for each of them",
                    )
                break
        for name, needs_cube in self._interrupted.items():
            if needs_cube and free >= self._lost(name) > 0:
                yield (
                    f"interrupted {name}",
                    "an interrupted slice waits for another cube, and enough are free",
                )

    def _free(self) -> int:
        assert self._config is not None  # noqa: S101 -- only called for a known pod
        held = {cube for row in self._slices.values() for cube in row.cubes}
        unfit = {cube for cube, why in self._unfit.items() if why}
        return self._config.pod.cubes - len(held | unfit)

    def _lost(self, name: str) -> int:
        """The number of cubes of a slice that are out of use."""
        return sum(bool(self._unfit.get(cube)) for cube in self._slices[name].cubes)

    # --- what messages change ---------------------------------------------------------------------------

    def _follow(self, message: Envelope) -> None:
        body = message.body
        if isinstance(body, FabricCommissioned):
            if isinstance(body.config, AnyPodConfig) and body.config.pod_ocs is not None:
                self._set_config(body.config)
        elif isinstance(body, ParametersChanged):
            self._change(body)
        elif isinstance(body, OcsDown | OcsHeld):
            self._ocs_out.add(("down" if isinstance(body, OcsDown) else "held", body.ocs))
        elif isinstance(body, OcsUp | OcsFreed):
            self._ocs_out.discard(("down" if isinstance(body, OcsUp) else "held", body.ocs))
        elif isinstance(body, StartsPaused | StartsResumed):
            self._starts_pause = isinstance(body, StartsPaused)
        elif isinstance(body, PodHeld):
            self._held_until_us = max(self._held_until_us, body.until_us)
        elif not self._follow_cube(body):
            self._follow_slice(body)

    def _set_config(self, config: AnyPodConfig) -> None:
        self._config = config
        scheduler = config.scheduler
        held = scheduler.hold_back_cubes if scheduler.hold_back == "fixed" else 0
        self._reserve = scheduler.hot_spares + held
        self._is_known = scheduler.hold_back != "availability"

    def _change(self, body: ParametersChanged) -> None:
        changed = body.of("scheduler")
        if self._config is not None and changed:
            names = ("hot_spares", "hold_back", "hold_back_cubes")
            values = {name: changed[name] for name in names if name in changed}
            scheduler = self._config.scheduler.model_copy(update=values)
            self._set_config(self._config.model_copy(update={"scheduler": scheduler}))

    def _follow_cube(self, body: object) -> bool:
        """Whether the message is about the condition of a cube."""
        match body:
            case CubeUnhealthy(cube=cube):
                self._unfit.setdefault(cube, set()).add("unhealthy")
            case CubeHealthy(cube=cube):
                self._unfit.setdefault(cube, set()).discard("unhealthy")
            case CubeDrained(cube=cube):
                self._unfit.setdefault(cube, set()).add("drained")
                self._unfit[cube].discard("planned")
            case CubeUndrained(cube=cube):
                self._unfit.setdefault(cube, set()).discard("drained")
            case DrainPlanned(cube=cube):
                self._unfit.setdefault(cube, set()).add("planned")
            case PlannedDrainCancelled(cube=cube):
                self._unfit.setdefault(cube, set()).discard("planned")
            case _:
                return False
        return True

    def _follow_slice(self, body: object) -> None:
        match body:
            case SliceRequested(slice=name):
                need = 1
                for side in body.shape:
                    need *= -(-side // CUBE_SIDE)
                self._slices[name] = _Wanted(body.tier, need, multislice=body.multislice is not None)
            case SliceAdmitted(slice=name):
                self._slices[name].cubes = body.cubes
            case CubeSwapped(slice=name):
                row = self._slices[name]
                row.cubes = tuple(body.spare if cube == body.left else cube for cube in row.cubes)
                self._interrupted[name] = False
            case SliceRecovering(slice=name):
                self._interrupted[name] = body.choice in _WAITS_FOR_CUBES
            case SlicePreflight(slice=name) | SliceStarted(slice=name) | SliceRestored(slice=name):
                self._interrupted.pop(name, None)
            case SliceDegraded(slice=name):
                self._interrupted.pop(name, None)
            case SliceRequeued(slice=name):
                self._slices[name].cubes = ()
                self._interrupted.pop(name, None)
            case SliceBackedOff(slice=name):
                self._slices[name].backs_off_until_us = body.until_us
            case SliceCompleted(slice=name) | SliceEvicted(slice=name) | SliceRefused(slice=name):
                self._slices.pop(name, None)
                self._interrupted.pop(name, None)
