"""Queries of the log: by time, type, name and cause, and the chain of causes back to the root."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from schemas.envelope import Envelope
from schemas.messages.diagnosis import VerdictGiven
from schemas.messages.jobs import JobFinished
from schemas.messages.ocs import CircuitsConnected
from schemas.messages.scheduler import SliceDegraded, SliceRecovering
from schemas.name_parts import fabric_part, last_part
from schemas.names import SEGMENT
from schemas.registry import TYPES
from services.gateway.fabrics import (
    fabric_graph,
    fabric_network,
    fabric_of,
    fabric_plant,
    is_fabric_like,
    site_of,
    sites,
)
from services.gateway.log import past_twin
from services.gateway.log.past_twin import check_not_future, not_yet_error
from services.gateway.log.subjects import demand_name
from services.gateway.runtime_ports import TwinPorts
from shared.basics.errors import InvalidInput, NotFound
from shared.basics.spelling import closest_matches, truncated
from shared.basics.time_format import format_time_ms
from shared.basics.time_grammar import POINTS_ALLOWED, read_time, time_problem
from shared.models.plant.naming import names_to_search
from shared.models.plant.plant_format import Plant
from shared.storage.log.log_reader import LogQuery

EVENTS_MAX = 10_000
EVENTS_DEFAULT = 100
SIMILAR_MAX = 3
"""Similar message types that an error suggests for an unknown one."""
CHAIN_MAX = 1_000
RECENT_STARTS_MAX = 16
"""Messages in which the last start of a slice and its last circuits are searched."""
STARTS = ("since", "from")
"""Parameters that name the start of a span of time."""
TICK_TYPES = ("Tick",)
"""Message types that only show that time passes."""
STATE_MESSAGES = {
    "slice": (
        *(
            "SliceRequested",
            "SliceAdmitted",
            "SliceRefused",
            "SliceStarted",
            "SliceDegraded",
            "SliceRestored",
        ),
        *("SliceRecovering", "CubeSwapped", "SliceNoticed", "SliceRequeued", "SliceBackedOff"),
        *("SliceEvicted", "SliceCompleted"),
        *("PodWaits", "PodHeld", "PodsJoined", "PodsParted", "JobBandwidthSet"),
    ),
    "fault": ("FaultBegan", "FaultEnded"),
    "drill": ("DrillBegun", "DrillPhaseBegun", "DrillDeviated", "DrillStopped", "DrillEnded"),
    "schedule": ("DrillScheduled", "DrillDue", "DrillSkipped", "DrillUnscheduled"),
    "verdict": ("VerdictGiven", "VerdictWithdrawn"),
    "repair": (
        *("RepairOpened", "RepairBegun", "HandsOnBegun", "BurnInBegun", "RepairRepeated"),
        *("RepairCompleted", "RepairFailed", "RepairCancelled"),
    ),
    "cube": (
        *("CubeUnhealthy", "CubeHealthy", "CubeDrained", "CubeUndrained"),
        *("CubePowerLost", "CubePowerRegained", "CubeOverheated", "CubeCooled"),
    ),
    "host": ("HostDown", "HostUp"),
    "chip": ("FaultBegan", "FaultEnded"),
    "cable": ("FaultBegan", "FaultEnded"),
    "batch": ("FaultBegan", "FaultEnded"),
    "ocs": ("OcsDown", "OcsUp", "OcsHeld", "OcsFreed"),
    **dict.fromkeys(("supply", "fan", "cpu", "fpga", "camera", "injector"), ("OcsPartDown", "OcsPartUp")),
    "driver": ("PortsDown", "PortsUp"),
    "port": (
        *("PortDown", "PortUp", "PortPatched", "PortNotPatched", "PortsDown", "PortsUp"),
        *("MirrorStoodOut", "MirrorSteady"),
    ),
    "end": ("LinksTrained", "LinksChanged", "ModuleReported"),
    "block": ("NetworkPartDown", "NetworkPartUp"),
    "bundle": ("NetworkPartDown", "NetworkPartUp"),
    "rack": ("OcsesDown", "OcsesUp"),
    "power": ("OcsesDown", "OcsesUp"),
    "control": ("ControlLost", "ControlRegained"),
    "trunk": ("TrunksChanged",),
    "demand": ("DemandMoved",),
    "rewiring": (
        *("RewiringPlanned", "RewiringApproved", "StageBegun", "StageWaits", "RewireCircuits"),
        *("CircuitsRewired", "RewiringRefused", "CircuitsQualified", "StageUndrained", "RewiringEnded"),
    ),
}
"""Kind of resource → the messages that report a new state of it."""
OCS_EFFECTS = (("OcsDown", "OcsesDown", "PortDown", "CircuitsRestored"), ("TrunksChanged",))
"""Messages about OCSes of a network, and the messages about the trunks that they affect, which name only
blocks."""


@dataclass(frozen=True, slots=True)
class LogFilter:
    """A filter of the log."""

    fabric: str
    types: tuple[str, ...] = ()
    name: str | None = None
    """A resource that the messages are about."""
    cause: str | None = None
    """The id of the message that caused them, in any fabric."""
    ticks: bool = True
    """Whether to include Ticks."""


@dataclass(frozen=True, slots=True)
class LogPage:
    """Messages with their positions, oldest first; `is_cut` if there are more."""

    found: list[tuple[int, Envelope]]
    is_cut: bool


def parse_time(twin: TwinPorts, word: str, text: str) -> tuple[int, int]:
    """(first, last) microsecond of the time that a client names, as `parse_point_in_time` reads it. A start
    (`word` is since or from) before the twin's start is the twin's start.

    Raise InvalidInput, named by `word`, for another time before the start or a time in the future, and
    NotFound for an unknown message id."""
    if "/" in text:
        site, position = locate_message(twin, text)
        ((_, message),) = twin.log.read(site, position, 1)
        return message.at_us, message.at_us
    meant, now_us = read_time(text), twin.clock.show().now_us
    if meant is None:
        raise InvalidInput(f"{word} {truncated(repr(text))}: {time_problem(text, POINTS_ALLOWED)}")
    first_us, last_us = meant.at(now_us)
    check_not_future(text, first_us, now_us, sites(twin), twin.log, word)
    if first_us < 0 and word not in STARTS:
        raise InvalidInput(
            f"{word} {truncated(repr(text))}: is before the twin's start; must be at most "
            f"{format_time_ms(now_us)} before now"
        )
    return max(0, first_us), max(0, last_us)


def check_types(types: tuple[str, ...]) -> None:
    """Raise InvalidInput unless these are message types."""
    for kind in types:
        if kind not in TYPES:
            near = closest_matches(kind, TYPES, limit=SIMILAR_MAX) or closest_matches(
                kind, TYPES, limit=SIMILAR_MAX, similarity=0.0
            )
            raise InvalidInput(
                f"type {truncated(repr(kind))}: no such message type; did you mean {', '.join(near[:-1])} or "
                f"{near[-1]}? `lightwave events --list-types` lists all {len(TYPES)}"
                if len(near) > 1
                else f"type {truncated(repr(kind))}: no such message type; did you mean {near[0]}? "
                f"`lightwave events --list-types` lists all {len(TYPES)}"
            )


def locate_message(twin: TwinPorts, message_id: str) -> tuple[str, int]:
    """(site, position) of a message."""
    return past_twin.locate_message(twin, sites(twin), message_id)


def full_name(twin: TwinPorts, fabric: str | None, name: str | None) -> str | None:
    """The name of a query, with the fabric in front that the query names, if the name lacks one. Raise
    InvalidInput if the name is of another fabric."""
    if fabric is None or name is None or fabric_part(name) == fabric:
        return name
    if not is_fabric_like(twin, fabric_part(name)):
        return f"{fabric}/{name}"
    raise InvalidInput(
        f"fabric {truncated(repr(fabric))}: is not the fabric of {truncated(name)}; must be "
        f"{fabric_part(name)}, or omitted"
    )


def log_query(twin: TwinPorts, log_filter: LogFilter) -> tuple[str, LogQuery]:
    """(site, query) of a filter; raise InvalidInput or NotFound if part of it is invalid."""
    check_types(log_filter.types)
    without = () if log_filter.ticks else TICK_TYPES
    fabric = log_filter.fabric if log_filter.name is None else fabric_of(twin, log_filter.name)
    query = LogQuery(fabric=fabric, types=tuple(dict.fromkeys(log_filter.types)), without=without)
    if log_filter.name not in (None, fabric):
        query = _about_names(twin, query, fabric, names_about(twin, str(log_filter.name)))
    if log_filter.cause is None:
        return site_of(twin, fabric), query
    site, position = locate_message(twin, log_filter.cause)
    return site, replace(query, fabric=fabric if log_filter.name == fabric else None, cause=position)


def query_about(twin: TwinPorts, fabric: str, name: str) -> tuple[str, LogQuery]:
    """(site, query) for all messages about an existing resource, without Ticks. All messages of a fabric are
    about the fabric. Messages of other fabrics in the site count too, such as the bandwidth that a network
    gives a slice's job."""
    query = LogQuery(fabric=fabric, without=TICK_TYPES)
    if name != fabric:
        query = _about_names(twin, query, fabric, _search_names(twin, fabric, name))
    return site_of(twin, fabric), query


