"""Whether a variant of an experiment is steady: by its offered loads before any run, and by the growth of its
backlogs after them.

A figure of a queue that grows is a figure of its days. The guard therefore has two parts. Before any run, no
load may be 1 or more, and a run must last for 20 relaxation times of the technicians. After the runs, no
backlog may grow, by a one-sided t test over seeds.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path

from ops.experiments.dataset import RunRow
from ops.experiments.loader import PlannedExperiment
from ops.experiments.recorded_inputs import trace_of
from ops.experiments.schema import Experiment, Fabric, Values
from ops.experiments.variant_sites import sites_of
from ops.experiments.variants import Variant
from ops.lab.backlog import BACKLOGS, measured_from, sample_days
from ops.lab.lasting_loads import LoadPiece, lasting_loads
from ops.lab.offered_load import LoadCheck, loads_of_sites
from ops.requests.option_syntax import parse_run_time_us
from shared.basics.units import US_PER_DAY, US_PER_S
from shared.models.reliability.server_load import ServerLoad
from shared.models.statistics.trend import growth

ALPHA = 0.01
"""Probability with which the test reports the growth of a backlog that does not grow."""
TESTED_SEEDS_MIN = 4
"""Seeds with which the test sees growth: with two it misses most of it."""


NOT_YET = "not yet steady"
S_PER_DAY = US_PER_DAY / US_PER_S


@dataclass(frozen=True, slots=True)
class BacklogGrowth:
    """A backlog of a variant: its means over seeds at both ends, and its growth a day. `chance` is the
    p-value of the one-sided test that it grows; 1 for a single seed."""

    name: str
    start: float
    end: float
    per_day: float
    chance: float
    runs: int
    means: tuple[float, ...] = ()
    """The mean over seeds of each sample."""
    scatters: bool = True
    """Whether the seeds differ. If they do not, only a growth of more than one job is reported."""
    measured_days: float = 0.0
    """The days over which the growth is measured."""

    @property
    def is_tested(self) -> bool:
        """Whether the test could have seen growth, or saw it."""
        if self.problem is not None:
            return True
        return self.runs >= TESTED_SEEDS_MIN and (self.scatters or self.per_day <= 0.0)

    @property
    def word(self) -> str:
        """Whether it is steady: `yes`, `not steady`, or `not tested`."""
        if self.problem is not None:
            return "not steady"
        return "yes" if self.is_tested else "not tested"

    @property
    def problem(self) -> str | None:
        """What is not steady, as a clause."""
        if self.chance >= ALPHA:
            return None
        if not self.scatters and self.per_day * self.measured_days <= 1.0:
            return None
        return (
            f"not steady: {BACKLOGS[self.name]} went from {self.start:.3g} to {self.end:.3g} and grew by "
            f"{self.per_day:.2g} a day (p = {self.chance:.1g} over {self.runs} seeds)"
        )


@dataclass(frozen=True, slots=True)
class VariantSteadiness:
    """Whether a variant is steady, with its loads and its backlogs. Nothing is known of the backlogs of
    closed forms and of runs of older builds."""

    variant: Variant
    loads: tuple[LoadCheck, ...]
    backlogs: tuple[BacklogGrowth, ...] = ()

    @property
    def problems(self) -> tuple[str, ...]:
        """What is not steady, what is only too short last; empty if nothing is."""
        every = [*(one.problem for one in self.loads), *(one.problem for one in self.backlogs)]
        found = [problem for problem in every if problem is not None]
        return tuple(sorted(found, key=lambda problem: problem.startswith(NOT_YET)))

    @property
    def is_untested(self) -> bool:
        """Whether the growth of a backlog is not tested."""
        return any(not one.is_tested for one in self.backlogs)

    @property
    def is_steady(self) -> bool:
        return not self.problems

    @property
    def word(self) -> str:
        """The verdict as shown in tables."""
        if self.is_steady:
            return "steady"
        is_short = all(problem.startswith(NOT_YET) for problem in self.problems)
        return NOT_YET if is_short else "not steady"


def load_checks(experiment: Experiment, variant: Variant, folder: Path) -> tuple[LoadCheck, ...]:
    """The loads of a variant. If parameters change during the runs, of each load that which acts for long
    enough and is the least steady."""
    fabric = experiment.fabric
    whole_days = fabric.warm_up_days + fabric.days
    pieces: dict[str, list[LoadPiece]] = {}
    for values, from_days, to_days in _states(fabric, {**fabric.set, **dict(variant.values)}):
        for load in _loads(experiment, values, folder, whole_days):
            pieces.setdefault(load.name, []).append(LoadPiece(load, from_days, to_days))
    return tuple([_check(lasting_loads(own, whole_days), fabric.days) for own in pieces.values()])


def _check(pieces: Sequence[LoadPiece], days: float) -> LoadCheck:
    checks = [LoadCheck(one.load, days, one.days) for one in pieces]
    return max(checks, key=lambda one: (one.problem is not None, one.load.load))


def _states(fabric: Fabric, own: Values) -> list[tuple[Values, float, float]]:
    """The parameters of the runs, each with the days from which and to which they act."""
    end_days = fabric.warm_up_days + fabric.days
    changes = sorted([(_change_days(one.at), one) for one in fabric.changes], key=lambda pair: pair[0])
    times = [0.0, *[at for at, _ in changes if at < end_days], end_days]
    states = accumulate([dict(one.set) for _, one in changes], _changed, initial=own)
    return [state for state in zip(states, times, times[1:], strict=False) if state[1] < state[2]]


def _change_days(at: str) -> float:
    return parse_run_time_us("at", at) / US_PER_DAY


def _changed(values: Values, change: Values) -> Values:
    return {**values, **change}


def _loads(experiment: Experiment, values: Values, folder: Path, days: float) -> tuple[ServerLoad, ...]:
    """The loads with these parameters; of a trace all rows count."""
    sites = sites_of(experiment, values, folder)
    fabric = experiment.fabric
    if fabric.trace is None or fabric.site is not None:
        return loads_of_sites(sites, days)
    config = next(iter(sites[0].fabrics.values()))
    return loads_of_sites(sites, days, trace_of(experiment, config, folder).work)


def steadiness_before(
    planned: PlannedExperiment, on_progress: Callable[[int], None] | None = None
) -> tuple[VariantSteadiness, ...]:
    """Check the loads of each variant, before any run. Calls `on_progress` before each variant, with the
    number of variants checked so far."""
    found = []
    for number, variant in enumerate(planned.variants):
        if on_progress is not None:
            on_progress(number)
        loads = load_checks(planned.experiment, variant, planned.folder)
        found.append(VariantSteadiness(variant, loads))
    return tuple(found)


def steadiness_after(
    experiment: Experiment, before: Sequence[VariantSteadiness], rows: Mapping[str, Sequence[RunRow]]
) -> tuple[VariantSteadiness, ...]:
    """Add the backlogs of each variant to its loads. `rows` are its runs, by its key."""
    return tuple(
        [replace(one, backlogs=backlog_growths(experiment, rows.get(one.variant.key, ()))) for one in before]
    )


def backlog_growths(experiment: Experiment, rows: Sequence[RunRow]) -> tuple[BacklogGrowth, ...]:
    """The growth of each backlog over the runs of a variant.

    It is measured behind the first tenth of the runs, warm-up included, in which queues fill.
    """
    fabric = experiment.fabric
    first = measured_from(fabric.warm_up_days, fabric.days)
    days = sample_days(0, round(fabric.days * US_PER_DAY))
    found = []
    for name in BACKLOGS:
        samples = [row.backlogs[name] for row in rows if name in row.backlogs]
        if not samples:
            continue
        grown = growth(days[first:], [values[first:] for values in samples])
        means = tuple([sum(column) / len(samples) for column in zip(*samples, strict=True)])
        found.append(
            BacklogGrowth(
                name,
                means[0],
                means[-1],
                grown.slope,
                grown.chance,
                len(samples),
                means,
                grown.scatters,
                days[-1] - days[first],
            )
        )
    return tuple(found)
