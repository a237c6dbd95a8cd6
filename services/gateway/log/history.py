"""The log as people ask it: since a moment, by type, by name, by cause, and back to the root."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from schemas.envelope import Envelope
from schemas.messages.diagnosis import VerdictGiven
from schemas.names import SEGMENT
from schemas.registry import TYPES
from services.gateway.fabrics import fabric_network, fabric_of, fabric_plant, site_of, sites
from services.gateway.log.time_travel import find_message
from services.gateway.ports import TwinPorts
from shared.basics.errors import InvalidInput, NotFound
from shared.basics.parsing import parse_duration_s
from shared.basics.spelling import truncated
from shared.basics.time_format import parse_time_us
from shared.basics.units import US_PER_S
from shared.models.network.network_plant import ocses_of
from shared.models.plant.naming import names_to_search
from shared.storage.log.log_reader import LogQuery

EVENTS_MAX = 10_000
EVENTS_DEFAULT = 100
CHAIN_MAX = 1_000
TICK_TYPES = ("Tick",)
"""Types that tell of nothing but that time goes on."""
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
    "rewiring": (
        *("RewiringPlanned", "RewiringApproved", "StageBegun", "StageWaits", "RewireCircuits"),
        *("CircuitsRewired", "RewiringRefused", "CircuitsQualified", "StageUndrained", "RewiringEnded"),
    ),
}
"""Kind of thing → the messages that tell of a state that it came into."""
OCS_EFFECTS = (("OcsDown", "OcsesDown", "PortDown", "CircuitsRestored"), ("TrunksChanged",))
"""What befalls the OCSes of a network, and what that makes of its trunks, which names only blocks."""


@dataclass(frozen=True, slots=True)
class LogFilter:
    """What somebody asks of the log. `name` is a thing that messages are about, `cause` the id of the message
    that they followed from, whatever their fabric; without `ticks` the clockwork is left out."""

    fabric: str
    types: tuple[str, ...] = ()
    name: str | None = None
    cause: str | None = None
    ticks: bool = True


@dataclass(frozen=True, slots=True)
class LogPage:
    """Messages with their positions, oldest first; `is_cut` where there are more beyond."""

    found: list[tuple[int, Envelope]]
    is_cut: bool


def parse_time(twin: TwinPorts, word: str, text: str) -> tuple[int, int]:
    """(first, last) microsecond of the simulated time that somebody writes: `2h`, `1d12h`, `30s` before the
    twin's now, or `3d02:15:04` since the beginning."""
    span_s = parse_duration_s(text)
    if span_s is not None:
        at_us = max(0, twin.clock.show().now_us - span_s * US_PER_S)
        return at_us, at_us
    found = parse_time_us(text)
    if found is None:
        raise InvalidInput(
            f"{word} {truncated(repr(text))}: not a time; allowed are "
            "durations back from now like 30s, 15m, 2h, "
            "1d12h, and moments like 3d02:15:04"
        )
    return found


def check_types(types: tuple[str, ...]) -> None:
    """InvalidInput unless these are message types."""
    for kind in types:
        if kind not in TYPES:
            raise InvalidInput(
                f"type {truncated(repr(kind))}: no message type; allowed are {', '.join(TYPES)}"
            )


def locate_message(twin: TwinPorts, message_id: str) -> tuple[str, int]:
    """(site, position) of a message."""
    return find_message(twin.log, sites(twin), message_id)


def log_query(twin: TwinPorts, log_filter: LogFilter) -> tuple[str, LogQuery]:
    """(site, query) of what somebody asks; InvalidInput or NotFound where something of it cannot be."""
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
    """(site, query) of all about a thing that there is, but the clockwork; the fabric itself is about all.
    What other fabrics of the site say of a thing counts: what the network gives a slice's job."""
    query = LogQuery(fabric=fabric, without=TICK_TYPES)
    if name != fabric:
        query = _about_names(twin, query, fabric, _under(twin, fabric, name))
    return site_of(twin, fabric), query


