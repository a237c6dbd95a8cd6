"""What the log of a site records about one drill, for its score."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeVar

from schemas.body import Body
from schemas.drill_plan import DrillPlan, Phase
from schemas.envelope import Envelope
from schemas.messages.drill_requests import RunDrill
from schemas.messages.drills import (
    DrillBegun,
    DrillDue,
    DrillEnded,
    DrillOrder,
    DrillPhaseBegun,
    DrillRefused,
    DrillStopped,
    DrillTargetsDrawn,
    ProbeChanged,
    Verdict,
)
from schemas.messages.failures import FaultBegan, FaultEnded
from schemas.messages.repairs import RepairCancelled, RepairCompleted, RepairFailed, RepairOpened
from shared.basics.errors import InvalidInput
from shared.models.plant.naming import index_names
from shared.models.plant.plant_format import Plant

BodyT = TypeVar("BodyT", bound=Body)
ProbeKey = tuple[str, str | None]
"""(probe, the resource that it was measured for)."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The verdict of a probe for a resource from a time until another."""

    phase: Phase
    verdict: Verdict
    since_us: int
    until_us: int
    message: str


@dataclass
class DrillRecord:
    """The messages of a site's log from the request of a drill until its end, and what was open before.

    `faults_before` and `repairs_before` are the active faults and the open repairs at the request. `refused`
    is the refusal of the drill, then nothing else is recorded.
    """

    plan: DrillPlan
    seed: int
    plants: Mapping[str, Plant]
    drill: str = ""
    faults_before: dict[str, Envelope] = field(default_factory=dict)
    repairs_before: dict[str, Envelope] = field(default_factory=dict)
    messages: list[Envelope] = field(default_factory=list)
    refused: Envelope | None = None
    ended: Envelope | None = None

    def each(self, kind: type[BodyT]) -> Iterator[tuple[Envelope, BodyT]]:
        """The messages of a type, in order of the log, with their bodies."""
        for message in self.messages:
            if isinstance(message.body, kind):
                yield message, message.body

    @property
    def end(self) -> DrillEnded | None:
        """The end of the drill; None while it runs."""
        return self.ended.body if self.ended is not None and isinstance(self.ended.body, DrillEnded) else None

    @property
    def end_us(self) -> int:
        """The time of its end, or of the last message so far."""
        return self.messages[-1].at_us if self.ended is None else self.ended.at_us

    @property
    def stopped(self) -> tuple[Envelope, DrillStopped] | None:
        """Why it ended before all its steps; None if it did not."""
        return next(((m, b) for m, b in self.each(DrillStopped) if b.drill == self.drill), None)

    @property
    def targets(self) -> dict[str, tuple[str, ...]]:
        """Target → the names of the resources that were drawn for it."""
        return {
            drawn.target: drawn.names
            for _, body in self.each(DrillTargetsDrawn)
            if body.drill == self.drill
            for drawn in body.targets
        }

    def phase_us(self, phase: Phase) -> int | None:
        """The time at which a phase began; None if it did not."""
        found = (m.at_us for m, b in self.each(DrillPhaseBegun) if b.drill == self.drill and b.phase == phase)
        return next(found, None)

    def orders(self) -> dict[str, DrillOrder]:
        """Id → order of the drill."""
        return {m.id: b for m, b in self.each(DrillOrder) if b.drill == self.drill}

    def names_in(self, message: Envelope) -> set[str]:
        """The names of everything that a message is about."""
        plant = self.plants[message.fabric]
        return index_names(type(message.body), message.body.__dict__, plant, message.fabric)

    def readings(self) -> dict[ProbeKey, list[Reading]]:
        """The verdicts of each probe and resource, over time."""
        changes: dict[ProbeKey, list[tuple[Envelope, ProbeChanged]]] = {}
        for message, body in self.each(ProbeChanged):
            if body.drill == self.drill:
                changes.setdefault((body.probe, body.target), []).append((message, body))
        return {key: list(self._spans(rows)) for key, rows in changes.items()}

    def _spans(self, rows: list[tuple[Envelope, ProbeChanged]]) -> Iterator[Reading]:
        ends = [*(later.at_us for _, (later, _) in pairwise(rows)), self.end_us]
        for (message, body), until_us in zip(rows, ends, strict=True):
            yield Reading(body.phase, body.verdict, message.at_us, until_us, message.id)


def read_drill(messages: Iterable[Envelope], drill: str | None, plants: Mapping[str, Plant]) -> DrillRecord:
    """Read the record of a drill from a site's log.

    Without a name it is the only drill of the log. `plants` has the plant of every fabric of the site.
    Raises InvalidInput if the log does not have the drill, or several without a name.
    """
    faults: dict[str, Envelope] = {}
    repairs: dict[str, Envelope] = {}
    requests: dict[str, DrillRecord] = {}
    found: DrillRecord | None = None
    names: list[str] = []
    for message in messages:
        body = message.body
        if isinstance(body, RunDrill | DrillDue):
            requests[message.id] = DrillRecord(
                body.plan, body.seed, plants, faults_before=dict(faults), repairs_before=dict(repairs)
            )
        elif isinstance(body, DrillBegun):
            names.append(body.drill)
            if message.cause in requests and drill in (None, body.drill):
                found = requests[message.cause] if found is None else found
                found.drill = found.drill or body.drill
        elif isinstance(body, DrillRefused) and message.cause in requests and drill is None:
            requests[message.cause].refused = message
            found = found or requests[message.cause]
        _keep_open(message, faults, repairs)
        for record in requests.values() if found is None else (found,):
            if record.ended is None:
                record.messages.append(message)
        if found is not None and isinstance(body, DrillEnded) and body.drill == found.drill:
            found.ended = found.ended or message
    return _only(found, drill, names)


def _only(found: DrillRecord | None, drill: str | None, names: list[str]) -> DrillRecord:
    known = ", ".join(names[:20])
    if drill is None and len(names) > 1:
        raise InvalidInput(f"drill: the log has {len(names)} drills; name one of {known}")
    if found is None and drill is None:
        raise InvalidInput("drill: the log has no drill")
    if found is None:
        raise InvalidInput(f"drill: the log has no {drill}; must be one of {known}" if names else "no drill")
    return found


def _keep_open(message: Envelope, faults: dict[str, Envelope], repairs: dict[str, Envelope]) -> None:
    """Record which faults are active and which repairs are open."""
    match message.body:
        case FaultBegan(fault=name):
            faults[name] = message
        case FaultEnded(fault=name):
            faults.pop(name, None)
        case RepairOpened(repair=name):
            repairs[name] = message
        case RepairCompleted(repair=name) | RepairCancelled(repair=name) | RepairFailed(repair=name):
            repairs.pop(name, None)
