"""Every ready-made experiment, in its quick form."""

import math
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from ops.experiments.dataset import SERIES, open_dataset
from ops.experiments.html_report import html_report
from ops.experiments.library import FOLDER, ready
from ops.experiments.loader import quick_version, read_experiment
from ops.experiments.result_json import results_json
from ops.experiments.result_text import answer_text
from ops.experiments.results import results_of
from ops.experiments.sweep import run_sweep
from ops.local.software_version import software_version
from tests.support.seeds import rotating


@pytest.mark.parametrize("name", rotating([name for name, _ in ready()], "labs of every variant and seed"))
def test_every_ready_experiment_runs_and_every_figure_has_an_interval(name: str, tmp_path: Path) -> None:
    planned = quick_version(read_experiment(FOLDER / f"{name}.yaml"))
    with open_dataset(tmp_path / "results", planned, software_version(), resume=False) as dataset:
        results = results_of(planned, run_sweep(planned, dataset))
    assert not results.failed
    measured = {(figure.variant, figure.measure) for figure in results.figures}
    assert {variant for variant, _ in measured} == set(planned.variants)
    assert len(pq.read_table(tmp_path / "results" / SERIES, partitioning=None)) >= 4 * len(planned.variants)
    first = planned.experiment.measure[0]
    assert all((variant, first) in measured for variant in planned.variants)
    assert all(
        math.isfinite(figure.interval.half_width) for figure in results.figures if figure.interval.runs > 1
    )
    assert results.compared
    assert results_json(results)["quick"]
    assert answer_text(results).startswith("A quick run")
    assert "answers nothing" in html_report(results, "lightwave experiment run", "1+abc")


def test_every_ready_experiment_has_a_falsifiable_claim() -> None:
    assert len(ready()) >= 10
    for name, _ in ready():
        planned = read_experiment(FOLDER / f"{name}.yaml")
        assert planned.experiment.claim is not None, name
        assert planned.experiment.compare is not None, name


def test_a_quick_form_has_all_variants_and_less_of_everything_else() -> None:
    planned = read_experiment(FOLDER / "technicians.yaml")
    small = quick_version(planned)
    assert small.variants == planned.variants
    assert small.experiment.fabric.days <= 1
    assert small.experiment.seeds.count == 2
    assert small.experiment.measure == planned.experiment.measure
    assert small.experiment.seeds.first == planned.experiment.seeds.first
