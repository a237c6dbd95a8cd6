"""All claims in the order of the page, and their selection by name."""

from fnmatch import fnmatchcase

from ops.reproduce.claim import PaperClaim
from ops.reproduce.dcn import (
    campus_changes,
    cost_and_power,
    multipod_rings,
    topology_engineering,
    traffic_splits,
)
from ops.reproduce.optics import link_budgets, manufactured_parts, ocs_parts
from ops.reproduce.pods import (
    availability,
    deployment,
    failure_weeks,
    jobs,
    live_pod,
    slice_mix,
    slice_topology,
)
from shared.basics.errors import InvalidInput
from shared.basics.spelling import closest_matches

CLAIMS: tuple[PaperClaim, ...] = (
    *slice_mix.CLAIMS,
    *slice_topology.CLAIMS,
    *manufactured_parts.CLAIMS,
    *ocs_parts.CLAIMS,
    *link_budgets.CLAIMS,
    *availability.CLAIMS,
    *deployment.CLAIMS,
    *topology_engineering.CLAIMS,
    *traffic_splits.CLAIMS,
    *multipod_rings.CLAIMS,
    *campus_changes.CLAIMS,
    *cost_and_power.CLAIMS,
    *cost_and_power.POD_POWER_CLAIMS,
    *live_pod.FAILURE_CLAIMS,
    *failure_weeks.CLAIMS,
    *jobs.CLAIMS,
    *live_pod.SLICE_CLAIMS,
)


def select_claims(names: tuple[str, ...]) -> list[PaperClaim]:
    """Return the claims with these names, prefixes (`goodput`) or patterns (`goodput/*-static`), each once;
    all if none are given.

    Raises InvalidInput with the closest names if a pattern matches nothing.
    """
    found: dict[str, PaperClaim] = {}
    for name in names:
        exact = [claim for claim in CLAIMS if claim.name == name]
        fitting = exact or [claim for claim in CLAIMS if _matches(claim.name, name)]
        if not fitting:
            raise InvalidInput(_unknown_text(name))
        found |= {claim.name: claim for claim in fitting}
    return [claim for claim in CLAIMS if claim.name in found or not names]


def _matches(name: str, word: str) -> bool:
    if any(sign in word for sign in "*?["):
        return fnmatchcase(name, word)
    return bool(word) and name.startswith(word)


def _unknown_text(word: str) -> str:
    names = [claim.name for claim in CLAIMS]
    topics = list(dict.fromkeys(name.partition("/")[0] for name in names))
    near = closest_matches(word.lower(), names + topics, limit=3, similarity=0.4)
    hint = f"the nearest are {', '.join(near)}; " if near else ""
    return f"--only {word!r}: no such claim; {hint}topics are {', '.join(topics)}"
