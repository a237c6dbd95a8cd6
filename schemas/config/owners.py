"""Who may want slices of a pod."""

from schemas.config.pods import AnyPodConfig
from schemas.config.quotas import parse_quotas

FILLER_OWNER = "free-tier"
OPERATOR_OWNER = "operator"
"""In whose name an operator asks who names nobody."""


def team_owner(number: int) -> str:
    """The owner of this number, counted from 1, of those who have production and research."""
    return f"team-{number}"


def known_owners(config: AnyPodConfig) -> frozenset[str]:
    """Those who ask by themselves, in a recorded trace, or as operators, and those who have a quota. Limits
    are by owner, so nobody may be anybody."""
    teams = [team_owner(1 + number) for number in range(config.workload.owners)]
    traced = [row.owner for row in config.trace or ()]
    quotas = parse_quotas(config.scheduler.quotas, config.pod.cubes)
    return frozenset([*teams, *traced, *quotas, FILLER_OWNER, OPERATOR_OWNER])
