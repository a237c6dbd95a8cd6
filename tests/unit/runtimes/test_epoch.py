"""The settings of a clock as plain arithmetic: speed, pause, and a run to a target time."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.limits import SPEED_MAX
from shared.basics.errors import InvalidInput
from shared.basics.units import US_PER_HOUR, US_PER_S
from shared.runtimes.simulated_clock import ClockChange, Epoch

WALL_US = 1_000
RUNNING = Epoch(100, WALL_US, 60.0, paused=False)
MOMENT = 2 * US_PER_HOUR


def test_time_runs_to_its_target_and_stops_there_to_the_microsecond() -> None:
    run = RUNNING.changed(ClockChange(until_us=MOMENT, run_speed=10.0), 160, WALL_US + 1)
    assert run.clock_us(WALL_US + 1) == 160
    assert run.clock_us(WALL_US + 101) == 160 + 1_000
    for later_us in (MOMENT // 10, MOMENT, 10**15):
        assert run.clock_us(WALL_US + 1 + later_us) <= MOMENT
    assert run.clock_us(10**15) == MOMENT
    assert run.wall_s_until(MOMENT + 1, WALL_US) == math.inf
    assert run.wall_s_until(160 + 10 * US_PER_S, WALL_US + 1) == pytest.approx(1.0)


def test_without_a_speed_it_requests_the_time_at_once_and_lags_not() -> None:
    run = RUNNING.changed(ClockChange(until_us=MOMENT), 160, WALL_US)
    assert run.clock_us(WALL_US) == MOMENT
    assert run.lag_us(160, WALL_US) == 0
    assert run.wall_s_until(MOMENT, WALL_US) == 0.0
    assert run.wall_s_until(MOMENT + 1, WALL_US) == math.inf


def test_the_progress_and_the_end_of_a_run_are_shown() -> None:
    run = RUNNING.changed(ClockChange(for_us=MOMENT), 160, WALL_US)
    shown = run.state(500, WALL_US, 3.0)
    assert (shown.paused, shown.until_us, shown.speed, shown.achieved_speed) == (
        False,
        160 + MOMENT,
        60.0,
        3.0,
    )
    shown = run.state(160 + MOMENT, WALL_US, 3.0)
    assert (shown.paused, shown.until_us, shown.speed, shown.achieved_speed) == (True, None, 60.0, 0.0)


def test_after_the_run_the_speed_is_as_before() -> None:
    run = RUNNING.changed(ClockChange(until_us=MOMENT, run_speed=SPEED_MAX), 160, WALL_US)
    again = run.changed(ClockChange(paused=False), MOMENT, WALL_US + 7)
    assert again == Epoch(MOMENT, WALL_US + 7, 60.0, paused=False)


@pytest.mark.parametrize("requested", [ClockChange(paused=True), ClockChange(paused=False)])
def test_a_pause_or_resume_ends_a_run(requested: ClockChange) -> None:
    run = RUNNING.changed(ClockChange(until_us=MOMENT), 160, WALL_US)
    assert run.changed(requested, 500, WALL_US) == Epoch(500, WALL_US, 60.0, bool(requested.paused))


def test_a_sequencer_that_starts_and_a_new_speed_leave_the_time() -> None:
    run = RUNNING.changed(ClockChange(until_us=MOMENT, run_speed=5.0), 160, WALL_US)
    assert run.changed(ClockChange(), 500, WALL_US) == Epoch(500, WALL_US, 60.0, True, MOMENT, 5.0)
    assert run.changed(ClockChange(speed=9.0), 500, WALL_US) == Epoch(500, WALL_US, 9.0, True, MOMENT, 9.0)


def test_a_past_time_is_an_error_in_one_sentence() -> None:
    now_us = 33 * US_PER_HOUR + 462_100
    sentence = (
        r"until: 0d01:00:00.000 \(3600000000 us\) is not allowed; must not be before now, 1d09:00:00.462 \("
    )
    with pytest.raises(InvalidInput, match=sentence):
        RUNNING.changed(ClockChange(until_us=US_PER_HOUR), now_us, WALL_US)


@given(
    st.integers(0, 10**12),
    st.floats(1e-3, 1e9),
    st.booleans(),
    st.none() | st.integers(0, 10**12),
    st.integers(0, 10**12),
    st.integers(0, 10**12),
)
def test_a_clock_never_goes_back_nor_beyond_its_time(
    anchor_us: int, speed: float, paused: bool, ahead_us: int | None, first_us: int, more_us: int
) -> None:
    until_us = None if ahead_us is None else anchor_us + ahead_us
    epoch = Epoch(anchor_us, 0, speed, paused, until_us, None if until_us is None else speed)
    before, after = epoch.clock_us(first_us), epoch.clock_us(first_us + more_us)
    assert anchor_us <= before <= after
    assert until_us is None or after <= until_us


def test_a_fabric_that_is_ahead_continues_and_pauses_with_the_others() -> None:
    """One fabric has reached 160, another 900."""
    for asked in (ClockChange(), ClockChange(speed=2.0), ClockChange(paused=False)):
        assert RUNNING.changed(asked, 160, WALL_US, 900).anchor_us == 900
    paused = RUNNING.changed(ClockChange(paused=True), 160, WALL_US, 900)
    assert (paused.anchor_us, paused.lag_us(160, WALL_US)) == (160, 0)
    assert RUNNING.changed(ClockChange(for_us=MOMENT), 160, WALL_US, 900).until_us == 900 + MOMENT
    assert RUNNING.changed(ClockChange(until_us=500, run_speed=1.0), 160, WALL_US, 900).clock_us(10**9) == 500
