"""Slices and cubes: valid transitions, and exclusive allocation of cubes that were healthy."""

from collections import Counter
from collections.abc import Iterator
from typing import ClassVar

from schemas.config.parameter import ParameterValue
from schemas.config.pods import AnyPodConfig
from schemas.envelope import Envelope
from schemas.messages.cubes import CubeDrained, CubeHealthy, CubeUndrained, CubeUnhealthy
from schemas.messages.failures import ParametersChanged
from schemas.messages.scheduler import (
    ConnectCircuits,
    CubeSwapped,
    DisconnectCircuits,
    SliceAdmitted,
    SliceBackedOff,
    SliceCompleted,
    SliceDegraded,
    SliceEvicted,
    SliceNoticed,
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
from shared.basics.units import US_PER_S
from shared.models.superpod.wiring import CHIPS_PER_CUBE

HeldChips = dict[int, frozenset[int]]
"""Cube → its chips in use (0 … 63)."""

RUNNING = frozenset({"admitted", "preflight", "running", "degraded", "recovering", "moved"})
"""States of a slice that has cubes. `moved`: its cube was swapped before it reported how it continues."""


def chips_of_mesh(corner: tuple[int, int, int], shape: tuple[int, int, int]) -> frozenset[int]:
    """The chips of a cube that a mesh of this shape covers from its corner; chip number is 16·x + 4·y + z."""
    ranges = [range(c, c + s) for c, s in zip(corner, shape, strict=True)]
    return frozenset(16 * x + 4 * y + z for x in ranges[0] for y in ranges[1] for z in ranges[2])


def _cube_of(part: str) -> int | None:
    """The cube of a part; None for an OCS."""
    place = part.split("/")[1]
    return int(place.removeprefix("cube-")) if place.startswith("cube-") else None


class SliceChecker:
    """Every requested slice is in exactly one state, and makes only valid transitions.

    A stall may continue after a swap, because the slice may have lost a second cube; the slice reports when
    it continues. A slice starts once on its cubes; after a stall or a swap it is restored or degraded. If a
    slice's notice to leave is withdrawn, it is restored where it is, because its job has been stopped since
    its checkpoint.
    """

    NEXT: ClassVar[dict[type, tuple[frozenset[str], str]]] = {
        SliceAdmitted: (frozenset({"queued", "requeued"}), "admitted"),
        SlicePreflight: (frozenset({"admitted", "recovering", "moved"}), "preflight"),
        SliceStarted: (frozenset({"admitted", "preflight", "recovering", "moved"}), "running"),
        SliceDegraded: (RUNNING - {"admitted"}, "degraded"),
        SliceRestored: (frozenset({"preflight", "degraded", "recovering", "moved"}), "running"),
        SliceRecovering: (RUNNING, "recovering"),
        SliceRefused: (frozenset({"queued"}), "refused"),
        SliceCompleted: (RUNNING | {"requeued"}, "completed"),
        SliceRequeued: (RUNNING, "requeued"),
        SliceEvicted: (RUNNING | {"requeued"}, "evicted"),
    }

    def __init__(self) -> None:
        self.states: dict[str, str] = {}
        self._started: set[str] = set()
        self._noticed: set[str] = set()

    def see(self, message: Envelope) -> Iterator[str]:
        body = message.body
        if isinstance(body, SliceRequested):
            if body.slice in self.states:
                yield f"{body.slice} is requested twice"
            self.states[body.slice] = "queued"
        elif isinstance(body, CubeSwapped):
            state = self.states.get(body.slice, "unknown")
            if state not in RUNNING:
                yield f"{body.slice} was {state}"
            if state != "recovering":
                self.states[body.slice] = "moved"
            self._noticed.discard(body.slice)
        elif isinstance(body, SliceNoticed):
            self._noticed.add(body.slice)
        elif isinstance(body, SliceRestored) and self._check_keeps_state(body.slice):
            self._noticed.discard(body.slice)
        elif type(body) in self.NEXT:
            allowed, state = self.NEXT[type(body)]
            name = str(getattr(body, "slice", ""))
            if self.states.get(name, "unknown") not in allowed:
                yield f"{name} was {self.states.get(name, 'unknown')}"
            if isinstance(body, SliceStarted | SliceDegraded | SliceRestored):
                yield from self._check_transition(name, isinstance(body, SliceStarted))
            if isinstance(body, SliceRequeued):
                self._started.discard(name)
            if state not in ("running", "degraded"):
                self._noticed.discard(name)
            self.states[name] = state

    def _check_keeps_state(self, name: str) -> bool:
        return name in self._noticed and self.states.get(name) == "running"

    def _check_transition(self, name: str, starts: bool) -> Iterator[str]:
        if starts == (name in self._started):
            yield f"{name} starts twice" if starts else f"{name} never started"
        self._started.add(name)

    def counts(self) -> Counter[str]:
        """Number of slices by state; every slice that has cubes counts as running."""
        said = {"requeued": "queued"} | dict.fromkeys(RUNNING, "running")
        return Counter(said.get(state, state) for state in self.states.values())


class PreflightChecker:
    """A slice of whole cubes runs only after its links were checked for `scheduler.preflight_s`.

    The check is needed after it was admitted, got another cube that was not warm, or waited for a repair. A
    slice in preflight does not continue before the preflight is over.
    """

    def __init__(self) -> None:
        self._lasts_us = 0
        self._unchecked: set[str] = set()
        self._until_us: dict[str, int] = {}
        self._whole: set[str] = set()
        self._choices: dict[str, str | None] = {}

    def see(self, message: Envelope) -> Iterator[str]:
        body = message.body
        if isinstance(body, FabricCommissioned) and isinstance(body.config, AnyPodConfig):
            self._lasts_us = body.config.scheduler.preflight_s * US_PER_S
        elif isinstance(body, ParametersChanged):
            self._change(body.of("scheduler").get("preflight_s"))
        elif isinstance(body, SliceAdmitted):
            if body.corner is None and self._lasts_us:
                self._whole.add(body.slice)
                self._unchecked.add(body.slice)
        elif isinstance(body, SlicePreflight):
            lasts_us = body.until_us - message.at_us
            if not self._lasts_us:
                yield f"{body.slice} is in preflight, but preflights are off"
            elif lasts_us != self._lasts_us:
                yield f"the preflight of {body.slice} takes {lasts_us} us, not {self._lasts_us}"
            self._until_us[body.slice] = body.until_us
        elif isinstance(body, SliceRecovering | CubeSwapped):
            self._hit(body, message.at_us)
        elif isinstance(body, SliceStarted | SliceDegraded | SliceRestored):
            if body.slice in self._unchecked and body.slice not in self._until_us:
                yield f"{body.slice} continues without a preflight"
            if message.at_us < self._until_us.get(body.slice, 0):
                yield f"{body.slice} continues before its preflight ends"
            self._forget(body.slice)
        elif isinstance(body, SliceCompleted | SliceRequeued | SliceEvicted):
            self._forget(body.slice)
            self._whole.discard(body.slice)

    def _change(self, preflight_s: ParameterValue) -> None:
        """If preflights are turned off, no slice needs one; those in progress end as planned."""
        if isinstance(preflight_s, int):
            self._lasts_us = preflight_s * US_PER_S
            if not preflight_s:
                self._unchecked.clear()
                self._whole.clear()

    def _hit(self, body: SliceRecovering | CubeSwapped, at_us: int) -> None:
        """Forget an unfinished preflight, and one that finished before the slice got other cubes."""
        name = body.slice
        if self._until_us.pop(name, at_us + 1) <= at_us:
            self._unchecked.discard(name)
        if isinstance(body, SliceRecovering):
            self._choices[name] = body.choice
        choice = self._choices.get(name)
        is_new = choice != "spare" if isinstance(body, CubeSwapped) else choice == "wait"
        if is_new and name in self._whole:
            self._unchecked.add(name)

    def _forget(self, name: str) -> None:
        self._unchecked.discard(name)
        self._until_us.pop(name, None)
        self._choices.pop(name, None)


class BackOffChecker:
    """A slice that backs off after failed preflights has no cubes, and gets none before the back-off ends, or
    starts resume.

    The back-off lasts at least `scheduler.preflight_backoff_s` and at most the maximum."""

    def __init__(self) -> None:
        self._bounds_us = (0, 0)
        self._until_us: dict[str, int] = {}
        self._requeued: set[str] = set()

    def see(self, message: Envelope) -> Iterator[str]:
        body = message.body
        if isinstance(body, FabricCommissioned) and isinstance(body.config, AnyPodConfig):
            config = body.config.scheduler
            least_s = config.preflight_backoff_s
            most_s = max(least_s, config.preflight_backoff_max_s)
            self._bounds_us = (least_s * US_PER_S, most_s * US_PER_S)
        elif isinstance(body, SliceRequeued):
            self._requeued.add(body.slice)
        elif isinstance(body, SliceBackedOff):
            least_us, most_us = self._bounds_us
            lasts_us = body.until_us - message.at_us
            if body.slice not in self._requeued:
                yield f"{body.slice} backs off, but is not in the queue"
            if not least_us <= lasts_us <= most_us:
                yield f"{body.slice} backs off for {lasts_us} us, not {least_us} to {most_us}"
            self._until_us[body.slice] = body.until_us
        elif isinstance(body, SliceAdmitted):
            self._requeued.discard(body.slice)
            until_us = self._until_us.pop(body.slice, 0)
            if message.at_us < until_us:
                yield f"{body.slice} gets cubes, but backs off until {until_us}"
        elif isinstance(body, SliceCompleted | SliceEvicted):
            self._requeued.discard(body.slice)
            self._until_us.pop(body.slice, None)
        elif isinstance(body, StartsResumed):
            self._until_us.clear()


class StartPauseChecker:
    """While starts pause, no slice of whole cubes gets cubes, except those of multislice jobs, which may hold
    some already. Pauses double from `scheduler.preflight_backoff_s` to the maximum; a repair shortens one."""

    def __init__(self) -> None:
        self._bounds_us = (0, 0)
        self._lasts_us = 0
        """Length of the next pause."""
        self._until_us = 0
        self._is_paused = False
        self._multislice: set[str] = set()

    def see(self, message: Envelope) -> Iterator[str]:
        body = message.body
        if isinstance(body, FabricCommissioned) and isinstance(body.config, AnyPodConfig):
            config = body.config.scheduler
            least_us = config.preflight_backoff_s * US_PER_S
            self._bounds_us = (least_us, max(least_us, config.preflight_backoff_max_s * US_PER_S))
            self._lasts_us = least_us
        elif isinstance(body, SliceRequested) and body.multislice is not None:
            self._multislice.add(body.slice)
        elif isinstance(body, StartsPaused):
            yield from self._pause(body.until_us, message.at_us)
        elif isinstance(body, StartsResumed):
            if not self._is_paused:
                yield f"starts resume with {body.slice}, but were not paused"
            self._is_paused, self._until_us, self._lasts_us = False, 0, self._bounds_us[0]
        elif isinstance(body, SliceAdmitted):
            is_free = body.corner is not None or body.slice in self._multislice
            if message.at_us < self._until_us and not is_free:
                yield f"{body.slice} gets cubes, but starts pause until {self._until_us}"

    def _pause(self, until_us: int, at_us: int) -> Iterator[str]:
        if at_us < self._until_us:  # a repair
            if not at_us <= until_us < self._until_us:
                yield f"a pause of starts until {self._until_us} changes to {until_us}, which is not sooner"
        else:
            if until_us - at_us != self._lasts_us:
                yield f"starts pause for {until_us - at_us} us, not {self._lasts_us}"
            self._lasts_us = min(2 * self._lasts_us, self._bounds_us[1])
        self._is_paused, self._until_us = True, until_us


class CubeChecker:
    """No chip is allocated twice; an allocated cube was healthy and undrained at the start of the cascade."""

    def __init__(self) -> None:
        self._held: dict[str, HeldChips] = {}
        self._shape: dict[str, tuple[int, int, int]] = {}
        self._holder: dict[tuple[int, int], str] = {}
        self._unfit: dict[int, set[str]] = {}
        self._unfit_at_root: dict[int, set[str]] = {}
        self._cubes = 0

    def see(self, message: Envelope) -> Iterator[str]:
        body = message.body
        if message.cause is None:
            self._unfit_at_root = {cube: set(why) for cube, why in self._unfit.items() if why}
        if isinstance(body, FabricCommissioned) and isinstance(body.config, AnyPodConfig):
            self._cubes = body.config.pod.cubes
        elif isinstance(body, CubeUnhealthy | CubeDrained):
            why = "unhealthy" if isinstance(body, CubeUnhealthy) else "drained"
            self._unfit.setdefault(body.cube, set()).add(why)
        elif isinstance(body, CubeHealthy | CubeUndrained):
            why = "unhealthy" if isinstance(body, CubeHealthy) else "drained"
            self._unfit.setdefault(body.cube, set()).discard(why)
            self._unfit_at_root.get(body.cube, set()).discard(why)
        elif isinstance(body, SliceAdmitted):
            self._shape[body.slice] = body.shape
            for cube in body.cubes:
                yield from self._give(body.slice, cube, body.corner)
        elif isinstance(body, SliceRecovering):
            hit = _cube_of(body.part)
            if hit is not None and hit not in self._held.get(body.slice, {}):
                yield f"{body.slice} is hit by cube {hit}, which it does not have"
        elif isinstance(body, CubeSwapped):
            if body.left not in self._held.get(body.slice, {}):
                yield f"{body.slice} leaves cube {body.left}, which it does not have"
            self._take(body.slice, body.left)
            yield from self._give(body.slice, body.spare, body.corner)
        elif isinstance(body, SliceCompleted | SliceEvicted | SliceRequeued):
            for cube in list(self._held.pop(body.slice, {})):
                self._free(body.slice, cube)
            self._held.pop(body.slice, None)

    def _give(self, name: str, cube: int, corner: tuple[int, int, int] | None) -> Iterator[str]:
        if not 0 <= cube < self._cubes:
            yield f"cube {cube} is not in the pod"
        for why in sorted(self._unfit_at_root.get(cube, set()) & self._unfit.get(cube, set())):
            yield f"cube {cube} was {why} when it was allocated to {name}"
        whole = frozenset(range(CHIPS_PER_CUBE))
        chips = whole if corner is None else chips_of_mesh(corner, self._shape[name])
        for chip in sorted(chips):
            other = self._holder.get((cube, chip))
            if other is not None:
                yield f"chip {chip} of cube {cube} is allocated to both {other} and {name}"
                return
            self._holder[cube, chip] = name
        self._held.setdefault(name, {})[cube] = chips

    def _take(self, name: str, cube: int) -> None:
        self._free(name, cube)
        self._held.get(name, {}).pop(cube, None)

    def _free(self, name: str, cube: int) -> None:
        for chip in range(CHIPS_PER_CUBE):
            if self._holder.get((cube, chip)) == name:
                del self._holder[cube, chip]


# Static pods: fibres join neighbours only, so a slice of several cubes is a box of adjacent ones.

SIDE = 4
"""Cubes along each dimension of the grid, which is a torus; cubes are numbered x-major."""


class StaticPodSliceChecker:
    """Follows the placement of slices in a pod without OCSes. Idle for any other kind of fabric."""

    def __init__(self) -> None:
        self._is_static = False
        self._cubes: dict[str, int] = {}
        """Slice → number of its cubes."""

    def see(self, message: Envelope) -> Iterator[str]:
        body = message.body
        if isinstance(body, FabricCommissioned):
            self._is_static = isinstance(body.config, AnyPodConfig) and body.config.pod_ocs is None
        elif not self._is_static:
            return
        elif isinstance(body, SliceAdmitted):
            self._cubes[body.slice] = len(body.cubes)
            if len(body.cubes) > 1:
                yield from self._lie(body)
        elif isinstance(body, CubeSwapped):
            if self._cubes.get(body.slice) != 1:
                yield f"{body.slice} has {self._cubes.get(body.slice)} cubes, but leaves cube {body.left}"
        elif isinstance(body, ConnectCircuits | DisconnectCircuits):
            yield f"{body.slice} commands circuits in a pod without OCSes"

    def _lie(self, body: SliceAdmitted) -> Iterator[str]:
        """Check the placement of a slice.

        Along each dimension of the slice, its cubes must be adjacent along one dimension of the grid, and
        each dimension of the slice must use a different one.
        """
        wanted = [side // SIDE for side in body.shape]
        if body.twisted:
            yield f"{body.slice} is twisted on fixed fibres"
        if wanted[0] * wanted[1] * wanted[2] != len(set(body.cubes)):
            yield f"{body.slice} has cubes {body.cubes}, but its shape needs {wanted}"
            return
        places = [(cube // (SIDE * SIDE), cube // SIDE % SIDE, cube % SIDE) for cube in body.cubes]
        used = set()
        for own, stride in enumerate((wanted[1] * wanted[2], wanted[2], 1)):
            steps = {
                tuple((b - a) % SIDE for a, b in zip(places[n], places[n + stride], strict=True))
                for n in range(len(places) - stride)
                if n // stride % wanted[own] + 1 < wanted[own]
            }
            if not steps:
                continue
            used |= steps
            if len(steps) > 1 or sorted(next(iter(steps))) != [0, 0, 1]:
                yield f"{body.slice} is on {body.cubes}, which are not a box of adjacent cubes"
                return
        if len(used) != sum(side > 1 for side in wanted):
            yield f"{body.slice} is on {body.cubes}, with two of its dimensions along one of the grid"
