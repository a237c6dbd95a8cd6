"""Campaigns: runs of like jobs of one owner, which is how people work.

Everything is drawn by the campaign's or the job's own number among those of its shape, so what is asked for
depends on nothing that happens in the pod, nor on other shapes. Campaigns of small slices begin by chance,
more by day than by night. Those of large slices keep to a budget of chip-time: a few of them are half the
load, and left to chance their sum would differ by a third between two months.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

from schemas.bounds import DURATION_US_MAX
from schemas.config_workload import WorkloadConfig
from schemas.names import Tier
from services.workload.mix import Kind, arrivals_per_day, mix_for
from services.workload.owners import draw_owner, draw_tier
from services.workload.run_times import draw_run_us, run_mean_h
from services.workload.week import demand_until, moment_of
from shared.basics.keyed_random import draw_exponential, draw_lognormal, draw_uniform
from shared.basics.records import replace
from shared.basics.units import US_PER_DAY, US_PER_HOUR, us
from shared.models.superpod.shapes import shape_text

US_PER_MIN = US_PER_HOUR // 60
ROLL_IN = 16
"""Mean gaps between campaigns of a budget that are gone through before the commissioning, so that by then it
stands as if it had always been kept."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What all requests for one shape have in common: how often it is wanted, and by which name its draws are
    keyed. `jobs_mean` is of a campaign, `per_day` of jobs."""

    seed: int
    entity: str
    config: WorkloadConfig
    kind: Kind
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
    over_pods: bool = False
    """Whether each of its jobs runs over several pods, where the site has as many."""


@lru_cache(maxsize=64)
def demand_of(seed: int, fabric: str, config: WorkloadConfig, cubes: int) -> tuple[Asked, ...]:
    """What is asked of a pod of this many cubes, by shape."""
    return tuple(
        Asked(
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


def standing(asked: Asked, shape: int, at_us: int) -> tuple[Stream, list[Campaign]]:
    """(The stream of one shape, its campaigns under way) when a pod is commissioned. A budget has been kept
    before, elsewhere: what was asked for then is gone. One that comes to less than a campaign in a century
    begins anew."""
    if not asked.is_budgeted or asked.gap_mean_us > DURATION_US_MAX:
        return Stream(0, 0, _after(asked, at_us, 0)), []
    back = ROLL_IN + draw_uniform(asked.seed, asked.entity, "phase", 0)
    stream = Stream(0, 0, at_us - us(back * asked.gap_mean_us, 1))
    under_way: list[Campaign] = []
    while stream.next_us < at_us:
        campaign, stream = begin(asked, shape, stream)
        going: Campaign | None = campaign
        while going is not None and going.next_us < at_us:
            going = next_job(asked, going)
        if going is not None:
            under_way.append(going)
    return stream, under_way


def redrawn(asked: Asked, stream: Stream, now_us: int) -> Stream:
    """The same with the beginning of its next campaign drawn anew, as from now on. Where campaigns come by
    chance that has the law of what was left; one of a budget is planned, and comes as it was."""
    if asked.is_budgeted:
        return stream
    return replace(stream, next_us=_after(asked, now_us, stream.campaigns))


def begin(asked: Asked, shape: int, stream: Stream) -> tuple[Campaign, Stream]:
    """The campaign that is to begin, and the stream after it."""
    number, config = stream.campaigns, asked.config
    seed, entity = asked.seed, asked.entity
    between_us = draw_lognormal(seed, entity, "campaign", number, asked.run_mean_us, config.campaign_sigma)
    campaign = Campaign(
        shape=shape,
        owner=draw_owner(seed, entity, number, config),
        tier=draw_tier(seed, entity, number, config, asked.is_large),
        twisted=draw_uniform(seed, entity, "twisted", number) < asked.kind.twisted_share,
        run_mean_us=us(between_us, 1),
        job=stream.jobs,
        jobs_end=stream.jobs + _draw_jobs(asked, number),
        next_us=stream.next_us,
        over_pods=asked.is_large and draw_uniform(seed, entity, "over pods", number) < config.multipod_share,
    )
    next_us = (
        _budget_end(asked, campaign, number)
        if asked.is_budgeted
        else _after(asked, stream.next_us, number + 1)
    )
    return campaign, Stream(number + 1, campaign.jobs_end, next_us)


def at_other_rate(before: Asked, after: Asked, stream: Stream, now_us: int) -> Stream:
    """The stream where its shape is asked for at another rate from now on: what is left until the next
    campaign, of the demand or of the budget that it waits for, comes by the ratio of the rates sooner or
    later. One that is due has come; what is under way goes on as it is."""
    ratio = before.per_day / after.per_day
    if ratio == 1.0 or stream.next_us <= now_us:
        return stream
    if after.is_budgeted:
        left_us = us((stream.next_us - now_us) * ratio, 1)
        return replace(stream, next_us=now_us + left_us)
    swing, weekend = after.config.day_swing, after.config.weekend_factor
    demand_us = demand_until(now_us, swing, weekend)
    left_us = us((demand_until(stream.next_us, swing, weekend) - demand_us) * ratio, 1)
    return replace(stream, next_us=max(now_us + 1, moment_of(demand_us + left_us, swing, weekend)))


def run_us_of(asked: Asked, campaign: Campaign, job: int) -> int:
    """The run time of one job of a campaign."""
    return draw_run_us(asked.seed, asked.entity, job, campaign.run_mean_us, asked.config.duration_sigma)


def next_job(asked: Asked, campaign: Campaign) -> Campaign | None:
    """The campaign after its next job was asked for; None if that was its last.

    The one after it comes when this one has run, or as much of its run time is over as lets so many run at a
    time, and its owner has thought about it. How long it waits in truth is not known here: what is asked for
    is the same whatever serves it.
    """
    if campaign.job + 1 == campaign.jobs_end:
        return None
    config = asked.config
    at_a_time = 1 if asked.is_budgeted else config.campaign_parallel
    think_mean_us = config.campaign_think_min * US_PER_MIN
    think_us = draw_exponential(asked.seed, asked.entity, "think", campaign.job, think_mean_us)
    gap_us = us(run_us_of(asked, campaign, campaign.job) / at_a_time + think_us, 1)
    return replace(campaign, job=campaign.job + 1, next_us=campaign.next_us + gap_us)


def _draw_jobs(asked: Asked, number: int) -> int:
    """How many jobs a campaign has: geometric, at least one."""
    if asked.jobs_mean == 1.0:
        return 1
    at_least = math.log(draw_uniform(asked.seed, asked.entity, "jobs", number))
    return 1 + int(at_least / math.log1p(-1.0 / asked.jobs_mean))


def _after(asked: Asked, since_us: int, number: int) -> int:
    """When a campaign begins that comes by chance: the `number`-th, after the one before it."""
    config = asked.config
    gap_us = us(draw_exponential(asked.seed, asked.entity, "gap", number, asked.gap_mean_us), 1)
    demand_us = demand_until(since_us, config.day_swing, config.weekend_factor) + gap_us
    return max(since_us + 1, moment_of(demand_us, config.day_swing, config.weekend_factor))


def _budget_end(asked: Asked, campaign: Campaign, number: int) -> int:
    """When the campaign after this one begins, by the budget: in the mean when the load allows what this one
    runs in all of its pods, spread by an Erlang law."""
    runs_us = sum([run_us_of(asked, campaign, job) for job in range(campaign.job, campaign.jobs_end)])
    runs_us *= asked.config.multipod_pods if campaign.over_pods else 1
    running_mean = asked.per_day * asked.run_mean_us / US_PER_DAY
    order = asked.config.budget_order
    draws = (draw_uniform(asked.seed, asked.entity, "gap", number * order + n) for n in range(order))
    spread = -sum([math.log(draw) for draw in draws]) / order
    return campaign.next_us + us(runs_us / running_mean * spread, 1)
