"""Campaigns: series of similar jobs of one owner.

All draws are keyed by the campaign's or job's own number within its shape. So requests depend neither on
events in the pod nor on other shapes. Campaigns of small slices start at random, more often by day than by
night. Those of large slices follow a budget of chip-time. A few of them are half the load, so if they started
at random, two months would differ by a third.
"""

import math
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from schemas.config.owners import team_owner
from schemas.config.workload import WorkloadConfig
from schemas.limits import DURATION_US_MAX
from schemas.names import Tier
from services.workload.run_times import draw_run_us, run_mean_h
from services.workload.slice_mix import ShapeShare, arrivals_per_day, mix_for
from services.workload.weekly_demand import demand_until, time_of_demand
from shared.basics.fast_replace import replace
from shared.basics.keyed_random import draw_exponential, draw_lognormal, draw_uniform
from shared.basics.units import US_PER_DAY, US_PER_HOUR, US_PER_MIN, to_whole_us
from shared.models.superpod.shapes import shape_text


def draw_owner(seed: int, entity: str, number: int, config: WorkloadConfig) -> str:
    """The owner of a campaign, `team-1` …, drawn by their shares."""
    cumulative = _cumulative(config.owners, config.owner_skew)
    return team_owner(1 + bisect_right(cumulative, draw_uniform(seed, entity, "owner", number)))


def draw_tier(seed: int, entity: str, number: int, config: WorkloadConfig, is_large: bool) -> Tier:
    """The tier of a campaign: production or research."""
    share = config.production_share_large if is_large else config.production_share
    return "production" if draw_uniform(seed, entity, "tier", number) < share else "research"


@lru_cache(maxsize=64)
def _cumulative(owners: int, skew: float) -> tuple[float, ...]:
    """Cumulative shares of the owners, without the last one."""
    weights = [n**-skew for n in range(1, owners + 1)]
    return tuple([weight / sum(weights) for weight in accumulate(weights)][:-1])


WARM_UP_GAPS = 16
"""Warm-up of a budget before the commissioning, in mean gaps between campaigns, to reach a steady state."""


@dataclass(frozen=True, slots=True)
class ShapeDemand:
    """The demand for one shape: its rates, and the name that keys its draws.

    `jobs_mean` is the mean number of jobs of a campaign, `per_day` the number of jobs a day.
    """

    seed: int
    entity: str
    config: WorkloadConfig
    kind: ShapeShare
    per_day: float
    run_mean_us: float
    jobs_mean: float
    is_budgeted: bool
    is_large: bool

    @property
    def gap_mean_us(self) -> float:
        """Mean time between the starts of two campaigns."""
        return self.jobs_mean / self.per_day * US_PER_DAY


@dataclass(frozen=True)  # without slots: `fast_replace.replace`
class Stream:
    """The campaigns of one shape: number of campaigns and jobs so far, and the start of the next campaign."""

    campaigns: int
    jobs: int
    next_us: int


@dataclass(frozen=True)  # without slots: `fast_replace.replace`
class Campaign:
    """One campaign of a shape, given by its index `shape` in the mix.

    `job` is the number of its next job within the shape, `jobs_end` the number after its last job. `next_us`
    is the time of the request for the next job.
    """

    shape: int
    owner: str
    tier: Tier
    twisted: bool
    run_mean_us: int
    job: int
    jobs_end: int
    next_us: int
    is_multipod: bool = False
    """Whether each job runs over several pods, if the site has enough."""


@lru_cache(maxsize=64)
def demand_of(seed: int, fabric: str, config: WorkloadConfig, cubes: int) -> tuple[ShapeDemand, ...]:
    """The demand for each shape of a pod with this many cubes."""
    return tuple(
        ShapeDemand(
            seed=seed,
            entity=f"{fabric}/{shape_text(kind.shape)}",
            config=config,
            kind=kind,
            per_day=per_day,
            run_mean_us=run_mean_h(config, kind.cubes) * US_PER_HOUR,
            jobs_mean=1.0 + (config.campaign_jobs - 1.0) * kind.cubes**-config.campaign_falloff,
            is_budgeted=kind.cubes >= config.budget_from_cubes,
            is_large=2 * kind.cubes >= cubes,
        )
        for kind, per_day in zip(mix_for(config.mix, cubes), arrivals_per_day(config, cubes), strict=True)
    )


def initial_stream(shape_demand: ShapeDemand, shape: int, at_us: int) -> tuple[Stream, list[Campaign]]:
    """(stream of one shape, its running campaigns) at the commissioning of a pod.

    A budget has a history before the commissioning; requests from then are dropped. A budget with less than
    one campaign in a century has none.
    """
    if not shape_demand.is_budgeted or shape_demand.gap_mean_us > DURATION_US_MAX:
        return Stream(0, 0, _next_random_start(shape_demand, at_us, 0)), []
    back = WARM_UP_GAPS + draw_uniform(shape_demand.seed, shape_demand.entity, "phase", 0)
    stream = Stream(0, 0, at_us - to_whole_us(back * shape_demand.gap_mean_us, 1))
    under_way: list[Campaign] = []
    while stream.next_us < at_us:
        campaign, stream = begin_campaign(shape_demand, shape, stream)
        going: Campaign | None = campaign
        while going is not None and going.next_us < at_us:
            going = next_job(shape_demand, going)
        if going is not None:
            under_way.append(going)
    return stream, under_way


