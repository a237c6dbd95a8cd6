"""What is said of a name that nobody has: what is wrong with it, what is allowed, what is nearest."""

from schemas.kinds import FABRICS, Kind
from shared.basics.errors import NotFound
from shared.models.plant import SHOWN_MAX, Plant


def nobody(kind: Kind, name: str, fabric: str, plant: Plant) -> NotFound:
    """The error for a name that no thing of this kind has in this fabric of such a plant."""
    said = f"{kind.title} {name[:SHOWN_MAX]!r}: no such {kind.title}"
    if kind is FABRICS:
        return NotFound(f"{said}; names are like {fabric}")
    if kind.part is None:
        kept = "ended ones are kept for a while only; `lightwave events` has all"
        return NotFound(f"{said} in {fabric} ({kept})")
    if not plant.population(kind.part):
        return NotFound(f"{said}; {fabric} has none")
    return NotFound(plant.absence(kind.part, name, fabric))
