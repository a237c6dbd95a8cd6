"""Who may want slices of a pod."""

from schemas.config import AnyPodConfig
from schemas.quotas import quota_chips

FILLER_OWNER = "free-tier"
OPERATOR = "operator"
"""In whose name an operator asks who names nobody."""


def team(number: int) -> str:
    """The owner of this number, counted from 1, of those who have production and research."""
    return f"team-{number}"


def known_owners(config: AnyPodConfig) -> frozenset[str]:
    """Those who ask by themselves, in a recorded trace, or as operators, and those who have a quota. Limits
    are by owner, so nobody may be anybody."""
    teams = [team(1 + number) for number in range(config.workload.owners)]
    traced = [row.owner for row in config.trace or ()]
    quotas = quota_chips(config.scheduler.quotas, config.pod.cubes)
    return frozenset([*teams, *traced, *quotas, FILLER_OWNER, OPERATOR])
