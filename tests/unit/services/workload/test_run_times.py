"""Run times, estimates and job terms against the distributions they are drawn from, and against the jobs they
make."""

import math
from statistics import NormalDist, fmean, pstdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.config.workload import WorkloadConfig
from schemas.limits import DURATION_US_MAX
from schemas.messages.jobs import JobTerms
from services.workload.run_times import (
    WORK_LEAST_US,
    draw_estimate_us,
    draw_run_us,
    draw_terms,
    draw_terms_for,
    run_mean_h,
)
from shared.basics.units import US_PER_HOUR, US_PER_S
from shared.models.jobs.job_progress import Progress, next_change_us, placed, ready

DRAWS = 20_000


def test_mean_run_times_grow_with_the_slice() -> None:
    config = WorkloadConfig(duration_mean_h=2.0, duration_growth=0.25)
    assert [run_mean_h(config, cubes) for cubes in (1, 16, 81)] == pytest.approx([2.0, 4.0, 6.0])


def test_run_times_are_log_normal_with_the_configured_mean() -> None:
    hours = [draw_run_us(3, "x", n, 2.0 * US_PER_HOUR, 0.5) / US_PER_HOUR for n in range(DRAWS)]
    logs = [math.log(h) for h in hours]
    assert fmean(hours) == pytest.approx(2.0, rel=0.02)
    assert fmean(logs) == pytest.approx(math.log(2.0) - 0.125, abs=0.015)
    assert pstdev(logs) == pytest.approx(0.5, rel=0.02)


def test_a_run_time_is_at_most_a_century() -> None:
    drawn = [draw_run_us(3, "x", n, 10_000.0 * US_PER_HOUR, 4.0) for n in range(3_000)]
    assert max(drawn) <= DURATION_US_MAX
    assert min(drawn) >= 1


def test_estimates_are_wrong_in_both_directions_by_the_configured_factor() -> None:
    config = WorkloadConfig(estimate_median=1.5, estimate_sigma=0.8)
    factors = [draw_estimate_us(5, "x", n, US_PER_HOUR, config) / US_PER_HOUR for n in range(DRAWS)]
    logs = [math.log(factor) for factor in factors]
    assert fmean(logs) == pytest.approx(math.log(1.5), abs=0.025)
    assert pstdev(logs) == pytest.approx(0.8, rel=0.02)
    too_short = NormalDist().cdf(-math.log(1.5) / 0.8)
    assert sum(factor < 1 for factor in factors) / DRAWS == pytest.approx(too_short, abs=0.015)


def test_estimates_can_be_exact() -> None:
    exact = WorkloadConfig(estimate_median=1.0, estimate_sigma=0.0)
    assert draw_estimate_us(5, "x", 7, 1234567, exact) == 1234567


def test_draws_depend_on_seed_name_and_number_only() -> None:
    drawn = [draw_run_us(s, e, n, 1e9, 0.4) for s in (1, 2) for e in ("a", "b") for n in (5, 6)]
    assert len(set(drawn)) == 8
    assert drawn == [draw_run_us(s, e, n, 1e9, 0.4) for s in (1, 2) for e in ("a", "b") for n in (5, 6)]


def test_costs_of_starts_and_checkpoints_are_drawn_per_job_around_the_means() -> None:
    config = WorkloadConfig(replicates_share=0.1)
    drawn = [draw_terms(5, "x", n, config, 1) for n in range(DRAWS)]
    assert drawn[:5] == [draw_terms(5, "x", n, config, 1) for n in range(5)]
    for field, mean_s in (("startup_us", 240), ("checkpoint_every_us", 3_600), ("write_us", 20)):
        seconds = [getattr(terms, field) / US_PER_S for terms in drawn]
        assert fmean(seconds) == pytest.approx(mean_s, rel=0.02)
        assert pstdev([math.log(one) for one in seconds]) == pytest.approx(0.4, rel=0.02)
    assert sum(terms.replicates for terms in drawn) / DRAWS == pytest.approx(0.1, abs=0.01)


def test_all_jobs_can_be_alike() -> None:
    config = WorkloadConfig(overhead_sigma=0.0, replicates_share=0.0)
    alike = JobTerms(
        work_us=9, checkpoint_every_us=3_600 * US_PER_S, write_us=20 * US_PER_S, startup_us=240 * US_PER_S
    )
    assert draw_terms(5, "x", 8, config, 9) == alike


@given(
    number=st.integers(0, 10**6),
    run_us=st.integers(1, 400 * US_PER_HOUR),
    startup_s=st.integers(0, 3_000),
    every_s=st.integers(1, 20_000),
    write_s=st.integers(0, 900),
)
def test_a_job_runs_as_long_as_drawn_to_within_one_checkpoint(
    number: int, run_us: int, startup_s: int, every_s: int, write_s: int
) -> None:
    """Played through by the model of jobs, undisturbed, from the start of its slice."""
    config = WorkloadConfig(startup_s=startup_s, checkpoint_every_s=every_s, checkpoint_write_s=write_s)
    terms = draw_terms_for(7, "x", number, config, run_us)
    ends_us = next_change_us(ready(placed(Progress(terms, 0), 0), 0))
    assert ends_us is not None
    writes = -(-WORK_LEAST_US // terms.checkpoint_every_us)
    least_us = terms.startup_us + min(run_us, WORK_LEAST_US) + writes * terms.write_us
    if run_us >= least_us + terms.startup_us:
        assert run_us - terms.write_us <= ends_us <= run_us
    else:
        assert ends_us <= max(run_us, least_us)
