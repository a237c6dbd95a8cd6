"""Messages of jobs: their terms (work, start-up and checkpoints), their events, and the use of slices."""

from typing import Annotated, Literal

from pydantic import Field

from schemas.body import Body, Model
from schemas.limits import DURATION_US_MAX
from schemas.names import SliceName, TargetName, Tier

SpanUs = Annotated[int, Field(ge=0, le=DURATION_US_MAX, description="microseconds, at most 100 years")]
WorkUs = Annotated[int, Field(ge=1, le=DURATION_US_MAX, description="microseconds, at most 100 years")]


class JobTerms(Model):
    """The terms of a job, all in microseconds of wall time on the whole slice.

    `work_us` is the stepping time at full speed until the job is done. After every `checkpoint_every_us` of
    work, and at its end, it stops for `write_us` to write a checkpoint; a fault loses the work since the last
    one. Each start costs `startup_us` before the first step: compiling, and reading the last checkpoint. A
    job that `replicates` keeps the work of each host in the memory of another as well: if a cube dies and a
    warm cube replaces it at once, no work is lost.
    """

    work_us: WorkUs
    checkpoint_every_us: WorkUs
    write_us: SpanUs
    startup_us: SpanUs
    replicates: bool = False


ChipTimeByCategory = tuple[tuple[str, int], ...]
"""(category, chip-microseconds)."""


class TierUse(Model):
    """Chip-time of the slices of a tier, by category."""

    tier: Tier
    chip_us: ChipTimeByCategory


class OwnerUse(Model):
    """Chip-time of the slices of an owner in one tier, by category."""

    owner: str
    tier: Tier
    chip_us: ChipTimeByCategory


class SliceUse(Model):
    """Chip-time of the slice with this number, by category."""

    number: int
    owner: str
    tier: Tier
    chip_us: ChipTimeByCategory


class JobsBody(Body):
    writer = "jobs"


class JobCheckpointed(JobsBody):
    """A job that was notified of losing its cubes has saved its work, and stops."""

    slice: SliceName


class JobFailed(JobsBody):
    """A job noticed that a host or chip under it is dead, and stops: after an error, or after hanging until
    its timeout."""

    slice: SliceName
    part: TargetName
    seen_as: Literal["error", "hang"]


class JobFinished(JobsBody):
    """All work of the slice's job is done, and its last checkpoint is written."""

    slice: SliceName


PodSignal = Literal["goes", "stands", "struck", "hangs", "leaves"]


class PodSignalled(JobsBody):
    """To the whole site: an event of one slice of a multislice job, which affects the whole job.

    `goes`: it can continue at this speed, and the job does once all can. `stands`: it cannot continue, and
    the memory of other hosts is kept. `struck`: it cannot continue, and work since the last checkpoint is
    lost. `hangs`: a part under it is dead, which has not been noticed. `leaves`: it must leave its cubes, so
    that all slices write a checkpoint and stop.
    """

    job: SliceName
    slice: SliceName
    signal: PodSignal
    speed_ppm: Annotated[int, Field(ge=1, le=1_000_000)] | None


class UsageReported(JobsBody):
    """Hourly report: the use of slices since the fabric was commissioned; once a day also by owner, and for
    the slices that still run. `uncommitted` is a level."""

    tiers: tuple[TierUse, ...]
    owners: tuple[OwnerUse, ...] | None
    slices: tuple[SliceUse, ...] | None
