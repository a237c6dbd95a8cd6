"""One run of an experiment with the services: a variant under a seed, and its result."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Literal

from ops.lab.backlog import SAMPLES, BacklogRecorder, add_samples, sample_times_us
from ops.lab.run import combined_digest, requests_of_site
from ops.lab.site_run import SiteRun
from ops.lab.workload_trace import TraceRest
from schemas.files.site_plan import SitePlan
from services.totals.fabric_spans import FabricSpan
from services.totals.measures import MEASURES
from shared.basics.units import US_PER_DAY
from shared.engine.site_driver import LabRequest

Figures = dict[str, float | None]
Halves = dict[str, tuple[float | None, float | None]]
"""Measure → its figures in the first and in the second half of a run."""


@dataclass(frozen=True, slots=True)
class ExperimentRunPlan:
    """The plan of a run: the simulated days after a warm-up. `window_us` is the length of a row of the
    series; None stores no series."""

    sites: tuple[SitePlan, ...]
    days: float
    warm_up_days: float
    measures: tuple[str, ...]
    window_us: int | None
    method: Literal["exact", "kernel", "services"] = "services"
    requests: tuple[LabRequest, ...] = ()
    """Recorded faults and changes of parameters, in order of time."""
    trace: TraceRest | None = None
    """The rows of a long trace that are not in the configurations."""

    @property
    def middle_us(self) -> int:
        """The time between the two halves."""
        return self.sample_times_us[SAMPLES // 2]

    @property
    def sample_times_us(self) -> tuple[int, ...]:
        """The times at which backlogs are sampled."""
        bounds_us = self.window_bounds_us
        return sample_times_us(bounds_us[0], bounds_us[-1])

    @property
    def window_bounds_us(self) -> tuple[int, ...]:
        """Return the end of the warm-up and of each window, in microseconds. The last one is the end of the
        run."""
        first_us = round(self.warm_up_days * US_PER_DAY)
        end_us = first_us + round(self.days * US_PER_DAY)
        inner = range(first_us + self.window_us, end_us, self.window_us) if self.window_us else ()
        return (first_us, *inner, end_us)


@dataclass(frozen=True, slots=True)
class Window:
    """A window of simulated time, with its figures."""

    from_us: int
    to_us: int
    figures: Figures


@dataclass(frozen=True, slots=True)
class RunResult:
    """The result of a run, in total, by window and by half. `digest` is the digest of its log.

    `backlogs` has the samples of each of `ops.lab.backlog.BACKLOGS` that the run has. Closed forms have
    neither halves nor backlogs.
    """

    figures: Figures
    windows: tuple[Window, ...]
    messages: int
    cpu_s: float
    digest: str
    halves: Halves = field(default_factory=dict)
    backlogs: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


def run_services(plan: ExperimentRunPlan) -> RunResult:
    """Run all sites of a plan from the commissioning of their fabrics to the end."""
    began_s = time.process_time()
    runs, sampled = list[SiteRun](), []
    for site in plan.sites:
        run = SiteRun(site, plan.window_bounds_us[0], split_us=plan.middle_us)
        backlog = BacklogRecorder(plan.sample_times_us)
        run.run_windows(
            plan.window_bounds_us,
            requests_of_site(plan.requests, site, plan.trace),
            steps_us=plan.sample_times_us,
            on_step=partial(backlog.see, run),
        )
        runs.append(run)
        sampled.append(backlog.samples)
    halves = [run.half_spans() for run in runs]
    over_time = [name for name in plan.measures if MEASURES[name].over_time]
    windows = [
        Window(
            *window_bounds_us,
            measure_all(over_time, [span for run in runs for span in run.windows[n].spans.values()]),
        )
        for n, window_bounds_us in enumerate(pairwise(plan.window_bounds_us))
    ]
    return RunResult(
        figures=measure_all(plan.measures, [span for run in runs for span in run.whole_spans().values()]),
        windows=tuple(windows if plan.window_us else ()),
        messages=sum(run.lab.messages for run in runs),
        cpu_s=time.process_time() - began_s,
        digest=combined_digest([site.site for site in plan.sites], [run.lab.log_sha256 for run in runs]),
        halves=measure_halves(
            plan.measures,
            [span for first, _ in halves for span in first.values()],
            [span for _, second in halves for span in second.values()],
        ),
        backlogs=add_samples(sampled),
    )


def measure_halves(names: Sequence[str], first: Sequence[FabricSpan], second: Sequence[FabricSpan]) -> Halves:
    """Each of these measures in both halves of a run."""
    before, after = measure_all(names, first), measure_all(names, second)
    return {name: (before[name], after[name]) for name in names}


def measure_all(names: Sequence[str], spans: Sequence[FabricSpan]) -> Figures:
    """Return each of these measures, over the fabrics of the kinds that have it."""
    return {name: MEASURES[name].value(spans) for name in names}
