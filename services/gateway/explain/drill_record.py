"""What the log of a site records about one drill: its journal and its score are made from it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeVar

from schemas.body import Body
from schemas.drill_plan import DrillPlan, Phase
from schemas.envelope import Envelope
from schemas.messages.drill_requests import RunDrill, StopAllDrills, StopDrill
from schemas.messages.drills import (
    DrillBegun,
    DrillDeviated,
    DrillDue,
    DrillEnded,
    DrillOrder,
    DrillPhaseBegun,
    DrillRefused,
    DrillStepEnded,
    DrillStopped,
    DrillTargetsDrawn,
    ProbeChanged,
    Verdict,
)
from schemas.messages.failures import FaultBegan, FaultEnded
from schemas.registry import REFUSALS
from shared.basics.errors import InvalidInput
from shared.models.plant.naming import index_names
from shared.models.plant.plant_format import Plant

BodyT = TypeVar("BodyT", bound=Body)
ProbeKey = tuple[str, str | None]
"""(probe, the resource that it was measured for)."""
DRILL_MESSAGES = (
    *(DrillBegun, DrillTargetsDrawn, DrillPhaseBegun, DrillOrder, DrillStepEnded),
    *(ProbeChanged, DrillDeviated, DrillStopped, DrillEnded),
)
"""Types of messages that name their drill."""
STOPS = (StopDrill, StopAllDrills)
"""Requests of operators that stop drills."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The verdict of a probe for a resource from a time until another."""

    phase: Phase
    verdict: Verdict
    since_us: int
    until_us: int
    message: str


@dataclass(slots=True)
class RecordedOrder:
    """An order of the drill, and why it was refused."""

    message: Envelope
    body: DrillOrder
    refusal: str | None = None


@dataclass
class DrillRecord:
    """The messages of a site's log from the request of a drill until its end, and those of the drill by type.

    `faults_before` are the active faults at the request. `refused` is the refusal of the drill; then nothing
    else is recorded. The ends of the drill's faults are recorded beyond its end. `first` and `last` are the
    positions of its first and last message on the log.
    """

    request: Envelope
    run: RunDrill | DrillDue
    plants: Mapping[str, Plant]
    faults_before: dict[str, Envelope] = field(default_factory=dict)
    drill: str = ""
    messages: list[Envelope] = field(default_factory=list)
    stops: dict[str, Envelope] = field(default_factory=dict)
    """Requests to stop drills, by id."""
    begun: tuple[Envelope, DrillBegun] | None = None
    drawn: DrillTargetsDrawn | None = None
    phases: list[tuple[Envelope, DrillPhaseBegun]] = field(default_factory=list)
    probes: list[tuple[Envelope, ProbeChanged]] = field(default_factory=list)
    deviations: list[tuple[Envelope, DrillDeviated]] = field(default_factory=list)
    orders: dict[str, RecordedOrder] = field(default_factory=dict)
    steps: list[tuple[Envelope, DrillStepEnded]] = field(default_factory=list)
    faults: dict[str, tuple[Envelope, FaultBegan]] = field(default_factory=dict)
    ended_faults: dict[str, tuple[Envelope, FaultEnded]] = field(default_factory=dict)
    most_faults: int = 0
    """The most faults of the drill that were active at once."""
    stopped: tuple[Envelope, DrillStopped] | None = None
    refused: tuple[Envelope, DrillRefused] | None = None
    ended: tuple[Envelope, DrillEnded] | None = None
    first: int = 0
    last: int = 0

    @property
    def plan(self) -> DrillPlan:
        return self.run.plan

    @property
    def end(self) -> DrillEnded | None:
        """The end of the drill; None while it runs."""
        return None if self.ended is None else self.ended[1]

    @property
    def end_id(self) -> str | None:
        """The id of the message of its end; None while it runs."""
        return None if self.ended is None else self.ended[0].id

    @property
    def end_us(self) -> int:
        """The time of its end, or of the last message so far."""
        return self.messages[-1].at_us if self.ended is None else self.ended[0].at_us

    @property
    def targets(self) -> dict[str, tuple[str, ...]]:
        """Target → the names of the resources that were drawn for it."""
        return {} if self.drawn is None else {one.target: one.names for one in self.drawn.targets}

    @property
    def active_faults(self) -> set[str]:
        """The names of the drill's faults that have not ended."""
        return self.faults.keys() - self.ended_faults.keys()

    def each(self, kind: type[BodyT]) -> Iterator[tuple[Envelope, BodyT]]:
        """The messages of a type, in order of the log, with their bodies."""
        for message in self.messages:
            if isinstance(message.body, kind):
                yield message, message.body

    def phase_us(self, phase: Phase) -> int | None:
        """The time at which a phase began; None if it did not."""
        return next((message.at_us for message, body in self.phases if body.phase == phase), None)

    def names_in(self, message: Envelope) -> set[str]:
        """The names of everything that a message is about."""
        plant = self.plants[message.fabric]
        return index_names(type(message.body), message.body.__dict__, plant, message.fabric)

    def readings(self) -> dict[ProbeKey, list[Reading]]:
        """The verdicts of each probe and resource, over time."""
        changes: dict[ProbeKey, list[tuple[Envelope, ProbeChanged]]] = {}
        for message, body in self.probes:
            changes.setdefault((body.probe, body.target), []).append((message, body))
        return {key: list(self._spans(rows)) for key, rows in changes.items()}

    def _spans(self, rows: list[tuple[Envelope, ProbeChanged]]) -> Iterator[Reading]:
        ends = [*(later.at_us for _, (later, _) in pairwise(rows)), self.end_us]
        for (message, body), until_us in zip(rows, ends, strict=True):
            yield Reading(body.phase, body.verdict, message.at_us, until_us, message.id)

    def take(self, position: int, message: Envelope) -> None:
        """Record a message from the request on."""
        body = message.body
        if self.ended is None:
            self.messages.append(message)
            if isinstance(body, STOPS):
                self.stops[message.id] = message
        if isinstance(body, DRILL_MESSAGES):
            if body.drill == self.drill:
                self._take_own(position, message, body)
        elif self.begun is not None:
            self._take_effect(position, message, body)

    def _take_own(self, position: int, message: Envelope, body: Body) -> None:
        """Record a message that names the drill."""
        self.last = position
        match body:
            case DrillBegun():
                self.begun, self.first = (message, body), position
            case DrillTargetsDrawn():
                self.drawn = body
            case DrillPhaseBegun():
                self.phases.append((message, body))
            case DrillOrder():
                self.orders[message.id] = RecordedOrder(message, body)
            case DrillStepEnded():
                self.steps.append((message, body))
            case ProbeChanged():
                self.probes.append((message, body))
            case DrillDeviated():
                self.deviations.append((message, body))
            case DrillStopped():
                self.stopped = self.stopped or (message, body)
            case DrillEnded():
                self.ended = message, body

    def _take_effect(self, position: int, message: Envelope, body: Body) -> None:
        """Record what follows from the drill's orders: its faults, and refusals."""
        order = self.orders.get(message.cause or "")
        if isinstance(body, FaultBegan) and order is not None:
            self.faults[body.fault] = message, body
            self.most_faults = max(self.most_faults, len(self.active_faults))
            self.last = position
        elif isinstance(body, FaultEnded) and body.fault in self.faults:
            self.ended_faults[body.fault] = message, body
            self.last = position
        elif order is not None and isinstance(body, REFUSALS.get(order.body.request_type, ())):
            order.refusal = str(getattr(body, "reason", type(body).__name__))
            self.last = position


