"""Requests of the HTTP API, and their receipts."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, JsonValue

from schemas.api.rows import LogMessage
from schemas.body import Model
from schemas.config.fabric_configs import FabricKindName
from schemas.config.parameter import SETTINGS_MAX, ParameterName, ParameterValue
from schemas.limits import COUNT_MAX, DURATION_S_MAX, DURATION_S_MIN, SPEED_MAX
from schemas.messages.operator import CrossConnectKeys, ErrorMode, TimeUs
from schemas.names import FaultKind, Tier
from schemas.request_terms import FaultSeverity, Priority

DurationS = Annotated[
    float,
    Field(
        ge=DURATION_S_MIN, le=DURATION_S_MAX, allow_inf_nan=False, description="seconds, at most 100 years"
    ),
]


def _number_as_text(value: object) -> object:
    """Accept a JSON number in place of its text."""
    return str(value) if type(value) is int else value


class SliceRequest(Model):
    """Request a slice. Without a duration it runs until it is released. Without `fabric` it is for the first
    pod. Quotas count for `owner`. `recovery` lists the allowed recoveries, the one preferred at equal cost
    first; `route:2%` allows routes that slow steps by at most 2%. With `pods` it is a multislice job, one
    slice in each pod, all or none: the number of pods, or their names in ring order."""

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
    """Inject a fault. Without a duration it lasts until it is repaired or cleared. `severity` is in the unit
    of the kind, and drawn if not given; `onset_s` is the time until it is reached."""

    kind: FaultKind
    target: str = Field(examples=["pod-0/ocs-17"])
    duration_s: DurationS | None = None
    severity: FaultSeverity | None = Field(None, examples=[3.0])
    onset_s: DurationS | None = None


class DrainRequest(Model):
    """Drain a cube: at once, or from the simulated time `from_us` or `after_s` seconds from now. With
    `duration_s` the cube is back in use after that time, else when it is undrained."""

    from_us: TimeUs | None = None
    after_s: DurationS | None = None
    duration_s: DurationS | None = None


class CrossConnectsRequest(Model):
    """Cross-connects of one OCS by key, carried out one by one: up to the first that is refused
    (SAI_BULK_OP_ERROR_MODE_STOP_ON_ERROR), or all of them (SAI_BULK_OP_ERROR_MODE_IGNORE_ERROR)."""

    cross_connects: CrossConnectKeys = Field(strict=False, examples=[["1A-5B", "2A-6B"]])
    error_mode: ErrorMode = "stop-on-error"


class PlanRequest(Model):
    """Search for better trunks of a network now; without a name, of the first network. The receipt's outcome
    has the result: a plan, or the reason for keeping the topology."""

    dcn: str | None = Field(None, examples=["dcn-0"])


class FabricRequest(Model):
    """Add a fabric to a running site. `settings` differ from the defaults of its kind, as in a site file:
    `{"seed": 7, "pod": {"cubes": 16}}`."""

    name: str = Field(examples=["pod-4"])
    site: str = Field(examples=["campus"])
    kind: FabricKindName = "superpod"
    settings: dict[str, JsonValue] = Field(default={})


class ParametersRequest(Model):
    """New values of a fabric's parameters by dotted name: all of them are set, or none."""

    parameters: Annotated[
        dict[ParameterName, ParameterValue],
        Field(min_length=1, max_length=SETTINGS_MAX, examples=[{"failures.host_per_day": 0.002}]),
    ]


class SpeedRequest(Model):
    """The ratio of simulated to wall time."""

    speed: Annotated[float, Field(gt=0, le=SPEED_MAX, allow_inf_nan=False)]


class ClockRequest(Model):
    """Changes of the clock, applied as one; omitted fields stay as they are."""

    speed: Annotated[float, Field(gt=0, le=SPEED_MAX, allow_inf_nan=False)] | None = None
    paused: bool | None = None


class RunRequest(Model):
    """Run until a time and pause there: `until_us`, or `for_s` simulated seconds from now. `speed` is
    simulated over wall time; without it the twin runs as fast as it can."""

    until_us: Annotated[int, Field(ge=0, le=COUNT_MAX)] | None = None
    for_s: DurationS | None = None
    speed: Annotated[float, Field(gt=0, le=SPEED_MAX, allow_inf_nan=False)] | None = None


class RequestReceipt(Model):
    """The status of a request: `received` into the inbox, `accepted` onto the log at a time, or `refused`
    there by the addressed service. `outcome` has the messages that followed at once, and `complete` shows
    whether these are all. `repeated` shows that its idempotency key had been used before."""

    id: str
    repeated: bool
    status: Literal["received", "accepted", "refused"]
    complete: bool
    at_us: int | None
    outcome: tuple[LogMessage, ...]


class RefusalReceipt(RequestReceipt):
    """The receipt of a refused request. `refused_by` is the id of the refusal in `outcome`, `reason` its
    sentence. `error` repeats the sentence, as in every error response."""

    status: Literal["refused"]
    refused_by: str
    reason: str
    error: str


class RequestReport(Model):
    """The status of an earlier request: `received` and waiting behind `ahead` others of its inbox, `accepted`
    onto the log or `refused` there with a `reason`, or `cancelled` while it waited. `id` is the id of the
    message that the request becomes, `type` its type. The other fields are as in its receipt."""

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
