"""Gaps whose rate changes while they last."""

import pytest

from shared.basics.interarrival import reschedule_at_rate

NOW = 1_000


def fresh(rate: float) -> int:
    return round(500 / rate)


@pytest.mark.parametrize(
    ("next_us", "rates", "then"),
    [
        (1_600, (1.0, 2.0), 1_300),
        (1_600, (2.0, 1.0), 2_200),
        (1_600, (1.0, 1.0), 1_600),
        (1_600, (1.0, 0.0), None),
        (1_000, (1.0, 2.0), 1_000),  # it is due
        (900, (1.0, 0.0), 900),
        (None, (0.0, 2.0), 1_250),
        (None, (0.0, 0.0), None),
        (None, (1.0, 2.0), 1_250),
        (1_001, (1.0, 1e9), 1_001),  # no sooner than a microsecond later
    ],
)
def test_the_remaining_gap_is_scaled_by_the_ratio(
    next_us: int | None, rates: tuple[float, float], then: int | None
) -> None:
    assert reschedule_at_rate(next_us, NOW, rates, fresh) == then
