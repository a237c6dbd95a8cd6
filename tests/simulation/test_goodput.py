"""Chip-time accounting at random times of random runs: exact, additive and monotonic."""

import random
from itertools import pairwise

import pytest

from ops.lab.site_run import SiteRun, SiteTotals
from schemas.files.site_plan import SitePlan
from services.totals.fabric_spans import FabricSpan, fabric_span
from services.totals.pod_totals import PodTotals, chip_time_at
from shared.basics.units import US_PER_HOUR
from shared.models.jobs.goodput_accounting import (
    ChipTime,
    chip_time_between,
    chip_time_spans,
    sum_by_category,
    sum_usage,
)
from shared.models.jobs.goodput_categories import UsageByCategory
from tests.support.pods import POD, pod_lab
from tests.support.swarm import draw_scenario

SAMPLES = 30
GATE = [0, 1]
REST = [
    pytest.param(seed, marks=pytest.mark.slow("a pod of a day, whose chip-time is computed thirty times"))
    for seed in range(3, 9)
]
"""Seed 2 is left out: it draws a pod with a single owner."""
WORK = {"productive", "uncommitted", "lost"}
"""Categories that a completed step may be in; only its future decides which."""


def assert_exact(chip_time: ChipTime) -> None:
    """Check that no category is negative, that they add up to all chip-time, and that slices use part of
    their owner's time."""
    assert sum(chip_time.chip_us.values()) == chip_time.total_chip_us
    assert min(chip_time.chip_us.values()) >= 0
    for group, used in chip_time.used.items():
        known = sum_usage(
            [slice_time.used for slice_time in chip_time.slices.values() if slice_time.group == group]
        )
        assert min(used.minus(known).by_category().values()) >= 0, group


def never_less(before: ChipTime, now: ChipTime) -> bool:
    """Whether no category fell, except the one that may go down."""
    level = before.used_by()["uncommitted"]
    falls = {place: us - now.chip_us[place] for place, us in before.chip_us.items()}
    return max(us for place, us in falls.items() if place != "uncommitted") <= 0 <= level


@pytest.mark.parametrize("seed", [*GATE, *REST])
def test_every_chip_microsecond_is_in_one_category_at_any_time(seed: int) -> None:
    scenario = draw_scenario(seed)
    lab = pod_lab(scenario.config)
    draw = random.Random(seed)
    times_us = sorted(draw.randrange(1, scenario.quiet_us) for _ in range(SAMPLES))
    samples: list[ChipTime] = []
    at_us = -1
    for until_us in times_us:
        lab.run(until_us, [request for request in scenario.requests if at_us < request.at_us <= until_us])
        at_us = until_us
        samples.append(chip_time_at(lab.site, POD, at_us))
        assert_exact(samples[-1])
    assert all(never_less(before, now) for before, now in pairwise(samples))
    for before in samples:
        assert_exact(chip_time_between(before, samples[-1]))
    spans = chip_time_spans([samples[0].at_start, *samples])
    for span in spans:
        assert_exact(span)
    parts, whole = sum_by_category([span.chip_us for span in spans]), samples[-1].chip_us
    assert {place for place, us in whole.items() if us != parts[place]} <= WORK
    assert sum(parts[place] for place in WORK) == sum(whole[place] for place in WORK)
    assert sum(used != UsageByCategory() for used in samples[-1].used.values()) > 1


@pytest.mark.parametrize("seed", [*GATE, *REST[:2]])
def test_the_accounting_of_an_hour_from_living_slices_equals_that_from_all_slices(seed: int) -> None:
    """They are equal to the microsecond, also for the whole run, which includes slices that ended during
    it."""
    scenario = draw_scenario(seed)
    config = scenario.config.model_copy(
        update={"workload": scenario.config.workload.model_copy(update={"duration_mean_h": 1.0})}
    )
    run = SiteRun(SitePlan(site=POD, fabrics={POD: config}))
    whole, lean = [run.read_totals()], [run.read_totals(whole=False)]
    for hour in range(1, 25):
        run.run(hour * US_PER_HOUR, scenario.requests)
        whole.append(run.read_totals())
        lean.append(run.read_totals(whole=False))
        assert between(lean[-2], lean[-1]) == between(whole[-2], whole[-1])
    assert between(lean[2], whole[-1]) == between(whole[2], whole[-1])
    assert len(ended(whole[-1])) > len(ended(lean[-1]))


def between(since: SiteTotals, end: SiteTotals) -> FabricSpan:
    return fabric_span("superpod", end[POD], since[POD])


def ended(read_totals: SiteTotals) -> list[str]:
    """Return the slices that ended and have their own accounting."""
    totals = read_totals[POD]
    assert isinstance(totals, PodTotals)
    return [name for name, slice_time in totals.chip_time.slices.items() if slice_time.ended_us is not None]
