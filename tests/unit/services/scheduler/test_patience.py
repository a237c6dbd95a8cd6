"""Cubes are kept for the first in the queue in turns: one that never fits cannot hold up all others."""

from ops.common.configuration import settings
from schemas.operator import RequestSlice
from schemas.scheduler import SliceAdmitted
from shared.basics.units import US_PER_DAY, US_PER_HOUR
from shared.runtimes.lab import LabRequest
from tests.support.pods import POD, lab_log

CALM = [
    "pod.cubes=8",
    "workload.enabled=false",
    "failures.enabled=false",
    "transceivers.telemetry_interval_s=0",
]


def admissions(patience_h: float) -> dict[str, float]:
    """Slice → hour of admission: one without an end on two of eight cubes, one that wants all from hour 1,
    then one cube each at hours 1.5 (others may pass), 2.5 (cubes are kept) and 3.5."""
    config = settings([*CALM, f"scheduler.backfill_patience_h={patience_h}"], seed=1)
    asked = [(0.5, (4, 4, 8)), (1.0, (8, 8, 8)), (1.5, (4, 4, 4)), (2.5, (4, 4, 4)), (3.5, (4, 4, 4))]
    requests = [
        LabRequest(round(at_h * US_PER_HOUR), POD, RequestSlice(shape=shape), n)
        for n, (at_h, shape) in enumerate(asked, start=1)
    ]
    return {
        message.body.slice.partition("/")[2]: message.at_us / US_PER_HOUR
        for message in lab_log(config, US_PER_DAY, requests)
        if isinstance(message.body, SliceAdmitted)
    }


def test_others_pass_then_wait_then_pass_again() -> None:
    assert admissions(1.0) == {"slice-0": 0.5, "slice-2": 1.5, "slice-3": 3.0, "slice-4": 3.5}


def test_without_patience_cubes_are_always_kept() -> None:
    assert admissions(0.0) == {"slice-0": 0.5}


def test_with_endless_patience_they_are_never_kept() -> None:
    assert admissions(1000.0) == {"slice-0": 0.5, "slice-2": 1.5, "slice-3": 2.5, "slice-4": 3.5}
