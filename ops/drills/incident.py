"""Finds an incident in a log: faults that began close together, their effects, and requests of operators."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from schemas.body import Body
from schemas.drill_plan import EXPECTED_MAX, STEPS_MAX
from schemas.envelope import Envelope
from schemas.messages.failures import FaultBegan, FaultEnded
from schemas.messages.operator import (
    DrainCube,
    RequestSlice,
    RestartOcs,
    SetParameters,
    TestLink,
    UndrainCube,
)
from schemas.registry import REFUSALS, TYPES
from shared.basics.errors import InvalidInput, NotFound
from shared.basics.time_format import format_duration, format_time
from shared.basics.units import US_PER_HOUR
from shared.models.plant.naming import index_names
from shared.models.plant.plant_format import Plant

REPEATABLE = (DrainCube, RequestSlice, RestartOcs, SetParameters, TestLink, UndrainCube)
"""Requests that a drill can repeat: they name only parts, which every fabric like this one has."""
OF_ONE_TWIN = (
    "ReleaseSlice",
    "CreateCrossConnects",
    "RemoveCrossConnects",
    "ApproveRewiring",
    "AbortRewiring",
)
"""Requests that name what only the incident's own twin had; a drill leaves them out."""
REQUEST_TYPES: tuple[str, ...] = (*(body.__name__ for body in REPEATABLE), *OF_ONE_TWIN)
EFFECT_TYPES = (
    *("HostDown", "CubeUnhealthy", "CubePowerLost", "CubeOverheated"),
    *("OcsDown", "OcsPartDown", "PortsDown", "PortDown", "OcsesDown", "ControlLost", "NetworkPartDown"),
    *("VerdictGiven", "RepairRequested", "RepairOpened"),
)
"""What the site reports about a fault: alarms, the diagnosis, and the request for a repair."""
STEPS_OF_DRILL = STEPS_MAX - 10
OPEN_US = US_PER_HOUR
"""How long an incident lasts after its last fault began, if that has not ended yet."""
LONGEST_US = 24 * US_PER_HOUR
"""An incident ends at the latest this long after its last fault began."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of an incident; `ended_us` is None while it lasts."""

    name: str
    at_us: int
    body: FaultBegan
    ended_us: int | None


@dataclass(frozen=True, slots=True)
class OperatorRequest:
    """A request of an operator during an incident."""

    at_us: int
    fabric: str
    body: Body


@dataclass(frozen=True, slots=True)
class FaultEffect:
    """A message of this type about the target of a fault, `delay_us` after the fault began at `fault_us`."""

    type: str
    target: str
    fault_us: int
    delay_us: int


@dataclass(frozen=True, slots=True)
class Incident:
    """Faults, their effects and requests in order of time. `left_out` are requests that a drill cannot
    repeat."""

    fabric: str
    faults: tuple[Fault, ...]
    effects: tuple[FaultEffect, ...]
    requests: tuple[OperatorRequest, ...]
    left_out: tuple[OperatorRequest, ...]
    evicted: int

    @property
    def first_us(self) -> int:
        times = [one.at_us for one in self.faults] + [one.at_us for one in self.requests]
        return min(times)

    @property
    def until_us(self) -> int:
        """The end of the last fault, or of the time for which the incident is read."""
        return end_us(self.faults)


def end_us(faults: Sequence[Fault]) -> int:
    """When an incident with these faults is over."""
    last_us = max(one.at_us for one in faults)
    ends = [last_us + OPEN_US if one.ended_us is None else one.ended_us for one in faults]
    return min(max(ends), last_us + LONGEST_US)


