"""What a job is: its work, and what it costs to start and to keep what was done; what slices use, and what
jobs say."""

from typing import Annotated, Literal

from pydantic import Field

from schemas.body import Body, Model
from schemas.limits import DURATION_US_MAX
from schemas.names import SliceName, TargetName, Tier

SpanUs = Annotated[int, Field(ge=0, le=DURATION_US_MAX, description="microseconds, at most 100 years")]
WorkUs = Annotated[int, Field(ge=1, le=DURATION_US_MAX, description="microseconds, at most 100 years")]


class JobTerms(Model):
    """What a job needs of its slice, all in microseconds of wall time on the whole of it.

    `work_us` is the stepping time at full speed until it is done. After every `checkpoint_every_us` of work,
    and at its end, it stops for `write_us` to write a checkpoint; what came after the last one is lost with a
    fault. Each start costs `startup_us` before the first step: compiling, and reading the last checkpoint.
    One that `replicates` has what each host did in the memory of another, too: with a cube that dies nothing
    is lost if a warm one takes its place at once.
    """

    work_us: WorkUs
    checkpoint_every_us: WorkUs
    write_us: SpanUs
    startup_us: SpanUs
    replicates: bool = False


ChipTime = tuple[tuple[str, int], ...]
"""(place, chip-microseconds)."""


class TierUse(Model):
    """What the slices of a tier used, by what it went to."""

    tier: Tier
    chip_us: ChipTime


class OwnerUse(Model):
    """What the slices of an owner in one tier used, by what it went to."""

    owner: str
    tier: Tier
    chip_us: ChipTime


class SliceUse(Model):
    """What the slice of this number used, by what it went to."""

    number: int
    owner: str
    tier: Tier
    chip_us: ChipTime


class JobsBody(Body):
    writer = "jobs"


class JobCheckpointed(JobsBody):
    """A job that was told that it loses its cubes has kept what it did, and stands."""

    slice: SliceName


class JobFailed(JobsBody):
    """A job noticed that a host or chip under it is dead, and stands: by an error, or because it hung for so
    long that it gave up."""

    slice: SliceName
    part: TargetName
    seen_as: Literal["error", "hang"]


class JobFinished(JobsBody):
    """All work of the slice's job is done, and its last checkpoint is written."""

    slice: SliceName


PodSignal = Literal["goes", "stands", "struck", "hangs", "leaves"]


class PodSignalled(JobsBody):
    """To the whole site: what befell one slice of a job over several pods befalls all of the job.

    `goes`: it can go on at this speed, and the job does once all can. `stands`: it cannot, and what is in the
    memory of other hosts is kept. `struck`: it cannot, and what no checkpoint keeps is lost. `hangs`: a part
    under it is dead, and nobody has noticed. `leaves`: it is to leave cubes, so that all write a checkpoint
    and stand.
    """

    job: SliceName
    slice: SliceName
    signal: PodSignal
    speed_ppm: Annotated[int, Field(ge=1, le=1_000_000)] | None


class UsageReported(JobsBody):
    """Every hour: what slices have used since the fabric was commissioned; once a day by owner as well, and
    what of that those slices used that are not done yet. `uncommitted` is a level."""

    tiers: tuple[TierUse, ...]
    owners: tuple[OwnerUse, ...] | None
    slices: tuple[SliceUse, ...] | None
