"""What the workload says: who wants which slice, and who no longer does."""

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
    """`job` is what is to be done on it, after which it is released; without one it is held for
    `duration_us` from its start, or until it is released. `estimate_us` is how long its owner thinks that it
    will have its cubes, None where nobody says; it may be wrong. `recovery` is what may be done when hardware
    fails under it, None where nobody says. `multislice` is set for a slice of a job over several pods."""

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
    """Somebody wants a slice."""


class PodAsked(SliceTermsBody):
    """To the workload of `pod`: a job over several pods wants a slice there too, as this one that its first
    pod has asked for itself."""

    pod: FabricName

    @property
    def addressee(self) -> str:
        return self.pod


class PodGreeted(WorkloadBody):
    """To the workload of `pod`, which has just joined the site: this pod, of that kind and so many cubes, was
    there before."""

    pod: FabricName
    kind: str
    pod_cubes: Annotated[int, Field(ge=1, le=144)]

    @property
    def addressee(self) -> str:
        return self.pod


class RequestBalked(WorkloadBody):
    """Somebody would have asked for this slice, but saw too much work waiting before it: `ahead_us`, by the
    owners' estimates, as time of the whole pod."""

    owner: OwnerName
    tier: Tier
    shape: Shape
    twisted: bool
    ahead_us: Annotated[int, Field(gt=0)]


class SliceReleased(WorkloadBody):
    """The owner is done with the slice, whether it runs or still waits."""

    slice: SliceName
    reason: Literal["finished", "operator"]


class ReleaseRefused(WorkloadBody):
    refuses = (ReleaseSlice,)

    slice: SliceName
    reason: str