def _about_names(twin: TwinPorts, query: LogQuery, fabric: str, names: tuple[str, ...]) -> LogQuery:
    """The query for messages about a resource of a fabric that is found under these names."""
    effects = OCS_EFFECTS if fabric_network(twin, fabric) is not None else None
    return replace(query, fabric=None, about=names, effects=effects)


def names_about(twin: TwinPorts, name: str) -> tuple[str, ...]:
    """The names under which messages about a resource are found. Raise NotFound if it is not a part of its
    fabric and no message is about it."""
    fabric = fabric_of(twin, name)
    plant = fabric_plant(twin, fabric)
    if plant.contains(name) or plant.contains(f"{name}/0") or _is_demand(plant, name):
        return _search_names(twin, fabric, name)
    if not re.fullmatch(rf"{SEGMENT}(?:/{SEGMENT})*", name.removeprefix(f"{fabric}/")) or not twin.log.find(
        site_of(twin, fabric), LogQuery(about=(name,)), 1
    ):
        later = not_yet_error(twin, site_of(twin, fabric), "name", name)
        raise later or NotFound(
            f"name {truncated(repr(name))}: no such object in {fabric}, and no message on its log is about it"
        )
    return (name,)


def _search_names(twin: TwinPorts, fabric: str, name: str) -> tuple[str, ...]:
    """The names under which messages about a resource are found, its own name first. The OCSes of a rack or
    domain are listed one by one, because their numbers count through the whole network. A demand changes with
    all others."""
    plant = fabric_plant(twin, fabric)
    if _is_demand(plant, name):
        return name, demand_name(fabric)
    names = names_to_search(plant, name)
    if not plant.contains(name):
        return names
    part = plant.parse(name)
    if part.kind not in ("rack", "control", "power"):
        return names
    inside = fabric_graph(twin, fabric).dependents(part, "ocs")
    return (*names, *(f"{fabric}/ocs-{ocs}" for ocs in inside))


