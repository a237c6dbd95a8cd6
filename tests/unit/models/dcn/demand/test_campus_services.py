"""Services of a campus: their number, placement and traffic, against closed forms. The demand is the sum of
their traffic and the background."""

import re
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest

from shared.basics.errors import InvalidInput
from shared.models.dcn.demand.campus_services import (
    ASSUMPTIONS,
    WEEK_H,
    Campus,
    CampusService,
    hour_demand,
    mean_demand,
    service_demand,
    services_of,
)
from shared.models.dcn.demand.demand_model import demand_at
from shared.models.network.blocks import Block, layout_of
from tests.support.dcn_plants import plant

SEEDS = range(40)


def test_as_many_are_up_at_any_time_as_assumed() -> None:
    """M/M/∞: Poisson with the assumed mean at every time, including the first."""
    found = plant(8)
    for hour in (0.0, 10.0 * WEEK_H):
        up = [
            sum(one.up_h <= hour < one.down_h for one in services_of(found, Campus(seed), 11 * WEEK_H))
            for seed in SEEDS
        ]
        assert fmean(up) == pytest.approx(24.0, abs=3 * (24 / len(SEEDS)) ** 0.5)
        assert 10 < np.var(up) < 50


def test_turn_ups_come_at_the_pace_that_keeps_them_this_many() -> None:
    turned_up = [
        sum(one.up_h > 0.0 for one in services_of(plant(8), Campus(seed), 16 * WEEK_H)) for seed in SEEDS
    ]
    # 24 of them, each for 8 weeks: 3 a week.
    assert fmean(turned_up) == pytest.approx(48.0, abs=3 * (48 / len(SEEDS)) ** 0.5)


def test_a_service_spans_at_least_two_distinct_clusters_chosen_uniformly() -> None:
    services = [one for seed in SEEDS for one in services_of(plant(16), Campus(seed), 8 * WEEK_H)]
    spans = [len(one.clusters) for one in services]
    assert all(len(set(one.clusters)) == len(one.clusters) for one in services)
    assert min(spans) == 2
    assert fmean(spans) == pytest.approx(3.0, abs=3 * (2 / len(spans)) ** 0.5)
    assert fmean(span >= 5 for span in spans) == pytest.approx(1 / 8, abs=0.03)
    often = np.bincount([cluster for one in services for cluster in one.clusters], minlength=16)
    assert (abs(often - often.mean()) < 4 * often.mean() ** 0.5).all()
    narrow = services_of(plant(3), replace(Campus(), more_clusters=50.0), WEEK_H)
    assert {len(one.clusters) for one in narrow} <= {2, 3}
    assert {len(one.clusters) for one in services_of(plant(8), Campus(more_clusters=0.0), WEEK_H)} == {2}


def test_services_send_the_share_that_is_assumed() -> None:
    found = plant(16)
    capacity = sum(block.gbps for block in found.blocks) * 1_000.0
    calm = [Campus(seed, size_sigma=0.0) for seed in range(200)]
    loads = [service_demand(found, services_of(found, one, 1.0), 0.0, 1.0).sum() / capacity for one in calm]
    # A sum of 24 services in the mean (Poisson), each of 3 clusters ± √2.
    deviation = 0.2 * ((1 + 2 / 9) / 24) ** 0.5
    assert fmean(loads) == pytest.approx(0.2, abs=3 * deviation / 200**0.5)
    assert np.std(loads) == pytest.approx(deviation, rel=0.2)


def test_traffic_while_up_matches_a_hand_computation() -> None:
    found = plant(4)
    services = (CampusService(-5.0, 6.0, (0, 2, 3), 10.0), CampusService(9.0, 99.0, (1, 0), 4.0))
    # The first is up for 6 of 10 hours, 5 Gb/s to each of two others; the second for one.
    assert service_demand(found, services, 0.0, 10.0).tolist() == [
        [0.0, 400.0, 3_000.0, 3_000.0],
        [400.0, 0.0, 0.0, 0.0],
        [3_000.0, 0.0, 0.0, 3_000.0],
        [3_000.0, 0.0, 3_000.0, 0.0],
    ]
    assert not service_demand(found, services, 6.0, 9.0).any()


def test_demand_is_that_of_services_and_background() -> None:
    found, campus = plant(6), Campus(seed=5)
    services = services_of(found, campus, 2 * WEEK_H)
    hour = hour_demand(found, campus, services, 30)
    apart = service_demand(found, services, 30, 31) + demand_at(found, campus.background, 30)
    assert abs(hour - apart).max() <= 0.5
    assert (campus.background.hot_pairs, campus.background.load) == (0, 0.2)
    hours = np.mean([hour_demand(found, campus, services, one) for one in range(WEEK_H)], axis=0)
    mean = mean_demand(found, campus, services, 0, WEEK_H)
    assert mean == pytest.approx(hours, rel=0.1)
    assert mean.sum() == pytest.approx(hours.sum(), rel=0.02)


def test_the_same_seed_gives_the_same_services_for_any_horizon() -> None:
    found = plant(6)
    short, long = (services_of(found, Campus(3), weeks * WEEK_H) for weeks in (2, 9))
    assert long[: len(short)] == short
    assert all(one.up_h >= 2 * WEEK_H for one in long[len(short) :])
    assert services_of(found, Campus(4), 2 * WEEK_H) != short


def test_services_that_last_longer_are_the_same_ones_later() -> None:
    """So a change of one assumption does not change the draws of the others."""
    found = plant(6)
    plain = services_of(found, Campus(3), 4 * WEEK_H)
    slower = services_of(found, Campus(3, life_weeks=16.0), 8 * WEEK_H)
    assert [(one.clusters, one.gbps) for one in slower] == [(one.clusters, one.gbps) for one in plain]
    assert [one.up_h for one in slower] == pytest.approx([2 * one.up_h for one in plain])


def test_services_between_customers_are_refused() -> None:
    apart = layout_of([Block("ab-0", 100, 512, customer="a"), Block("ab-1", 100, 512, customer="b")])
    with pytest.raises(InvalidInput, match=re.escape("they belong to different customers")):
        mean_demand(apart, Campus(), services_of(apart, Campus(), WEEK_H), 0, WEEK_H)


@pytest.mark.parametrize("name", ASSUMPTIONS)
def test_a_campus_that_cannot_be_names_its_field(name: str) -> None:
    with pytest.raises(InvalidInput, match=name):
        Campus(**{name: -1.0})  # type: ignore[arg-type]  # any of its fields


def test_assumptions_are_the_documents() -> None:
    text = Path("docs/reference/dcn.md").read_text(encoding="utf-8")
    for name, assumption in ASSUMPTIONS.items():
        unit = f" {assumption.unit}" if assumption.unit else ""
        assert f"| {name} | {assumption.value:,g}{unit} | {assumption.reason} |" in text, name
        assert getattr(Campus(), name) == assumption.value
