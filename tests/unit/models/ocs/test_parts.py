"""The table of an OCS's parts, and the closed form of its availability against a simulation of its own."""

import math
import random
from dataclasses import replace

import pytest

from schemas.config.failures import FailuresConfig
from schemas.config.repairs import RepairsConfig
from shared.models.ocs.chassis_availability import (
    light_availability,
    light_loss_by_part,
    serviceable_share,
    shortage,
    unavailability,
)
from shared.models.ocs.parts import PART, PARTS, POWER_W_MAX, OcsPart, power_w

FAULTS_PER_DAY, REPAIR_DAYS = FailuresConfig().ocs_per_day, RepairsConfig().ocs_repair_h / 24
DEVIATIONS = 4.5


def test_the_chassis_draws_its_maximum_power() -> None:
    assert POWER_W_MAX == 108.0  # [LF] 4.1.1
    assert 100 < power_w() <= 108.0
    assert power_w(tuple(replace(part, watts=part.watts + 0.2) for part in PARTS)) > POWER_W_MAX


def test_all_faults_are_of_some_part() -> None:
    assert math.isclose(sum(part.share for part in PARTS), 1.0)
    assert all(0 <= part.spare < part.count and part.watts > 0 and part.reason for part in PARTS)
    assert {part.word for part in PARTS if part.hot_swappable} == {"supply", "fan", "driver"}, (
        "as [LF] 3.2.2 has it"
    )


def test_with_the_defaults_light_and_service_match_the_published_values() -> None:
    assert light_availability(FAULTS_PER_DAY, REPAIR_DAYS) > 0.9998
    assert serviceable_share(FAULTS_PER_DAY, REPAIR_DAYS) == pytest.approx(0.9988, abs=5e-6)
    lost = light_loss_by_part(FAULTS_PER_DAY, REPAIR_DAYS)
    assert max(lost, key=lambda word: lost[word]) == "driver"
    assert lost["driver"] > 2 * sum(amount for word, amount in lost.items() if word != "driver")


def test_redundancy_hides_failures_of_supplies_and_fans() -> None:
    lost = light_loss_by_part(FAULTS_PER_DAY, REPAIR_DAYS)
    alone = light_loss_by_part(FAULTS_PER_DAY, REPAIR_DAYS, [replace(part, spare=0) for part in PARTS])
    for word in ("supply", "fan"):
        out = unavailability(PART[word], FAULTS_PER_DAY, REPAIR_DAYS)
        pairs = math.comb(PART[word].count, 2)
        assert lost[word] == pytest.approx(pairs * out**2, rel=1e-3)
        assert alone[word] > 1_000 * lost[word]


def test_of_one_part_it_is_the_renewal_formula() -> None:
    part = replace(PART["cpu"], share=1.0, effect="light")
    assert shortage(part, 0.5, 2.0) == pytest.approx(0.5)
    assert light_availability(0.5, 2.0, [part]) == serviceable_share(0.5, 2.0, [part]) == pytest.approx(0.5)


@pytest.mark.parametrize(("faults_per_day", "repair_days"), [(0.0004, 3.0), (0.05, 3.0), (0.3, 2.0)])
def test_more_faults_never_give_more_light(faults_per_day: float, repair_days: float) -> None:
    assert light_availability(2 * faults_per_day, repair_days) < light_availability(
        faults_per_day, repair_days
    )
    assert light_availability(faults_per_day, 2 * repair_days) < light_availability(
        faults_per_day, repair_days
    )
    assert serviceable_share(faults_per_day, repair_days) < light_availability(faults_per_day, repair_days)


def spans_out(draw: random.Random, rate: float, mean_days: float, days: float) -> list[tuple[float, float]]:
    """The times when a part is down; repairs are uniform in 0 to twice their mean, unlike elsewhere."""
    spans, at = [], draw.expovariate(rate)
    while at < days:
        back = at + draw.uniform(0, 2 * mean_days)
        spans.append((at, min(back, days)))
        at = back + draw.expovariate(rate)
    return spans


def dark_share(draw: random.Random, faults_per_day: float, mean_days: float, days: float) -> float:
    """Share of the days on which, counted part by part as an operator would, some circuit is dark."""
    steps: list[tuple[float, int, str]] = []
    for word, count, share in [(str(p.word), p.count, p.share) for p in PARTS]:
        for _ in range(count):
            for begin, end in spans_out(draw, faults_per_day * share / count, mean_days, days):
                steps += [(begin, 1, word), (end, -1, word)]
    out: dict[str, int] = dict.fromkeys(PART, 0)
    dark, since = 0.0, 0.0
    for at, change, word in sorted(steps):
        if out["ocs"] or out["driver"] or out["supply"] == 2 or out["fan"] >= 2:
            dark += at - since
        out[word] += change
        since = at
    return dark / days


@pytest.mark.parametrize("faults_per_day", [0.02, 0.2])
def test_the_closed_form_matches_a_simulation(faults_per_day: float) -> None:
    draw = random.Random(7)
    runs = [dark_share(draw, faults_per_day, 3.0, 4_000.0) for _ in range(100)]
    mean = math.fsum(runs) / len(runs)
    deviation = math.sqrt(math.fsum((run - mean) ** 2 for run in runs) / (len(runs) - 1) / len(runs))
    expected = 1.0 - light_availability(faults_per_day, 3.0)
    assert abs(mean - expected) < DEVIATIONS * deviation
    assert deviation < 0.05 * expected, "wide enough to let a wrong formula pass"


def test_names_of_parts_are_unique() -> None:
    assert [*PART] == [part.word for part in PARTS]
    assert all(isinstance(part, OcsPart) for part in PARTS)
