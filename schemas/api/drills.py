"""Requests of the HTTP API about drills, and the state of the kill switch."""

from typing import Literal

from pydantic import Field, JsonValue

from schemas.api.requests import DurationS, RequestReceipt
from schemas.body import Model
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
    receipt: RequestReceipt


class SafetyRow(Model):
    """The drills of one fabric: how many run, and the reason for which none may start, null if they may."""

    fabric: str
    running: int
    hold: str | None
    held_us: int | None
