"""Requests of campaigns over years, against the model computed independently: loads, counts and their
spread."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from statistics import fmean, pstdev

import pytest

from schemas.config.workload import WorkloadConfig
from schemas.names import Tier
from services.workload.campaigns import (
    Campaign,
    ShapeDemand,
    begin_campaign,
    demand_of,
    initial_stream,
    next_job,
    run_us_of,
)
from shared.basics.units import US_PER_DAY, US_PER_HOUR

DAYS = 200
SEEDS = (1, 2, 3)


@dataclass(frozen=True)
class Job:
    campaign: int
    at_us: int
    run_us: int
    cubes: int
    chips: int
    owner: str
    tier: Tier
    twisted: bool


def jobs_of(asked: ShapeDemand, days: int, at_us: int = 0) -> Iterator[Job]:
    """All jobs requested with one shape, campaign by campaign."""
    end_us = at_us + days * US_PER_DAY
    stream, campaigns = initial_stream(asked, 0, at_us)
    while stream.next_us < end_us:
        campaign, stream = begin_campaign(asked, 0, stream)
        campaigns.append(campaign)
    for number, campaign in enumerate(campaigns):
        going: Campaign | None = campaign
        while going is not None and going.next_us < end_us:
            yield Job(
                number,
                going.next_us,
                run_us_of(asked, going, going.job),
                asked.kind.cubes,
                asked.kind.chips,
                going.owner,
                going.tier,
                going.twisted,
            )
            going = next_job(asked, going)


@cache
def years(config: WorkloadConfig, seed: int, days: int = DAYS) -> dict[tuple[int, int, int], list[Job]]:
    """Shape → its jobs."""
    return {demand.kind.shape: [*jobs_of(demand, days)] for demand in demand_of(seed, "pod-0", config, 64)}


def load(jobs: list[Job], days: float) -> float:
    return sum(job.chips * job.run_us for job in jobs) / (4096 * days * US_PER_DAY)


def every(config: WorkloadConfig, seed: int, days: int = DAYS) -> list[Job]:
    return [job for jobs in years(config, seed, days).values() for job in jobs]


@pytest.mark.parametrize("offered", [0.3, 0.8])
def test_the_load_is_the_offered_one(offered: float) -> None:
    config = WorkloadConfig(offered_load=offered)
    loads = [load(every(config, seed), DAYS) for seed in SEEDS]
    assert fmean(loads) == pytest.approx(offered, rel=0.03)


@pytest.mark.slow("weeks of arrivals")
@pytest.mark.parametrize("order", [1, 4])
def test_the_budget_stabilises_the_load_as_its_order_predicts(order: int) -> None:
    """If work X is followed by a gap of X ÷ load · E, the sum over a long time has the variance time · E[X²]
    · Var(E) ÷ E[gap] (renewal-reward). Var(E) is 1 ÷ order; without a budget it is 1."""
    config = WorkloadConfig(budget_order=order)
    days, works = 150, []
    for seed in range(120):
        demand = next(a for a in demand_of(seed, "pod-0", config, 64) if a.kind.shape == (12, 16, 16))
        works.append(sum(job.run_us for job in jobs_of(demand, days)) / US_PER_DAY)
    jobs, run_days = 1 + 5 * 48**-0.7, 2.0 * 48**0.25 / 24
    scale = math.exp(config.campaign_sigma**2)
    square = run_days**2 * scale * (jobs * math.exp(config.duration_sigma**2) + 2 * jobs * (jobs - 1))
    running = demand.per_day * run_days
    gap_days = jobs * run_days / running
    assert fmean(works) == pytest.approx(running * days, rel=0.02)
    assert pstdev(works) == pytest.approx(math.sqrt(days * square / order / gap_days), rel=0.2)


def test_a_budget_is_as_full_on_the_first_day_as_on_any_other() -> None:
    """No budget starts empty: over many seeds, the first ten days have the load of the budgeted shapes."""
    wanted = found = 0.0
    for seed in range(120):
        for demand in demand_of(seed, "pod-0", WorkloadConfig(), 64):
            if demand.is_budgeted and demand.kind.share > 0.005:
                wanted += demand.per_day * 10
                found += sum(job.at_us < 10 * US_PER_DAY for job in jobs_of(demand, 10))
    assert found == pytest.approx(wanted, rel=0.04)


def test_jobs_per_day_match_the_demand_of_each_shape() -> None:
    config = WorkloadConfig()
    for demand in demand_of(1, "pod-0", config, 64):
        if demand.per_day < 1:
            continue
        found = [len(years(config, seed)[demand.kind.shape]) / DAYS for seed in SEEDS]
        # A campaign with B jobs in the mean counts as 2B − 1 dependent jobs, because its size is geometric.
        spread = math.sqrt(demand.per_day * 2 * demand.jobs_mean / (DAYS * len(SEEDS)))
        assert fmean(found) == pytest.approx(demand.per_day, abs=4 * spread), demand.kind


def test_campaigns_have_the_configured_mean_number_of_jobs_of_one_owner_tier_and_shape() -> None:
    config = WorkloadConfig(campaign_jobs=6.0, campaign_falloff=0.7)
    for shape, mean in (((2, 2, 2), 6.0), ((4, 4, 8), 1 + 5 * 2**-0.7), ((12, 16, 16), 1 + 5 * 48**-0.7)):
        of_campaign: dict[tuple[int, int], list[Job]] = defaultdict(list)
        for seed in SEEDS:
            for job in years(config, seed)[shape]:
                of_campaign[seed, job.campaign].append(job)
        sizes = [len(jobs) for jobs in of_campaign.values()]
        spread = mean / math.sqrt(len(sizes))
        assert fmean(sizes) == pytest.approx(mean, abs=4 * spread)
        assert all(len({(j.owner, j.tier, j.twisted) for j in jobs}) == 1 for jobs in of_campaign.values())


def test_run_times_differ_less_within_a_campaign_than_between() -> None:
    config = WorkloadConfig(duration_sigma=0.4, campaign_sigma=0.6)
    of_campaign: dict[tuple[int, int], list[float]] = defaultdict(list)
    for seed in SEEDS:
        for job in years(config, seed)[2, 2, 2]:
            of_campaign[seed, job.campaign].append(math.log(job.run_us / US_PER_HOUR))
    logs = [value for values in of_campaign.values() for value in values]
    within = [v - fmean(values) for values in of_campaign.values() if len(values) > 9 for v in values]
    assert fmean(math.exp(v) for v in logs) == pytest.approx(2.0, rel=0.05)
    assert pstdev(logs) == pytest.approx(math.hypot(0.4, 0.6), rel=0.05)
    assert pstdev(within) == pytest.approx(0.4, rel=0.06)


@pytest.mark.slow("weeks of arrivals")
def test_tiers_owners_and_twists_have_their_shares() -> None:
    config = WorkloadConfig(owners=4, owner_skew=1.0)
    small, large, owners = Counter[str](), Counter[str](), Counter[str]()
    for seed in SEEDS:
        for shape, jobs in years(config, seed).items():
            first = {job.campaign: job for job in jobs}.values()
            of = large if jobs and jobs[0].cubes >= 32 else small
            of.update(job.tier for job in first)
            owners.update(job.owner for job in first)
            if shape == (4, 4, 8):
                twisted = fmean(job.twisted for job in first)
                assert twisted == pytest.approx(16.0 / 17.5, abs=0.04)
    assert small["production"] / small.total() == pytest.approx(0.2, abs=0.02)
    assert large["production"] / large.total() == pytest.approx(0.08, abs=0.03)
    shares = [owners[f"team-{n}"] / owners.total() for n in (1, 2, 3, 4)]
    assert shares == pytest.approx([12 / 25, 6 / 25, 4 / 25, 3 / 25], abs=0.02)


@pytest.mark.slow("weeks of arrivals")
def test_small_slices_are_requested_by_day_and_on_workdays() -> None:
    config = WorkloadConfig(campaign_jobs=1.0, day_swing=0.4, weekend_factor=0.5)
    small = [job for seed in SEEDS for job in every(config, seed, 182) if job.cubes < 8]
    hours = Counter(job.at_us % US_PER_DAY // US_PER_HOUR for job in small)
    afternoon = sum(hours[hour] for hour in range(8, 20)) / len(small)
    assert afternoon == pytest.approx(0.5 + 0.4 / math.pi, abs=0.01)
    weekend = sum(job.at_us // US_PER_DAY % 7 >= 5 for job in small) / len(small)
    assert weekend == pytest.approx(2 * 0.5 / 6, abs=0.01)


def test_draws_depend_only_on_seed_name_and_configuration() -> None:
    config = WorkloadConfig()
    again = {demand.kind.shape: [*jobs_of(demand, 60)] for demand in demand_of(1, "pod-0", config, 64)}
    assert again == years(config, 1, 60)
    assert every(config, 2, 60) != every(config, 1, 60)
    other = [job for demand in demand_of(1, "pod-1", config, 64) for job in jobs_of(demand, 60)]
    assert other != every(config, 1, 60)


def test_a_pod_that_joins_later_gets_as_many_requests() -> None:
    at_us = 1_000 * US_PER_DAY
    found = [
        load(
            [
                job
                for demand in demand_of(seed, "pod-0", WorkloadConfig(), 64)
                for job in jobs_of(demand, 200, at_us)
            ],
            200,
        )
        for seed in SEEDS
    ]
    assert fmean(found) == pytest.approx(0.8, rel=0.04)
