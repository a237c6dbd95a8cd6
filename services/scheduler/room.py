"""Where waiting slices fit at one moment, each shape looked up once, however many of it wait."""

from schemas.names import Shape
from services.scheduler.occupancy import Occupancy
from services.scheduler.placement import Leavers, Placement, Room
from services.scheduler.preemption import evictable
from services.scheduler.state import SchedulerState, occupancy_of
from shared.models.superpod.shapes import cubes_of

Forced = tuple[Room, Leavers]
"""(where a slice fits, the slices that have to leave before it does)."""


class Rooms:
    """Where slices fit on the snapshot of one decision. `held_back` cubes are left to others."""

    def __init__(self, state: SchedulerState) -> None:
        self._state = state
        self._placement: Placement = state.placement
        self._occupancy: Occupancy = occupancy_of(state)
        self._passing: dict[Shape, Forced | None] = {}
        self.fillers = evictable(state, None)
        """Who makes room for everybody firm → what that costs."""
        self._most = self._cubes_for_passing()
        self.held_back = 0

    def now(self, shape: Shape) -> Room | None:
        """On cubes that are idle."""
        return self._placement.room_for(self._occupancy, shape, whole_cubes=True)

    def by_force(self, shape: Shape, lost: dict[int, int]) -> Forced | None:
        """On idle cubes; else on theirs who lose least by it."""
        room = self.now(shape)
        if room is not None:
            return room, ()
        return self._placement.room_by_force(self._occupancy, shape, lost) if lost else None

    def for_passing(self, shape: Shape) -> Forced | None:
        """On idle cubes or those of filler: whoever is not the first in line makes nobody else leave."""
        if shape not in self._passing:
            fits = cubes_of(shape) <= self._most
            self._passing[shape] = self.by_force(shape, self.fillers) if fits else None
        return self._passing[shape]

    def by_filler(self, shape: Shape, among: int) -> Forced | None:
        """As `for_passing`, on whole cubes of a set only, given as a bit mask."""
        return self._placement.room_by_force(self._occupancy, shape, self.fillers, among)

    def _cubes_for_passing(self) -> int:
        """How many cubes are idle, or might be if all filler left."""
        occupancy = self._occupancy
        theirs = [any(map(self.fillers.__contains__, holders)) for holders in occupancy.holders]
        return len(occupancy.idle) + sum(theirs)