def _is_demand(plant: Plant, name: str) -> bool:
    """Whether this is the name of the demand from one block of a network to another."""
    source, is_demand, target = name.partition("/demand-")
    if not is_demand or not target.isdecimal() or not plant.population("block"):
        return False
    blocks = source, f"{fabric_part(name)}/block-{target}"
    return blocks[0] != blocks[1] and all(
        plant.contains(block) and plant.parse(block).kind == "block" for block in blocks
    )


def first_page(twin: TwinPorts, site: str, query: LogQuery, limit: int) -> LogPage:
    """The first messages of a query."""
    rows = twin.log.find(site, query, limit + 1)
    return LogPage(rows[:limit], len(rows) > limit)


def last_page(twin: TwinPorts, site: str, query: LogQuery, limit: int) -> LogPage:
    """The last messages of a query."""
    rows = twin.log.find(site, query, limit + 1, newest=True)
    return LogPage(rows[-limit:], len(rows) > limit)


def cause_chain(twin: TwinPorts, log_filter: str) -> list[Envelope]:
    """The chain of causes back to the root, from a message id or from the last message about a state of a
    resource."""
    chain: list[Envelope] = []
    cause: str | None = (
        log_filter if "@" in log_filter or "/" not in log_filter else _last_state(twin, log_filter)
    )
    while cause is not None and len(chain) < CHAIN_MAX:
        site, position = locate_message(twin, cause)
        message = next((m for _, m in twin.log.read(site, position, 1)), None)
        if message is None:
            raise NotFound(f"message {truncated(repr(cause))}: cannot be read; it is a dead letter")
        chain.append(message)
        cause = message.cause
        if isinstance(message.body, JobFinished):
            cause = _job_start(twin, site, position, message.body.slice) or cause
        elif isinstance(message.body, SliceDegraded | SliceRecovering):
            outage = outage_before_start(twin, site, position, message)
            cause = cause if outage is None else outage[1].id
    return chain


