"""The workload of a pod: how many slices owners request and for how long, or a recorded trace instead."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from schemas.body import Model
from schemas.config.parameter import parameter
from schemas.config.workload_mix import MIX_ALLOWED, parse_mix
from schemas.limits import DURATION_US_MAX, OWNERS_MAX, TRACE_ROWS_MAX
from schemas.messages.operator import DurationUs, Priority
from schemas.names import OwnerName, Shape, Tier

CALIBRATED = (
    "calibrated to 139 jobs and 24,200 cross-connects a day (NSDI 2024), which we count as starts and links"
)
CALIBRATED_SPREAD = "calibrated to 58–248 jobs a day (NSDI 2024), which we count as starts"


class WorkloadConfig(Model):
    """Who wants slices: how many arrive, of whom, for how long, and what fills the holes.

    Jobs of production and research come in *campaigns*: jobs of one owner, tier, shape and like run time, one
    after the other. Filler comes from a backlog without an end.
    """

    enabled: bool = parameter(True, "whether slices arrive by themselves", unit="-", source="choice")
    offered_load: float = parameter(
        0.8,
        "requested chip-time over the pod's chip-time, without filler; unused where slices_per_day is set",
        unit="fraction",
        source="choice: the rest is for filler and for what fails",
        ge=1e-6,
        le=100,
        allow_inf_nan=False,
    )
    slices_per_day: float | None = parameter(
        None,
        "mean arrivals a day without filler, in place of offered_load",
        unit="slices/day",
        source="choice",
        ge=1e-6,
        le=1_000_000,
        allow_inf_nan=False,
    )
    mix: str = parameter(
        "",
        "shapes and their shares, as 4x4x4=14,4x4x8t=16 with t for twisted; nothing for the production mix; "
        "shapes larger than the pod are left out",
        unit="-",
        source="[T4] Table 2: one day of production",
        allowed=MIX_ALLOWED,
        max_length=100_000,
    )
    mix_counts: Literal["running", "requested"] = parameter(
        "running",
        "what the shares of the mix count: slices that run at a time, or slices that are requested",
        unit="-",
        source=f"assumption: [T4] Table 2 says neither; {CALIBRATED}",
    )
    duration_mean_h: float = parameter(
        2.0,
        "mean run time of a job of one cube or less, undisturbed, from the start of its slice to its end",
        unit="hours",
        source=CALIBRATED,
        ge=1e-6,
        le=10_000,
        allow_inf_nan=False,
    )
    duration_growth: float = parameter(
        0.25,
        "how the mean run time grows with the slice: with cubes to this power",
        unit="-",
        source=f"assumption: larger jobs run longer; {CALIBRATED}",
        ge=-1,
        le=2,
        allow_inf_nan=False,
    )
    duration_sigma: float = parameter(
        0.4,
        "standard deviation of the logarithm of the run time within a campaign",
        unit="-",
        source="assumption: the papers give no run times",
        ge=0,
        le=4,
        allow_inf_nan=False,
    )
    campaign_sigma: float = parameter(
        0.6,
        "standard deviation of the logarithm of the mean run time between campaigns",
        unit="-",
        source="assumption: the papers give no run times",
        ge=0,
        le=4,
        allow_inf_nan=False,
    )
    campaign_jobs: float = parameter(
        6.0,
        "mean jobs of a campaign of one cube or less (geometric)",
        unit="jobs",
        source=f"people work in sessions (Zakay & Feitelson, JSSPP 2012); {CALIBRATED_SPREAD}",
        ge=1,
        le=1_000,
        allow_inf_nan=False,
    )
    campaign_falloff: float = parameter(
        0.7,
        "how campaigns shorten with the slice: 1 + (campaign_jobs − 1) · cubes^−falloff jobs in the mean",
        unit="-",
        source=f"assumption: large jobs come one by one; {CALIBRATED_SPREAD}",
        ge=0,
        le=10,
        allow_inf_nan=False,
    )
    campaign_parallel: int = parameter(
        4,
        "jobs of a campaign that would run at a time, below budget_from_cubes; from there one",
        unit="jobs",
        source="assumption",
        ge=1,
        le=1_000,
    )
    campaign_think_min: float = parameter(
        15.0,
        "mean time (exponential) that an owner takes between two jobs, in addition to their run time",
        unit="minutes",
        source="assumption",
        ge=0,
        le=100_000,
        allow_inf_nan=False,
    )
    day_swing: float = parameter(
        0.4,
        "by which fraction more campaigns begin at 14:00 than in the mean of the day, and fewer at 02:00",
        unit="fraction",
        source="assumption: that there is a cycle is known of every cluster",
        ge=0,
        le=1,
        allow_inf_nan=False,
    )
    weekend_factor: float = parameter(
        0.8,
        "campaigns that begin on a day of the weekend over those of another day; day 0 is a Monday",
        unit="fraction",
        source="assumption: that there is a cycle is known of every cluster",
        ge=0,
        le=10,
        allow_inf_nan=False,
    )
    budget_from_cubes: int = parameter(
        8,
        "size from which on campaigns keep to a budget: the next of a shape begins when the load allows the "
        "chip-time of the one before, at any hour",
        unit="cubes",
        source="assumption: owners of large slices have a budget of chip-time",
        ge=1,
        le=1_000,
    )
    budget_order: int = parameter(
        4,
        "how regular such campaigns are: the order of the Erlang law of the time between two",
        unit="-",
        source="assumption: 1 would be by chance alone",
        ge=1,
        le=100,
    )
    production_share: float = parameter(
        0.2,
        "campaigns of production, which is never preempted; the others are research",
        unit="fraction",
        source="assumption",
        ge=0,
        le=1,
        allow_inf_nan=False,
    )
    production_share_large: float = parameter(
        0.08,
        "the same of slices of half a pod or more (32 cubes of 64)",
        unit="fraction",
        source="calibrated: 95 % of such slices start in 8 h",
        ge=0,
        le=1,
        allow_inf_nan=False,
    )
    owners: int = parameter(
        12, "owners of production and research", unit="owners", source="assumption", ge=1, le=OWNERS_MAX
    )
    owner_skew: float = parameter(
        0.5,
        "how unlike owners are: the n-th has a share of campaigns in proportion to n^−skew",
        unit="-",
        source="assumption: few owners want most, as in every cluster",
        ge=0,
        le=10,
        allow_inf_nan=False,
    )
    estimate_median: float = parameter(
        1.5,
        "median of an owner's estimate of a run time, over that run time (log-normal)",
        unit="fraction",
        source="assumption; that estimates are wrong: Lee et al., JSSPP 2004; Tsafrir et al., JSSPP 2005",
        gt=0,
        le=1_000,
        allow_inf_nan=False,
    )
    estimate_sigma: float = parameter(
        0.8,
        "standard deviation of the logarithm of such an estimate; 0.8 makes 31 % of them too short",
        unit="-",
        source="assumption",
        ge=0,
        le=4,
        allow_inf_nan=False,
    )
    balk_above_h: float = parameter(
        96.0,
        "an owner does not ask while more work than this waits before the slice, by estimates, as time of "
        "the whole pod: of slices no larger, for these pass larger ones; production sees its own only",
        unit="hours",
        source="assumption: as long as all large slices are to wait at most",
        ge=0,
        le=1_000_000,
        allow_inf_nan=False,
    )
    filler: bool = parameter(
        True, "whether there is filler: jobs without an end that run in holes", unit="-", source="choice"
    )
    filler_cubes_min: int = parameter(
        2,
        "cubes of the smallest filler job; the others are twice as large each",
        unit="cubes",
        source="calibrated to 139 jobs a day, as starts, and > 98 % in use (NSDI 2024; [LF] 4.2.4)",
        ge=1,
        le=64,
    )
    filler_cubes_max: int = parameter(
        8,
        "cubes of the largest filler job at most",
        unit="cubes",
        source="calibrated, as filler_cubes_min",
        ge=1,
        le=64,
    )
    filler_mean_h: float = parameter(
        8.0,
        "mean of the log-normal run time of filler, undisturbed",
        unit="hours",
        source="assumption: it is interrupted long before",
        ge=1e-6,
        le=10_000,
        allow_inf_nan=False,
    )
    filler_sigma: float = parameter(
        1.0,
        "standard deviation of its logarithm",
        unit="-",
        source="assumption",
        ge=0,
        le=4,
        allow_inf_nan=False,
    )
    startup_s: int = parameter(
        240,
        "from a slice that is ready to the first step of its job: compiling, reading the last checkpoint",
        unit="seconds",
        source="assumption: minutes; with the preflight a start costs 6",
        ge=0,
        le=86_400,
    )
    checkpoint_every_s: int = parameter(
        3600,
        "work between two checkpoints of a job",
        unit="seconds",
        source="Cloud TPU documentation: about every hour",
        ge=1,
        le=31_536_000,
    )
    checkpoint_write_s: int = parameter(
        20,
        "how long a job stops to write a checkpoint: as long for any slice, for hosts write at the same time",
        unit="seconds",
        source="assumption within the seconds to minutes of the Cloud TPU documentation",
        ge=0,
        le=86_400,
    )

    overhead_sigma: float = parameter(
        0.4,
        "standard deviation of the logarithm of startup_s, checkpoint_every_s and checkpoint_write_s between "
        "jobs, of which those are the means",
        unit="-",
        source="assumption: programs differ in size and habits",
        ge=0,
        le=2,
        allow_inf_nan=False,
    )
    replicates_share: float = parameter(
        0.1,
        "share of jobs whose hosts keep in memory what others did: a warm spare loses them no work",
        unit="fraction",
        source="assumption; that it is done: Gemini (SOSP 2023)",
        ge=0,
        le=1,
        allow_inf_nan=False,
    )

    multipod_share: float = parameter(
        0.0,
        "share of the campaigns of half a pod or more whose jobs run over several pods, a slice in each",
        unit="fraction",
        source="choice: how often it happens is not told",
        ge=0,
        le=1,
        allow_inf_nan=False,
    )
    multipod_pods: int = parameter(
        2, "pods of such a job", unit="pods", source="PaLM (2022): 2 pods of 3,072 chips", ge=2, le=64
    )
    multipod_gradient_gb: float = parameter(
        1_000.0,
        "what a job over several pods sums over them every step",
        unit="GB",
        source="PaLM (2022, section 4): 1.3 GB between each of 768 pairs of hosts",
        ge=0,
        le=1_000_000,
        allow_inf_nan=False,
    )
    multipod_step_s: float = parameter(
        17.6,
        "its step at full speed, what it takes to send that aside",
        unit="seconds",
        source="PaLM (2022): 2,048 sequences of 2,048 tokens, 238,300 tokens a second",
        ge=0.001,
        le=86_400,
        allow_inf_nan=False,
    )

    @model_validator(mode="after")
    def _mix_can_be_read(self) -> Self:
        try:
            parse_mix(self.mix)
        except ValueError as error:
            raise ValueError(f"mix: {error}") from None
        return self

    @model_validator(mode="after")
    def _filler_has_a_size(self) -> Self:
        least, most = self.filler_cubes_min, self.filler_cubes_max
        if least > most:
            raise ValueError(
                f"filler_cubes_min {least} is above filler_cubes_max {most}; must be between 1 and {most}"
            )
        return self


class TraceRow(Model):
    """One recorded request, its chips already rounded up to a shape. `submit_us` counts from the fabric's
    commissioning; `duration_us` is the work of its job."""

    submit_us: Annotated[int, Field(ge=0, le=DURATION_US_MAX, description="microseconds, at most 100 years")]
    duration_us: DurationUs
    shape: Shape
    twisted: bool
    priority: Priority
    owner: OwnerName = "trace"
    tier: Tier = "research"
    estimate_us: DurationUs | None = None


def _limit_owners(rows: tuple[TraceRow, ...]) -> tuple[TraceRow, ...]:
    owners = len({row.owner for row in rows})
    if owners > OWNERS_MAX:
        raise ValueError(f"{owners:,} owners are not allowed; must be at most {OWNERS_MAX:,}")
    return rows


Trace = Annotated[tuple[TraceRow, ...], Field(max_length=TRACE_ROWS_MAX), AfterValidator(_limit_owners)]
