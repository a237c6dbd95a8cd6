"""The reason why weights are kept, for every state of them."""

from dataclasses import replace

import pytest

from services.traffic.kept_weights import WeightsState, kept_weights_reason
from shared.basics.units import US_PER_HOUR, US_PER_S

KEPT = WeightsState(
    at_us=5 * US_PER_HOUR, solved_us=US_PER_HOUR, next_solve_us=None, use=2.148, bound=0.83, solve_above=2.25
)
"""Solved four hours ago; the fullest trunk is full, and not full enough."""

SENTENCE = (
    "solved last at 0d01:00:00; solved again when trunks change or the fullest trunk is above "
    "225.00%, and it is at 214.80%"
)


@pytest.mark.parametrize(
    ("weights", "reason"),
    [
        (
            KEPT,
            SENTENCE,
        ),
        (
            replace(KEPT, next_solve_us=5 * US_PER_HOUR + 30 * US_PER_S),
            "solved again at 0d05:00:30: demand or trunks have changed",
        ),
        (replace(KEPT, solved_us=None), None),
        (replace(KEPT, solved_us=KEPT.at_us), None),
        (replace(KEPT, bound=KEPT.use), None),
    ],
)
def test_the_reason_names_the_time_and_the_limit(weights: WeightsState, reason: str | None) -> None:
    assert kept_weights_reason(weights) == reason
