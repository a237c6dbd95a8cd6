"""Impairments of an end: every kind has an effect, amounts add up in any order, and a gradual one grows in
steps to its full amount."""

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.basics.units import US_PER_MIN
from shared.models.faults.link_faults import LINK_FAULTS, NATURAL_SHARES, PATH_FAULTS
from shared.models.optics.impairments import (
    DARK_DB,
    SOUND,
    Impairment,
    combined,
    impairment,
    next_onset_step_us,
    onset_share,
)

AMOUNTS = st.floats(0.0, 10.0)
IMPAIRMENTS = st.builds(
    Impairment,
    dead=st.booleans(),
    dirt_db=AMOUNTS,
    lost_db=st.tuples(AMOUNTS, AMOUNTS),
    launch_loss_db=st.tuples(AMOUNTS, AMOUNTS),
    sensitivity_loss_db=AMOUNTS,
    excess_temperature_k=AMOUNTS,
    late_us=st.integers(0, 100),
)


@pytest.mark.parametrize("kind", ["link", *LINK_FAULTS, *PATH_FAULTS])
def test_every_kind_does_something_when_all_of_it_has_come(kind: str) -> None:
    assert impairment(kind, 3.0, 1.0, None) != SOUND


def test_the_effect_of_each_kind() -> None:
    assert impairment("connector", 2.0, 0.5, None) == Impairment(dirt_db=1.0)
    assert impairment("mirror", 2.0, 1.0, 1) == Impairment(lost_db=(0.0, 2.0))
    assert impairment("shake", 2.0, 1.0, None) == Impairment(lost_db=(2.0, 2.0))
    assert impairment("transmitter", None, 1.0, 0) == Impairment(launch_loss_db=(DARK_DB, 0.0))
    assert impairment("late", 30.0, 1.0, None) == Impairment(late_us=30 * US_PER_MIN)
    assert impairment("calibration", -2.5, 1.0, None).reading_offset_db == -2.5
    assert not impairment("calibration", -2.5, 1.0, None).changes_light
    assert impairment("heat", 20.0, 1.0, None).launch_loss_db == pytest.approx((1.0, 1.0))


def test_a_laser_that_wears_shows_in_its_bias_before_its_light_falls() -> None:
    half, late, whole = (impairment("laser", 4.0, share, None) for share in (0.5, 0.75, 1.0))
    assert (half.worn, half.launch_loss_db) == (1.0, (0.0, 0.0))
    assert (late.worn, late.launch_loss_db) == (1.0, (2.0, 2.0))
    assert whole.launch_loss_db == (4.0, 4.0)
    assert impairment("laser", 4.0, 0.25, None) == Impairment(worn=0.5)


def test_a_kind_that_strikes_no_end_is_refused() -> None:
    with pytest.raises(ValueError, match="has no effect on a link end"):
        impairment("host", None, 1.0, None)


@given(st.lists(IMPAIRMENTS, max_size=5), st.randoms(use_true_random=False))
def test_faults_of_an_end_add_up_exactly_in_any_order(found: list[Impairment], rng: Random) -> None:
    shuffled = list(found)
    rng.shuffle(shuffled)
    assert combined(shuffled) == combined(found)
    assert combined([*found, SOUND]) == combined(found)
    assert combined([]) == SOUND


@given(st.integers(1, 10**13))
def test_a_fault_grows_in_eight_steps_to_all_of_it(onset_us: int) -> None:
    shares, elapsed_us = [onset_share(0, onset_us)], 0
    while (step_us := next_onset_step_us(elapsed_us, onset_us)) is not None:
        assert step_us > elapsed_us
        assert onset_share(step_us - 1, onset_us) == shares[-1]
        elapsed_us = step_us
        shares.append(onset_share(elapsed_us, onset_us))
    assert (shares[0], shares[-1], elapsed_us) == (0.0, 1.0, onset_us)
    assert all(a < b for a, b in pairwise(shares))
    assert len(shares) <= 9


def test_a_fault_without_an_onset_is_there_at_once() -> None:
    assert (onset_share(0, 0), next_onset_step_us(0, 0)) == (1.0, None)


def test_natural_shares_are_of_kinds_of_link_ends_and_add_up_to_all() -> None:
    assert sum(NATURAL_SHARES.values()) == pytest.approx(1.0)
    assert {kind for kind, row in LINK_FAULTS.items() if row.rate} == set(NATURAL_SHARES)
