"""Messages of the workload: slices that owners request and release."""

from typing import Annotated, Literal

from pydantic import Field

from schemas.body import Body, is_none
from schemas.messages.jobs import JobTerms
from schemas.messages.operator import ReleaseSlice
from schemas.multislice import Multislice
from schemas.names import FabricName, OwnerName, Shape, SliceName, Tier
from schemas.recovery_policy import RecoveryPolicy


class WorkloadBody(Body):
    writer = "workload"


class SliceTermsBody(WorkloadBody):
    """The terms of a slice. `job` is the job to run on it, after which it is released; without one it is kept
    for `duration_us` from its start, or until it is released. `estimate_us` is the owner's estimate of how
    long it needs its cubes; None if there is none, and it may be wrong. `recovery` is the recovery policy,
    None if not given. `multislice` is set for a slice of a multislice job."""

    slice: SliceName
    owner: OwnerName
    tier: Tier
    shape: Shape
    twisted: bool
    priority: int
    duration_us: Annotated[int, Field(gt=0)] | None
    job: JobTerms | None
    estimate_us: Annotated[int, Field(gt=0)] | None
    requested_by: Literal["arrival", "trace", "operator"]
    recovery: RecoveryPolicy | None = None
    multislice: Multislice | None = Field(default=None, exclude_if=is_none)


class SliceRequested(SliceTermsBody):
    """An owner requests a slice."""


class PodAsked(SliceTermsBody):
    """To the workload of `pod`: a multislice job needs a slice there too, like this one that its first pod
    has requested for itself."""

    pod: FabricName

    @property
    def addressee(self) -> str:
        return self.pod


class PodGreeted(WorkloadBody):
    """To the workload of `pod`, which has just joined the site: this pod, of that kind and with that number
    of cubes, is already there."""

    pod: FabricName
    kind: str
    pod_cubes: Annotated[int, Field(ge=1, le=144)]

    @property
    def addressee(self) -> str:
        return self.pod


class RequestBalked(WorkloadBody):
    """An owner decided not to request this slice, because too much work waits before it: `ahead_us`, by the
    owners' estimates, as time of the whole pod."""

    owner: OwnerName
    tier: Tier
    shape: Shape
    twisted: bool
    ahead_us: Annotated[int, Field(gt=0)]


class SliceReleased(WorkloadBody):
    """The owner no longer needs the slice, whether it runs or still waits."""

    slice: SliceName
    reason: Literal["finished", "operator"]


class ReleaseRefused(WorkloadBody):
    refuses = (ReleaseSlice,)

    slice: SliceName
    reason: str
