"""Every claim, in the order of the page, and the choice of some by name."""

from fnmatch import fnmatchcase

from ops.reproduce import (
    availability,
    bills,
    clusters,
    deployment,
    field,
    geometry,
    jobs,
    light,
    living,
    mix,
    network,
    ocs_parts,
    ocs_switching,
    ocs_technologies,
    optics,
    rings,
    splits,
    topology,
)
from ops.reproduce.claims import Claim
from shared.basics.errors import InvalidInput
from shared.basics.words import nearest_words

CLAIMS: tuple[Claim, ...] = (
    *geometry.CLAIMS,
    *mix.CLAIMS,
    *topology.CLAIMS,
    *optics.CLAIMS,
    *ocs_parts.CLAIMS,
    *ocs_switching.CLAIMS,
    *ocs_technologies.CLAIMS,
    *light.CLAIMS,
    *availability.CLAIMS,
    *deployment.CLAIMS,
    *network.CLAIMS,
    *splits.CLAIMS,
    *rings.CLAIMS,
    *clusters.CLAIMS,
    *bills.CLAIMS,
    *living.FAILURES,
    *field.CLAIMS,
    *jobs.CLAIMS,
    *living.SLICES,
)


def chosen(names: tuple[str, ...]) -> list[Claim]:
    """The claims with these names, prefixes (`goodput`) or patterns (`goodput/*-static`), each once; all
    where there are none. InvalidInput gives the nearest names of one that fits nothing."""
    found: dict[str, Claim] = {}
    for name in names:
        exact = [claim for claim in CLAIMS if claim.name == name]
        fitting = exact or [claim for claim in CLAIMS if _fits(claim.name, name)]
        if not fitting:
            raise InvalidInput(_unknown(name))
        found |= {claim.name: claim for claim in fitting}
    return [claim for claim in CLAIMS if claim.name in found or not names]


def _fits(name: str, word: str) -> bool:
    if any(sign in word for sign in "*?["):
        return fnmatchcase(name, word)
    return bool(word) and name.startswith(word)


def _unknown(word: str) -> str:
    names = [claim.name for claim in CLAIMS]
    topics = list(dict.fromkeys(name.partition("/")[0] for name in names))
    near = nearest_words(word.lower(), names + topics, limit=3, alike=0.4)
    hint = f"the nearest are {', '.join(near)}; " if near else ""
    return f"--only {word!r}: no such claim; {hint}topics are {', '.join(topics)}"
