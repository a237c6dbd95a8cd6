"""The queue, in order of (priority, highest first; number), held by size.

Whether a slice fits depends on its size alone, so only the first of each size needs to be looked at, however
long the queue is.
"""

from heapq import heapify, heappop, heappush

from shared.models.superpod.wiring import CHIPS_PER_CUBE

Place = tuple[int, int]
"""(−priority, slice number): the order of the queue."""


class Queue:
    """Waiting slices: chips → heap of places in the queue. No heap is empty."""

    def __init__(self) -> None:
        self.by_chips: dict[int, list[Place]] = {}

    def add(self, chips: int, priority: int, number: int) -> None:
        heappush(self.by_chips.setdefault(chips, []), (-priority, number))

    def take_first(self, chips: int) -> None:
        """Remove the first of this size."""
        heap = self.by_chips[chips]
        heappop(heap)
        if not heap:
            del self.by_chips[chips]

    def remove(self, chips: int, priority: int, number: int) -> None:
        """Remove one from anywhere in the queue; rare, so it may take time."""
        heap = self.by_chips[chips]
        heap.remove((-priority, number))
        if heap:
            heapify(heap)
        else:
            del self.by_chips[chips]

    def head(self) -> Place:
        """The first of all; there must be one."""
        return min([heap[0] for heap in self.by_chips.values()])

    def firsts(self, chips_idle: int) -> list[tuple[Place, int]]:
        """The first of each size that may fit, as (place, chips), in order of the queue: those of whole cubes
        up to the idle ones, and all meshes, for which there may be room in partly used cubes."""
        most = max(chips_idle, CHIPS_PER_CUBE - 1)
        return sorted([(heap[0], chips) for chips, heap in self.by_chips.items() if chips <= most])
