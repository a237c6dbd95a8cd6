"""Requests of trainees at the desk of a drill, and the desk as they see it."""

from schemas.documents.drills import DeskDocument
from schemas.messages.drill_requests import AcknowledgeAlerts, NameCulprit, TakeHint
from schemas.name_parts import fabric_part
from schemas.request_metadata import RequestBody
from services.gateway.fabrics import fabric_of, fabric_plant, living_fabrics, site_of
from services.gateway.requests.operator_requests import valid_body
from services.gateway.resources.status_documents import read_all, read_one
from services.gateway.runtime_ports import TwinPorts
from shared.basics.errors import InvalidInput, NotFound
from shared.basics.spelling import truncated


def desks_of(twin: TwinPorts) -> list[DeskDocument]:
    """The desks of all drills with a game, those of running drills first, each oldest first."""
    found = [
        desk for fabric in living_fabrics(twin) for desk in read_all(twin, fabric, "desks", DeskDocument)
    ]
    return sorted(found, key=lambda desk: desk.ended_us is not None)


def find_desk(twin: TwinPorts, name: str) -> DeskDocument:
    """The desk of a drill. Raise NotFound if there is no drill of this name with a game."""
    desk = read_one(twin, fabric_of(twin, name), "desks", name, DeskDocument)
    if desk is None:
        raise NotFound(
            f"desk {truncated(repr(name))}: no such game; must be a drill with a `trainee` section"
        )
    return desk


def acknowledge_request(twin: TwinPorts, name: str) -> tuple[str, RequestBody]:
    """(fabric, request body) to acknowledge the alerts."""
    return fabric_part(find_desk(twin, name).name), valid_body(AcknowledgeAlerts, {"drill": name})


def hint_request(twin: TwinPorts, name: str) -> tuple[str, RequestBody]:
    """(fabric, request body) to take a hint."""
    return fabric_part(find_desk(twin, name).name), valid_body(TakeHint, {"drill": name})


def culprit_request(twin: TwinPorts, name: str, culprit: str) -> tuple[str, RequestBody]:
    """(fabric, request body) to name a culprit. Raise NotFound if there is no such part, and InvalidInput if
    it is of another site than the drill."""
    fabric = fabric_part(find_desk(twin, name).name)
    other = fabric_of(twin, culprit)
    if site_of(twin, other) != site_of(twin, fabric):
        raise InvalidInput(
            f"culprit {truncated(repr(culprit))}: must be a part of a fabric in the site of {fabric}"
        )
    plant = fabric_plant(twin, other)
    if not plant.contains(culprit):
        why = f"there is no such part in {other}"
        hint = "; must be a part such as `lightwave get` lists"
        raise NotFound(f"culprit {truncated(repr(culprit))}: {why}{hint}")
    return fabric, valid_body(NameCulprit, {"drill": name, "culprit": culprit})
