"""Requests of the HTTP API about drills, and the state of the kill switch."""

from typing import Literal

from pydantic import Field, JsonValue

from schemas.api.drill_journal import DrillJournal
from schemas.api.requests import DurationS, RefusalReceipt, RequestReceipt
from schemas.api.rows import LogMessage
from schemas.body import Model
from schemas.documents.drills import DeskDocument
from schemas.drill_plan import DrillReason
from schemas.messages.operator import TimeUs


class DrillRequest(Model):
    """Start a drill. `plan` is a DrillPlan, as `lightwave drill plan FILE -o json` prints it. Without
    `fabric` the drill belongs to the fabric of its first step or target. The same `seed` draws the same
    targets."""

    plan: dict[str, JsonValue]
    seed: int = Field(0, ge=0, lt=2**52)
    fabric: str | None = Field(None, examples=["pod-0"])


class ScheduleRequest(DrillRequest):
    """Schedule a drill: `plan.schedule` has the interval and the window. The first run is due at the
    simulated time `first_us`, or `first_after_s` seconds from now, or one interval from now."""

    first_us: TimeUs | None = None
    first_after_s: DurationS | None = None


class DrillStopRequest(Model):
    """Stop a drill: no further step; what it began is ended, and its hypothesis is verified."""

    reason: DrillReason


class SafetyRequest(Model):
    """`stop` ends all drills and everything that they began, on all sites of the twin. With `hold`, no drill
    starts until `release`."""

    action: Literal["stop", "release"]
    reason: DrillReason
    hold: bool = False


class SafetyReceipt(Model):
    """The receipt of the request that a site got."""

    site: str
    receipt: RefusalReceipt | RequestReceipt


class SafetyRow(Model):
    """The drills of one fabric: how many run, and the reason for which none may start, null if they may."""

    fabric: str
    running: int
    hold: str | None
    held_us: int | None


DeskRow = DeskDocument


class CulpritRequest(Model):
    """The part that a trainee holds to be broken."""

    culprit: str = Field(examples=["pod-0/ocs-17"])


class Debrief(Model):
    """What a trainee did in a drill that has ended, and the truth. `timeline` has the messages of the site
    from the drill's start to its end that tell of it, oldest first: faults, alarms, verdicts, repairs, slices
    that were disturbed, requests of operators, and what happened at the desk. `is_cut` tells that there were
    more."""

    desk: DeskRow
    drill: DrillJournal
    site: str
    timeline: tuple[LogMessage, ...]
    is_cut: bool
