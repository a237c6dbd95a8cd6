"""Errors for names that do not exist: what is wrong, what is valid, and the nearest name."""

import re
from typing import Any

from schemas.resource_kinds import DEMANDS, FABRICS, TRUNKS, ResourceKind
from shared.basics.errors import NotFound
from shared.basics.spelling import truncated
from shared.models.plant.plant_format import Plant

_PAIR = re.compile(r"[^/]+/block-(?P<one>[0-9]{1,6})/(?P<kind>trunk|demand)-(?P<other>[0-9]{1,6})")


def no_such_name_error(
    kind: ResourceKind[Any], name: str, fabric: str, plant: Plant, near: str | None = None
) -> NotFound:
    """The error for a name that no resource of this kind has in this fabric."""
    sentence = f"{kind.title} {truncated(repr(name))}: no such {kind.title}"
    if kind is FABRICS:
        return NotFound(f"{sentence}; names are like {fabric}")
    if kind in (TRUNKS, DEMANDS):
        return NotFound(f"{sentence}{_pair(kind, name, fabric, plant)}")
    if not kind.parts:
        kept = "ended ones are kept only for a while; `lightwave events` shows all"
        hint = f"; the nearest is {near}" if near is not None else ""
        return NotFound(f"{sentence} in {fabric} ({kept}){hint}")
    part = next((word for word in kind.parts if f"/{word}-" in name), kind.parts[0])
    if not plant.population(part):
        return NotFound(f"{sentence}; {fabric} has none")
    return NotFound(plant.absence(part, name, fabric))


def _pair(kind: ResourceKind[Any], name: str, fabric: str, plant: Plant) -> str:
    """Why two blocks have no trunk, or no demand for each other."""
    blocks = plant.population("block")
    pair = _PAIR.fullmatch(name)
    if not blocks:
        return f"; {fabric} has none"
    if pair is None or pair["kind"] != kind.title:
        return f"; names are like {fabric}/block-0/{kind.title}-{blocks - 1}"
    one, other = int(pair["one"]), int(pair["other"])
    if max(one, other) >= blocks:
        return f"; block {max(one, other)} does not exist; must be between 0 and {blocks - 1}"
    if one == other:
        return "; its blocks must differ"
    if kind is TRUNKS:
        return f"; no circuit joins block-{one} and block-{other} now"
    return f"; block-{one} has no demand to block-{other} now"
