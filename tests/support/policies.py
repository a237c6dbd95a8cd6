"""Random scheduler policies and slice requests, for swarms."""

import random
from collections.abc import Sequence
from typing import get_args

from schemas.messages.operator import RequestSlice
from schemas.names import Shape, Tier
from schemas.recovery_policy import parse_recovery_policy
from shared.basics.units import US_PER_HOUR

OWNERS = ("operator", "team-1", "team-2", "guest")
"""`guest` has no access unless a quota names it."""
TIERS: tuple[Tier, ...] = get_args(Tier)
RECOVERIES = (None, None, "spare,swap", "route:2%,wait", "wait,swap", "evict")
CHECKED = ((10, 0.95), (120, 0.95), (120, 0))
"""(preflight_s, route_around_share). With both 0, filler whose cubes have bad ports would return to them
forever, every few milliseconds."""


def drawn_policies(draw: random.Random) -> dict[str, object]:
    """Draw every policy of the scheduler, for a pod of four cubes or more."""
    preflight_s, route_around_share = draw.choice(CHECKED)
    return {
        "scheduler.queue_max": draw.choice([0, 3, 500]),
        "scheduler.quotas": draw.choice(
            ["", "team-1=64", "operator=0,team-1=25%", "guest=50%,team-2=10%,operator=64"]
        ),
        "scheduler.backfill": draw.choice(["easy", "conservative", "none"]),
        "scheduler.grace_s": draw.choice([1, 120]),
        "scheduler.production_waits_h": draw.choice([0, 0.5]),
        "scheduler.research_waits_h": draw.choice([0, 1, 6]),
        "scheduler.research_runs_h": draw.choice([0, 1]),
        "scheduler.retries_max": draw.choice([0, 1, 100]),
        "scheduler.hold_back": draw.choice(["none", "none", "fixed", "availability"]),
        "scheduler.hold_back_cubes": draw.choice([1, 2]),
        "scheduler.hold_back_slice_cubes": draw.choice([1, 2, 4]),
        "scheduler.hot_spares": draw.choice([0, 0, 1]),
        "scheduler.decision_s": draw.choice([0, 30]),
        "scheduler.preflight_s": preflight_s,
        "scheduler.route_around_share": route_around_share,
        "workload.replicates_share": draw.choice([0, 0.5]),
    }


def drawn_slice(draw: random.Random, shapes: Sequence[Shape], *, twisted: float) -> RequestSlice:
    """Draw a slice request by any owner in any tier. `twisted` is the share of twisted ones."""
    recovery = draw.choice(RECOVERIES)
    return RequestSlice(
        shape=draw.choice(shapes),
        twisted=draw.random() < twisted,
        owner=draw.choice(OWNERS),
        tier=draw.choice(TIERS),
        priority=draw.randrange(-2, 3),
        duration_us=draw.choice([None, US_PER_HOUR]),
        recovery=None if recovery is None else parse_recovery_policy(recovery),
    )
