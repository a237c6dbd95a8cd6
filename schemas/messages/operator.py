"""What people ask of the twin, through the gateway's inbox."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from schemas.body import is_none
from schemas.config.parameter import SETTINGS_MAX, ParameterSetting
from schemas.limits import DURATION_US_MAX, PRIORITY_MAX
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

DurationUs = Annotated[int, Field(gt=0, le=DURATION_US_MAX, description="microseconds, at most 100 years")]
FaultSeverity = Annotated[
    float, Field(ge=-1e6, le=1e6, allow_inf_nan=False, description="in the unit of the kind of fault")
]
Priority = Annotated[int, Field(ge=-PRIORITY_MAX, le=PRIORITY_MAX, description="higher goes first")]


class OperatorBody(RequestBody):
    writer = "operator"


class RequestSlice(OperatorBody):
    """Ask for a slice; without a duration it runs until it is released, and without a recovery policy all is
    allowed that the scheduler can do when hardware fails, but for routing around of those that
    `route_around_share` leaves out. With `pods` it is a job over several: one such slice in each of them, all
    or none; they are in the order of its ring, the first is the one that is asked."""

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


class InjectFault(OperatorBody):
    """Break something; without a duration it stays broken until it is repaired or cleared. How bad it is, in
    the unit of its kind, is drawn if it is not said; `onset_us` is how long it takes to become so, at once if
    it is not said."""

    kind: FaultKind
    target: TargetName
    duration_us: DurationUs | None = None
    severity: FaultSeverity | None = Field(default=None, exclude_if=is_none)
    onset_us: DurationUs | None = Field(default=None, exclude_if=is_none)


class ClearFault(OperatorBody):
    fault: FaultName


class DrainCube(OperatorBody):
    """Take a cube out of use: nothing new is placed on it; what runs there moves when a spare is idle."""

    cube: CubeName


class UndrainCube(OperatorBody):
    cube: CubeName


class RekeyDraws(OperatorBody):
    """From now on all that is random in the world is drawn anew, by the seed and this salt, and what was
    drawn of it for later with it; hardware stays as it was made. It parts one future of a fabric from the
    others, and heads the log of a fork."""

    salt: Annotated[int, Field(ge=0, lt=2**52)]


class TestLink(OperatorBody):
    """Let the OCS of a dark link end send the module its own light back, and the module measure it."""

    __test__: ClassVar[bool] = False  # the name begins as tests' do, which pytest would collect
    end: TargetName


class SetParameters(OperatorBody):
    """Let parameters of the fabric have other values from now on, all of these or none."""

    settings: Annotated[tuple[ParameterSetting, ...], Field(min_length=1, max_length=SETTINGS_MAX)]


class RestartOcs(OperatorBody):
    """Restart the software of an OCS: for some tens of seconds nothing that it is told is done."""

    ocs: TargetName


ErrorMode = Literal["stop-on-error", "ignore-error"]
"""SAI_BULK_OP_ERROR_MODE_STOP_ON_ERROR and SAI_BULK_OP_ERROR_MODE_IGNORE_ERROR."""
CrossConnectKeys = Annotated[tuple[CrossConnectKey, ...], Field(min_length=1, max_length=PORTS_MAX)]


class CrossConnectsBody(OperatorBody):
    """Cross-connects of one OCS, by hand: carried out one by one in their order, up to the first that is
    refused or, with `ignore-error`, all."""

    ocs: TargetName
    cross_connects: CrossConnectKeys
    error_mode: ErrorMode = "stop-on-error"


class CreateCrossConnects(CrossConnectsBody):
    """Make cross-connects between ports that nothing else has."""


class RemoveCrossConnects(CrossConnectsBody):
    """Take away cross-connects that were made by hand."""


class PlanTopology(OperatorBody):
    """Look for better trunks now, and plan how to come there."""

    dcn: FabricName


class ApproveRewiring(OperatorBody):
    """Carry out a plan that waits for it."""

    rewiring: RewiringName


class AbortRewiring(OperatorBody):
    """Drop a plan, or end a rewiring after the stage that it is in."""

    rewiring: RewiringName
