"""Finds cubes for waiting slices at one time; each shape is looked up only once."""

from schemas.names import Shape
from services.scheduler.placement.holdback import held_back
from services.scheduler.queue.preemption import always_preemptable
from services.scheduler.state import SchedulerState, occupancy_of, placed_slices
from services.scheduler.structures.occupancy import Occupancy
from services.scheduler.structures.pod_placement import ALL_CUBES, Fit, PodPlacement, VictimNumbers
from shared.models.superpod.shapes import cubes_of, is_mesh

FitWithVictims = tuple[Fit, VictimNumbers]
"""(where a slice fits, the slices that must leave first)."""


class FitFinder:
    """Finds cubes for slices in the current state. `held_back` cubes stay free for other slices."""

    def __init__(self, state: SchedulerState) -> None:
        self._placement: PodPlacement = state.placement
        self._occupancy: Occupancy = occupancy_of(state)
        self._backfill_fits: dict[Shape, FitWithVictims | None] = {}
        self.held = placed_slices(state)
        """The slices that have cubes, by number."""
        self.fillers = always_preemptable(state, self.held)
        """Slices that make room for any firm slice → what that costs."""
        self.held_back = held_back(state)
        self._loose = self._loose_cubes()

    def with_preemption(self, shape: Shape, lost: dict[int, int]) -> FitWithVictims | None:
        """A fit on idle cubes, else on the cubes of the slices that lose least. The cubes to hold back stay
        free."""
        if not self._are_enough(shape, lost):
            return None
        whole = cubes_of(shape) + self.held_back <= len(self._loose)
        fit_now = self._placement.find_fit(self._occupancy, shape, whole_cubes=whole)
        if fit_now is not None and self._leaves_enough((fit_now, ())):
            return fit_now, ()
        if not lost:
            return None
        fit = self._placement.fit_by_preemption(self._occupancy, shape, lost, spare=self.held_back)
        if fit is not None and is_mesh(shape) and not self._leaves_enough(fit):
            # The cheapest block is in a cube to hold back. There may be another block next to other meshes.
            partly_used = ALL_CUBES ^ sum([1 << cube for cube in self._loose])
            fit = self._placement.fit_by_preemption(self._occupancy, shape, lost, among=partly_used)
        return fit if fit is not None and self._leaves_enough(fit) else None

    def for_backfill(self, shape: Shape) -> FitWithVictims | None:
        """A fit on idle cubes or filler cubes. A slice that is not first in line may preempt only filler."""
        if shape not in self._backfill_fits:
            self._backfill_fits[shape] = self.with_preemption(shape, self.fillers)
        return self._backfill_fits[shape]

    def on_filler_cubes(self, shape: Shape, among: int) -> FitWithVictims | None:
        """As `for_backfill`, but only on whole cubes of the set `among`, a bit mask."""
        return self._placement.fit_by_preemption(self._occupancy, shape, self.fillers, among=among)

    def _are_enough(self, shape: Shape, lost: dict[int, int]) -> bool:
        """Whether there are enough whole cubes for a slice once all of these have left."""
        needed = cubes_of(shape) + self.held_back
        if is_mesh(shape) or needed <= len(self._loose):
            return True
        if lost is self.fillers:
            return False  # the loose cubes are those of the fillers already
        firm_victims = lost.keys() - self.fillers.keys()
        return bool(firm_victims) and needed <= len(self._loose.union(self._occupancy.cubes_freed_by(lost)))

    def _loose_cubes(self) -> set[int]:
        """The cubes that are idle, or would be if all filler left."""
        return {*self._occupancy.idle, *self._occupancy.cubes_freed_by(self.fillers)}

    def _leaves_enough(self, fit: FitWithVictims) -> bool:
        """Whether the cubes to hold back stay free. A mesh next to other slices does not reduce them."""
        if not self.held_back:
            return True
        (cubes, _), leavers = fit
        occupancy, gone = self._occupancy, self.fillers.keys() | set(leavers)
        loose = self._loose.union(occupancy.cubes_freed_by(gone))
        return not loose & set(cubes) or len(loose - set(cubes)) >= self.held_back
