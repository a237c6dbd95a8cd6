"""Where waiting slices fit at one moment, each shape looked up once, however many of it wait."""

from schemas.names import Shape
from services.scheduler.placement.holdback import held_back
from services.scheduler.queue.preemption import always_preemptable
from services.scheduler.state import SchedulerState, occupancy_of, placed_slices
from services.scheduler.structures.occupancy import Occupancy
from services.scheduler.structures.pod_placement import ALL_CUBES, Fit, PodPlacement, VictimNumbers
from shared.models.superpod.shapes import cubes_of, is_mesh

FitWithVictims = tuple[Fit, VictimNumbers]
"""(where a slice fits, the slices that have to leave before it does)."""


class FitFinder:
    """Where slices fit on the snapshot of one decision. `held_back` cubes are left to others."""

    def __init__(self, state: SchedulerState) -> None:
        self._placement: PodPlacement = state.placement
        self._occupancy: Occupancy = occupancy_of(state)
        self._passing: dict[Shape, FitWithVictims | None] = {}
        self.held = placed_slices(state)
        """The slices that have cubes, by number."""
        self.fillers = always_preemptable(state, self.held)
        """Who makes room for everybody firm → what that costs."""
        self.held_back = held_back(state)
        self._loose = self._loose_cubes()

    def with_preemption(self, shape: Shape, lost: dict[int, int]) -> FitWithVictims | None:
        """On idle cubes; else on theirs who lose least by it. What is to be held back is left over."""
        if not self._are_enough(shape, lost):
            return None
        whole = cubes_of(shape) + self.held_back <= len(self._loose)
        room = self._placement.find_fit(self._occupancy, shape, whole_cubes=whole)
        if room is not None and self._leaves_enough((room, ())):
            return room, ()
        if not lost:
            return None
        forced = self._placement.fit_by_preemption(self._occupancy, shape, lost, spare=self.held_back)
        if forced is not None and is_mesh(shape) and not self._leaves_enough(forced):
            # The cheapest place is in a cube that is to be left over; beside others there may be one yet.
            beside = ALL_CUBES ^ sum([1 << cube for cube in self._loose])
            forced = self._placement.fit_by_preemption(self._occupancy, shape, lost, among=beside)
        return forced if forced is not None and self._leaves_enough(forced) else None

    def for_backfill(self, shape: Shape) -> FitWithVictims | None:
        """On idle cubes or those of filler: whoever is not the first in line makes nobody else leave."""
        if shape not in self._passing:
            self._passing[shape] = self.with_preemption(shape, self.fillers)
        return self._passing[shape]

    def on_filler_cubes(self, shape: Shape, among: int) -> FitWithVictims | None:
        """As `for_passing`, on whole cubes of a set only, given as a bit mask."""
        return self._placement.fit_by_preemption(self._occupancy, shape, self.fillers, among=among)

    def _are_enough(self, shape: Shape, lost: dict[int, int]) -> bool:
        """Whether there are as many whole cubes as a slice needs once all of these have left."""
        needed = cubes_of(shape) + self.held_back
        if is_mesh(shape) or needed <= len(self._loose):
            return True
        more = lost.keys() - self.fillers.keys()
        return bool(more) and needed <= len(self._loose.union(self._occupancy.cubes_freed_by(lost)))

    def _loose_cubes(self) -> set[int]:
        """The cubes that are idle, or would be if all filler left."""
        return {*self._occupancy.idle, *self._occupancy.cubes_freed_by(self.fillers)}

    def _leaves_enough(self, forced: FitWithVictims) -> bool:
        """Whether what is to be held back is left over; a mesh beside others takes nothing of that."""
        if not self.held_back:
            return True
        (cubes, _), leavers = forced
        occupancy, gone = self._occupancy, self.fillers.keys() | set(leavers)
        loose = self._loose.union(occupancy.cubes_freed_by(gone))
        return not loose & set(cubes) or len(loose - set(cubes)) >= self.held_back
