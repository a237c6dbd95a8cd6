"""The runs of a sweep so far, for reports. Reports run nothing, so this imports no method of runs."""

from collections.abc import Mapping
from dataclasses import dataclass

from ops.experiments.dataset import RunKey, RunRow
from ops.experiments.loader import PlannedExperiment
from ops.experiments.seed_stopping_rule import is_enough, seed_of


@dataclass(frozen=True, slots=True)
class SweepResult:
    """The result of a sweep. `is_enough` is true if every measure has its required precision."""

    rows: Mapping[RunKey, RunRow]
    seeds: int
    is_enough: bool


def partial_result(planned: PlannedExperiment, rows: Mapping[RunKey, RunRow]) -> SweepResult:
    """Return the result of the runs so far. It uses the seeds that all variants have finished, without a
    gap."""
    most = planned.experiment.seeds.count or planned.experiment.seeds.most or 0
    seeds = 0
    while seeds < most and all((v.key, seed_of(planned, v, seeds)) in rows for v in planned.variants):
        seeds += 1
    return SweepResult(
        rows, seeds, is_enough=is_enough(planned, rows, seeds) or not planned.experiment.stop_when
    )
