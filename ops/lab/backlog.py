"""The backlog of a run, sampled at equal intervals: open repairs, and slices that wait for cubes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from schemas.documents.repairs import RepairsSummary
from services.scheduler.state import SchedulerState
from services.totals.summaries import summary_of
from shared.basics.units import US_PER_DAY

if TYPE_CHECKING:
    from ops.lab.site_run import SiteRun

SAMPLES = 40
"""Intervals between the samples of a run."""
BACKLOGS: Mapping[str, str] = {
    "open_repairs": "repairs in progress or waiting",
    "queued_slices": "slices that wait, without filler",
}
"""Name of a backlog → its meaning."""
START_SHARE = 0.1
"""The first part of a run, warm-up included, in which no growth is measured: its queues fill."""


def sample_times_us(from_us: int, to_us: int) -> tuple[int, ...]:
    """The times of the samples, both ends included."""
    span_us = to_us - from_us
    return tuple([from_us + span_us * n // SAMPLES for n in range(SAMPLES + 1)])


def measured_from(warm_up_days: float, days: float) -> int:
    """The first sample from which growth is measured."""
    start_days = START_SHARE * (warm_up_days + days) - warm_up_days
    return max(0, min(SAMPLES // 2, round(SAMPLES * start_days / days)))


def sample_days(from_us: int, to_us: int) -> list[float]:
    """The times of the samples in days since the first."""
    return [(at_us - from_us) / US_PER_DAY for at_us in sample_times_us(from_us, to_us)]


@dataclass
class BacklogRecorder:
    """Samples the backlogs of a site's run. Pass `times_us` as steps of the run and call `see` after each."""

    times_us: Sequence[int]
    samples: dict[str, list[int]] = field(default_factory=dict)
    _taken: int = 0

    def see(self, run: "SiteRun") -> None:
        """Sample if it is time. At the commissioning of its fabrics a site has no backlog."""
        due = sum(at_us <= run.at_us for at_us in self.times_us)
        if due <= self._taken:
            return
        for name, number in backlogs_of(run).items():
            known = self.samples.setdefault(name, [])
            known += [0 if at_us == 0 else number for at_us in self.times_us[len(known) : due]]
        self._taken = due


def backlogs_of(run: "SiteRun") -> dict[str, int]:
    """The backlogs of all fabrics of a site now, without those whose services do not run."""
    found: dict[str, int] = {}
    for instance in run.lab.site.instances:
        if instance.name == "repairs":
            one: RepairsSummary = summary_of(run.lab.site, instance.fabric, "repairs", RepairsSummary)
            found["open_repairs"] = found.get("open_repairs", 0) + one.queued + one.begun + one.tested
        elif isinstance(state := instance.state, SchedulerState):
            waiting = [r for r in state.slices.values() if r.state == "queued" and r.tier != "filler"]
            found["queued_slices"] = found.get("queued_slices", 0) + len(waiting)
    return found


def add_samples(parts: Sequence[Mapping[str, Sequence[int]]]) -> dict[str, tuple[int, ...]]:
    """The backlogs of several sites together."""
    names = dict.fromkeys(name for part in parts for name in part)
    return {
        name: tuple(map(sum, zip(*[part[name] for part in parts if name in part], strict=True)))
        for name in names
    }
