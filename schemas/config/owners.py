"""Owners that may request slices of a pod."""

from schemas.config.pods import AnyPodConfig
from schemas.config.quotas import parse_quotas

FILLER_OWNER = "free-tier"
OPERATOR_OWNER = "operator"
"""Owner of requests by operators that name no owner."""


def team_owner(number: int) -> str:
    """The team of this number, counted from 1; teams request production and research slices."""
    return f"team-{number}"


def known_owners(config: AnyPodConfig) -> frozenset[str]:
    """The owners of a pod: the teams of its workload, those of a recorded trace, those with a quota, the
    filler and the operator. Limits are per owner, so the set of owners is fixed."""
    teams = [team_owner(1 + number) for number in range(config.workload.owners)]
    traced = [row.owner for row in config.trace or ()]
    quotas = parse_quotas(config.scheduler.quotas, config.pod.cubes)
    return frozenset([*teams, *traced, *quotas, FILLER_OWNER, OPERATOR_OWNER])