def _job_start(twin: TwinPorts, site: str, before: int, slice_name: str) -> str | None:
    """The message with which the last run of a job started. A job finishes because it ran; the message that
    last changed its speed is the cause on the log, but not the reason why it finished."""
    query = LogQuery(types=("SliceStarted",), about=(slice_name,), end=before)
    rows = twin.log.find(site, query, 1, newest=True)
    return rows[0][1].id if rows else None


def outage_before_start(
    twin: TwinPorts, site: str, before: int, message: Envelope
) -> tuple[str, Envelope] | None:
    """(OCS, the message that took it out of use) if a slice starts degraded because an OCS was already down,
    or made no circuits. The cause on the log is then the request, which is not the reason."""
    if not isinstance(message.body, SliceDegraded | SliceRecovering):
        return None
    about = (message.body.slice,)
    query = LogQuery(types=("SliceAdmitted", "CircuitsConnected", "SliceStarted"), about=about, end=before)
    found = twin.log.find(site, query, RECENT_STARTS_MAX, newest=True)
    last = {one.type: (position, one) for position, one in found}
    if not {"SliceAdmitted", "CircuitsConnected"} <= last.keys():
        return None
    position, connected = last["CircuitsConnected"]
    started = last.get("SliceStarted")
    ran = started is not None and started[0] > last["SliceAdmitted"][0] and started[1].at_us < message.at_us
    if ran or not isinstance(connected.body, CircuitsConnected):
        return None
    for number in connected.body.missing_ocs:
        ocs = f"{message.fabric}/ocs-{number}"
        query = LogQuery(types=("OcsDown", "OcsHeld"), about=(ocs,), end=position)
        rows = twin.log.find(site, query, 1, newest=True)
        if rows:
            return ocs, rows[0][1]
    return None


def verdict_target(chain: Sequence[Envelope]) -> str | None:
    """The part that a chain of causes is about if it contains a verdict. Of all the ends that deviated
    together, this is the one to show."""
    return next((m.body.target for m in chain if isinstance(m.body, VerdictGiven)), None)


def _last_state(twin: TwinPorts, name: str) -> str:
    names = names_about(twin, name)
    fabric = fabric_of(twin, name)
    plant = fabric_plant(twin, fabric)
    last = last_part(name)
    kind = plant.parse(name).kind if plant.contains(name) else last.rpartition("-")[0]
    types = STATE_MESSAGES.get(kind, ())
    query = LogQuery(types=types, about=names if kind == "demand" else names[:1])
    rows = twin.log.find(site_of(twin, fabric), query, 1, newest=True)
    if not rows:
        raise NotFound(f"name {truncated(repr(name))}: no message reports a state of it yet")
    return rows[0][1].id
