"""What the workload says: who wants which slice, and who no longer does."""

from typing import Annotated, Literal

from pydantic import Field

from schemas.body import Body
from schemas.names import Shape, SliceName
from schemas.operator import ReleaseSlice


class WorkloadBody(Body):
    writer = "workload"


class SliceRequested(WorkloadBody):
    slice: SliceName
    shape: Shape
    twisted: bool
    priority: int
    duration_us: Annotated[int, Field(gt=0)] | None
    requested_by: Literal["arrival", "trace", "operator"]


class SliceReleased(WorkloadBody):
    """The owner is done with the slice, whether it runs or still waits."""

    slice: SliceName
    reason: Literal["finished", "operator"]


class ReleaseRefused(WorkloadBody):
    refuses = (ReleaseSlice,)

    slice: SliceName
    reason: str
