"""What the scheduler says: commands to the OCSes, and what becomes of every slice."""

from typing import Annotated, Literal

from pydantic import Field

from schemas.body import Body, Model
from schemas.messages.jobs import ChipTime
from schemas.messages.operator import RequestSlice
from schemas.names import CubeIndex, FabricName, Join, OcsIndex, Shape, SliceName, TargetName
from schemas.recovery_policy import Choice

Count = Annotated[int, Field(ge=0)]
FULL_SPEED = 1_000_000
SpeedPpm = Annotated[int, Field(ge=1, le=FULL_SPEED, description="parts per million of full speed")]


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
    """To the OCSes: make these joins for this slice; those that stand already become its own."""

    slice: SliceName
    joins: tuple[Join, ...]


class DisconnectCircuits(SchedulerBody):
    """To the OCSes: take these joins of this slice away, or such as stand in its way and are nobody's."""

    slice: SliceName
    joins: tuple[Join, ...]


class LeaveCircuits(SchedulerBody):
    """To the OCSes: these joins of this slice are nobody's from now on, and stay as they are until their
    ports are wanted for others."""

    slice: SliceName
    joins: tuple[Join, ...]


class SlicePreflight(SchedulerBody):
    """Circuits made and links trained: they are checked until then, before the job may run."""

    slice: SliceName
    until_us: Count


class SliceStarted(SchedulerBody):
    """Circuits made, links trained and checked: the job may run, at this speed."""

    slice: SliceName
    speed_ppm: SpeedPpm = FULL_SPEED


class SliceNoticed(SchedulerBody):
    """To the job: the slice loses its cubes at `until_us`, or as soon as a checkpoint is written."""

    slice: SliceName
    why: Literal["drained", "preempted", "compacted"]
    until_us: Count


class SliceRequeued(SchedulerBody):
    """It lost its cubes and waits again, with its old place: as what was requested then. `lost_chip_us` is
    the work that no checkpoint keeps, as far as the scheduler knows; its next start-up comes on top."""

    slice: SliceName
    reason: str
    lost_chip_us: Count = 0


class SliceBackedOff(SchedulerBody):
    """It left its cubes, for so many `preflights` in a row failed, and wants none until `until_us`. The last
    one found so many `links` down, over these `ocses` so many `over` each, those with most first."""

    slice: SliceName
    until_us: Count
    preflights: Annotated[int, Field(ge=1)]
    links: Count
    ocses: tuple[OcsIndex, ...]
    over: tuple[Count, ...]


class SliceOverran(SchedulerBody):
    """It has its cubes for longer than its owner thought: the estimate is doubled to `estimate_us`, by which
    it leaves at `ends_us`. What others were promised may slip."""

    slice: SliceName
    estimate_us: Count
    ends_us: Count


class SliceDegraded(SchedulerBody):
    """Runs, but with some of its link ends down or degraded: traffic goes around those that are down, which
    takes it the rest of its speed. Said again when the counts change."""

    slice: SliceName
    links_down: Count
    links_degraded: Count
    speed_ppm: SpeedPpm = FULL_SPEED


class SliceRestored(SchedulerBody):
    """All links of a degraded slice are up again."""

    slice: SliceName


class RecoveryCosts(Model):
    """Chip-microseconds that each choice is expected to lose; null where it is not open."""

    spare: Count | None = None
    swap: Count | None = None
    route: Count | None = None
    wait: Count | None = None
    evict: Count | None = None


class SliceRecovering(SchedulerBody):
    """The slice cannot go on as it was, because of this part. Said at once, without a choice while none is
    made, and again with every other choice; it is the cheapest of those that its owner allows, and
    `costs_chip_us` has all of these."""

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


# --- jobs over several pods, each named after its slice in the first of them -------------------------------


class PodWaits(SchedulerBody):
    """To the whole site: this slice of a job over several pods waits for cubes. It holds none for the others,
    or no more, for a `reason`; it tries again from `again_us` on, null for at once."""

    job: SliceName
    slice: SliceName
    again_us: Count | None
    reason: str | None


class PodHeld(SchedulerBody):
    """To the whole site: cubes are kept for this slice of a job until then, so that all of it can start
    together."""

    job: SliceName
    slice: SliceName
    until_us: Count


class PodsJoined(SchedulerBody):
    """To the whole site, by the first pod of a job: all its slices have cubes kept for them, and get them
    now. `slices` are in the order of its ring, each in the pod of its name, of so many `chips` each. Every
    step, of `step_us` at full speed, sums `gradient_bytes` over all pods."""

    job: SliceName
    slices: tuple[SliceName, ...]
    chips: Count
    gradient_bytes: Count
    step_us: Count


class PodsRunning(SchedulerBody):
    """To the network `dcn`, which has just joined the site, by the first pod of a job: it began before, as
    `PodsJoined` said then, and still has its cubes."""

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
    lose theirs with it. They wait again, or end as it did. May be said twice of one joining, by two slices
    that were lost together."""

    job: SliceName
    slice: SliceName
    ends: Literal["requeued", "finished", "released", "evicted", "refused"]
    reason: str


class CapacityReported(SchedulerBody):
    """With every `UsageReported`, for the same moment: what the fabric's chips were for since it was
    commissioned; what jobs did with those `allocated`, that other one says."""

    chip_us: ChipTime
