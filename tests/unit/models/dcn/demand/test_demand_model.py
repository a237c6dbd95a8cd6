"""Demand: gravity, noise, hot pairs, day and night, and recorded traces."""

import re

import numpy as np
import pytest

from shared.basics.errors import InvalidInput
from shared.models.dcn.demand.demand_model import DAY_H, DemandModel, demand_at, recorded_demand
from shared.models.network.blocks import Block, layout_of
from tests.support.dcn_plants import plant

CALM = DemandModel(block_sigma=0.0, noise_sigma=0.0, hot_pairs=0, swing=0.0)
HOT = DemandModel(hot_pairs=1, noise_sigma=0.0, block_sigma=0.0, swing=0.0, hot_share=1.0)


def test_equal_blocks_without_noise_send_each_other_the_same() -> None:
    demand = demand_at(plant(5), CALM, 0)
    assert (demand + np.eye(5, dtype=np.int64) * demand[0, 1] == demand[0, 1]).all()
    assert demand.sum(axis=1) == pytest.approx(0.4 * 512 * 100 * 1_000, rel=1e-6)


def test_gravity_sends_in_proportion_to_the_receivers() -> None:
    demand = demand_at(plant(4, (100, 400)), CALM, 0)
    assert demand[0, 1] / demand[0, 2] == pytest.approx(4.0, rel=1e-6)


def test_the_same_hour_gives_the_same_demand_and_another_hour_or_seed_another() -> None:
    found, model = plant(6), DemandModel(seed=3)
    assert (demand_at(found, model, 5) == demand_at(found, model, 5)).all()
    assert (demand_at(found, model, 5) != demand_at(found, model, 6)).any()
    assert (demand_at(found, model, 5) != demand_at(found, DemandModel(seed=4), 5)).any()


def test_a_block_that_joins_changes_no_draw_of_another() -> None:
    """The gravity traffic of two pairs changes with the other blocks, but their ratio does not."""
    model = DemandModel(hot_pairs=0)
    few, more = demand_at(plant(5), model, 9), demand_at(plant(6), model, 9)
    assert few[0, 1] / few[0, 2] == pytest.approx(more[0, 1] / more[0, 2], rel=1e-5)


def test_a_hot_pair_lives_for_days() -> None:
    found = plant(8)
    hot = [int(demand_at(found, HOT, hour).argmax()) for hour in range(60 * DAY_H)]
    changes = int(np.count_nonzero(np.diff(hot)))
    assert 10 <= changes <= 45  # of 60 days, with lifetimes of 1.5 to 4.5 days


def test_the_daily_swing_is_as_configured() -> None:
    model = DemandModel(block_sigma=0.0, noise_sigma=0.0, hot_pairs=0, swing=0.5)
    total = np.array([demand_at(plant(6), model, hour).sum() for hour in range(DAY_H)], dtype=np.float64)
    assert 0.4 <= (total.max() - total.min()) / 2 / total.mean() <= 0.5


def test_noise_has_the_mean_of_gravity_alone() -> None:
    found = plant(32, racks=16)
    noisy = DemandModel(block_sigma=0.0, noise_sigma=0.5, hot_pairs=0, swing=0.0)
    mean = np.mean([demand_at(found, noisy, hour).sum() for hour in range(20)])
    assert mean == pytest.approx(demand_at(found, CALM, 0).sum(), rel=0.02)


REFUSED = [
    ([[0, 1]], "demand: a matrix of 1×2 is not allowed; must be 2×2"),
    ([[0, -1], [0, 0]], "demand ab-0 → ab-1: -1 is negative"),
    ([[0, float("nan")], [0, 0]], "demand ab-0 → ab-1: nan is not a number"),
    (
        [[0, 0], [2e9, 0]],
        "demand ab-1 → ab-0: 2000000000.0 is not allowed; must be at most 1,000,000,000 Mb/s",
    ),
    ([[5, 0], [0, 0]], "demand ab-0 → ab-0: 5 Mb/s is not allowed: a block cannot send to itself"),
]


@pytest.mark.parametrize(("matrix", "sentence"), REFUSED)
def test_an_invalid_demand_matrix_names_the_blocks(matrix: list[list[int]], sentence: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(sentence)):
        recorded_demand(plant(2), matrix)


def test_a_demand_between_customers_is_refused() -> None:
    apart = layout_of([Block("ab-0", 100, 512, customer="a"), Block("ab-1", 100, 512, customer="b")])
    with pytest.raises(
        InvalidInput, match="ab-0 → ab-1: 7 Mb/s is not allowed: they belong to different customers"
    ):
        recorded_demand(apart, [[0, 7], [0, 0]])


@pytest.mark.parametrize("field", ["load", "hot_days", "noise_sigma", "swing"])
def test_a_model_that_cannot_be_names_its_field(field: str) -> None:
    with pytest.raises(InvalidInput, match=field):
        DemandModel(**{field: -1.0})  # type: ignore[arg-type]  # any of its fields
