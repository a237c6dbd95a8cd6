"""Queue order of waiting slices: tiers, then owners within quota before others, then priority, then age."""

from schemas.config.quotas import parse_quotas
from services.scheduler.state import SchedulerState, claimed_slices, occupancy_of, queue_of
from services.scheduler.structures.waiting_lines import FILLER, TIERS, Line, Place
from shared.models.superpod.shapes import chips_of

Rank = tuple[int, int, Place]
"""(tier number, chips borrowed by the owner, place in the line): the sort key of the queue."""


def fair_share_order(state: SchedulerState) -> list[tuple[Rank, Line]]:
    """The production and research lines in the order of their first slices.

    Order: by tier; then owners within quota before those that borrow, least borrowed first; then by priority
    and age.
    """
    queue = queue_of(state)
    waiting = queue.firm_owners()
    if not waiting:
        return []
    held = chips_by_owner(state)
    quotas = quotas_of(state, waiting | held.keys())
    borrowed = {owner: borrowed_chips(held.get(owner, 0), quotas[owner]) for owner in waiting}
    ranked = [
        ((line[0], borrowed[line[1]], places[0]), line)
        for line, places in queue.lines.items()
        if line[0] != FILLER
    ]
    ranked.sort()
    return ranked


def borrowed_chips(held: int, quota: int) -> int:
    """The chips that an owner with `held` chips borrows with its next slice: 0 while it has less than its
    quota. So every owner can have one slice that exceeds its quota."""
    return 0 if held < quota else held - quota + 1


def quotas_of(state: SchedulerState, owners: set[str]) -> dict[str, int]:
    """The quota of each owner, in chips. Owners without a configured quota share the rest equally."""
    configured = parse_quotas(state.config.quotas, state.cubes)
    unassigned = state.chips - sum(configured.values())
    share = unassigned // max(1, len(owners - configured.keys()))
    return {owner: configured.get(owner, share) for owner in sorted(owners)}


def chips_by_owner(state: SchedulerState) -> dict[str, int]:
    """Owner → chips of its production and research slices that have cubes or a claim."""
    held: dict[str, int] = {}
    placed = [state.slices[number] for number in occupancy_of(state).held]
    for row in (*placed, *[row for row, _ in claimed_slices(state)]):
        if row.tier != TIERS[FILLER]:
            held[row.owner] = held.get(row.owner, 0) + row.chips
    return held


def filler_order(state: SchedulerState) -> list[Line]:
    """The filler lines, largest shape first, then by priority and age. Few large slices fill the holes with
    less churn than many small ones."""
    queue = queue_of(state)
    return sorted(queue.filler(), key=lambda line: (-chips_of(line[2]), queue.lines[line][0]))
