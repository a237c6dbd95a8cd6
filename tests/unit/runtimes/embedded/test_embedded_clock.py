"""The clock of a running twin, on a wall clock that the test moves: no request makes it jump."""

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.limits import SPEED_MAX
from shared.basics.errors import InvalidInput, OperationFailed
from shared.basics.units import US_PER_S
from shared.runtimes.embedded.embedded_clock import EmbeddedClock
from shared.runtimes.simulated_clock import SPEED_WINDOW_S


class Wall:
    """Wall time and the progress of the twin, both moved by the test."""

    def __init__(
        self, speed: float = 10.0, paused: bool = False, at_us: int = 0, keep: Path | None = None
    ) -> None:
        self.now_s = 1_000.0
        self.done_us: int | None = None
        """The simulated time that the twin has reached; None if it keeps up."""
        self.clock = EmbeddedClock(speed=speed, paused=paused, keep=keep, wall_s=lambda: self.now_s)
        self.clock.start(lambda asked: asked if self.done_us is None else min(asked, self.done_us), at_us)

    def pass_s(self, span_s: float) -> None:
        self.now_s += span_s

    @property
    def now_us(self) -> int:
        return self.clock.show().now_us


def test_simulated_time_is_wall_time_times_speed_from_where_it_stopped() -> None:
    wall = Wall(speed=60.0, at_us=7)
    assert wall.now_us == 7
    wall.pass_s(2.5)
    assert wall.now_us == 7 + 150 * US_PER_S
    assert wall.clock.show().lag_us == 0


def test_time_stops_while_paused_and_continues_from_there() -> None:
    wall = Wall(speed=10.0)
    wall.pass_s(1)
    wall.clock.pause()
    wall.pass_s(3_600)
    shown = wall.clock.show()
    assert (shown.now_us, shown.paused, shown.speed, shown.achieved_speed) == (10 * US_PER_S, True, 10.0, 0.0)
    wall.clock.pause()
    wall.clock.resume()
    assert wall.now_us == 10 * US_PER_S
    wall.pass_s(1)
    wall.clock.resume()
    assert wall.now_us == 20 * US_PER_S


def test_a_twin_that_was_stopped_while_paused_begins_paused() -> None:
    wall = Wall(speed=10.0, paused=True, at_us=5)
    wall.pass_s(100)
    assert wall.now_us == 5
    assert wall.clock.clock_us() == 5


def test_a_new_speed_applies_from_now_on() -> None:
    wall = Wall(speed=10.0)
    wall.pass_s(1)
    wall.clock.set_speed(1_000.0)
    assert wall.now_us == 10 * US_PER_S
    wall.pass_s(1)
    assert wall.now_us == 1_010 * US_PER_S
    wall.clock.set_speed(0.5)
    wall.pass_s(2)
    assert wall.now_us == 1_011 * US_PER_S


def test_a_speed_may_be_set_while_paused() -> None:
    wall = Wall(speed=10.0, paused=True)
    wall.clock.set_speed(3.0)
    wall.pass_s(5)
    assert wall.now_us == 0
    wall.clock.resume()
    wall.pass_s(5)
    assert wall.now_us == 15 * US_PER_S


STEPS = st.lists(
    st.tuples(
        st.floats(0, 100, allow_nan=False),
        st.sampled_from(["pause", "resume", "speed", "look", "lag", "catch up"]),
        st.floats(1e-3, 1e6),
    ),
    max_size=30,
)


@settings(max_examples=150, deadline=None)
@given(steps=STEPS)
def test_no_order_ever_makes_it_jump_or_go_back(steps: list[tuple[float, str, float]]) -> None:
    wall = Wall()
    before_us = wall.now_us
    for span_s, order, value in steps:
        speed, paused = wall.clock.show().speed, wall.clock.show().paused
        wall.pass_s(span_s)
        now_us = wall.now_us
        most_us = 0 if paused or wall.done_us is not None else span_s * speed * US_PER_S
        # The clock reads wall time in whole microseconds, and each of them covers several simulated ones.
        assert -1 <= now_us - before_us <= most_us * (1 + 1e-6) + 2 + speed
        if order == "pause":
            wall.clock.pause()
        elif order == "resume":
            wall.clock.resume()
        elif order == "speed":
            wall.clock.set_speed(value)
        elif order == "lag":
            wall.done_us = now_us
        elif order == "catch up" and wall.done_us is not None:
            # The next change of the clock forgives a lag; here the twin continues from its current time.
            wall.clock.resume() if not paused else wall.clock.pause()
            wall.done_us = None
        # The change itself does not move the displayed time.
        assert abs(wall.now_us - now_us) <= 1
        before_us = wall.now_us


