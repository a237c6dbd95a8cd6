"""One run of an experiment: a variant under a seed, and all that it came to."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from ops.experiments.measures import MEASURES
from ops.lab.run import combined_digest
from ops.lab.site_run import SiteRun, SiteTotals
from schemas.files.site_plan import SitePlan
from shared.basics.units import US_PER_DAY

Figures = dict[str, float | None]
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ExperimentRunPlan:
    """What a run does: some days after a warm-up, with a row of the series every `window_us`, or none where
    that is None."""

    sites: tuple[SitePlan, ...]
    days: float
    warm_up_days: float
    measures: tuple[str, ...]
    window_us: int | None
    method: Literal["exact", "kernel", "services"] = "services"

    @property
    def window_bounds_us(self) -> tuple[int, ...]:
        """The end of the warm-up, and of each window; the last one is the end of the run."""
        first_us = round(self.warm_up_days * US_PER_DAY)
        end_us = first_us + round(self.days * US_PER_DAY)
        inner = range(first_us + self.window_us, end_us, self.window_us) if self.window_us else ()
        return (first_us, *inner, end_us)


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of simulated time, and what it came to."""

    from_us: int
    to_us: int
    figures: Figures


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run came to, as a whole and by window. `digest` is that of its log."""

    figures: Figures
    windows: tuple[Window, ...]
    messages: int
    cpu_s: float
    digest: str


def run_services(plan: ExperimentRunPlan) -> RunResult:
    """Run all sites of a plan from the commissioning of their fabrics to the end."""
    began_s = time.process_time()
    parts = [_SiteCourse(plan, site) for site in plan.sites]
    over_time = [name for name in plan.measures if MEASURES[name].over_time]
    windows = [
        Window(*window_bounds_us, measure_all(over_time, [row for part in parts for row in part.windows[n]]))
        for n, window_bounds_us in enumerate(pairwise(plan.window_bounds_us))
    ]
    return RunResult(
        figures=measure_all(plan.measures, [row for part in parts for row in part.whole]),
        windows=tuple(windows if plan.window_us else ()),
        messages=sum(part.messages for part in parts),
        cpu_s=time.process_time() - began_s,
        digest=combined_digest([site.site for site in plan.sites], [part.digest for part in parts]),
    )


def measure_all(names: Sequence[str], rows: Sequence[Row]) -> Figures:
    """Each of these measures of the fabrics of its kinds."""
    return {
        name: MEASURES[name].of([row for row in rows if row["kind"] in MEASURES[name].kinds])
        for name in names
    }


class _SiteCourse:
    """One site, run to the end: a row of its every fabric, of all that counts (`whole`) and by window."""

    def __init__(self, plan: ExperimentRunPlan, site: SitePlan) -> None:
        first_us, *ends_us = plan.window_bounds_us
        run = SiteRun(site, first_us)
        before: SiteTotals = {}
        if first_us:
            run.run(first_us)
            before = run.read_totals()
        begun = before
        self.windows: list[list[Row]] = []
        for at_us in ends_us:
            run.run(at_us)
            now = run.read_totals(whole=at_us == ends_us[-1])
            self.windows.append([run.row(fabric, before, now) for fabric in site.fabrics])
            before = now
        self.whole = [run.row(fabric, begun, before) | run.counted(fabric) for fabric in site.fabrics]
        self.messages = run.lab.messages
        self.digest = run.lab.log_sha256
