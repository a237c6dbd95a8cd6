"""Messages of the service `drills`: the journal of a drill is a projection of them."""

from typing import Annotated, ClassVar, Literal, get_args

import orjson
from pydantic import Field, ValidationInfo, field_validator

from schemas.body import Body, Model, is_none
from schemas.drill_plan import DrillPlan, DrillReason, DrillRequest, Phase, PlanName
from schemas.limits import CALLER_NAME_MAX, COMMENT_MAX
from schemas.messages.drill_requests import (
    AcknowledgeAlerts,
    NameCulprit,
    ReleaseDrills,
    RunDrill,
    ScheduleDrill,
    StopAllDrills,
    StopDrill,
    TakeHint,
    UnscheduleDrill,
)
from schemas.names import DrillName, FabricName, ScheduleName, TargetName, UncheckedName

Verdict = Literal["passed", "violated", "not-measured"]
StopCause = Literal["gate", "step", "limit", "stop-condition", "operator", "kill-switch", "lease"]
DrillStatus = Literal["completed", "stopped", "cancelled", "failed"]
"""`completed`: all steps ran. `stopped`: ended early, and undone. `cancelled`: ended before its first step.
`failed`: a step could not be done, so the drill says nothing about the system."""


REQUESTS = {request.__name__: request for request in get_args(DrillRequest)}
"""Type → the requests that a drill can send."""


class DrillsBody(Body):
    writer = "drills"


class DrillBegun(DrillsBody):
    """A drill starts with its gate. `lease_ends_us` is when everything that it began has ended at the
    latest."""

    drill: DrillName
    title: str
    document_sha256: str
    seed: int
    lease_ends_us: Annotated[int, Field(ge=0)]
    schedule: ScheduleName | None = Field(default=None, exclude_if=is_none)
    """The schedule whose run this is."""


class DrawnTarget(Model):
    """The resources that were drawn for a target."""

    subject_field: ClassVar[str | None] = "names"

    target: PlanName
    names: tuple[UncheckedName, ...]


class DrillTargetsDrawn(DrillsBody):
    drill: DrillName
    targets: tuple[DrawnTarget, ...]


class DrillPhaseBegun(DrillsBody):
    drill: DrillName
    phase: Phase


class DrillOrder(DrillsBody):
    """A request of a drill to a fabric of its site, which its services handle as an operator's. What it
    begins ends at `lease_ends_us` at the latest. `is_undo` tells that it ends what an earlier one began."""

    drill: DrillName
    step: PlanName
    fabric: FabricName
    request_type: str
    request: DrillRequest
    lease_ends_us: Annotated[int, Field(ge=0)]
    is_undo: bool = False

    @property
    def addressee(self) -> str:
        return self.fabric

    @field_validator("request", mode="before")
    @classmethod
    def _by_type(cls, value: object, info: ValidationInfo) -> object:
        """Read the request as the type that the order names: some types have the same fields."""
        if not isinstance(value, dict):
            return value
        model = REQUESTS.get(info.data.get("request_type", ""))
        if model is None:
            raise ValueError(f"request_type: must be one of {', '.join(REQUESTS)}")
        return model.model_validate_json(orjson.dumps(value))


class DrillProcessOrder(DrillsBody):
    """A supervisor of a live twin pauses or kills a process. It acts once for each message."""

    drill: DrillName
    step: PlanName
    verb: Literal["pause-process", "kill-process"]
    process: str
    for_us: int | None = Field(default=None, exclude_if=is_none)


class DrillStepEnded(DrillsBody):
    """`repeat` counts from 1. `reason` tells why a step was refused or failed."""

    drill: DrillName
    step: PlanName
    repeat: Annotated[int, Field(ge=1)]
    outcome: Literal["done", "refused", "failed", "cancelled"]
    reason: str | None = Field(default=None, exclude_if=is_none)


class ProbeChanged(DrillsBody):
    """A probe has another verdict than before, or its first one in a phase. `target` is the resource of a
    probe that is measured for each; `compared` is what it compared."""

    drill: DrillName
    phase: Phase
    probe: PlanName
    target: UncheckedName | None = Field(default=None, exclude_if=is_none)
    verdict: Verdict
    compared: tuple[str, ...] = ()


