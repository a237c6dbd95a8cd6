"""The mean requests of a pod: shares against the table, rates against the corresponding loads."""

import math

import pytest

from schemas.config.workload import WorkloadConfig
from schemas.names import Shape
from services.workload.slice_mix import PRODUCTION_MIX, arrivals_per_day, mix_for
from shared.models.superpod.shapes import check_shape, chips_of, cubes_of


def hours(config: WorkloadConfig, cubes: int) -> float:
    """The mean run time, by its definition."""
    return config.duration_mean_h * math.pow(cubes, config.duration_growth)


def test_the_table_has_the_shares_that_the_paper_states_in_its_text() -> None:
    below_cube = sum(p for shape, _, p in PRODUCTION_MIX if chips_of(shape) < 64)
    twisted = sum(p for _, twisted, p in PRODUCTION_MIX if twisted)
    assert round(below_cube) == 29
    assert round(twisted) == 28
    assert len({row[:2] for row in PRODUCTION_MIX}) == len(PRODUCTION_MIX)
    assert sum(p for *_, p in PRODUCTION_MIX) == pytest.approx(97.5)


@pytest.mark.parametrize("cubes", [4, 16, 64, 144])
def test_only_legal_shapes_that_fit_are_wanted_with_their_shares_renormalised(cubes: int) -> None:
    fitting = [row for row in PRODUCTION_MIX if cubes_of(row[0]) <= cubes]
    whole = sum(percent for *_, percent in fitting)
    wanted: dict[tuple[Shape, bool], float] = {}
    for kind in mix_for("", cubes):
        for twisted, share in ((True, kind.twisted_share), (False, 1 - kind.twisted_share)):
            if share:
                check_shape(kind.shape, twisted, cubes)
                wanted[kind.shape, twisted] = kind.share * share
    assert wanted == {(s, t): pytest.approx(p / whole) for s, t, p in fitting}
    assert len({kind.shape for kind in mix_for("", cubes)}) == len(mix_for("", cubes))


@pytest.mark.parametrize("reading", ["running", "requested"])
@pytest.mark.parametrize("cubes", [8, 64, 144])
def test_offered_load_is_requested_over_available_chip_time(reading: str, cubes: int) -> None:
    config = WorkloadConfig.model_validate(
        {"mix_counts": reading, "offered_load": 0.5, "duration_mean_h": 3.0}
    )
    chip_hours = sum(
        per_day * kind.chips * hours(config, kind.cubes)
        for kind, per_day in zip(mix_for("", cubes), arrivals_per_day(config, cubes), strict=True)
    )
    assert chip_hours == pytest.approx(0.5 * cubes * 64 * 24)


@pytest.mark.parametrize("reading", ["running", "requested"])
def test_slices_per_day_are_all_that_arrive(reading: str) -> None:
    config = WorkloadConfig.model_validate({"mix_counts": reading, "slices_per_day": 58.0})
    assert sum(arrivals_per_day(config, 16)) == pytest.approx(58)


def test_shares_count_running_slices_or_requests() -> None:
    """The running slices at one time are those that arrive in one run time (Little)."""
    mix = mix_for("", 64)
    of_running = WorkloadConfig(mix_counts="running")
    running = [
        per_day * hours(of_running, kind.cubes) / 24
        for kind, per_day in zip(mix, arrivals_per_day(of_running, 64), strict=True)
    ]
    requested = arrivals_per_day(WorkloadConfig(mix_counts="requested"), 64)
    for counts in (running, requested):
        assert [count / sum(counts) for count in counts] == pytest.approx([kind.share for kind in mix])


def test_the_defaults_give_about_eighty_arrivals_and_three_of_the_largest_per_day() -> None:
    """With restarts, and filler in the rest of the pod, that makes the 139 starts to which run times were
    calibrated."""
    per_day = arrivals_per_day(WorkloadConfig(), 64)
    assert 70 < sum(per_day) < 90
    largest = sum(rate for kind, rate in zip(mix_for("", 64), per_day, strict=True) if kind.cubes == 48)
    assert 2 < largest < 4


def test_a_configured_mix_replaces_the_table() -> None:
    (small, large) = mix_for("4x4x8t=3,4x4x8=1,2x2x2=4", 64)
    assert (small.shape, small.share, small.twisted_share) == ((4, 4, 8), 0.5, 0.75)
    assert (large.shape, large.share, large.twisted_share) == ((2, 2, 2), 0.5, 0.0)
    config = WorkloadConfig(mix="8x8x8=1,2x2x2=1", slices_per_day=10.0, mix_counts="requested")
    assert arrivals_per_day(config, 64) == pytest.approx((5.0, 5.0))
    assert arrivals_per_day(config, 4) == pytest.approx((10.0,))
