"""Recovery costs: the expected loss of each choice for an interrupted slice, in chip-microseconds.

Losses common to all choices, the work since the last checkpoint and the next start-up, are included in each.
The exception is a job that replicates: with a warm spare it loses no work."""

from collections.abc import Iterable
from dataclasses import dataclass

from schemas.messages.scheduler import FULL_SPEED
from schemas.recovery_policy import CHOICES, Choice

Costs = dict[Choice, int]
"""Choice → chip-microseconds. Choices that are impossible, or not allowed by the owner, are missing."""


@dataclass(frozen=True, slots=True)
class RecoveryInput:
    """An interrupted slice, in numbers."""

    slice: int
    urgency: tuple[int, ...]
    """Sort key; the smallest is the most urgent."""
    chips: int
    idle_chips: int
    """Its chips that work but idle while it waits."""
    cubes: int
    """Idle cubes that it needs to replace its own."""
    moves: bool
    """Whether replacing some of its cubes helps."""
    lost_us: int
    """Work since the last checkpoint."""
    startup_us: int
    """Time of a restart."""
    left_us: int
    """Work still to do."""
    route_ppm: int
    """Speed with rerouted traffic; 0 if impossible or not accepted."""
    repair_us: int
    """Expected time until the failed part is repaired."""
    ends: tuple[tuple[int, int], ...]
    """(time until other slices leave, cubes that they free)."""
    cubes_short: int | None
    """Cubes that it would lack after a requeue, besides its own healthy ones; None if a requeue does not
    help."""
    box_us: int | None
    """Time until another box of cubes is free; None if that does not help."""
    choices: tuple[Choice, ...] = CHOICES
    """Choices that its owner allows; the first is preferred at equal cost."""
    replicates: bool = False
    """Whether a warm spare saves its work since the last checkpoint."""


@dataclass(frozen=True, slots=True)
class RecoveryDelays:
    """Durations of the steps of a recovery."""

    decision_us: int
    circuits_us: int
    preflight_us: int
    grace_us: int
    """The grace period in which preempted slices leave their cubes."""


def takes_cubes(interrupted: RecoveryInput) -> bool:
    """Whether other cubes may replace some of the slice's cubes as they come free."""
    return interrupted.moves and "swap" in interrupted.choices


def expected_costs(interrupted: RecoveryInput, spares: int, warm_cubes: int, delays: RecoveryDelays) -> Costs:
    """The expected loss of each allowed choice, in chip-microseconds."""
    costs = _costs(interrupted, spares, warm_cubes, delays)
    allowed: Costs = {choice: cost for choice, cost in costs.items() if choice in interrupted.choices}
    if not allowed:
        # Last resort if no allowed choice is possible: requeue until the failed part is repaired.
        allowed["evict"] = costs["wait"]
    return allowed


def _costs(interrupted: RecoveryInput, spares: int, warm_cubes: int, delays: RecoveryDelays) -> Costs:
    """The expected loss of each possible choice, whether the owner allows it or not."""
    circuits_us, ready_us = delays.circuits_us, delays.circuits_us + delays.preflight_us
    common = interrupted.chips * (interrupted.lost_us + interrupted.startup_us + delays.decision_us)
    costs: Costs = {}
    if interrupted.moves and 0 < interrupted.cubes <= warm_cubes:
        lost_us = 0 if interrupted.replicates else interrupted.lost_us
        costs["spare"] = common + interrupted.chips * (lost_us - interrupted.lost_us + circuits_us)
    if interrupted.moves and interrupted.cubes <= spares:
        costs["swap"] = common + interrupted.chips * ready_us
    if interrupted.route_ppm:
        steps_us = min(interrupted.left_us, interrupted.repair_us)
        costs["route"] = common + interrupted.chips * (
            steps_us * FULL_SPEED // interrupted.route_ppm - steps_us
        )
    wait_us = interrupted.repair_us
    if takes_cubes(interrupted) and interrupted.cubes > spares:
        free_us = free_after_us(interrupted.ends, interrupted.cubes - spares)
        wait_us = wait_us if free_us is None else min(wait_us, free_us)
    costs["wait"] = common + interrupted.idle_chips * wait_us + interrupted.chips * ready_us
    requeue_us = interrupted.box_us
    if interrupted.cubes_short is not None:
        free_us = free_after_us(interrupted.ends, interrupted.cubes_short - spares)
        requeue_us = interrupted.repair_us if free_us is None else min(interrupted.repair_us, free_us)
    if requeue_us is not None:
        # Other slices use its cubes meanwhile, except in the second half, when its cubes gather again.
        gather_us = delays.grace_us + requeue_us // 2 if requeue_us else 0
        costs["evict"] = common + interrupted.chips * (ready_us + gather_us)
    return costs


def expected_left_us(mean_us: int, elapsed_us: int) -> int:
    """The expected remaining time of a repair with this mean. An overdue repair is expected to take half its
    elapsed time again, so that no wait stays cheap forever."""
    return max(mean_us - elapsed_us, elapsed_us // 2, 1)


def free_after_us(ends: Iterable[tuple[int, int]], cubes: int) -> int | None:
    """Time until this many cubes are free, from `ends` (time, cubes); None if never."""
    if cubes <= 0:
        return 0
    for span_us, freed in sorted(ends):
        cubes -= freed
        if cubes <= 0:
            return span_us
    return None
