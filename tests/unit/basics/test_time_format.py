"""How people read simulated times and spans."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.basics.time_format import format_duration, format_time, format_time_ms


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (None, "-"),
        (0, "0s"),
        (59_999_999, "59s"),
        (61_000_000, "1m1s"),
        (7_200_000_000, "2h"),
        (90_061_000_000, "1d1h"),
    ],
)
def test_spans(us: int | None, text: str) -> None:
    assert format_duration(us) == text


@given(st.integers(0, 10**15))
def test_a_time_shows_the_time_to_the_millisecond(us: int) -> None:
    form = re.fullmatch(r"(\d+)d(\d\d):(\d\d):(\d\d)\.(\d{3})", format_time_ms(us))
    assert form is not None
    assert format_time_ms(us).startswith(f"{format_time(us)}.")
    days, hours, minutes, seconds, ms = map(int, form.groups())
    assert (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000 + ms == us // 1000
