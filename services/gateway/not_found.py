"""What is said of a name that nobody has: what is wrong with it, what is allowed, what is nearest."""

from schemas.kinds import FABRICS, Kind
from services.gateway.fabrics import plant, site_of
from services.gateway.ports import TwinPorts
from shared.basics.errors import LightwaveError, NotFound, OperationFailed
from shared.models.plant import SHOWN_MAX, Plant
from shared.storage.log.reader import LogQuery


def missing(twin: TwinPorts, kind: Kind, name: str, fabric: str) -> LightwaveError:
    """The error for a name of which the store has nothing: nobody has it, or the log tells of it later than
    the store has come to, which has lost its last while or is being made again."""
    if kind.part is None and kind is not FABRICS:
        found = twin.log.find(site_of(twin, fabric), LogQuery(about=(name,)), 1, newest=True)
        if found and found[-1][1].at_us > twin.clock.show().now_us:
            return OperationFailed(f"{kind.title} {name}: is being read from the log again; ask again")
    return nobody(kind, name, fabric, plant(twin, fabric))


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