def test_a_lag_is_shown_and_forgiven_by_the_next_order() -> None:
    wall = Wall(speed=100.0)
    wall.done_us = 30 * US_PER_S
    wall.pass_s(1)
    shown = wall.clock.show()
    assert (shown.now_us, shown.lag_us) == (30 * US_PER_S, 70 * US_PER_S)
    wall.clock.set_speed(1.0)
    wall.done_us = None
    wall.pass_s(2)
    shown = wall.clock.show()
    assert (shown.now_us, shown.lag_us) == (32 * US_PER_S, 0)


def test_the_achieved_speed_is_measured_over_the_last_seconds() -> None:
    wall = Wall(speed=100.0)
    assert wall.clock.show().achieved_speed == 100.0  # nothing is measured yet: the requested speed
    for tenth in range(1, 101):
        wall.done_us = tenth * 5 * US_PER_S  # half of the requested speed
        wall.pass_s(0.1)
        wall.clock.sample()
    assert wall.clock.show().achieved_speed == pytest.approx(50.0)
    wall.done_us = None
    for _ in range(round(SPEED_WINDOW_S * 10) + 5):
        wall.pass_s(0.1)
        wall.clock.sample()
    # The lag of 500 s is made up within the window, then the speed is 100 again.
    assert wall.clock.show().achieved_speed == pytest.approx(100.0, rel=0.05)
    wall.clock.pause()
    assert wall.clock.show().achieved_speed == 0.0


def test_it_shows_how_long_to_wait_for_a_simulated_time() -> None:
    wall = Wall(speed=10.0)
    assert wall.clock.wall_s_until(50 * US_PER_S) == pytest.approx(5.0)
    wall.pass_s(2)
    assert wall.clock.wall_s_until(50 * US_PER_S) == pytest.approx(3.0)
    assert wall.clock.wall_s_until(1) == 0.0
    wall.clock.pause()
    assert wall.clock.wall_s_until(50 * US_PER_S) == math.inf


def test_every_order_is_kept_and_reported(tmp_path: Path) -> None:
    keep = tmp_path / "clock.json"
    wall = Wall(speed=2.0, keep=keep)
    assert not keep.exists()
    orders: list[tuple[Callable[[], None], dict[str, object]]] = [
        (wall.clock.pause, {"speed": 2.0, "paused": True}),
        (lambda: wall.clock.set_speed(0.1 + 0.2), {"speed": 0.1 + 0.2, "paused": True}),
        (wall.clock.resume, {"speed": 0.1 + 0.2, "paused": False}),
    ]
    for order, kept in orders:
        changes: list[float] = []
        wall.clock.on_change = lambda: changes.append(wall.clock.show().speed)  # noqa: B023 -- called at once
        order()
        assert json.loads(keep.read_text()) == kept | {
            "now_us": wall.clock.show().now_us,
            "until_us": None,
            "run_speed": None,
        }
        assert changes == [kept["speed"]]
    assert list(tmp_path.iterdir()) == [keep]


def test_an_unwritable_clock_file_is_an_error_in_one_sentence(tmp_path: Path) -> None:
    wall = Wall(keep=tmp_path / "no" / "clock.json")
    with pytest.raises(OperationFailed, match=r"clock file .*clock\.json: No such file or directory"):
        wall.clock.pause()


@pytest.mark.parametrize("speed", [0.0, -1.0, math.nan, math.inf, -math.inf, 2 * SPEED_MAX])
def test_an_invalid_speed_is_refused_and_changes_nothing(speed: float) -> None:
    wall = Wall(speed=3.0)
    with pytest.raises(
        InvalidInput, match=r"speed: \S+ is not allowed; must be above 0 and at most 1,000,000,000"
    ):
        wall.clock.set_speed(speed)
    assert wall.clock.show().speed == 3.0
    with pytest.raises(InvalidInput, match="not allowed"):
        EmbeddedClock(speed=speed)


@pytest.mark.parametrize("speed", [1e-6, 1.0, SPEED_MAX])
def test_any_other_speed_is_accepted(speed: float) -> None:
    wall = Wall(speed=speed)
    wall.pass_s(10)
    assert wall.now_us == int(10 * speed * US_PER_S)
