"""Requests of operators, which arrive through the gateway's inbox."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from schemas.body import is_none
from schemas.config.parameter import SETTINGS_MAX, ParameterSetting
from schemas.config.workload import TraceRow
from schemas.limits import COUNT_MAX, TRACE_PART_ROWS_MAX
from schemas.multislice import Pods
from schemas.names import (
    PORTS_MAX,
    CrossConnectKey,
    CubeName,
    FabricName,
    FaultKind,
    FaultName,
    OwnerName,
    RewiringName,
    Shape,
    SliceName,
    TargetName,
    Tier,
)
from schemas.recovery_policy import RecoveryPolicy
from schemas.request_metadata import RequestBody
from schemas.request_terms import DurationUs, FaultSeverity, Priority

TimeUs = Annotated[int, Field(ge=0, le=COUNT_MAX, description="simulated microseconds since the start")]


class OperatorBody(RequestBody):
    writer = "operator"


class RequestSlice(OperatorBody):
    """Request a slice. Without a duration it runs until it is released. Without a recovery policy the
    scheduler may use every recovery, except routing around for the slices that `route_around_share` excludes.
    With `pods` it is a multislice job: one such slice in each pod, all or none. The pods are in ring order;
    the first one receives the request."""

    shape: Shape
    twisted: bool = False
    owner: OwnerName = "operator"
    tier: Tier = "production"
    priority: Priority = 0
    duration_us: DurationUs | None = None
    recovery: RecoveryPolicy | None = None
    pods: Pods | None = Field(default=None, exclude_if=is_none)


class ReleaseSlice(OperatorBody):
    slice: SliceName


class ExtendTrace(OperatorBody):
    """Further rows of the recorded trace of a fabric, in order of submission and after all earlier rows. A
    trace that is too long for the fabric's first message comes in parts."""

    rows: Annotated[tuple[TraceRow, ...], Field(min_length=1, max_length=TRACE_PART_ROWS_MAX)]


class InjectFault(OperatorBody):
    """Inject a fault. Without a duration it lasts until it is repaired or cleared. The severity is in the
    unit of its kind, and drawn if not given. `onset_us` is the time until it is reached; by default it is
    reached at once."""

    kind: FaultKind
    target: TargetName
    duration_us: DurationUs | None = None
    severity: FaultSeverity | None = Field(default=None, exclude_if=is_none)
    onset_us: DurationUs | None = Field(default=None, exclude_if=is_none)


class ClearFault(OperatorBody):
    fault: FaultName


class DrainCube(OperatorBody):
    """Take a cube out of use: no slice is placed on it, and running slices move when a spare is idle. With
    `from_us` that begins at this time; until then no slice is placed there that would not have ended. With
    `duration_us` the cube is back in use after that time, else when it is undrained."""

    cube: CubeName
    from_us: TimeUs | None = Field(default=None, exclude_if=is_none)
    duration_us: DurationUs | None = Field(default=None, exclude_if=is_none)


class UndrainCube(OperatorBody):
    cube: CubeName


class RekeyDraws(OperatorBody):
    """Draw all future random events of the world again, by the seed and this salt, including those already
    drawn for later; hardware stays as it was made. It separates one future of a fabric from the others, and
    is the first message of a fork."""

    salt: Annotated[int, Field(ge=0, lt=2**52)]


class TestLink(OperatorBody):
    """Test a dark link end: its OCS sends the module its own light back, and the module measures it."""

    __test__: ClassVar[bool] = False  # the name begins as tests' do, which pytest would collect
    end: TargetName


class SetParameters(OperatorBody):
    """Change parameters of the fabric from now on, all of them or none."""

    settings: Annotated[tuple[ParameterSetting, ...], Field(min_length=1, max_length=SETTINGS_MAX)]


class RestartOcs(OperatorBody):
    """Restart the software of an OCS, which executes no commands for some tens of seconds."""

    ocs: TargetName


ErrorMode = Literal["stop-on-error", "ignore-error"]
"""SAI_BULK_OP_ERROR_MODE_STOP_ON_ERROR and SAI_BULK_OP_ERROR_MODE_IGNORE_ERROR."""
CrossConnectKeys = Annotated[tuple[CrossConnectKey, ...], Field(min_length=1, max_length=PORTS_MAX)]


class CrossConnectsBody(OperatorBody):
    """Manual cross-connects of one OCS, carried out one by one in order: up to the first that is refused or,
    with `ignore-error`, all."""

    ocs: TargetName
    cross_connects: CrossConnectKeys
    error_mode: ErrorMode = "stop-on-error"


class CreateCrossConnects(CrossConnectsBody):
    """Make cross-connects between free ports."""


class RemoveCrossConnects(CrossConnectsBody):
    """Remove manual cross-connects."""


class PlanTopology(OperatorBody):
    """Search for better trunks now, and plan the rewiring."""

    dcn: FabricName


class ApproveRewiring(OperatorBody):
    """Approve a waiting plan, so that it is carried out."""

    rewiring: RewiringName


class AbortRewiring(OperatorBody):
    """Drop a plan, or stop a rewiring after its current stage."""

    rewiring: RewiringName


FaultRequests = InjectFault | ClearFault
CubeRequests = DrainCube | UndrainCube
SliceRequests = RequestSlice | ReleaseSlice
CrossConnectRequests = CreateCrossConnects | RemoveCrossConnects
RewiringRequests = PlanTopology | ApproveRewiring | AbortRewiring
FabricRequests = (
    FaultRequests
    | CubeRequests
    | SliceRequests
    | SetParameters
    | TestLink
    | RestartOcs
    | CrossConnectRequests
    | RewiringRequests
)
"""What operators request of the services of a fabric. A drill can send them, and dead letters with them can
be replayed. Not among them are parts of a trace, the first message of a fork, and requests about drills."""
