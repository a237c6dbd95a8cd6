"""What the scheduler says: commands to the OCSes, and what becomes of every slice."""

from typing import Annotated, Literal

from pydantic import Field

from schemas.body import Body
from schemas.jobs import ChipTime
from schemas.names import CubeIndex, Join, Shape, SliceName
from schemas.operator import RequestSlice

Count = Annotated[int, Field(ge=0)]


class SchedulerBody(Body):
    writer = "scheduler"


class SliceAdmitted(SchedulerBody):
    """Placed. `cubes` in x-major order of the cube grid (x slowest); `corner` is set for a mesh inside one
    cube.
    """

    slice: SliceName
    shape: Shape
    twisted: bool
    cubes: tuple[CubeIndex, ...]
    corner: tuple[int, int, int] | None
    waited_us: Count


class SliceRefused(SchedulerBody):
    """Will never run. The reason names the cube, the rule or the bound that stands in the way."""

    refuses = (RequestSlice,)

    slice: SliceName
    reason: str


class ConnectCircuits(SchedulerBody):
    """To the OCSes: make these joins for this slice."""

    slice: SliceName
    joins: tuple[Join, ...]


class DisconnectCircuits(SchedulerBody):
    """To the OCSes: take these joins of this slice away."""

    slice: SliceName
    joins: tuple[Join, ...]


class SliceStarted(SchedulerBody):
    """Circuits made and links trained: the job may run (perhaps degraded)."""

    slice: SliceName


class SliceNoticed(SchedulerBody):
    """To the job: the slice loses its cubes at `until_us`, or as soon as a checkpoint is written."""

    slice: SliceName
    why: Literal["drained", "preempted"]
    until_us: Count


class SliceRequeued(SchedulerBody):
    """It lost its cubes and waits again, with its old place: as what was requested then."""

    slice: SliceName
    reason: str


class SliceOverran(SchedulerBody):
    """It has its cubes for longer than its owner thought: the estimate is doubled to `estimate_us`, by which
    it leaves at `ends_us`. What others were promised may slip."""

    slice: SliceName
    estimate_us: Count
    ends_us: Count


class SliceDegraded(SchedulerBody):
    """Runs, but with some of its link ends down or degraded. Said again when the counts change."""

    slice: SliceName
    links_down: Count
    links_degraded: Count


class SliceRestored(SchedulerBody):
    """All links of a degraded slice are up again."""

    slice: SliceName


class SliceRecovering(SchedulerBody):
    """A cube of the slice failed and no healthy idle one can take its place yet."""

    slice: SliceName
    cube: CubeIndex


class CubeSwapped(SchedulerBody):
    """`spare` took the place of `left`. For a mesh inside one cube, `corner` is its place in the new one."""

    slice: SliceName
    left: CubeIndex
    spare: CubeIndex
    corner: tuple[int, int, int] | None
    reason: Literal["failed", "drained"]


class SliceEvicted(SchedulerBody):
    slice: SliceName
    reason: str


class SliceCompleted(SchedulerBody):
    slice: SliceName
    reason: Literal["finished", "operator"]


class CapacityReported(SchedulerBody):
    """With every `UsageReported`, for the same moment: what the fabric's chips were for since it was
    commissioned; what jobs did with those `allocated`, that other one says."""

    chip_us: ChipTime
