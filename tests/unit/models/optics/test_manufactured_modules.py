"""Modules as made: each from its own draws, within shipping limits, and equal as seen from both ends."""

import numpy as np
import pytest
from scipy.stats import kstest, truncnorm

from shared.models.assumptions import assumed
from shared.models.optics.manufactured_modules import (
    EXTINCTION_STEP_DB,
    SHIPPED_SIGMAS,
    extinctions_db,
    lanes_between,
    manufactured_modules,
)

ENDS = 6_144
MADE = manufactured_modules(5, "pod-0", ENDS)


def test_a_module_is_the_same_however_many_others_there_are() -> None:
    few = manufactured_modules(5, "pod-0", 96)
    for name in ("launch_db", "sensitivity_db", "burst_orders", "extinction_db", "frequency_ghz"):
        assert (getattr(few, name) == getattr(MADE, name)[:96]).all()
        assert not (getattr(manufactured_modules(6, "pod-0", 96), name) == getattr(few, name)).all()
        assert not (getattr(manufactured_modules(5, "pod-1", 96), name) == getattr(few, name)).all()


@pytest.mark.parametrize(
    ("name", "sigma"),
    [
        ("sensitivity_db", assumed("receiver_sensitivity_sigma_db")),
        ("burst_orders", assumed("burst_error_sigma_orders")),
        ("frequency_ghz", assumed("laser_wavelength_sigma_nm") * 177.0),
    ],
)
def test_values_scatter_as_assumed_within_shipping_limits(name: str, sigma: float) -> None:
    found = getattr(MADE, name).ravel()
    assert np.abs(found).max() <= SHIPPED_SIGMAS * sigma + 1e-4
    assert kstest(found / sigma, truncnorm(-SHIPPED_SIGMAS, SHIPPED_SIGMAS).cdf).pvalue > 1e-3


def test_lanes_of_a_module_have_a_launch_in_common() -> None:
    means = MADE.launch_db.mean(axis=1)
    lane, module = (assumed(f"laser_launch_{what}_sigma_db") for what in ("lane", "module"))
    cut = truncnorm(-SHIPPED_SIGMAS, SHIPPED_SIGMAS).std()
    assert means.std() == pytest.approx(cut * np.hypot(module, lane / np.sqrt(8)), rel=0.05)
    assert (MADE.launch_db - means[:, None]).std() == pytest.approx(cut * lane * np.sqrt(7 / 8), rel=0.05)


def test_extinction_is_set_in_steps() -> None:
    assert sorted(set(MADE.extinction_db.ravel().tolist())) == list(extinctions_db())
    assert np.diff(extinctions_db()).tolist() == [EXTINCTION_STEP_DB] * (len(extinctions_db()) - 1)
    assert MADE.extinction_db.mean() == pytest.approx(assumed("laser_extinction_db"), abs=0.01)


def test_elements_between_two_ends_are_seen_from_both() -> None:
    ends, peers = np.array([3, 700, 5]), np.array([19, 4_000, 5])
    here, there = lanes_between(MADE, ends, peers, 2), lanes_between(MADE, peers, ends, 2)
    assert here.far_launch_db.shape == (3, 2, 4)
    assert (here.far_launch_db == there.near_launch_db).all()
    assert (here.near_launch_db == MADE.launch_db[ends].reshape(3, 2, 4)).all()
    assert (here.sensitivity_db == MADE.sensitivity_db[ends].reshape(3, 2, 4)).all()
    assert here.extinction_db is not None
    assert (here.extinction_db == MADE.extinction_db[peers].reshape(3, 2, 4)).all()
    assert here.offset_ghz is not None
    assert there.offset_ghz is not None
    assert (here.offset_ghz == -there.offset_ghz).all()
    assert (here.offset_ghz[2] == 0).all(), "an end that looks into itself"


def test_a_warmer_laser_is_redder() -> None:
    """0.1 nm/K: 10 K are 1 nm, 177 GHz."""
    ends, peers = np.array([3]), np.array([19])
    cold, warm = (lanes_between(MADE, ends, peers, 2, kelvin).offset_ghz for kelvin in (0.0, 10.0))
    assert cold is not None
    assert warm is not None
    assert warm - cold == pytest.approx(-177.0)


def test_two_lasers_are_rarely_near_each_other() -> None:
    """Within 19 GHz, the bandwidth of a receiver of 50 Gb/s: of all lanes a few in a hundred."""
    drawn = np.random.default_rng(2).permutation(ENDS)
    offset = lanes_between(MADE, np.arange(ENDS), drawn, 2).offset_ghz
    assert offset is not None
    assert 0.03 < (np.abs(offset) < 19.0).mean() < 0.06
