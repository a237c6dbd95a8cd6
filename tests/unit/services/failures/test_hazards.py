"""Natural faults: rates, targets and times, against the statistics of Poisson processes."""

import math
from collections import Counter
from itertools import pairwise
from statistics import fmean

import pytest

from schemas.config.failures import FailuresConfig
from schemas.config.pods import PodConfig, SuperpodConfig
from schemas.messages.failures import FaultBegan
from schemas.messages.repairs import RepairCompleted
from schemas.names import FaultKind
from services.failures.hazards import draw_target, parts_at_risk
from services.failures.service import SERVICE
from shared.basics.units import US_PER_DAY
from shared.models.faults.link_faults import NATURAL_SHARES
from shared.models.ocs.parts import PARTS
from shared.models.superpod.superpod_plant import superpod_plant
from tests.support.rig import Bench, bodies

DEVIATIONS = 4.5
"""Allowed standard deviations; with one fixed seed and few comparisons, a chance failure is very unlikely."""


def run_with_instant_repairs(config: SuperpodConfig, days: float) -> Bench:
    """Every fault is repaired in the microsecond of its start, so that all parts are always at risk."""
    bench = Bench([SERVICE], config)
    until_us = days * US_PER_DAY
    while (due_us := bench.due_us()) is not None and due_us <= until_us:
        for fault_began in bodies(bench.step(), FaultBegan):
            repair = RepairCompleted(
                repair="pod-0/repair-0", target=fault_began.target, technician=0, waited_us=0, took_us=0
            )
            bench.say(repair)
    return bench


def test_rates_times_and_targets_are_those_of_poisson_processes() -> None:
    days = 2000
    bench = run_with_instant_repairs(
        SuperpodConfig(seed=11, failures=FailuresConfig(ocs_per_day=0.004)), days
    )
    starts = [(m.at_us, m.body) for m in bench.log if isinstance(m.body, FaultBegan)]
    counts = Counter(fault.kind for _, fault in starts)
    expected: dict[FaultKind, float] = {
        "host": 1024 * 0.0008 * days,
        "link": 6144 * 0.00005 * days,
        **{kind: 6144 * 0.00002 * share * days for kind, share in NATURAL_SHARES.items()},
        **{part.word: 48 * 0.004 * part.share * days for part in PARTS},
    }
    assert set(counts) == set(expected)
    for kind, mean in expected.items():
        assert abs(counts[kind] - mean) < DEVIATIONS * math.sqrt(mean), kind

    times = [at_us / US_PER_DAY for at_us, fault in starts if fault.kind == "host"]
    gaps = [b - a for a, b in pairwise(times)]
    mean_days = 1 / (1024 * 0.0008)
    spread = mean_days / math.sqrt(len(gaps))
    assert abs(fmean(gaps) - mean_days) < DEVIATIONS * spread
    longer = sum(gap > mean_days for gap in gaps) / len(gaps)
    share = math.exp(-1)
    assert abs(longer - share) < DEVIATIONS * math.sqrt(share * (1 - share) / len(gaps))

    cubes = Counter(
        superpod_plant(64).parse(fault.target)["cube"] for _, fault in starts if fault.kind == "host"
    )
    chi_squared = sum((cubes[c] - len(times) / 64) ** 2 / (len(times) / 64) for c in range(64))
    assert abs(chi_squared - 63) < DEVIATIONS * math.sqrt(2 * 63)


def test_every_part_of_a_class_can_fail_and_exists() -> None:
    classes: list[tuple[FaultKind, str]] = [
        ("host", "host"),
        ("link", "end"),
        ("ocs", "ocs"),
        ("driver", "driver"),
    ]
    for kind, part_kind in classes:
        size = parts_at_risk(kind, superpod_plant(5))
        targets = {draw_target(0, "pod-0", kind, n, superpod_plant(5)) for n in range(12 * size)}
        assert len(targets) == size
        assert {superpod_plant(5).parse(target).kind for target in targets} == {part_kind}


@pytest.mark.parametrize(
    "failures",
    [
        FailuresConfig(enabled=False),
        FailuresConfig(host_per_day=0, link_per_day=0, optics_per_day=0, ocs_per_day=0, stray_per_day=0),
        FailuresConfig(until_days=0),
    ],
)
def test_without_hazards_no_fault_begins_by_itself(failures: FailuresConfig) -> None:
    assert Bench([SERVICE], SuperpodConfig(failures=failures)).due_us() is None


def test_no_fault_begins_by_itself_after_the_last_day() -> None:
    config = SuperpodConfig(seed=3, failures=FailuresConfig(until_days=20))
    bench = run_with_instant_repairs(config, 100)
    endless = run_with_instant_repairs(SuperpodConfig(seed=3), 20)
    assert bench.due_us() is None
    limited, full = bodies(bench.log, FaultBegan), bodies(endless.log, FaultBegan)
    assert limited == full
    assert len(limited) > 10


def test_a_broken_part_does_not_break_again_in_the_same_way() -> None:
    """Nothing is repaired. In the end, every part that breaks often is broken once, and time still
    advances."""
    rates = FailuresConfig(host_per_day=50, link_per_day=0, ocs_per_day=100)
    bench = Bench([SERVICE], SuperpodConfig(pod=PodConfig(cubes=4), failures=rates))
    bench.run(2 * US_PER_DAY)
    starts = [(b.kind, b.target) for b in bodies(bench.log, FaultBegan)]
    assert len(starts) == len(set(starts))
    counts = Counter(kind for kind, _ in starts)
    assert (counts["host"], counts["cpu"], counts["fan"]) == (64, 48, 4 * 48)
    assert bench.step() == []
