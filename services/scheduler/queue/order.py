"""Who of the waiting comes first."""

from schemas.config.quotas import parse_quotas
from services.scheduler.state import SchedulerState, occupancy_of, queue_of
from services.scheduler.structures.waiting_lines import FILLER, TIERS, Line, Place
from shared.models.superpod.shapes import chips_of

Rank = tuple[int, int, Place]
"""(number of the tier, chips that the owner has borrowed, place in the line): the order of the queue."""


def fair_share_order(state: SchedulerState) -> list[tuple[Rank, Line]]:
    """The firm lines in the order of their first slices: by tier; then those whose owners are within their
    quotas, then those who borrow, least borrowed first; then by priority and age."""
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
    """How many chips an owner borrows who has so many, with its next slice: 0 as long as it has less than its
    quota, so that every owner can have one slice that is larger than that."""
    return 0 if held < quota else held - quota + 1


def quotas_of(state: SchedulerState, owners: set[str]) -> dict[str, int]:
    """The quota of each of these owners, in chips; those of whom none is written share equally what is left
    by the others."""
    written = parse_quotas(state.config.quotas, state.cubes)
    rest = state.chips - sum(written.values())
    share = rest // max(1, len(owners - written.keys()))
    return {owner: written.get(owner, share) for owner in sorted(owners)}


def chips_by_owner(state: SchedulerState) -> dict[str, int]:
    """Owner → chips that its firm slices have, or have a claim on; what runs as filler counts for nobody."""
    held: dict[str, int] = {}
    for number in (*occupancy_of(state).held, *state.claims):
        row = state.slices[number]
        if row.tier != TIERS[FILLER]:
            held[row.owner] = held.get(row.owner, 0) + row.chips
    return held


def filler_order(state: SchedulerState) -> list[Line]:
    """The lines of filler, largest first, for few large slices fill the holes with less to and fro than many
    small ones; then by priority and age."""
    queue = queue_of(state)
    return sorted(queue.filler(), key=lambda line: (-chips_of(line[2]), queue.lines[line][0]))
