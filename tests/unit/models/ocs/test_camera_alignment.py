"""The camera loop: against a scalar version, against its closed forms, and for monotonicity."""

import math
from dataclasses import replace
from itertools import pairwise
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.basics.errors import InvalidInput
from shared.basics.keyed_random import draw_uniform
from shared.models.ocs.camera_alignment import (
    ALIGNED,
    UNSEEN,
    UNSTEADY,
    AlignmentLoop,
    align,
    all_tries,
    drift_loss_db,
    expected_us,
    failing_share,
    failure_probability,
    pointing_loss_db,
    simulate_tries,
)

LOOP = AlignmentLoop()
NORMAL = NormalDist()


def one_try(loop: AlignmentLoop, seed: int, number: int) -> tuple[int, int, list[float]]:
    """(frames, code, errors of the mirrors): one mirror and tilt after the other, by hand."""

    def drawn(mirror: int, tilt: int, frame: int) -> float:
        uniform = draw_uniform(seed, "alignment", f"mirror {mirror} tilt {tilt} frame {frame}", number)
        return round(NORMAL.inv_cdf(uniform), 6)

    error = [[loop.pointing_urad * drawn(mirror, tilt, 0) for tilt in (0, 1)] for mirror in (0, 1)]
    for frame in range(1, int(loop.frames) + 1):
        if any(math.hypot(*tilts) > loop.capture_urad for tilts in error):
            return frame, UNSEEN, [math.hypot(*tilts) for tilts in error]
        seen = [
            [error[mirror][tilt] + loop.camera_noise_urad * drawn(mirror, tilt, frame) for tilt in (0, 1)]
            for mirror in (0, 1)
        ]
        if all(math.hypot(*tilts) <= loop.tolerance_urad for tilts in seen):
            return frame, ALIGNED, [math.hypot(*tilts) for tilts in error]
        for mirror in (0, 1):
            for tilt in (0, 1):
                error[mirror][tilt] -= loop.gain * seen[mirror][tilt]
    return int(loop.frames), UNSTEADY, [math.hypot(*tilts) for tilts in error]


LOOPS = st.builds(
    AlignmentLoop,
    pointing_urad=st.sampled_from((0.0, 100.0, 300.0, 600.0)),
    camera_noise_urad=st.sampled_from((0.0, 10.0, 30.0, 60.0)),
    gain=st.sampled_from((0.1, 0.6, 1.0, 1.5, 2.5)),
    frames=st.sampled_from((1.0, 5.0, 20.0)),
)


@settings(max_examples=30, deadline=None)
@given(LOOPS, st.integers(0, 3))
def test_every_try_is_that_of_a_scalar_loop(loop: AlignmentLoop, seed: int) -> None:
    found = simulate_tries(loop, seed, 40)
    for number in range(40):
        frames, code, error = one_try(loop, seed, number)
        assert (int(found.frames[number]), int(found.code[number])) == (frames, code)
        assert found.error_urad[:, number].tolist() == pytest.approx(error, rel=1e-9, abs=1e-9)
        assert found.time_us[number] == 4_000 + 1_000 * frames


def test_a_slew_misses_the_field_of_view_as_often_as_rayleigh_predicts() -> None:
    found = simulate_tries(LOOP, 5, 200_000)
    miss = math.exp(-(LOOP.capture_urad**2) / (2 * LOOP.pointing_urad**2))
    share = 1 - (1 - miss) ** 2
    assert (found.code == UNSEEN).mean() == pytest.approx(share, abs=4 * math.sqrt(share / 200_000))
    assert (found.code == UNSTEADY).sum() == 0


@pytest.mark.parametrize("gain", [0.2, 0.6, 1.0, 1.6])
def test_a_loop_that_continues_keeps_its_jitter(gain: float) -> None:
    """Var = g σ² ÷ (2 − g) of either tilt: the reference for drift between commands."""
    loop = replace(LOOP, gain=gain, tolerance_urad=1e-6, frames=80.0, capture_urad=1e6)
    square = np.square(simulate_tries(loop, 1, 20_000).error_urad).mean() / 2
    assert math.sqrt(square) == pytest.approx(loop.jitter_urad, rel=0.02)
    assert loop.jitter_urad < LOOP.tolerance_urad


@settings(max_examples=40, deadline=None)
@given(st.floats(0.02, 4.0).filter(lambda gain: abs(gain - 2.0) > 0.02))
def test_the_loop_converges_only_for_gains_below_two(gain: float) -> None:
    loop = replace(LOOP, gain=gain, camera_noise_urad=0.0, frames=1_000.0, capture_urad=1e9)
    found = simulate_tries(loop, 0, 200)
    began_outside = found.frames > 1
    assert began_outside.sum() > 150
    assert ((found.code[began_outside] == ALIGNED) == (gain < 2.0)).all()
    assert math.isfinite(loop.jitter_urad) == (gain < 2.0)


def test_without_noise_more_gain_up_to_one_takes_no_more_frames() -> None:
    loops = [replace(LOOP, camera_noise_urad=0.0, gain=gain, frames=1_000.0) for gain in (0.1, 0.3, 0.6, 1)]
    for slower, faster in pairwise(simulate_tries(loop, 0, 2_000) for loop in loops):
        assert (faster.frames <= slower.frames).all()
        assert faster.frames.sum() < slower.frames.sum()


