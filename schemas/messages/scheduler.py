"""Messages of the scheduler: commands to the OCSes, and the life cycle of every slice."""

from typing import Annotated, Literal

from pydantic import Field

from schemas.body import Body, Model
from schemas.messages.jobs import ChipTimeByCategory
from schemas.messages.operator import RequestSlice
from schemas.names import CubeIndex, FabricName, Join, OcsIndex, Shape, SliceName, TargetName
from schemas.recovery_policy import Choice

Count = Annotated[int, Field(ge=0)]
FULL_SPEED = 1_000_000
SpeedPpm = Annotated[int, Field(ge=1, le=FULL_SPEED, description="parts per million of full speed")]


class SchedulerBody(Body):
    writer = "scheduler"


class SliceAdmitted(SchedulerBody):
    """The slice is placed. `cubes` are in x-major order of the cube grid (x slowest); `corner` is set for a
    mesh inside one cube."""

    slice: SliceName
    shape: Shape
    twisted: bool
    cubes: tuple[CubeIndex, ...]
    corner: tuple[int, int, int] | None
    waited_us: Count


class SliceRefused(SchedulerBody):
    """The slice will never run. The reason names the cube, the rule or the limit that prevents it."""

    refuses = (RequestSlice,)

    slice: SliceName
    reason: str


class ConnectCircuits(SchedulerBody):
    """To the OCSes: make these joins for this slice. Joins that are already made become those of the
    slice."""

    slice: SliceName
    joins: tuple[Join, ...]


class DisconnectCircuits(SchedulerBody):
    """To the OCSes: remove these joins of this slice, or joins without an owner that block it."""

    slice: SliceName
    joins: tuple[Join, ...]


class LeaveCircuits(SchedulerBody):
    """To the OCSes: these joins no longer belong to the slice. They stay up until other slices need their
    ports."""

    slice: SliceName
    joins: tuple[Join, ...]


class SlicePreflight(SchedulerBody):
    """Circuits are made and links trained. They are checked until `until_us`, before the job may run."""

    slice: SliceName
    until_us: Count


class SliceStarted(SchedulerBody):
    """Circuits are made, links trained and checked: the job may run, at this speed."""

    slice: SliceName
    speed_ppm: SpeedPpm = FULL_SPEED


class SliceNoticed(SchedulerBody):
    """To the job: the slice loses its cubes at `until_us`, or as soon as a checkpoint is written."""

    slice: SliceName
    why: Literal["drained", "preempted", "compacted"]
    until_us: Count


class SliceRequeued(SchedulerBody):
    """The slice lost its cubes and waits again, in its old place in the queue. `lost_chip_us` is the work
    that no checkpoint keeps, as far as the scheduler knows; the next start-up adds to it."""

    slice: SliceName
    reason: str
    lost_chip_us: Count = 0


class SliceBackedOff(SchedulerBody):
    """The slice left its cubes after `preflights` failed preflights in a row, and requests none until
    `until_us`. The last preflight found `links` links down, over these `ocses`, with `over` links each, the
    OCS with most first."""

    slice: SliceName
    until_us: Count
    preflights: Annotated[int, Field(ge=1)]
    links: Count
    ocses: tuple[OcsIndex, ...]
    over: tuple[Count, ...]


class StartsPaused(SchedulerBody):
    """The last `slices` slices that got whole cubes backed off after failed preflights. Until `until_us`, no
    waiting slice of whole cubes gets cubes; then one tries. Emitted again if its preflight fails, and if a
    repair shortens the pause."""

    until_us: Count
    slices: Annotated[int, Field(ge=1)]


class StartsResumed(SchedulerBody):
    """This slice of whole cubes runs, so starts no longer pause. Slices that backed off are back in line."""

    slice: SliceName


class SliceOverran(SchedulerBody):
    """The slice has had its cubes for longer than its owner's estimate. The estimate is doubled to
    `estimate_us`, so that it ends at `ends_us`. The promised starts of other slices may slip."""

    slice: SliceName
    estimate_us: Count
    ends_us: Count


class SliceDegraded(SchedulerBody):
    """The slice runs with some of its link ends down or degraded. Traffic goes around those that are down,
    which reduces its speed. Emitted again when the counts change."""

    slice: SliceName
    links_down: Count
    links_degraded: Count
    speed_ppm: SpeedPpm = FULL_SPEED


class SliceRestored(SchedulerBody):
    """All links of a degraded slice are up again."""

    slice: SliceName


class RecoveryCosts(Model):
    """Chip-microseconds that each choice is expected to lose; null for a choice that is not available."""

    spare: Count | None = None
    swap: Count | None = None
    route: Count | None = None
    wait: Count | None = None
    evict: Count | None = None


class SliceRecovering(SchedulerBody):
    """The slice cannot continue as before, because of this part. Emitted at once, without a choice until one
    is made, and again whenever the choice changes. The choice is the cheapest that its owner allows;
    `costs_chip_us` has all of them."""

    slice: SliceName
    part: TargetName
    choice: Choice | None
    costs_chip_us: RecoveryCosts | None


class CubeSwapped(SchedulerBody):
    """`spare` took the place of `left`. For a mesh inside one cube, `corner` is its place in the new one."""

    slice: SliceName
    left: CubeIndex
    spare: CubeIndex
    corner: tuple[int, int, int] | None
    reason: Literal["failed", "drained", "compacted"]


class SliceEvicted(SchedulerBody):
    slice: SliceName
    reason: str


class SliceCompleted(SchedulerBody):
    slice: SliceName
    reason: Literal["finished", "operator"]


# --- multislice jobs, each named after its slice in the first pod -------------------------------------------


class PodWaits(SchedulerBody):
    """To the whole site: this slice of a multislice job waits for cubes. It keeps none for the other slices,
    or no longer does, for a `reason`. It tries again from `again_us` on, null for at once."""

    job: SliceName
    slice: SliceName
    again_us: Count | None
    reason: str | None


class PodHeld(SchedulerBody):
    """To the whole site: cubes are kept for this slice of a job until `until_us`, so that all slices can
    start together."""

    job: SliceName
    slice: SliceName
    until_us: Count


class PodsJoined(SchedulerBody):
    """To the whole site, by the first pod of a job: cubes are kept for all slices of the job, and the slices
    get them now. `slices` are in ring order, each in the pod of its name, of `chips` chips each. Every step,
    of `step_us` at full speed, sums `gradient_bytes` over all pods."""

    job: SliceName
    slices: tuple[SliceName, ...]
    chips: Count
    gradient_bytes: Count
    step_us: Count


class PodsRunning(SchedulerBody):
    """To the network `dcn`, which has just joined the site, by the first pod of a job: the job started
    earlier, as its `PodsJoined` reported, and still has its cubes."""

    dcn: FabricName
    job: SliceName
    slices: tuple[SliceName, ...]
    gradient_bytes: Count
    step_us: Count

    @property
    def addressee(self) -> str:
        return self.dcn


class PodsParted(SchedulerBody):
    """To the whole site: this slice of a job has lost its cubes or its place in the queue, and all others
    lose theirs with it. They wait again, or end as it did. Two slices that are lost together may both emit
    it."""

    job: SliceName
    slice: SliceName
    ends: Literal["requeued", "finished", "released", "evicted", "refused"]
    reason: str


class CapacityReported(SchedulerBody):
    """Emitted with every `UsageReported`, for the same time: the use of the fabric's chips since it was
    commissioned. `UsageReported` splits up the `allocated` ones."""

    chip_us: ChipTimeByCategory
