"""What people ask of the twin over the HTTP API, and the receipt that they get."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, JsonValue

from schemas.api.rows import LogMessage
from schemas.body import Model
from schemas.config.fabric_kinds import FabricKindName
from schemas.config.parameter import SETTINGS_MAX, ParameterName, ParameterValue
from schemas.limits import COUNT_MAX, DURATION_S_MAX, DURATION_S_MIN, SPEED_MAX
from schemas.messages.operator import CrossConnectKeys, ErrorMode, FaultSeverity, Priority
from schemas.names import FaultKind, Tier

DurationS = Annotated[
    float,
    Field(
        ge=DURATION_S_MIN, le=DURATION_S_MAX, allow_inf_nan=False, description="seconds, at most 100 years"
    ),
]


def _number_as_text(value: object) -> object:
    """A number may be given as JSON has it."""
    return str(value) if type(value) is int else value


class SliceRequest(Model):
    """Ask for a slice; without a duration it runs until it is released. Without a fabric it is one of pod-0,
    or of the first fabric where there is no pod-0. `owner` is who wants it, in whose name quotas count.
    `recovery` is what may be done when hardware fails under it: choices, the one preferred at equal cost
    first; `route:2%` is for routes that slow steps by no more than that. With `pods` it is a job over several
    pods of a site, one such slice in each, all or none: how many, or their names in the order of its ring."""

    fabric: str | None = None
    shape: str = Field(examples=["4x4x8"])
    twisted: bool = False
    owner: str = Field("operator", examples=["team-7"])
    tier: Tier = "production"
    priority: Priority = 0
    duration_s: DurationS | None = None
    recovery: str | None = Field(None, examples=["swap,route:2%,wait"])
    pods: Annotated[str, BeforeValidator(_number_as_text)] | None = Field(None, examples=["2", "pod-0,pod-3"])


class FaultRequest(Model):
    """Break something; without a duration it stays broken until it is repaired or cleared. `severity` is in
    the unit of the kind, and drawn where it is not said; `onset_s` is how long it takes to become so."""

    kind: FaultKind
    target: str = Field(examples=["pod-0/ocs-17"])
    duration_s: DurationS | None = None
    severity: FaultSeverity | None = Field(None, examples=[3.0])
    onset_s: DurationS | None = None


class CrossConnectsRequest(Model):
    """Cross-connects of one OCS by key, carried out one by one: up to the first that is refused
    (SAI_BULK_OP_ERROR_MODE_STOP_ON_ERROR), or all of them (SAI_BULK_OP_ERROR_MODE_IGNORE_ERROR)."""

    cross_connects: CrossConnectKeys = Field(strict=False, examples=[["1A-5B", "2A-6B"]])
    error_mode: ErrorMode = "stop-on-error"


class PlanRequest(Model):
    """Look for better trunks of a network now; without a name of the first network that there is. What is
    found stands in the receipt's outcome: a plan, or why all stays as it is."""

    dcn: str | None = Field(None, examples=["dcn-0"])


class FabricRequest(Model):
    """Let a new fabric join a site that lives. `settings` are what differs from the configuration of its
    kind, as in a site's file: `{"seed": 7, "pod": {"cubes": 16}}`."""

    name: str = Field(examples=["pod-4"])
    site: str = Field(examples=["campus"])
    kind: FabricKindName = "superpod"
    settings: dict[str, JsonValue] = Field(default={})


class ParametersRequest(Model):
    """Parameters of a fabric by their dotted names, and what they are to be from now on: all of them, or
    none."""

    parameters: Annotated[
        dict[ParameterName, ParameterValue],
        Field(min_length=1, max_length=SETTINGS_MAX, examples=[{"failures.host_per_day": 0.002}]),
    ]


class SpeedRequest(Model):
    """Simulated over wall time."""

    speed: Annotated[float, Field(gt=0, le=SPEED_MAX, allow_inf_nan=False)]


class ClockRequest(Model):
    """What is to change of the clock, as one change; what is left out stays."""

    speed: Annotated[float, Field(gt=0, le=SPEED_MAX, allow_inf_nan=False)] | None = None
    paused: bool | None = None


class RunRequest(Model):
    """Let time run to a moment and stand still there: `until_us`, or `for_s` simulated seconds from now. At a
    speed, simulated over wall time, or without one as fast as the twin can."""

    until_us: Annotated[int, Field(ge=0, le=COUNT_MAX)] | None = None
    for_s: DurationS | None = None
    speed: Annotated[float, Field(gt=0, le=SPEED_MAX, allow_inf_nan=False)] | None = None


class RequestReceipt(Model):
    """What became of a request: `received` into the inbox, `accepted` onto the log at a time, or `refused`
    there by the service that it is for. `outcome` is what followed from it at once, and `complete` says
    whether that is all. `repeated` says that its idempotency key had been used before."""

    id: str
    repeated: bool
    status: Literal["received", "accepted", "refused"]
    complete: bool
    at_us: int | None
    outcome: tuple[LogMessage, ...]


class RefusalReceipt(RequestReceipt):
    """What became of a request that was refused. `refused_by` is the id of the message in `outcome` that
    says so, `reason` its sentence, which stands under `error` as well, as in every answer that is an
    error."""

    status: Literal["refused"]
    refused_by: str
    reason: str
    error: str


class RequestReport(Model):
    """A request that was made before: `received` and waiting with so many of its inbox `ahead` of it,
    `accepted` onto the log or `refused` there with a `reason`, or `cancelled` while it waited. `id` is the
    message that it becomes, `type` what it asks for. The rest is as in its receipt."""

    key: str | None
    id: str
    fabric: str
    type: str
    asked_by: str | None
    comment: str | None
    status: Literal["received", "accepted", "refused", "cancelled"]
    ahead: int | None
    complete: bool
    at_us: int | None
    reason: str | None
    outcome: tuple[LogMessage, ...]
