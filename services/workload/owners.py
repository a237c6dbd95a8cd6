"""Whose jobs they are, and what these may do to others."""

from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate

from schemas.config_workload import WorkloadConfig
from schemas.names import Tier
from schemas.owners import team
from shared.basics.keyed_random import draw_uniform


def draw_owner(seed: int, entity: str, number: int, config: WorkloadConfig) -> str:
    """`team-1` … by their shares."""
    cumulative = _cumulative(config.owners, config.owner_skew)
    return team(1 + bisect_right(cumulative, draw_uniform(seed, entity, "owner", number)))


def draw_tier(seed: int, entity: str, number: int, config: WorkloadConfig, is_large: bool) -> Tier:
    """Production or research."""
    share = config.production_share_large if is_large else config.production_share
    return "production" if draw_uniform(seed, entity, "tier", number) < share else "research"


@lru_cache(maxsize=64)
def _cumulative(owners: int, skew: float) -> tuple[float, ...]:
    """The shares of the owners up to and including each but the last."""
    weights = [n**-skew for n in range(1, owners + 1)]
    return tuple([weight / sum(weights) for weight in accumulate(weights)][:-1])