def redrawn(shape_demand: ShapeDemand, stream: Stream, now_us: int) -> Stream:
    """The stream with the start of its next campaign drawn again from now on.

    For random starts the law is the same as that of the rest. A budgeted campaign is planned, and its start
    stays.
    """
    if shape_demand.is_budgeted:
        return stream
    return replace(stream, next_us=_next_random_start(shape_demand, now_us, stream.campaigns))


def begin_campaign(shape_demand: ShapeDemand, shape: int, stream: Stream) -> tuple[Campaign, Stream]:
    """Start the next campaign. Return it and the stream after it."""
    number, config = stream.campaigns, shape_demand.config
    seed, entity = shape_demand.seed, shape_demand.entity
    between_us = draw_lognormal(
        seed, entity, "campaign", number, shape_demand.run_mean_us, config.campaign_sigma
    )
    campaign = Campaign(
        shape=shape,
        owner=draw_owner(seed, entity, number, config),
        tier=draw_tier(seed, entity, number, config, shape_demand.is_large),
        twisted=draw_uniform(seed, entity, "twisted", number) < shape_demand.kind.twisted_share,
        run_mean_us=to_whole_us(between_us, 1),
        job=stream.jobs,
        jobs_end=stream.jobs + _draw_jobs(shape_demand, number),
        next_us=stream.next_us,
        is_multipod=shape_demand.is_large
        and draw_uniform(seed, entity, "over pods", number) < config.multipod_share,
    )
    next_us = (
        _budget_end(shape_demand, campaign, number)
        if shape_demand.is_budgeted
        else _next_random_start(shape_demand, stream.next_us, number + 1)
    )
    return campaign, Stream(number + 1, campaign.jobs_end, next_us)


def stream_at_other_rate(before: ShapeDemand, after: ShapeDemand, stream: Stream, now_us: int) -> Stream:
    """The stream after a change of its rate.

    The time until the next campaign is scaled by the ratio of the rates, in demand time or budget time. A
    campaign that is due and running campaigns do not change.
    """
    ratio = before.per_day / after.per_day
    if ratio == 1.0 or stream.next_us <= now_us:
        return stream
    if after.is_budgeted:
        left_us = to_whole_us((stream.next_us - now_us) * ratio, 1)
        return replace(stream, next_us=now_us + left_us)
    swing, weekend = after.config.day_swing, after.config.weekend_factor
    demand_us = demand_until(now_us, swing, weekend)
    left_us = to_whole_us((demand_until(stream.next_us, swing, weekend) - demand_us) * ratio, 1)
    return replace(stream, next_us=max(now_us + 1, time_of_demand(demand_us + left_us, swing, weekend)))


def run_us_of(shape_demand: ShapeDemand, campaign: Campaign, job: int) -> int:
    """Run time of one job of a campaign."""
    return draw_run_us(
        shape_demand.seed, shape_demand.entity, job, campaign.run_mean_us, shape_demand.config.duration_sigma
    )


def next_job(shape_demand: ShapeDemand, campaign: Campaign) -> Campaign | None:
    """The campaign after the request for its next job; None if that was the last.

    The next request comes after this job's run time, or a fraction of it if several jobs run in parallel,
    plus the owner's think time. Queueing time is not included, so requests do not depend on how they are
    served.
    """
    if campaign.job + 1 == campaign.jobs_end:
        return None
    config = shape_demand.config
    at_a_time = 1 if shape_demand.is_budgeted else config.campaign_parallel
    think_mean_us = config.campaign_think_min * US_PER_MIN
    think_us = draw_exponential(shape_demand.seed, shape_demand.entity, "think", campaign.job, think_mean_us)
    gap_us = to_whole_us(run_us_of(shape_demand, campaign, campaign.job) / at_a_time + think_us, 1)
    return replace(campaign, job=campaign.job + 1, next_us=campaign.next_us + gap_us)


def _draw_jobs(shape_demand: ShapeDemand, number: int) -> int:
    """Number of jobs of a campaign: geometric, at least one."""
    if shape_demand.jobs_mean == 1.0:
        return 1
    at_least = math.log(draw_uniform(shape_demand.seed, shape_demand.entity, "jobs", number))
    return 1 + int(at_least / math.log1p(-1.0 / shape_demand.jobs_mean))


def _next_random_start(shape_demand: ShapeDemand, since_us: int, number: int) -> int:
    """The random start of campaign `number`, given the start of the one before."""
    config = shape_demand.config
    gap_us = to_whole_us(
        draw_exponential(shape_demand.seed, shape_demand.entity, "gap", number, shape_demand.gap_mean_us), 1
    )
    demand_us = demand_until(since_us, config.day_swing, config.weekend_factor) + gap_us
    return max(since_us + 1, time_of_demand(demand_us, config.day_swing, config.weekend_factor))


def _budget_end(shape_demand: ShapeDemand, campaign: Campaign, number: int) -> int:
    """The start of the next campaign by the budget.

    On average it is the time at which the load allows the run time of this campaign in all of its pods,
    spread by an Erlang law.
    """
    runs_us = sum([run_us_of(shape_demand, campaign, job) for job in range(campaign.job, campaign.jobs_end)])
    runs_us *= shape_demand.config.multipod_pods if campaign.is_multipod else 1
    running_mean = shape_demand.per_day * shape_demand.run_mean_us / US_PER_DAY
    order = shape_demand.config.budget_order
    draws = (
        draw_uniform(shape_demand.seed, shape_demand.entity, "gap", number * order + n) for n in range(order)
    )
    spread = -sum([math.log(draw) for draw in draws]) / order
    return campaign.next_us + to_whole_us(runs_us / running_mean * spread, 1)