def read_record(
    messages: Iterable[tuple[int, Envelope]], drill: str | None, plants: Mapping[str, Plant]
) -> DrillRecord:
    """Read the record of a drill from (position, message) of a site's log, at least from its request to its
    end, or so far.

    Without a name it is the only drill of the log. `plants` has the plant of every fabric of the site, for
    the names in messages. Raises InvalidInput if the log does not have the drill's start, or has several
    drills without a name.
    """
    faults: dict[str, Envelope] = {}
    requests: dict[str, DrillRecord] = {}
    found: DrillRecord | None = None
    names: list[str] = []
    for position, message in messages:
        body = message.body
        if isinstance(body, RunDrill | DrillDue):
            requests[message.id] = DrillRecord(message, body, plants, dict(faults))
        elif isinstance(body, DrillBegun):
            names.append(body.drill)
            if found is None and message.cause in requests and drill in (None, body.drill):
                found = requests[message.cause]
                found.drill = body.drill
        elif isinstance(body, DrillRefused) and message.cause in requests and drill is None:
            requests[message.cause].refused = message, body
            found = found or requests[message.cause]
        elif isinstance(body, FaultBegan):
            faults[body.fault] = message
        elif isinstance(body, FaultEnded):
            faults.pop(body.fault, None)
        for record in requests.values() if found is None else (found,):
            record.take(position, message)
        if drill is not None and found is not None and found.ended is not None and not found.active_faults:
            break
    return _only(found, drill, names)


def _only(found: DrillRecord | None, drill: str | None, names: list[str]) -> DrillRecord:
    known = ", ".join(names[:20])
    if drill is None and len(names) > 1:
        raise InvalidInput(f"drill: the log has {len(names)} drills; name one of {known}")
    if found is None and drill is None:
        raise InvalidInput("drill: the log has no drill")
    if found is None:
        known = f"; must be one of {known}" if names else ""
        raise InvalidInput(f"drill: the log has no start of {drill!r}{known}")
    return found
