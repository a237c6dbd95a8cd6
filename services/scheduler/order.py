"""Who of the waiting comes first."""

from services.scheduler.queue import Line, Place
from services.scheduler.state import SchedulerState, queue_of
from shared.models.superpod.shapes import chips_of

Rank = tuple[int, int, Place]
"""(number of the tier, chips that the owner has borrowed, place in the line): the order of the queue."""


def fair_share_order(state: SchedulerState) -> list[tuple[Rank, Line]]:
    """The firm lines in the order of their first slices: by tier; then those whose owners are within their
    quotas, then those who borrow, least borrowed first; then by priority and age."""
    queue = queue_of(state)
    return sorted([((line[0], 0, queue.lines[line][0]), line) for line in queue.firm()])


def filler_order(state: SchedulerState) -> list[Line]:
    """The lines of filler, largest first, for few large slices fill the holes with less to and fro than many
    small ones; then by priority and age."""
    queue = queue_of(state)
    return sorted(queue.filler(), key=lambda line: (-chips_of(line[2]), queue.lines[line][0]))
