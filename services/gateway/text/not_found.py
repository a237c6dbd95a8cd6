"""What is said of a name that nobody has: what is wrong with it, what is allowed, what is nearest."""

import re
from collections.abc import Sequence

from schemas.kinds import DEMANDS, FABRICS, TRUNKS, ResourceKind
from schemas.names import number_of
from services.gateway.fabrics import fabric_plant, site_of
from services.gateway.ports import TwinPorts
from shared.basics.errors import LightwaveError, NotFound, OperationFailed
from shared.basics.spelling import truncated
from shared.models.plant.plant import Plant
from shared.storage.log.log_reader import LogQuery

_PAIR = re.compile(r"[^/]+/block-(?P<one>[0-9]{1,6})/(?P<kind>trunk|demand)-(?P<other>[0-9]{1,6})")


def missing_error(twin: TwinPorts, kind: ResourceKind, name: str, fabric: str) -> LightwaveError:
    """The error for a name of which the store has nothing: nobody has it, or the log tells of it later than
    the store has come to, which has lost its last while or is being made again."""
    if not kind.parts and kind not in (FABRICS, TRUNKS, DEMANDS):
        found = twin.log.find(site_of(twin, fabric), LogQuery(about=(name,)), 1, newest=True)
        if found and found[-1][1].at_us > twin.clock.show().now_us:
            return OperationFailed(f"{kind.title} {name}: is being read from the log again; ask again")
        near = _nearest(list(twin.documents.all(fabric, kind.documents[0])), name)
        return no_such_name_error(kind, name, fabric, fabric_plant(twin, fabric), near)
    return no_such_name_error(kind, name, fabric, fabric_plant(twin, fabric))


def _nearest(names: Sequence[str], name: str) -> str | None:
    """Of those that there are, the one whose number is nearest."""
    number = re.search(r"[0-9]{1,9}$", name)
    if number is None or not names:
        return None
    return min(names, key=lambda other: (abs(number_of(other) - int(number[0])), number_of(other)))


def no_such_name_error(
    kind: ResourceKind, name: str, fabric: str, plant: Plant, near: str | None = None
) -> NotFound:
    """The error for a name that no thing of this kind has in this fabric of such a plant."""
    said = f"{kind.title} {truncated(repr(name))}: no such {kind.title}"
    if kind is FABRICS:
        return NotFound(f"{said}; names are like {fabric}")
    if kind in (TRUNKS, DEMANDS):
        return NotFound(f"{said}{_pair(kind, name, fabric, plant)}")
    if not kind.parts:
        kept = "ended ones are kept for a while only; `lightwave events` has all"
        hint = f"; the nearest is {near}" if near is not None else ""
        return NotFound(f"{said} in {fabric} ({kept}){hint}")
    part = next((word for word in kind.parts if f"/{word}-" in name), kind.parts[0])
    if not plant.population(part):
        return NotFound(f"{said}; {fabric} has none")
    return NotFound(plant.absence(part, name, fabric))


def _pair(kind: ResourceKind, name: str, fabric: str, plant: Plant) -> str:
    """Why two blocks are joined by no trunk, or want nothing of each other."""
    blocks = plant.population("block")
    pair = _PAIR.fullmatch(name)
    if not blocks:
        return f"; {fabric} has none"
    if pair is None or pair["kind"] != kind.title:
        return f"; names are like {fabric}/block-0/{kind.title}-{blocks - 1}"
    one, other = int(pair["one"]), int(pair["other"])
    if max(one, other) >= blocks:
        return f"; block {max(one, other)} does not exist; allowed are 0 to {blocks - 1}"
    if one == other:
        return f"; it would begin and end at block-{one}"
    if kind is TRUNKS:
        return f"; no circuit joins block-{one} and block-{other} now"
    return f"; block-{one} wants to send nothing to block-{other} now"