def _about_names(twin: TwinPorts, query: LogQuery, fabric: str, names: tuple[str, ...]) -> LogQuery:
    """The query of all that is about a thing of a fabric, which is found under these names."""
    effects = OCS_EFFECTS if fabric_network(twin, fabric) is not None else None
    return replace(query, fabric=None, about=names, effects=effects)


def names_about(twin: TwinPorts, name: str) -> tuple[str, ...]:
    """The names under which messages about a thing are found. NotFound where it is no part of its fabric, nor
    has the log ever heard of it."""
    fabric = fabric_of(twin, name)
    made_of = fabric_plant(twin, fabric)
    if made_of.contains(name) or made_of.contains(f"{name}/0"):
        return _under(twin, fabric, name)
    if not re.fullmatch(rf"{SEGMENT}(?:/{SEGMENT})*", name.removeprefix(f"{fabric}/")) or not twin.log.find(
        site_of(twin, fabric), LogQuery(about=(name,)), 1
    ):
        raise NotFound(f"name {truncated(repr(name))}: nothing on the log of {fabric} is about it")
    return (name,)


def _under(twin: TwinPorts, fabric: str, name: str) -> tuple[str, ...]:
    """The names under which all stands that is about a thing of a fabric, its own first. OCSes are called by
    their number in the whole network, so those of a rack or domain are named one by one."""
    made_of, network = fabric_plant(twin, fabric), fabric_network(twin, fabric)
    names = names_to_search(made_of, name)
    if network is None or not made_of.contains(name):
        return names
    part = made_of.parse(name)
    if part.kind not in ("rack", "control", "power"):
        return names
    return (*names, *(f"{fabric}/ocs-{ocs}" for ocs in ocses_of(network, part.kind, part.number)))


def first_page(twin: TwinPorts, site: str, query: LogQuery, most: int) -> LogPage:
    """The first messages that are asked for."""
    found = twin.log.find(site, query, most + 1)
    return LogPage(found[:most], len(found) > most)


def last_page(twin: TwinPorts, site: str, query: LogQuery, most: int) -> LogPage:
    """The last ones."""
    found = twin.log.find(site, query, most + 1, newest=True)
    return LogPage(found[-most:], len(found) > most)


def cause_chain(twin: TwinPorts, log_filter: str) -> list[Envelope]:
    """The chain of causes back to the root: from a message, or from the last one that told of a state of the
    thing of this name."""
    chain: list[Envelope] = []
    cause: str | None = (
        log_filter if "@" in log_filter or "/" not in log_filter else _last_state(twin, log_filter)
    )
    while cause is not None and len(chain) < CHAIN_MAX:
        site, position = locate_message(twin, cause)
        message = next((m for _, m in twin.log.read(site, position, 1)), None)
        if message is None:
            raise NotFound(f"message {truncated(repr(cause))}: cannot be read; it is among the dead letters")
        chain.append(message)
        cause = message.cause
    return chain


def verdict_target(chain: Sequence[Envelope]) -> str | None:
    """The part that a chain of causes is about, where it leads to a verdict: of the many ends that stood out
    together, people ask for this one."""
    return next((m.body.target for m in chain if isinstance(m.body, VerdictGiven)), None)


def _last_state(twin: TwinPorts, name: str) -> str:
    names = names_about(twin, name)
    fabric = fabric_of(twin, name)
    made_of = fabric_plant(twin, fabric)
    last = name.rpartition("/")[2]
    kind = made_of.parse(name).kind if made_of.contains(name) else last.rpartition("-")[0]
    types = STATE_MESSAGES.get(kind, ())
    query = LogQuery(types=types, about=names[:1])
    found = twin.log.find(site_of(twin, fabric), query, 1, newest=True)
    if not found:
        raise NotFound(f"name {truncated(repr(name))}: nothing has happened to it yet")
    return found[0][1].id
