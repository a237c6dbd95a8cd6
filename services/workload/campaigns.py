"""Campaigns: runs of like jobs of one owner, which is how people work.

Everything is drawn by the campaign's or the job's own number among those of its shape, so what is asked for
depends on nothing that happens in the pod, nor on other shapes. Campaigns of small slices begin by chance,
more by day than by night. Those of large slices keep to a budget of chip-time: a few of them are half the
load, and left to chance their sum would differ by a third between two months.
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
from shared.basics.units import US_PER_DAY, US_PER_HOUR, to_whole_us
from shared.models.superpod.shapes import shape_text

# Whose jobs they are, and what these may do to others.


def draw_owner(seed: int, entity: str, number: int, config: WorkloadConfig) -> str:
    """`team-1` … by their shares."""
    cumulative = _cumulative(config.owners, config.owner_skew)
    return team_owner(1 + bisect_right(cumulative, draw_uniform(seed, entity, "owner", number)))


def draw_tier(seed: int, entity: str, number: int, config: WorkloadConfig, is_large: bool) -> Tier:
    """Production or research."""
    share = config.production_share_large if is_large else config.production_share
    return "production" if draw_uniform(seed, entity, "tier", number) < share else "research"


@lru_cache(maxsize=64)
def _cumulative(owners: int, skew: float) -> tuple[float, ...]:
    """The shares of the owners up to and including each but the last."""
    weights = [n**-skew for n in range(1, owners + 1)]
    return tuple([weight / sum(weights) for weight in accumulate(weights)][:-1])


US_PER_MIN = US_PER_HOUR // 60
WARM_UP_GAPS = 16
"""Mean gaps between campaigns of a budget that are gone through before the commissioning, so that by then it
stands as if it had always been kept."""


@dataclass(frozen=True, slots=True)
class ShapeDemand:
    """What all requests for one shape have in common: how often it is wanted, and by which name its draws are
    keyed. `jobs_mean` is of a campaign, `per_day` of jobs."""

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
        """Between the beginnings of two campaigns, in the mean."""
        return self.jobs_mean / self.per_day * US_PER_DAY


@dataclass(frozen=True)  # without slots: `records.replace`
class Stream:
    """The campaigns of one shape: how many have begun, how many jobs they have, and when the next begins."""

    campaigns: int
    jobs: int
    next_us: int


@dataclass(frozen=True)  # without slots: `records.replace`
class Campaign:
    """One campaign of the `shape`-th shape that is wanted. `job` is the number of its next job among those of
    its shape, `jobs_end` that after its last; `next_us` is when that job is asked for."""

    shape: int
    owner: str
    tier: Tier
    twisted: bool
    run_mean_us: int
    job: int
    jobs_end: int
    next_us: int
    is_multipod: bool = False
    """Whether each of its jobs runs over several pods, where the site has as many."""


@lru_cache(maxsize=64)
def demand_of(seed: int, fabric: str, config: WorkloadConfig, cubes: int) -> tuple[ShapeDemand, ...]:
    """What is asked of a pod of this many cubes, by shape."""
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
    """(The stream of one shape, its campaigns under way) when a pod is commissioned. A budget has been kept
    before, elsewhere: what was asked for then is gone. One that comes to less than a campaign in a century
    begins anew."""
    if not shape_demand.is_budgeted or shape_demand.gap_mean_us > DURATION_US_MAX:
        return Stream(0, 0, _next_by_chance(shape_demand, at_us, 0)), []
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
    """The same with the beginning of its next campaign drawn anew, as from now on. Where campaigns come by
    chance that has the law of what was left; one of a budget is planned, and comes as it was."""
    if shape_demand.is_budgeted:
        return stream
    return replace(stream, next_us=_next_by_chance(shape_demand, now_us, stream.campaigns))


def begin_campaign(shape_demand: ShapeDemand, shape: int, stream: Stream) -> tuple[Campaign, Stream]:
    """The campaign that is to begin, and the stream after it."""
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
        else _next_by_chance(shape_demand, stream.next_us, number + 1)
    )
    return campaign, Stream(number + 1, campaign.jobs_end, next_us)


def stream_at_other_rate(before: ShapeDemand, after: ShapeDemand, stream: Stream, now_us: int) -> Stream:
    """The stream where its shape is asked for at another rate from now on: what is left until the next
    campaign, of the demand or of the budget that it waits for, comes by the ratio of the rates sooner or
    later. One that is due has come; what is under way goes on as it is."""
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
    """The run time of one job of a campaign."""
    return draw_run_us(
        shape_demand.seed, shape_demand.entity, job, campaign.run_mean_us, shape_demand.config.duration_sigma
    )


def next_job(shape_demand: ShapeDemand, campaign: Campaign) -> Campaign | None:
    """The campaign after its next job was asked for; None if that was its last.

    The one after it comes when this one has run, or as much of its run time is over as lets so many run at a
    time, and its owner has thought about it. How long it waits in truth is not known here: what is asked for
    is the same whatever serves it.
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
    """How many jobs a campaign has: geometric, at least one."""
    if shape_demand.jobs_mean == 1.0:
        return 1
    at_least = math.log(draw_uniform(shape_demand.seed, shape_demand.entity, "jobs", number))
    return 1 + int(at_least / math.log1p(-1.0 / shape_demand.jobs_mean))


def _next_by_chance(shape_demand: ShapeDemand, since_us: int, number: int) -> int:
    """When a campaign begins that comes by chance: the `number`-th, after the one before it."""
    config = shape_demand.config
    gap_us = to_whole_us(
        draw_exponential(shape_demand.seed, shape_demand.entity, "gap", number, shape_demand.gap_mean_us), 1
    )
    demand_us = demand_until(since_us, config.day_swing, config.weekend_factor) + gap_us
    return max(since_us + 1, time_of_demand(demand_us, config.day_swing, config.weekend_factor))


def _budget_end(shape_demand: ShapeDemand, campaign: Campaign, number: int) -> int:
    """When the campaign after this one begins, by the budget: in the mean when the load allows what this one
    runs in all of its pods, spread by an Erlang law."""
    runs_us = sum([run_us_of(shape_demand, campaign, job) for job in range(campaign.job, campaign.jobs_end)])
    runs_us *= shape_demand.config.multipod_pods if campaign.is_multipod else 1
    running_mean = shape_demand.per_day * shape_demand.run_mean_us / US_PER_DAY
    order = shape_demand.config.budget_order
    draws = (
        draw_uniform(shape_demand.seed, shape_demand.entity, "gap", number * order + n) for n in range(order)
    )
    spread = -sum([math.log(draw) for draw in draws]) / order
    return campaign.next_us + to_whole_us(runs_us / running_mean * spread, 1)
