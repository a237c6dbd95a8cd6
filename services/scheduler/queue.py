"""The queue, in order of (priority, highest first; number), held by shape.

Whether a slice fits depends on its shape alone, so only the first of each shape needs to be looked at,
however long the queue is.
"""

from heapq import heapify, heappop, heappush

from schemas.names import Shape
from shared.models.superpod.shapes import chips_of
from shared.models.superpod.wiring import CHIPS_PER_CUBE

Place = tuple[int, int]
"""(−priority, slice number): the order of the queue."""


class Queue:
    """Waiting slices: shape → heap of places in the queue. No heap is empty."""

    def __init__(self) -> None:
        self.by_shape: dict[Shape, list[Place]] = {}

    def add(self, shape: Shape, priority: int, number: int) -> None:
        heappush(self.by_shape.setdefault(shape, []), (-priority, number))

    def take_first(self, shape: Shape) -> None:
        """Remove the first of this shape."""
        heap = self.by_shape[shape]
        heappop(heap)
        if not heap:
            del self.by_shape[shape]

    def remove(self, shape: Shape, priority: int, number: int) -> None:
        """Remove one from anywhere in the queue; rare, so it may take time."""
        heap = self.by_shape[shape]
        heap.remove((-priority, number))
        if heap:
            heapify(heap)
        else:
            del self.by_shape[shape]

    def head(self) -> Place:
        """The first of all; there must be one."""
        return min([heap[0] for heap in self.by_shape.values()])

    def firsts(self, chips_idle: int) -> list[tuple[Place, Shape]]:
        """The first of each shape that may fit, as (place, shape), in order of the queue: those of whole
        cubes up to the idle ones, and all meshes, for which there may be room in partly used cubes."""
        most = max(chips_idle, CHIPS_PER_CUBE - 1)
        return sorted([(heap[0], shape) for shape, heap in self.by_shape.items() if chips_of(shape) <= most])
