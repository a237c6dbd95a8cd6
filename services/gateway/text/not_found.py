"""Errors for names that do not exist: what is wrong, what is valid, and the nearest name."""

import re
from collections.abc import Sequence
from typing import Any

from schemas.names import number_of
from schemas.resource_kinds import DEMANDS, FABRICS, TRUNKS, ResourceKind
from services.gateway.fabrics import fabric_plant, site_of
from services.gateway.log.past_twin import not_yet_error
from services.gateway.runtime_ports import TwinPorts
from shared.basics.errors import LightwaveError, NotFound, OperationFailed
from shared.basics.spelling import truncated
from shared.models.plant.plant_format import Plant
from shared.storage.log.log_reader import LogQuery

_PAIR = re.compile(r"[^/]+/block-(?P<one>[0-9]{1,6})/(?P<kind>trunk|demand)-(?P<other>[0-9]{1,6})")


def missing_error(twin: TwinPorts, kind: ResourceKind[Any], name: str, fabric: str) -> LightwaveError:
    """The error for a name that the store does not have. Either it does not exist, or the store is behind the
    log, because it lost its last messages or is being rebuilt."""
    if not kind.parts and kind not in (FABRICS, TRUNKS, DEMANDS):
        rows = twin.log.find(site_of(twin, fabric), LogQuery(about=(name,)), 1, newest=True)
        if rows and rows[-1][1].at_us > twin.clock.show().now_us:
            return OperationFailed(f"{kind.title} {name}: is being read from the log again; try again")
        if not rows and (error := not_yet_error(twin, site_of(twin, fabric), kind.title, name)):
            return error
        near = _nearest(list(twin.documents.all(fabric, kind.documents[0])), name)
        return no_such_name_error(kind, name, fabric, fabric_plant(twin, fabric), near)
    return no_such_name_error(kind, name, fabric, fabric_plant(twin, fabric))


def _nearest(names: Sequence[str], name: str) -> str | None:
    """The existing name with the nearest number."""
    number = re.search(r"[0-9]{1,9}$", name)
    if number is None or not names:
        return None
    return min(names, key=lambda other: (abs(number_of(other) - int(number[0])), number_of(other)))


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
