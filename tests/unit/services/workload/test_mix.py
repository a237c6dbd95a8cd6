"""What the workload draws: shares, rates and run times against the table and the moments of the laws."""

import math
from collections import Counter

import pytest

from schemas.config import WorkloadConfig
from services.workload.mix import (
    PRODUCTION_MIX,
    arrivals_per_day,
    draw_gap_us,
    draw_kind,
    draw_work_us,
    mix_for,
)
from shared.basics.units import US_PER_DAY, US_PER_HOUR
from shared.models.superpod.shapes import check, chips_of, cubes_of

DRAWS = 20_000


def test_the_table_has_the_shares_that_the_paper_states_in_its_text() -> None:
    below_cube = sum(p for shape, _, p in PRODUCTION_MIX if chips_of(shape) < 64)
    twisted = sum(p for _, twisted, p in PRODUCTION_MIX if twisted)
    assert round(below_cube) == 29
    assert round(twisted) == 28
    assert len({row[:2] for row in PRODUCTION_MIX}) == len(PRODUCTION_MIX)
    assert sum(p for *_, p in PRODUCTION_MIX) == pytest.approx(97.5)


@pytest.mark.parametrize("cubes", [4, 16, 64, 144])
def test_only_legal_shapes_that_fit_are_drawn_and_shares_add_up(cubes: int) -> None:
    mix = mix_for(cubes)
    for shape, twisted in mix.kinds:
        check(shape, twisted, cubes)
    assert sum(mix.shares) == pytest.approx(1)
    assert mix.cumulative[-1] == 1
    assert list(mix.cumulative) == sorted(mix.cumulative)
    assert len(mix.kinds) == sum(cubes_of(shape) <= cubes for shape, _, _ in PRODUCTION_MIX)


def test_the_defaults_come_to_the_measured_arrivals_of_one_pod() -> None:
    assert arrivals_per_day(WorkloadConfig(), 64) == pytest.approx(139, abs=1)


def test_offered_load_is_requested_over_available_chip_time() -> None:
    config = WorkloadConfig(offered_load=0.5, duration_mean_h=3.0)
    rate = arrivals_per_day(config, 16)
    assert rate * mix_for(16).chips_mean * 3.0 / 24 == pytest.approx(0.5 * 16 * 64)
    assert arrivals_per_day(WorkloadConfig(slices_per_day=58.0), 16) == 58.0


def test_drawn_shapes_have_the_shares_of_the_mix() -> None:
    mix = mix_for(64)
    drawn = Counter(draw_kind(3, "pod-0", n, 64) for n in range(DRAWS))
    for kind, share in zip(mix.kinds, mix.shares, strict=True):
        spread = 4.5 * math.sqrt(share * (1 - share) / DRAWS)
        assert drawn[kind] / DRAWS == pytest.approx(share, abs=spread)


def test_gaps_are_exponential_and_run_times_log_normal() -> None:
    config = WorkloadConfig(slices_per_day=100.0, duration_mean_h=2.0, duration_sigma=0.5)
    gaps = [draw_gap_us(3, "pod-0", n, config, 64) / US_PER_DAY * 100 for n in range(DRAWS)]
    assert sum(gaps) / DRAWS == pytest.approx(1, abs=0.03)
    assert sum(g > 1 for g in gaps) / DRAWS == pytest.approx(math.exp(-1), abs=0.015)
    hours = [draw_work_us(3, "pod-0", n, config) / US_PER_HOUR for n in range(DRAWS)]
    assert sum(hours) / DRAWS == pytest.approx(2, abs=0.05)
    median = 2 * math.exp(-0.125)
    assert sum(h > median for h in hours) / DRAWS == pytest.approx(0.5, abs=0.015)
    assert min(gaps) > 0
    assert min(hours) > 0


def test_draws_depend_on_seed_fabric_and_number_only() -> None:
    config = WorkloadConfig()
    assert draw_gap_us(1, "pod-0", 5, config, 64) == draw_gap_us(1, "pod-0", 5, config, 64)
    others = {draw_gap_us(s, f, n, config, 64) for s in (1, 2) for f in ("pod-0", "pod-1") for n in (5, 6)}
    assert len(others) == 8
