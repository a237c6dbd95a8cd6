"""The workload of a pod: requests of owners and their run times, or a recorded trace."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from schemas.body import Model
from schemas.config.parameter import parameter
from schemas.config.workload_mix import MIX_ALLOWED, parse_mix
from schemas.limits import DURATION_US_MAX, OWNERS_MAX, TRACE_ROWS_MAX
from schemas.names import OwnerName, Shape, Tier
from schemas.request_terms import DurationUs, Priority

CALIBRATED = (
    "calibrated to 139 jobs and 24,200 cross-connects a day (NSDI 2024), which we count as starts and links"
)
CALIBRATED_SPREAD = "calibrated to 58–248 jobs a day (NSDI 2024), which we count as starts"


class WorkloadConfig(Model):
    """Arrival of requests, their owners, shapes and run times, and filler for idle cubes.

    Production and research jobs come in *campaigns*: jobs with one owner, tier and shape and similar run
    times, one after the other. Filler comes from an endless backlog.
    """

    enabled: bool = parameter(True, "whether slices are requested at random", unit="-", source="choice")
    offered_load: float = parameter(
        0.8,
        "requested chip-time over the chip-time of the pod, without filler; ignored if slices_per_day is set",
        unit="fraction",
        source="choice: the rest is for filler and failures",
        ge=1e-6,
        le=100,
        allow_inf_nan=False,
    )
    slices_per_day: float | None = parameter(
        None,
        "mean number of requests a day, without filler; replaces offered_load",
        unit="slices/day",
        source="choice",
        ge=1e-6,
        le=1_000_000,
        allow_inf_nan=False,
    )
    mix: str = parameter(
        "",
        "shapes and their shares, as 4x4x4=14,4x4x8t=16 with t for twisted; empty: the production "
        "mix; shapes larger than the pod are ignored",
        unit="-",
        source="[T4] Table 2: one day of production",
        allowed=MIX_ALLOWED,
        max_length=100_000,
    )
    mix_counts: Literal["running", "requested"] = parameter(
        "running",
        "what the shares of the mix count: running slices or requested slices",
        unit="-",
        source=f"assumption: [T4] Table 2 says neither; {CALIBRATED}",
    )
    duration_mean_h: float = parameter(
        2.0,
        "mean run time of a job of one cube or less, from the start of its slice to its end, without faults",
        unit="hours",
        source=CALIBRATED,
        ge=1e-6,
        le=10_000,
        allow_inf_nan=False,
    )
    duration_growth: float = parameter(
        0.25,
        "growth of the mean run time with the size of the slice: number of cubes to this power",
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
        "mean of the geometric number of jobs in a campaign of one cube or less",
        unit="jobs",
        source=f"people work in sessions (Zakay & Feitelson, JSSPP 2012); {CALIBRATED_SPREAD}",
        ge=1,
        le=1_000,
        allow_inf_nan=False,
    )
    campaign_falloff: float = parameter(
        0.7,
        "decrease of the number of jobs with the size of the slice: mean 1 + (campaign_jobs − 1) · "
        "cubes^−falloff",
        unit="-",
        source=f"assumption: large jobs come one by one; {CALIBRATED_SPREAD}",
        ge=0,
        le=10,
        allow_inf_nan=False,
    )
    campaign_parallel: int = parameter(
        4,
        "maximum number of jobs of a campaign at the same time, below budget_from_cubes; above it one",
        unit="jobs",
        source="assumption",
        ge=1,
        le=1_000,
    )
    campaign_think_min: float = parameter(
        15.0,
        "mean of the exponential time between two jobs of an owner, in addition to their run time",
        unit="minutes",
        source="assumption",
        ge=0,
        le=100_000,
        allow_inf_nan=False,
    )
    day_swing: float = parameter(
        0.4,
        "relative increase of starting campaigns at 14:00 over the daily mean, and decrease at 02:00",
        unit="fraction",
        source="assumption: every cluster has a daily cycle",
        ge=0,
        le=1,
        allow_inf_nan=False,
    )
    weekend_factor: float = parameter(
        0.8,
        "campaigns that start on a weekend day over those of a weekday; day 0 is a Monday",
        unit="fraction",
        source="assumption: every cluster has a weekly cycle",
        ge=0,
        le=10,
        allow_inf_nan=False,
    )
    budget_from_cubes: int = parameter(
        8,
        "size from which campaigns have a budget: the next one of a shape starts when the load allows"
        " for the chip-time of the previous one, at any hour",
        unit="cubes",
        source="assumption: owners of large slices have a budget of chip-time",
        ge=1,
        le=1_000,
    )
    budget_order: int = parameter(
        4,
        "regularity of such campaigns: order of the Erlang distribution of the time between two",
        unit="-",
        source="assumption; 1 is purely random",
        ge=1,
        le=100,
    )
    production_share: float = parameter(
        0.2,
        "share of campaigns that are production, which is never preempted; the others are research",
        unit="fraction",
        source="assumption",
        ge=0,
        le=1,
        allow_inf_nan=False,
    )
    production_share_large: float = parameter(
        0.08,
        "the same for slices of half a pod or more (32 of 64 cubes)",
        unit="fraction",
        source="calibrated: 95 % of such slices start within 8 h",
        ge=0,
        le=1,
        allow_inf_nan=False,
    )
    owners: int = parameter(
        12,
        "number of owners of production and research",
        unit="owners",
        source="assumption",
        ge=1,
        le=OWNERS_MAX,
    )
    owner_skew: float = parameter(
        0.5,
        "inequality of owners: the n-th has a share of campaigns in proportion to n^−skew",
        unit="-",
        source="assumption: in every cluster few owners request most",
        ge=0,
        le=10,
        allow_inf_nan=False,
    )
    estimate_median: float = parameter(
        1.5,
        "median of the log-normal ratio of an owner's estimate to the true run time",
        unit="fraction",
        source="assumption; estimates are known to be wrong: Lee et al., JSSPP 2004; Tsafrir et al., JSSPP "
        "2005",
        gt=0,
        le=1_000,
        allow_inf_nan=False,
    )
    estimate_sigma: float = parameter(
        0.8,
        "standard deviation of the logarithm of this ratio; with 0.8, 31 % of estimates are too short",
        unit="-",
        source="assumption",
        ge=0,
        le=4,
        allow_inf_nan=False,
    )
    balk_above_h: float = parameter(
        96.0,
        "amount of waiting work above which an owner requests nothing, as time of the whole pod, by "
        "estimates; it counts slices that are no larger, because these pass larger ones, and for "
        "production only other production",
        unit="hours",
        source="assumption: the longest acceptable wait of large slices",
        ge=0,
        le=1_000_000,
        allow_inf_nan=False,
    )
    filler: bool = parameter(
        True, "whether there is filler: endless jobs that run on idle cubes", unit="-", source="choice"
    )
    filler_cubes_min: int = parameter(
        2,
        "cubes of the smallest filler job; each next size is twice as large",
        unit="cubes",
        source="calibrated to 139 jobs a day, as starts, and > 98 % in use (NSDI 2024; [LF] 4.2.4)",
        ge=1,
        le=64,
    )
    filler_cubes_max: int = parameter(
        8,
        "maximum cubes of the largest filler job",
        unit="cubes",
        source="calibrated, as filler_cubes_min",
        ge=1,
        le=64,
    )
    filler_mean_h: float = parameter(
        8.0,
        "mean of the log-normal run time of filler, without interruptions",
        unit="hours",
        source="assumption; filler is usually interrupted earlier",
        ge=1e-6,
        le=10_000,
        allow_inf_nan=False,
    )
    filler_sigma: float = parameter(
        1.0,
        "standard deviation of the logarithm of the run time of filler",
        unit="-",
        source="assumption",
        ge=0,
        le=4,
        allow_inf_nan=False,
    )
    startup_s: int = parameter(
        240,
        "time from a ready slice to the first step of its job: compiling, reading the last checkpoint",
        unit="seconds",
        source="assumption: minutes; with the preflight a start takes 6 minutes",
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
        "time that a job stops to write a checkpoint; the same for any slice, because hosts write in "
        "parallel",
        unit="seconds",
        source="assumption within the seconds to minutes of the Cloud TPU documentation",
        ge=0,
        le=86_400,
    )

    overhead_sigma: float = parameter(
        0.4,
        "standard deviation between jobs of the logarithm of startup_s, checkpoint_every_s and "
        "checkpoint_write_s, whose means these parameters are",
        unit="-",
        source="assumption: programs differ in size and habits",
        ge=0,
        le=2,
        allow_inf_nan=False,
    )
    replicates_share: float = parameter(
        0.1,
        "share of jobs whose hosts keep copies of the state of others in memory, so that a warm spare"
        " loses no work",
        unit="fraction",
        source="assumption; the technique: Gemini (SOSP 2023)",
        ge=0,
        le=1,
        allow_inf_nan=False,
    )

    multipod_share: float = parameter(
        0.0,
        "share of the campaigns of half a pod or more whose jobs are multislice jobs, with one slice "
        "in each pod",
        unit="fraction",
        source="choice: no published figure",
        ge=0,
        le=1,
        allow_inf_nan=False,
    )
    multipod_pods: int = parameter(
        2,
        "number of pods of a multislice job",
        unit="pods",
        source="PaLM (2022): 2 pods of 3,072 chips",
        ge=2,
        le=64,
    )
    multipod_gradient_gb: float = parameter(
        1_000.0,
        "size of the gradients that a multislice job sums over its pods in each step",
        unit="GB",
        source="PaLM (2022, section 4): 1.3 GB between each of 768 pairs of hosts",
        ge=0,
        le=1_000_000,
        allow_inf_nan=False,
    )
    multipod_step_s: float = parameter(
        17.6,
        "duration of its step at full speed, without the transfer of gradients",
        unit="seconds",
        source="PaLM (2022): 2,048 sequences of 2,048 tokens, 238,300 tokens a second",
        ge=0.001,
        le=86_400,
        allow_inf_nan=False,
    )

    @model_validator(mode="after")
    def _check_mix(self) -> Self:
        try:
            parse_mix(self.mix)
        except ValueError as error:
            raise ValueError(f"mix: {error}") from None
        return self

    @model_validator(mode="after")
    def _check_filler_sizes(self) -> Self:
        least, most = self.filler_cubes_min, self.filler_cubes_max
        if least > most:
            raise ValueError(
                f"filler_cubes_min {least} is above filler_cubes_max {most}; must be between 1 and {most}"
            )
        return self


class TraceRow(Model):
    """One recorded request; its number of chips is already rounded up to a shape. `submit_us` counts from the
    fabric's commissioning; `duration_us` is the work of its job."""

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
