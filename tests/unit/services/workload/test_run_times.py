"""Run times, estimates and job terms against the laws they are drawn from, and against the jobs they make."""

import math
from statistics import NormalDist, fmean, pstdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.bounds import DURATION_US_MAX
from schemas.config_workload import WorkloadConfig
from services.workload.run_times import (
    WORK_LEAST_US,
    draw_estimate_us,
    draw_run_us,
    run_mean_h,
    terms_for,
)
from shared.basics.units import US_PER_HOUR, US_PER_S
from shared.models.jobs.progress import Progress, placed, ready, turns_us

DRAWS = 20_000


def test_mean_run_times_grow_with_the_slice() -> None:
    config = WorkloadConfig(duration_mean_h=2.0, duration_growth=0.25)
    assert [run_mean_h(config, cubes) for cubes in (1, 16, 81)] == pytest.approx([2.0, 4.0, 6.0])


def test_run_times_are_log_normal_with_the_mean_that_is_asked_for() -> None:
    hours = [draw_run_us(3, "x", n, 2.0 * US_PER_HOUR, 0.5) / US_PER_HOUR for n in range(DRAWS)]
    logs = [math.log(h) for h in hours]
    assert fmean(hours) == pytest.approx(2.0, rel=0.02)
    assert fmean(logs) == pytest.approx(math.log(2.0) - 0.125, abs=0.015)
    assert pstdev(logs) == pytest.approx(0.5, rel=0.02)


def test_a_run_time_is_at_most_a_century() -> None:
    drawn = [draw_run_us(3, "x", n, 10_000.0 * US_PER_HOUR, 4.0) for n in range(3_000)]
    assert max(drawn) <= DURATION_US_MAX
    assert min(drawn) >= 1


def test_estimates_are_wrong_on_both_sides_by_the_factor_that_is_asked_for() -> None:
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


@given(
    run_us=st.integers(1, 400 * US_PER_HOUR),
    startup_s=st.integers(0, 3_000),
    every_s=st.integers(1, 20_000),
    write_s=st.integers(0, 900),
)
def test_a_job_runs_as_long_as_it_was_drawn_to_within_a_write(
    run_us: int, startup_s: int, every_s: int, write_s: int
) -> None:
    """Played through by the model of jobs, undisturbed, from the start of its slice."""
    config = WorkloadConfig(startup_s=startup_s, checkpoint_every_s=every_s, checkpoint_write_s=write_s)
    terms = terms_for(config, run_us)
    ends_us = turns_us(ready(placed(Progress(terms, 0), 0), 0))
    assert ends_us is not None
    least_us = startup_us = startup_s * US_PER_S
    least_us += min(run_us, WORK_LEAST_US) + -(-WORK_LEAST_US // (every_s * US_PER_S)) * write_s * US_PER_S
    if run_us >= least_us + startup_us:
        assert run_us - write_s * US_PER_S <= ends_us <= run_us
    else:
        assert ends_us <= max(run_us, least_us)
