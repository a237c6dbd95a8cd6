"""Plans the recovery of all interrupted slices together: most urgent first, each with its cheapest option.

What each option costs is computed by `recovery_costs.expected_costs`.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from schemas.recovery_policy import CHOICES, Choice
from services.scheduler.recovery.recovery_costs import (
    Costs,
    RecoveryDelays,
    RecoveryInput,
    expected_costs,
    takes_cubes,
)


@dataclass(frozen=True, slots=True)
class RecoveryDecision:
    """What to do with one slice, and the cost of each choice."""

    slice: int
    choice: Choice
    costs: Costs


def recovery_plan(
    interrupted_slices: Iterable[RecoveryInput], spares: int, warm_cubes: int, delays: RecoveryDelays
) -> tuple[RecoveryDecision, ...]:
    """One plan for all interrupted slices, with this many healthy idle cubes (`spares`) and warm spares.

    The most urgent slice goes first. Each takes the cheapest choice that its owner allows and earlier slices
    left open; ties go to the owner's preference. A slice that waits has the first claim on cubes that come
    free. Waiting costs more the longer it lasts, so no slice waits forever.
    """
    plan: list[RecoveryDecision] = []
    for interrupted in sorted(interrupted_slices, key=_urgency):
        costs = expected_costs(interrupted, spares, warm_cubes, delays)
        preferred = (*interrupted.choices, *CHOICES)
        choice = min(costs, key=lambda choice: (costs[choice], preferred.index(choice)))
        if choice == "spare":
            warm_cubes -= interrupted.cubes
        elif choice == "swap":
            spares -= interrupted.cubes
        elif choice == "wait" and takes_cubes(interrupted) and "swap" not in costs:
            spares = 0  # too few: it takes them all and waits for the rest
        plan.append(RecoveryDecision(interrupted.slice, choice, costs))
    return tuple(plan)


def _urgency(interrupted: RecoveryInput) -> tuple[tuple[int, ...], int]:
    return interrupted.urgency, interrupted.slice
