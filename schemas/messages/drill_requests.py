"""Requests of operators about drills."""

from typing import Annotated

from pydantic import Field

from schemas.body import is_none
from schemas.drill_plan import DrillPlan, DrillReason
from schemas.messages.operator import OperatorBody, TimeUs
from schemas.names import DrillName, FabricName, ScheduleName, TargetName


class RunDrill(OperatorBody):
    """Start a drill with this plan. The same seed draws the same targets, delays and severities."""

    plan: DrillPlan
    seed: Annotated[int, Field(ge=0, lt=2**52)] = 0


class ScheduleDrill(OperatorBody):
    """Run a drill again and again, as the schedule of its plan says. Each run draws its own seed from `seed`.
    The first run is due at `first_us`, or one interval after the request."""

    plan: DrillPlan
    seed: Annotated[int, Field(ge=0, lt=2**52)] = 0
    first_us: TimeUs | None = Field(default=None, exclude_if=is_none)


class UnscheduleDrill(OperatorBody):
    """End a schedule. A run that has begun continues."""

    schedule: ScheduleName


class StopDrill(OperatorBody):
    """Stop a drill: no further step, undo, verify."""

    drill: DrillName
    reason: DrillReason


class StopAllDrills(OperatorBody):
    """The kill switch of a site: every drill of all its fabrics ends now, and so does everything that drills
    began. With `hold`, no drill starts until ReleaseDrills."""

    fabric: FabricName
    reason: DrillReason
    hold: bool = False


class ReleaseDrills(OperatorBody):
    """Let drills start again on all fabrics of a site."""

    fabric: FabricName
    reason: DrillReason


class AcknowledgeAlerts(OperatorBody):
    """A trainee has seen the alerts of a drill, and works on them."""

    drill: DrillName


class NameCulprit(OperatorBody):
    """A trainee names the part that is broken. Only the score tells whether it is."""

    drill: DrillName
    culprit: TargetName


class TakeHint(OperatorBody):
    """A trainee takes the next hint of a drill."""

    drill: DrillName
