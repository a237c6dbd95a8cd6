"""Who requested the drain of a cube, from the log."""

from schemas.api.descriptions import DrainRequestRow
from schemas.api.rows import CubeRow
from schemas.envelope import Envelope
from schemas.messages.drills import DrillOrder
from schemas.messages.operator import DrainCube
from services.gateway.fabrics import site_of
from services.gateway.runtime_ports import TwinPorts
from shared.storage.log.log_reader import LogQuery

DRAIN_MESSAGES = ("CubeDrained", "DrainPlanned")
"""Messages by which a drain begins, or is planned."""
BEGINS_MAX = 3
"""Newest such messages that are read: a planned drain has one for its plan and one for its begin, and another
drain may be planned after it."""


def drain_requests(twin: TwinPorts, fabric: str, row: CubeRow) -> tuple[DrainRequestRow, ...]:
    """The requests for the drain of a cube under way or planned, oldest first. Empty for a cube in use, and
    for planned maintenance, which nobody requests."""
    if not (row.drained or row.draining or row.drain_from_us is not None):
        return ()
    site = site_of(twin, fabric)
    since = LogQuery(about=(row.name,), types=("CubeUndrained",))
    ended = twin.log.find(site, since, 1, newest=True)
    start = ended[-1][0] + 1 if ended else 0
    query = LogQuery(start=start, about=(row.name,), types=DRAIN_MESSAGES)
    begins = twin.log.find(site, query, BEGINS_MAX, newest=True)
    found = [_request_of(twin, site, message.cause) for _, message in begins]
    return tuple(dict.fromkeys(request for request in found if request is not None))


def _request_of(twin: TwinPorts, site: str, message_id: str | None) -> DrainRequestRow | None:
    """The row of the message that caused a drain, if it is a request or a drill's order."""
    place = None if message_id is None else twin.log.position_of(site, message_id)
    message: Envelope | None = None if place is None else next(twin.log.read(site, place, 1))[1]
    if message is None or not isinstance(message.body, DrainCube | DrillOrder):
        return None
    request, at = message.body, {"id": message.id, "at_us": message.at_us}
    if isinstance(request, DrillOrder):
        return DrainRequestRow.model_validate(
            {**at, "asked_by": None, "comment": None, "drill": request.drill}
        )
    who = {"asked_by": request.asked_by, "comment": request.comment, "drill": None}
    return DrainRequestRow.model_validate({**at, **who})
