"""Requests of operators about drills."""

from typing import Annotated

from pydantic import Field

from schemas.drill_plan import DrillPlan, DrillReason
from schemas.messages.operator import OperatorBody
from schemas.names import DrillName, FabricName


class RunDrill(OperatorBody):
    """Start a drill with this plan. The same seed draws the same targets, delays and severities."""

    plan: DrillPlan
    seed: Annotated[int, Field(ge=0, lt=2**52)] = 0


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
