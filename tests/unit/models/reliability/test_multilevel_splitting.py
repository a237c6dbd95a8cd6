"""Multilevel splitting against the gambler's ruin, from frequent events to events too rare to simulate."""

import pytest

from shared.basics.errors import InvalidInput
from shared.models.reliability.multilevel_splitting import exceeds, split

SHOP = (48, 2, 0.005, 1.0)


@pytest.mark.parametrize("down", [2, 3, 5, 7, 9])
def test_splitting_has_the_probability_of_the_closed_form(down: int) -> None:
    """Within the 99.9 % interval of 40 repetitions."""
    found = split(*SHOP, down, seed=3, repetitions=40, confidence=0.999).interval
    assert found.low < exceeds(*SHOP, down) < found.high


def test_it_reaches_one_in_a_billion() -> None:
    shop = (48, 4, 0.0012, 1.0)
    expected = exceeds(*shop, 6)
    assert 1e-10 < expected < 1e-8
    found = split(*shop, 6, seed=1, effort=4_000, confidence=0.999)
    assert found.interval.low < expected < found.interval.high
    assert found.interval.half_width < 0.8 * expected


@pytest.mark.slow("hundreds of drawn estimates")
def test_its_intervals_cover_the_closed_form_at_their_stated_rate() -> None:
    """Of 200 fresh ones of 95 % at 1e-4 or so: 180 at least, but for one chance in a thousand."""
    expected = exceeds(*SHOP, 6)
    assert 1e-5 < expected < 1e-3
    within = 0
    for seed in range(200):
        found = split(*SHOP, 6, seed=seed, effort=300).interval
        within += found.low < expected < found.high
    assert 177 <= within <= 199


def test_one_machine_down_is_certain_and_more_than_there_are_is_refused() -> None:
    assert exceeds(*SHOP, 1) == 1.0
    with pytest.raises(InvalidInput, match="down 49: must be between 1 and 48"):
        split(*SHOP, 49, seed=1)
    with pytest.raises(InvalidInput, match="repetitions 5: must be between 20 and 10,000"):
        split(*SHOP, 3, seed=1, repetitions=5)