def test_failing_is_rare_and_a_worse_camera_makes_it_frequent() -> None:
    assert 1e-8 < failure_probability(LOOP) < 1e-6
    assert failure_probability(LOOP) == failing_share(LOOP) ** 3
    noisy = [failure_probability(replace(LOOP, camera_noise_urad=noise)) for noise in (10, 25, 35, 50, 100)]
    assert all(less < more for less, more in pairwise(noisy))
    assert noisy[-2] > 0.05
    assert noisy[-1] > 0.8


def test_more_tries_fail_less_and_more_frames_not_more() -> None:
    loop = replace(LOOP, camera_noise_urad=45.0)
    by_tries = [failure_probability(replace(loop, tries=float(tries))) for tries in (1, 2, 3)]
    assert by_tries[0] > by_tries[1] > by_tries[2]
    by_frames = [simulate_tries(replace(loop, frames=frames), 0, 2_000).code for frames in (5.0, 20.0, 80.0)]
    for fewer, more in pairwise(by_frames):
        assert ((fewer == ALIGNED) <= (more == ALIGNED)).all()


def circuits(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    number = np.arange(count)
    return number % 48, number // 48, number % 5


def test_a_circuit_depends_on_no_other() -> None:
    ocs, north, turn = circuits(2_000)
    whole = align(LOOP, 7, "pod-0", ocs, north, turn)
    for some in (slice(3, 4), slice(100, 1_100, 7)):
        part = align(LOOP, 7, "pod-0", ocs[some], north[some], turn[some])
        for name in ("time_us", "tries", "code", "loss_db"):
            assert (getattr(part, name) == getattr(whole, name)[some]).all()
    for other in (
        align(LOOP, 8, "pod-0", ocs, north, turn),
        align(LOOP, 7, "pod-1", ocs, north, turn),
        align(LOOP, 7, "pod-0", ocs, north, turn + 1),
        align(LOOP, 7, "pod-0", ocs + 1, north, turn),
        align(LOOP, 7, "pod-0", ocs, north + 1, turn),
    ):
        assert 0.2 < (other.time_us == whole.time_us).mean() < 0.8


def test_attempts_follow_each_other_until_one_succeeds_or_none_is_left() -> None:
    loop = replace(LOOP, camera_noise_urad=45.0)
    share = failing_share(loop)
    found = align(loop, 7, "pod-0", *circuits(50_000))
    assert (found.code != ALIGNED).mean() == pytest.approx(share**3, abs=0.01)
    assert (found.tries == 1).mean() == pytest.approx(1 - share, abs=0.01)
    assert (found.tries == 2).mean() == pytest.approx(share * (1 - share), abs=0.01)
    assert (found.time_us >= 5_000 * found.tries).all()
    assert found.time_us.max() <= 3 * 24_000


@pytest.mark.parametrize("noise", [10.0, 40.0])
@pytest.mark.parametrize("count", [1, 32, 500])
def test_the_expected_time_is_the_mean_of_the_drawn_times(noise: float, count: int) -> None:
    loop = replace(LOOP, camera_noise_urad=noise)
    ocs, north, _ = circuits(count)
    slowest = [align(loop, 3, "pod-0", ocs, north, np.full(count, turn)).time_us.max() for turn in range(400)]
    error_us = float(np.std(slowest)) / math.sqrt(len(slowest))
    assert expected_us(loop, count) == pytest.approx(np.mean(slowest), abs=5 * error_us + 1)


def test_the_whole_takes_milliseconds() -> None:
    """[T4] 2.1, [LF] Table C.1."""
    assert 5_000 < expected_us(LOOP, 1) < expected_us(LOOP, 32) < expected_us(LOOP, 6_144) < 30_000


def test_the_remaining_error_costs_little_light() -> None:
    found = align(LOOP, 7, "pod-0", *circuits(5_000))
    assert 0.0 < found.loss_db.mean() < 0.02
    assert found.loss_db.max() < 0.1
    at_tolerance = np.full(2, LOOP.tolerance_urad)
    assert pointing_loss_db(at_tolerance) == pytest.approx(0.032)
    assert pointing_loss_db(2 * at_tolerance) == pytest.approx(4 * 0.032)


def test_mirrors_without_camera_lose_light_in_proportion_to_time() -> None:
    """Against many walks of two tilts of two mirrors."""
    steps = np.random.default_rng(0).normal(0.0, 12.0 * math.sqrt(0.25), (4_000, 4, 24))
    urad = steps.cumsum(axis=2)
    loss_db = 10.0 * np.square(urad * 1e-3).sum(axis=1).mean(axis=0)
    for hour in (1, 3, 6):
        assert drift_loss_db(hour) == pytest.approx(loss_db[4 * hour - 1], rel=0.05)
        assert drift_loss_db(hour, arrays=1) == pytest.approx(drift_loss_db(hour) / 2)
    assert drift_loss_db(0.0) == 0.0


def test_a_population_is_made_once_and_never_changed() -> None:
    found = all_tries(LOOP)
    assert all_tries(AlignmentLoop()) is found
    with pytest.raises(ValueError, match="read-only"):
        found.time_us[0] = 1


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("gain", 0.0, "gain 0.0: must be a finite number above 0"),
        ("camera_noise_urad", -1.0, "camera_noise_urad -1.0: must be a finite number of at least 0"),
        ("frames", 1.5, "frames: 1.5 is not allowed; must be a whole number from 1 to 1000"),
        ("tries", 0.0, "tries: 0.0 is not allowed; must be a whole number from 1 to 4"),
    ],
)
def test_a_loop_that_cannot_be_is_refused(field: str, value: float, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        AlignmentLoop(**{field: value})
