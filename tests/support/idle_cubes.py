"""An independent judge of waits: from the messages of a pod alone, which cubes are idle and usable, which
slices wait, and for how long all that wait would have fitted.

It uses no state and no rule of the scheduler, only the log and four rules of docs/explanation/scheduler.md.
Idle cubes fit any slice of a superpod by their number. Warm spares and cubes that are held back stay free. A
slice that backs off gets none. While an OCS is down or held for work, slices of whole cubes may wait for it,
and while starts pause, for the end of the pause.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from schemas.config.pods import SuperpodConfig
from schemas.envelope import Envelope
from schemas.messages.cubes import (
    CubeDrained,
    CubeHealthy,
    CubeUndrained,
    CubeUnhealthy,
    DrainPlanned,
    PlannedDrainCancelled,
)
from schemas.messages.jobs import JobFailed
from schemas.messages.ocs import OcsDown, OcsFreed, OcsHeld, OcsUp
from schemas.messages.scheduler import (
    CubeSwapped,
    SliceAdmitted,
    SliceBackedOff,
    SliceCompleted,
    SliceEvicted,
    SliceRefused,
    SliceRequeued,
    SliceStarted,
    StartsPaused,
    StartsResumed,
)
from schemas.messages.workload import SliceRequested
from schemas.names import number_of
from shared.basics.units import US_PER_MIN

CHIPS_OF_A_CUBE = 64
SUSPECTED_US = 5 * US_PER_MIN
"""How long a cube may be unusable after a job blamed a part of it, before monitoring clears it."""
IDLE_US_MAX = 10 * US_PER_MIN
"""How long a slice may wait for notice and decision periods (2.5 minutes) although it fits by count."""


@dataclass(frozen=True, slots=True)
class IdleWhileWaiting:
    """All waiting slices would have fitted on idle cubes from `since_us` to `until_us`."""

    since_us: int
    until_us: int
    waiting: tuple[str, ...]
    idle: tuple[int, ...]


@dataclass
class IdleCubes:
    """Reads a pod's messages from its commissioning on; `found` has the times at which it was idle in vain.

    With `ignores_ocs`, also while an OCS is down or held."""

    config: SuperpodConfig
    ignores_ocs: bool = False
    found: list[IdleWhileWaiting] = field(default_factory=list)
    waits_us: dict[str, int] = field(default_factory=dict)
    """Started slice → time from its request to its first start."""
    waiting_us: dict[str, int] = field(default_factory=dict)
    """Slice that has not started → when it was requested."""
    _unusable: set[tuple[str, int]] = field(default_factory=set)
    _suspected: dict[int, int] = field(default_factory=dict)
    _without_ocs: set[tuple[str, int]] = field(default_factory=set)
    _cubes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    _chips: dict[str, int] = field(default_factory=dict)
    """Slice of production or research that has not ended → its chips."""
    _queued: dict[str, int] = field(default_factory=dict)
    """Those that wait for cubes → until when they back off."""
    _since: IdleWhileWaiting | None = None
    _starts_pause: bool = False

    def see(self, cascade: Iterable[Envelope]) -> None:
        """Take a root message and all that follows from it."""
        messages = [*cascade]
        at_us = messages[0].at_us
        self.close(at_us)
        for message in messages:
            self._see_part(message)
            self._see_slice(message)
        waiting, idle = self._in_vain(at_us)
        if not waiting:
            self._since = None
        elif self._since is None:
            self._since = IdleWhileWaiting(at_us, at_us, waiting, idle)

    def close(self, at_us: int) -> None:
        """Note that nothing happened until this time."""
        if self._since is not None and at_us - self._since.since_us > IDLE_US_MAX:
            one = self._since
            if self.found and self.found[-1].since_us == one.since_us:
                self.found.pop()
            self.found.append(IdleWhileWaiting(one.since_us, at_us, one.waiting, one.idle))

    def _in_vain(self, at_us: int) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """(slices that wait, idle cubes) if every slice that may get cubes fits; else nothing."""
        taken = {cube for cubes in self._cubes.values() for cube in cubes}
        taken |= {cube for _, cube in self._unusable}
        taken |= {cube for cube, until_us in self._suspected.items() if until_us > at_us}
        idle = tuple(cube for cube in range(self.config.pod.cubes) if cube not in taken)
        scheduler = self.config.scheduler
        kept = scheduler.hot_spares
        kept += scheduler.hold_back_cubes if scheduler.hold_back == "fixed" else 0
        may = [name for name, until_us in self._queued.items() if until_us <= at_us]
        if self._without_ocs and not self.ignores_ocs and any(self._chips[n] >= CHIPS_OF_A_CUBE for n in may):
            return (), ()  # such a slice waits for the OCS, or as the first in line for more cubes: unknown
        if self._starts_pause and any(self._chips[name] >= CHIPS_OF_A_CUBE for name in may):
            return (), ()
        need = max((-(-self._chips[name] // CHIPS_OF_A_CUBE) for name in may), default=0)
        return (tuple(may), idle) if may and need <= len(idle) - kept else ((), ())

    def _see_part(self, message: Envelope) -> None:
        match message.body:
            case CubeUnhealthy(cube=cube):
                self._unusable.add(("unhealthy", cube))
            case CubeHealthy(cube=cube):
                self._unusable.discard(("unhealthy", cube))
                self._suspected.pop(cube, None)
            case CubeDrained(cube=cube):
                self._unusable.discard(("planned", cube))
                self._unusable.add(("drained", cube))
            case CubeUndrained(cube=cube):
                self._unusable.discard(("drained", cube))
            case DrainPlanned(cube=cube):
                self._unusable.add(("planned", cube))
            case PlannedDrainCancelled(cube=cube):
                self._unusable.discard(("planned", cube))
            case JobFailed(part=part):
                cube = number_of(part.removeprefix(f"{message.fabric}/").split("/")[0])
                self._suspected[cube] = message.at_us + SUSPECTED_US
            case OcsDown(ocs=ocs):
                self._without_ocs.add(("down", ocs))
            case OcsUp(ocs=ocs):
                self._without_ocs.discard(("down", ocs))
            case OcsHeld(ocs=ocs):
                self._without_ocs.add(("held", ocs))
            case OcsFreed(ocs=ocs):
                self._without_ocs.discard(("held", ocs))
            case StartsPaused():
                self._starts_pause = True
            case StartsResumed():
                self._starts_pause = False

    def _see_slice(self, message: Envelope) -> None:
        match message.body:
            case SliceRequested(slice=name):
                self.waiting_us[name] = message.at_us
                if message.body.tier != "filler":
                    x, y, z = message.body.shape
                    self._chips[name], self._queued[name] = x * y * z, 0
            case SliceAdmitted(slice=name, cubes=cubes):
                self._cubes[name] = cubes
                self._queued.pop(name, None)
            case SliceStarted(slice=name) if name in self.waiting_us:
                self.waits_us[name] = message.at_us - self.waiting_us.pop(name)
            case CubeSwapped(slice=name, left=left, spare=spare):
                self._cubes[name] = tuple(spare if cube == left else cube for cube in self._cubes[name])
            case SliceRequeued(slice=name):
                self._cubes.pop(name, None)
                if name in self._chips:
                    self._queued.setdefault(name, 0)
            case SliceBackedOff(slice=name, until_us=until_us):
                self._cubes.pop(name, None)
                if name in self._chips:
                    self._queued[name] = until_us
            case SliceCompleted(slice=name) | SliceEvicted(slice=name) | SliceRefused(slice=name):
                for rows in (self._cubes, self._chips, self._queued, self.waiting_us):
                    rows.pop(name, None)
