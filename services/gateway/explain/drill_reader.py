"""Reads the messages of a drill from the log of its site."""

from schemas.api.drill_journal import DrillJournal
from schemas.name_parts import fabric_part
from schemas.resource_kinds import DRILLS
from services.gateway.explain.drill_journal import drill_journal
from services.gateway.fabrics import fabric_of, site_of
from services.gateway.resources.missing_object import missing_error
from services.gateway.runtime_ports import TwinPorts
from shared.storage.log.log_reader import LogQuery


def read_drill(twin: TwinPorts, name: str) -> DrillJournal:
    """The journal of a drill, so far or to its end. Raise NotFound if there is no drill of this name; one
    that the twin has forgotten is still on its log."""
    site = site_of(twin, fabric_of(twin, name))
    found = twin.log.find(site, LogQuery(about=(name,), types=("DrillBegun",)), 1)
    if not found:
        raise missing_error(twin, DRILLS, name, fabric_part(name))
    ((position, begun),) = found
    start = None if begun.cause is None else twin.log.position_of(site, begun.cause)
    messages = twin.log.read(site, position if start is None else start, None, _may_concern_drills)
    return drill_journal(messages, name, twin.about.version)


def _may_concern_drills(line: bytes) -> bool:
    """Whether a line can matter: a journal reads messages of drills, faults, requests and refusals, never
    Ticks."""
    return b'"type":"Tick"' not in line
