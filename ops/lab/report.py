"""What came of a fabric's run between two moments: slices, utilisation, availability, faults, repairs."""

from dataclasses import dataclass, replace
from typing import Any

from schemas.documents import (
    CubesSummary,
    FailuresSummary,
    OcsSummary,
    RepairsSummary,
    SchedulerSummary,
    WorkloadSummary,
)
from services.jobs.books import used_chip_us
from services.jobs.state import JobsState
from services.scheduler.books import chip_us_at
from services.scheduler.state import SchedulerState
from shared.engine.site import Site
from shared.engine.state import StateT
from shared.models.superpod.wiring import CHIPS_PER_CUBE

COUNTED = ("requested", "admitted", "completed", "evicted", "refused", "swapped")
"""Slices that are counted as something happens to them; those that run or wait are as many as there are."""


@dataclass(frozen=True, slots=True)
class Totals:
    """All that was counted of one fabric from its commissioning up to `at_us`.

    `chip_us` is allocated chip-time and `cube_us` healthy cube-time in microseconds; `used_us` is by place
    what every chip's time went to. `cross_connects` is None where there are no OCSes.
    """

    at_us: int
    commissioned_us: int
    cubes: int
    slices: dict[str, int]
    running: int
    queued: int
    chip_us: int
    used_us: dict[str, int]
    cube_us: int
    faults: dict[str, int]
    repairs: int
    cross_connects: int | None


def totals(site: Site, fabric: str, at_us: int) -> Totals:
    """Read off the status documents of one pod, whose time has come to `at_us`."""
    workload = _summary(site, fabric, "workload", WorkloadSummary)
    scheduler = _summary(site, fabric, "scheduler", SchedulerSummary)
    cubes = _summary(site, fabric, "cubes", CubesSummary)
    failures = _summary(site, fabric, "failures", FailuresSummary)
    chip_us = chip_us_at(_state(site, fabric, "scheduler", SchedulerState), at_us)
    allocated_us = chip_us.pop("allocated")
    used_us = used_chip_us(_state(site, fabric, "jobs", JobsState), at_us) | chip_us
    switched = any(i.fabric == fabric and i.name == "ocs" for i in site.instances)
    return Totals(
        at_us=at_us,
        commissioned_us=workload.commissioned_us,
        cubes=cubes.cubes,
        slices={word: getattr(workload if word == "requested" else scheduler, word) for word in COUNTED},
        running=scheduler.running,
        queued=scheduler.queued,
        chip_us=allocated_us,
        used_us=used_us,
        cube_us=cubes.healthy_cube_us + cubes.healthy * (at_us - cubes.at_us),
        faults={"host": failures.host, "link": failures.link} | ({"ocs": failures.ocs} if switched else {}),
        repairs=_summary(site, fabric, "repairs", RepairsSummary).completed,
        cross_connects=_summary(site, fabric, "ocs", OcsSummary).cross_connects if switched else None,
    )


def report(fabric: str, end: Totals, since: Totals | None = None) -> dict[str, Any]:
    """What happened from `since`, or else from the commissioning, up to `end`.

    Utilisation is allocated chip-time over all chip-time; cube availability is healthy cube-time over all
    cube-time. Slices that run or wait are those at the end. What OCSes did is left out where there are none.
    """
    since = since or _beginning(end)
    span_us = end.at_us - since.at_us
    chip_us, cube_us = end.chip_us - since.chip_us, end.cube_us - since.cube_us
    counted = {word: count - since.slices[word] for word, count in end.slices.items()}
    found = {
        "fabric": fabric,
        "slices": counted | {"running": end.running, "queued": end.queued},
        "utilisation": chip_us / (end.cubes * CHIPS_PER_CUBE * span_us) if span_us else 0.0,
        "goodput": {
            "total_chip_us": end.cubes * CHIPS_PER_CUBE * span_us,
            "chip_us": {place: us - since.used_us[place] for place, us in end.used_us.items()},
        },
        "cube_availability": cube_us / (end.cubes * span_us) if span_us else 1.0,
        "faults": {kind: count - since.faults[kind] for kind, count in end.faults.items()},
        "repairs": end.repairs - since.repairs,
    }
    if end.cross_connects is not None:
        found["cross_connects"] = end.cross_connects - (since.cross_connects or 0)
    return found


def _beginning(end: Totals) -> Totals:
    """What had been counted of the same fabric when it was commissioned: nothing."""
    return replace(
        end,
        at_us=end.commissioned_us,
        slices=dict.fromkeys(end.slices, 0),
        chip_us=0,
        used_us=dict.fromkeys(end.used_us, 0),
        cube_us=0,
        faults=dict.fromkeys(end.faults, 0),
        repairs=0,
        cross_connects=0,
    )


def pod_report(site: Site, fabric: str, until_us: int) -> dict[str, Any]:
    """What came of one pod from its commissioning up to `until_us`."""
    return report(fabric, totals(site, fabric, until_us))


def _state(site: Site, fabric: str, service: str, kind: type[StateT]) -> StateT:
    state = site.instance(fabric, service).state
    if not isinstance(state, kind):
        raise TypeError(f"{service} of {fabric} holds no {kind.__name__}")
    return state


def _summary(site: Site, fabric: str, service: str, model: type[Any]) -> Any:
    instance = site.instance(fabric, service)
    document = instance.service.document(instance.state, ("summaries", f"{fabric}/{service}"))
    if not isinstance(document, model):
        raise TypeError(f"{service} of {fabric} has no summary")
    return document
