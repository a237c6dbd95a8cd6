"""An OCS as manufactured: the paper's distributions, and the same device for every caller and access path."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.basics.errors import InvalidInput
from shared.basics.keyed_random import draw_uniform
from shared.models.assumptions import assumed
from shared.models.ocs_technologies import TECHNOLOGIES
from shared.models.optics.palomar import (
    INSERTION_LOSS_TYPICAL_DB,
    RETURN_LOSS_SPECIFIED_DB,
    RETURN_LOSS_TYPICAL_DB,
    ManufacturedOcses,
    driver_boards,
    insertion_loss_db,
    manufacture,
    manufactured_ocses,
    mirror_count,
    return_loss_db,
)
from shared.models.superpod.wiring import OCS_COUNT, PALOMAR_RADIX, ocs_radix

INSERTION_LOSS_GOAL_DB = 3.0
"""Ideally no pair reaches it ([LF] 3.2.1)."""
SEEDS = range(20)
FABRIC = "pod-0"


def return_losses_db(made: ManufacturedOcses) -> np.ndarray:
    return np.concatenate((made.north_return_loss_db.ravel(), made.south_return_loss_db.ravel()))


def test_losses_are_those_of_figure_10() -> None:
    for seed in SEEDS:
        loss_db = manufactured_ocses(seed, FABRIC).insertion_loss_db()
        assert loss_db.shape == (OCS_COUNT, 136, 136)
        below, quarter, median, three, high = np.quantile(loss_db, (0.0, 0.25, 0.5, 0.75, 0.99))
        assert below > 0.8
        assert 1.15 < quarter < median < three < 1.5
        assert 1.8 < high < 2.1, "the tail begins near 2 dB"
        assert 0.98 < (loss_db < INSERTION_LOSS_TYPICAL_DB).mean() < 1.0
        assert 2.2 < loss_db.max() < INSERTION_LOSS_GOAL_DB
        assert three - median > 0.5 * (median - quarter)
        assert loss_db.max() - median > 2 * (median - below), "the tail is on the lossy side"


def test_tail_comes_from_splices_and_connectors() -> None:
    """[LF] 4.1.1: pairs above 2 dB have ports that lose far more than the mirrors and lenses can."""
    made = manufactured_ocses(3, FABRIC)
    ocs, north, south = np.nonzero(made.insertion_loss_db() > INSERTION_LOSS_TYPICAL_DB)
    worse_db = np.maximum(made.north_loss_db[ocs, north], made.south_loss_db[ocs, south])
    assert (worse_db > assumed("ocs_collimator_loss_db") + 2 * assumed("ocs_mirror_loss_db")).all()
    assert worse_db.mean() > made.north_loss_db.mean() + 2 * made.north_loss_db.std()


def test_return_losses_are_those_of_figure_10() -> None:
    every_db = np.concatenate([return_losses_db(manufactured_ocses(seed, FABRIC)) for seed in SEEDS])
    assert every_db.max() <= RETURN_LOSS_SPECIFIED_DB
    assert every_db.max() > RETURN_LOSS_SPECIFIED_DB - 0.5, "the specification is what cuts the tail"
    assert abs(np.median(every_db) - RETURN_LOSS_TYPICAL_DB) < 0.05
    assert np.quantile(every_db, 0.05) == pytest.approx(-49.8, abs=0.2)
    assert np.quantile(every_db, 0.95) == pytest.approx(-42.2, abs=0.2)


def test_best_mirrors_serve() -> None:
    """Every mirror left out is at least as lossy as the worst that serves, by the scalar draws."""
    made = manufacture(7, FABRIC, np.array([5]))
    median_db, spread = assumed("ocs_mirror_loss_db"), assumed("ocs_mirror_loss_spread")
    for side, mirror in (("north", made.north_mirror[0]), ("south", made.south_mirror[0])):
        drawn = [draw_uniform(7, FABRIC, f"palomar {side} mirror", 5 * 1024 + n) for n in range(176)]
        quality_db = np.array([median_db * (u / (1 - u)) ** spread for u in drawn])
        left_out = np.setdiff1d(np.arange(176), mirror)
        assert len(mirror) == 136
        assert len(left_out) == 40
        assert (np.diff(mirror) > 0).all()
        assert quality_db[mirror].max() <= quality_db[left_out].min()


def test_loss_is_the_sum_of_its_parts() -> None:
    """The loss of one pair from scalar draws alone: collimators, mirrors, splices, deflection."""
    made = manufacture(7, FABRIC, np.array([5]))
    north, south = 17, 130
    deflected = np.array(
        [np.divmod(made.north_mirror[0, north], 16), np.divmod(made.south_mirror[0, south], 16)]
    )
    square = float(((deflected[0] - deflected[1]) ** 2).sum())
    expected_db = assumed("ocs_deflection_loss_db") * square / (10**2 + 15**2)
    for side, port, mirrors in (("north", north, made.north_mirror), ("south", south, made.south_mirror)):
        quality = draw_uniform(7, FABRIC, f"palomar {side} mirror", 5 * 1024 + int(mirrors[0, port]))
        odds = quality / (1 - quality)
        splice = draw_uniform(7, FABRIC, f"palomar {side} splice", 5 * 1024 + port)
        mean_db, most_db = assumed("ocs_splice_loss_db"), assumed("ocs_splice_loss_max_db")
        expected_db += assumed("ocs_collimator_loss_db")
        expected_db += assumed("ocs_mirror_loss_db") * odds ** assumed("ocs_mirror_loss_spread")
        expected_db -= mean_db * np.log(1 - splice * (1 - np.exp(-most_db / mean_db)))
    assert made.insertion_loss_db()[0, north, south] == pytest.approx(expected_db, abs=3e-4)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**63 - 1),
    chosen=st.lists(st.integers(0, OCS_COUNT - 1), min_size=1, max_size=4, unique=True),
)
def test_any_ocs_is_made_without_the_others(seed: int, chosen: list[int]) -> None:
    whole = manufactured_ocses(seed, "pod-3")
    some = manufacture(seed, "pod-3", np.array(chosen))
    assert (some.insertion_loss_db() == whole.insertion_loss_db()[chosen]).all()
    assert (some.south_return_loss_db == whole.south_return_loss_db[chosen]).all()


def test_few_pairs_are_the_same_as_all_of_them() -> None:
    every_db = manufactured_ocses(2, FABRIC).insertion_loss_db()
    ocs, north, south = np.indices(every_db.shape)[:, ::7, ::5, ::3]
    assert (insertion_loss_db(2, FABRIC, ocs, north, south) == every_db[ocs, north, south]).all()
    one_ocs = insertion_loss_db(2, FABRIC, np.array(9), np.arange(136)[:, None], np.arange(136))
    assert (one_ocs == every_db[9]).all()


def test_few_ports_reflect_as_all_of_them() -> None:
    made = manufactured_ocses(2, FABRIC)
    ocs, port = np.array([0, 47, 3]), np.array([135, 0, 64])
    assert (return_loss_db(2, FABRIC, ocs, "N", port) == made.north_return_loss_db[ocs, port]).all()
    assert (return_loss_db(2, FABRIC, ocs, "S", port) == made.south_return_loss_db[ocs, port]).all()


def test_devices_differ() -> None:
    """Two seeds, two fabrics, two OCSes, two sides: nothing is drawn twice."""
    here, elsewhere, other = (
        manufactured_ocses(1, "pod-0"),
        manufactured_ocses(1, "pod-1"),
        manufactured_ocses(2, "pod-0"),
    )
    assert (here.insertion_loss_db() != elsewhere.insertion_loss_db()).mean() > 0.99
    assert (here.insertion_loss_db() != other.insertion_loss_db()).mean() > 0.99
    rows = np.concatenate((here.north_loss_db, here.south_loss_db))
    assert len(np.unique(rows, axis=0)) == 2 * OCS_COUNT
    unlike = np.corrcoef(here.north_loss_db.ravel(), here.north_return_loss_db.ravel())[0, 1]
    assert abs(unlike) < 0.05, "what a port loses says nothing of what it reflects"


def test_a_larger_switch_has_mirrors_in_proportion() -> None:
    ports = ocs_radix(144)
    made = manufactured_ocses(1, FABRIC, ports)
    assert (ports, mirror_count(ports), mirror_count(PALOMAR_RADIX)) == (296, 384, 176)
    assert made.insertion_loss_db().shape == (OCS_COUNT, 296, 296)
    assert made.north_mirror.max() < 384
    assert made.insertion_loss_db().max() < INSERTION_LOSS_GOAL_DB
    assert return_losses_db(made).max() <= RETURN_LOSS_SPECIFIED_DB


def test_shared_values_cannot_be_changed() -> None:
    made = manufactured_ocses(1, FABRIC)
    with pytest.raises(ValueError, match="read-only"):
        made.north_loss_db[0, 0] = 0.0
    assert manufactured_ocses(1, FABRIC) is made


@pytest.mark.parametrize(
    ("ocs", "north", "south", "sentence"),
    [
        (48, 0, 0, "OCS 48, port 0: does not exist; OCS must be between 0 and 47, port between 0 and 135"),
        (0, 136, 0, "OCS 0, port 136: does not exist"),
        (0, 0, -1, "OCS 0, port -1: does not exist"),
    ],
)
def test_ports_that_do_not_exist(ocs: int, north: int, south: int, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        insertion_loss_db(1, FABRIC, np.array([ocs]), np.array([north]), np.array([south]))


def test_invalid_switches() -> None:
    with pytest.raises(InvalidInput, match="ports: 0 is not allowed; must be between 1 and 768"):
        manufactured_ocses(1, FABRIC, 0)
    with pytest.raises(InvalidInput, match="side: 'E' is not a side"):
        return_loss_db(1, FABRIC, np.array([0]), "E", np.array([0]))


@pytest.mark.parametrize("technology", [name for name in TECHNOLOGIES if name != "palomar"])
def test_other_technologies_stay_below_the_bounds_of_the_table(technology: str) -> None:
    """[LF] Table C.1; in the proportion of the bounds, and independently for any OCS."""
    bound_db = TECHNOLOGIES[technology].insertion_loss_below_db
    for seed in range(5):
        made = manufactured_ocses(seed, FABRIC, technology=technology)
        loss_db, palomar = made.insertion_loss_db(), manufactured_ocses(seed, FABRIC)
        assert 0.0 < loss_db.min() < loss_db.max() < bound_db
        assert np.median(loss_db) == pytest.approx(
            np.median(palomar.insertion_loss_db()) * bound_db / 3, rel=1e-3
        )
        assert (made.north_return_loss_db == palomar.north_return_loss_db).all()
    alone = manufacture(4, FABRIC, np.array([17]), technology=technology).insertion_loss_db()
    assert (alone[0] == loss_db[17]).all()
    assert np.abs(np.round(loss_db, 4) - loss_db).max() < 1e-9


def test_an_unknown_technology_is_refused() -> None:
    with pytest.raises(InvalidInput, match="technology: 'magic' is not a known OCS"):
        manufacture(0, FABRIC, np.array([0]), technology="magic")


def test_boards_drive_runs_of_44_mirrors_of_176() -> None:
    boards, made = driver_boards(7, "pod-0", 136, 48), manufactured_ocses(7, "pod-0")
    assert boards.shape == (2, 48, 136)
    for side, mirrors in enumerate((made.north_mirror, made.south_mirror)):
        for board in range(4):
            driven = mirrors[boards[side] == board]
            assert driven.min() >= 44 * board
            assert driven.max() < 44 * (board + 1)
            assert (np.bincount(np.nonzero(boards[side] == board)[0], minlength=48) <= 44).all()