def find_faults(
    begun: Sequence[Envelope], fabric: str, at_us: int, *, within_us: int, gap_us: int
) -> list[Envelope]:
    """The faults of the incident nearest to a time.

    It begins with the fault of `fabric` that began nearest to `at_us`, at most `within_us` from it, and has
    all faults of the site that began at most `gap_us` after or before another of its faults. `begun` are the
    FaultBegan of the site's log. Raises NotFound that names the nearest incident, if it is further away.
    """
    ids = {message.id for message in begun}
    # A fault that follows from another one, such as those of a power domain, needs no step of its own.
    roots = sorted((one for one in begun if one.cause not in ids), key=lambda one: (one.at_us, one.id))
    own = [place for place, one in enumerate(roots) if one.fabric == fabric]
    if not own:
        raise NotFound(f"{fabric} at {format_time(at_us)}: no fault of this fabric is on the log")

    def distance_us(place: int) -> int:
        return abs(roots[place].at_us - at_us)

    first = last = min(own, key=distance_us)
    nearest = roots[first]
    if abs(nearest.at_us - at_us) > within_us:
        body = nearest.body
        name = f"{body.fault} ({body.kind}, {body.target})" if isinstance(body, FaultBegan) else nearest.id
        raise NotFound(
            f"{fabric} at {format_time(at_us)}: no fault began within {format_duration(within_us)}; the "
            f"nearest is {name}, which began at {format_time(nearest.at_us)}"
        )
    while first > 0 and roots[first].at_us - roots[first - 1].at_us <= gap_us:
        first -= 1
    while last + 1 < len(roots) and roots[last + 1].at_us - roots[last].at_us <= gap_us:
        last += 1
    return roots[first : last + 1]


def faults_with_ends(begun: Sequence[Envelope], ended: Sequence[Envelope]) -> tuple[Fault, ...]:
    """The faults of an incident with the times at which they ended."""
    ends = {one.body.fault: one.at_us for one in ended if isinstance(one.body, FaultEnded)}
    return tuple(
        Fault(one.body.fault, one.at_us, one.body, ends.get(one.body.fault))
        for one in begun
        if isinstance(one.body, FaultBegan)
    )


def incident_of(
    fabric: str, faults: tuple[Fault, ...], messages: Sequence[Envelope], plants: Mapping[str, Plant]
) -> Incident:
    """The incident with these faults; `messages` are those of `read_types` of its time, `plants` those of the
    fabrics of its site.

    Injections and clears of faults are no requests of their own: the faults have their times. Raises
    InvalidInput if a drill cannot have that many steps.
    """
    refusals = {kind.__name__ for kind in REFUSALS.values()}
    refused = {one.cause for one in messages if one.type in refusals}
    requests: list[OperatorRequest] = []
    left_out: list[OperatorRequest] = []
    for one in messages:
        if one.type in REQUEST_TYPES and one.id not in refused:
            into = requests if isinstance(one.body, REPEATABLE) else left_out
            into.append(OperatorRequest(one.at_us, one.fabric, one.body))
    steps = len(faults) + len(requests)
    if steps > STEPS_OF_DRILL:
        raise InvalidInput(
            f"the incident has {len(faults)} faults and {len(requests)} requests; a drill has at most "
            f"{STEPS_OF_DRILL} steps: make the gap shorter"
        )
    evicted = sum(one.type == "SliceEvicted" for one in messages)
    effects = tuple(_effects(faults, messages, plants))[:EXPECTED_MAX]
    return Incident(fabric, faults, effects, tuple(requests), tuple(left_out), evicted)


def _effects(
    faults: Sequence[Fault], messages: Sequence[Envelope], plants: Mapping[str, Plant]
) -> Iterator[FaultEffect]:
    """The first message of each type about the target of each fault, while the fault was active. A message
    with a kind of fault must have that of the fault. Of several faults in one part, only the first has
    effects: a drill counts its messages from the start."""
    reports = [
        (one, index_names(type(one.body), one.body.__dict__, plants[one.fabric], one.fabric))
        for one in messages
        if one.type in EFFECT_TYPES
    ]
    seen: set[tuple[str, str]] = set()
    for fault in faults:
        target, until_us = fault.body.target, fault.ended_us
        for message, names in reports:
            is_active = message.at_us >= fault.at_us and (until_us is None or message.at_us <= until_us)
            is_of_kind = getattr(message.body, "kind", fault.body.kind) == fault.body.kind
            if is_active and is_of_kind and target in names and (message.type, target) not in seen:
                seen.add((message.type, target))
                yield FaultEffect(message.type, target, fault.at_us, message.at_us - fault.at_us)


def read_types() -> tuple[str, ...]:
    """The types of the messages that `incident_of` reads."""
    refusals = sorted({kind.__name__ for name, kind in REFUSALS.items() if name in REQUEST_TYPES})
    return (*(name for name in REQUEST_TYPES if name in TYPES), *refusals, "SliceEvicted", *EFFECT_TYPES)
