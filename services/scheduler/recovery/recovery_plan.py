"""What to do with all slices that hardware events have hit, as one plan: the most urgent first, each the
cheapest way on that is open to it then.

Costs are chip-microseconds that are expected to be lost, by one function for everybody. What follows the same
whatever is chosen, the work since the last checkpoint and the next start-up, is counted in all of them; but
for that work where the job replicates and a warm cube takes the place.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from schemas.messages.scheduler import FULL_SPEED
from schemas.recovery_policy import CHOICES, Choice

Costs = dict[Choice, int]
"""Chip-microseconds by choice; what is not open, or not allowed by the slice's owner, is missing."""


@dataclass(frozen=True, slots=True)
class RecoveryInput:
    """A slice that cannot go on as it was.

    `urgency` is its place among all, least first. `moves` says whether it can be helped by other cubes in the
    place of some of its own, for which it takes `cubes` idle ones; `standing` is how many of its `chips` are
    in order and idle meanwhile.
    `lost_us` is its work since the last checkpoint, `startup_us` what a restart takes, `left_us` the work
    that is still to do. `route_ppm` is its speed if it goes around what is gone, 0 where it cannot or would
    not. `repair_us` is when what failed is expected back, and `ends` when others leave how many cubes.
    Evicted, it would be `short` of so many beside its own that are in order, or could have another box in
    `box_us`; None if that is no help. `choices` are those that its owner allows, the one preferred at equal
    cost first. If it `replicates`, a warm cube loses it no work.
    """

    slice: int
    urgency: tuple[int, ...]
    chips: int
    idle_chips: int
    cubes: int
    moves: bool
    lost_us: int
    startup_us: int
    left_us: int
    route_ppm: int
    repair_us: int
    ends: tuple[tuple[int, int], ...]
    cubes_short: int | None
    box_us: int | None
    choices: tuple[Choice, ...] = CHOICES
    replicates: bool = False


@dataclass(frozen=True, slots=True)
class RecoveryDelays:
    """How long steps of a recovery take: deciding, switching circuits, preflight, and the grace in which
    others leave cubes."""

    decision_us: int
    circuits_us: int
    preflight_us: int
    grace_us: int


@dataclass(frozen=True, slots=True)
class RecoveryDecision:
    """What to do with one slice, and what each of the choices would have cost."""

    slice: int
    choice: Choice
    costs: Costs


def recovery_plan(
    hits: Iterable[RecoveryInput], spares: int, warm_cubes: int, delays: RecoveryDelays
) -> tuple[RecoveryDecision, ...]:
    """One plan over all slices that were hit, with so many healthy idle cubes and so many that are kept warm.

    The most urgent first; each takes the cheapest choice that its owner allows and those before it have left,
    of equal ones the one that its owner prefers. Who waits has first claim on what becomes free, so that
    nobody is passed for ever: a wait becomes dearer as it lasts.
    """
    plan: list[RecoveryDecision] = []
    for hit in sorted(hits, key=_urgency):
        costs = expected_costs(hit, spares, warm_cubes, delays)
        preferred = (*hit.choices, *CHOICES)
        choice = min(costs, key=lambda choice: (costs[choice], preferred.index(choice)))
        if choice == "spare":
            warm_cubes -= hit.cubes
        elif choice == "swap":
            spares -= hit.cubes
        elif choice == "wait" and takes_cubes(hit) and "swap" not in costs:
            spares = 0  # there are too few: it takes what there is, and waits for the rest
        plan.append(RecoveryDecision(hit.slice, choice, costs))
    return tuple(plan)


def takes_cubes(hit: RecoveryInput) -> bool:
    """Whether other cubes may take the place of some of a slice's, as they come free."""
    return hit.moves and "swap" in hit.choices


def expected_costs(hit: RecoveryInput, spares: int, warm_cubes: int, delays: RecoveryDelays) -> Costs:
    """The chip-microseconds that each choice that is open to a slice is expected to lose."""
    found = _costs(hit, spares, warm_cubes, delays)
    allowed: Costs = {choice: cost for choice, cost in found.items() if choice in hit.choices}
    if not allowed:
        # The last resort: once what failed is back it can have cubes again.
        allowed["evict"] = found["wait"]
    return allowed


def _costs(hit: RecoveryInput, spares: int, warm_cubes: int, delays: RecoveryDelays) -> Costs:
    """The same, whatever its owner allows."""
    circuits_us, ready_us = delays.circuits_us, delays.circuits_us + delays.preflight_us
    common = hit.chips * (hit.lost_us + hit.startup_us + delays.decision_us)
    costs: Costs = {}
    if hit.moves and 0 < hit.cubes <= warm_cubes:
        lost_us = 0 if hit.replicates else hit.lost_us
        costs["spare"] = common + hit.chips * (lost_us - hit.lost_us + circuits_us)
    if hit.moves and hit.cubes <= spares:
        costs["swap"] = common + hit.chips * ready_us
    if hit.route_ppm:
        steps_us = min(hit.left_us, hit.repair_us)
        costs["route"] = common + hit.chips * (steps_us * FULL_SPEED // hit.route_ppm - steps_us)
    wait_us = hit.repair_us
    if takes_cubes(hit) and hit.cubes > spares:
        free_us = free_after_us(hit.ends, hit.cubes - spares)
        wait_us = wait_us if free_us is None else min(wait_us, free_us)
    costs["wait"] = common + hit.idle_chips * wait_us + hit.chips * ready_us
    requeue_us = hit.box_us
    if hit.cubes_short is not None:
        free_us = free_after_us(hit.ends, hit.cubes_short - spares)
        requeue_us = hit.repair_us if free_us is None else min(hit.repair_us, free_us)
    if requeue_us is not None:
        # Others use its cubes meanwhile, but for half of that time, in which they gather for it again.
        gather_us = delays.grace_us + requeue_us // 2 if requeue_us else 0
        costs["evict"] = common + hit.chips * (ready_us + gather_us)
    return costs


def expected_left_us(mean_us: int, elapsed_us: int) -> int:
    """How long a repair still takes that takes so long on average: what has taken longer than that is
    expected to take half as long again, so that no wait stays cheap for ever."""
    return max(mean_us - elapsed_us, elapsed_us // 2, 1)


def free_after_us(ends: Iterable[tuple[int, int]], cubes: int) -> int | None:
    """In how long so many cubes are free, as others leave theirs: (span, cubes). None if never."""
    if cubes <= 0:
        return 0
    for span_us, freed in sorted(ends):
        cubes -= freed
        if cubes <= 0:
            return span_us
    return None


def _urgency(hit: RecoveryInput) -> tuple[tuple[int, ...], int]:
    return hit.urgency, hit.slice