class DrillDeviated(DrillsBody):
    """A probe has been violated for longer than allowed in this phase; reported once for each probe, phase
    and target."""

    drill: DrillName
    phase: Phase
    probe: PlanName
    target: UncheckedName | None = Field(default=None, exclude_if=is_none)
    violated_us: Annotated[int, Field(ge=0)]
    allowed_us: Annotated[int, Field(ge=0)]


class DrillStopped(DrillsBody):
    """No further step follows; the undo does."""

    drill: DrillName
    cause: StopCause
    reason: str


class DrillEnded(DrillsBody):
    """`left` lists faults and drains of the drill that the undo could not end."""

    drill: DrillName
    status: DrillStatus
    deviated: bool
    reason: str | None = Field(default=None, exclude_if=is_none)
    left: tuple[UncheckedName, ...] = ()


class DrillsHeld(DrillsBody):
    """No drill starts on this fabric until DrillsReleased."""

    fabric: FabricName
    reason: DrillReason


class DrillsReleased(DrillsBody):
    fabric: FabricName
    reason: DrillReason


class DrillScheduled(DrillsBody):
    """A drill will run again and again, first at `next_us`."""

    schedule: ScheduleName
    title: str
    document_sha256: str
    seed: int
    every_us: int
    next_us: Annotated[int, Field(ge=0)]


class DrillUnscheduled(DrillsBody):
    """No further run follows."""

    schedule: ScheduleName


class DrillDue(DrillsBody):
    """A scheduled run begins, as RunDrill begins one. `occurrence` counts the times at which the schedule was
    due, from 0. The run has ended at `ends_us`, the end of its window. `asked_by` and `comment` are those of
    the request for the schedule."""

    schedule: ScheduleName
    occurrence: Annotated[int, Field(ge=0)]
    plan: DrillPlan
    seed: Annotated[int, Field(ge=0, lt=2**52)]
    ends_us: Annotated[int, Field(ge=0)] | None = Field(default=None, exclude_if=is_none)
    asked_by: Annotated[str, Field(min_length=1, max_length=CALLER_NAME_MAX)] | None = Field(
        default=None, exclude_if=is_none
    )
    comment: Annotated[str, Field(min_length=1, max_length=COMMENT_MAX)] | None = Field(
        default=None, exclude_if=is_none
    )


class DrillSkipped(DrillsBody):
    """A scheduled run does not happen; the schedule continues at `next_us`."""

    schedule: ScheduleName
    occurrence: Annotated[int, Field(ge=0)]
    reason: str
    next_us: Annotated[int, Field(ge=0)]


class DrillRefused(DrillsBody):
    refuses = (RunDrill, StopDrill, StopAllDrills, ReleaseDrills, ScheduleDrill, UnscheduleDrill)

    subject: UncheckedName
    reason: str


# --- the trainee's desk -------------------------------------------------------------------------------------


class DeskOpened(DrillsBody):
    """A drill has a game for a trainee, who gets this brief. `hints` is the number of hints."""

    drill: DrillName
    brief: str
    hints: Annotated[int, Field(ge=0)]


class AlertsAcknowledged(DrillsBody):
    drill: DrillName
    trainee: str | None = Field(default=None, exclude_if=is_none)


class CulpritNamed(DrillsBody):
    drill: DrillName
    culprit: TargetName
    trainee: str | None = Field(default=None, exclude_if=is_none)


class HintGiven(DrillsBody):
    """`number` counts from 1."""

    drill: DrillName
    number: Annotated[int, Field(ge=1)]
    hint: str
    trainee: str | None = Field(default=None, exclude_if=is_none)


class DeskClosed(DrillsBody):
    """The drill has ended; its trainee may see the truth."""

    drill: DrillName


class DeskRefused(DrillsBody):
    refuses = (AcknowledgeAlerts, NameCulprit, TakeHint)

    subject: UncheckedName
    reason: str
