"""Results as data frames: the code blocks of the documentation run as written on every kind of dataset."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pytest

from ops.experiments.dataset import RUNS, open_dataset
from ops.experiments.loader import read_experiment
from ops.experiments.service_run import RunResult, run_services
from ops.experiments.sweep import RUNNERS, run_sweep

DOCS = Path(__file__).parents[2] / "docs" / "reference" / "experiments.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DOCUMENT = """\
title: t
question: q
fabric: {days: 0.1, set: {pod.cubes: 4, failures.host_per_day: 0.4}}
vary: %s
seeds: 2
measure: [goodput, queue_h_p95]
"""
VARIED = {
    "grid": "{repairs.technicians: [1, 2]}",
    "mixed spellings": "{repairs.technicians: ['1', 2, '3'], failures.host_per_day: [1, 0.5]}",
    "list": "{list: [{repairs.technicians: 1}, {repairs.technicians: 2, failures.host_per_day: 1}, {}]}",
}


def write_dataset(folder: Path, vary: str) -> None:
    document = folder / "question.yaml"
    document.write_text(DOCUMENT % vary)
    planned = read_experiment(document)
    with open_dataset(folder / "question.results", planned, "1.0", resume=True) as dataset:
        run_sweep(planned, dataset)


def run_documented_code() -> Mapping[str, Any]:
    """Run the documentation's code blocks in order; return their variables."""
    variables: dict[str, Any] = {}
    blocks = BLOCK.findall(DOCS.read_text())
    assert len(blocks) == 3
    for block in blocks:
        exec(compile(block, str(DOCS), "exec"), variables)  # noqa: S102 -- the documentation's own
    return variables


@pytest.mark.parametrize("vary", VARIED.values(), ids=VARIED)
def test_the_code_of_the_documentation_reads_the_dataset(
    vary: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    failed: list[Any] = []

    def odd(plan: Any) -> RunResult:
        if not failed:
            failed.append(plan)
            raise ValueError("the first one")
        return run_services(plan)

    monkeypatch.setitem(RUNNERS, "services", odd)
    write_dataset(tmp_path, vary)
    variables = run_documented_code()
    by_sql = {row[0]: row[1] for row in variables["by_hand"]}
    by_polars = dict(variables["means"].iter_rows())
    assert by_sql == pytest.approx(by_polars)
    assert (
        sum(row[3] for row in variables["by_hand"]) == len(list(Path("question.results/runs").iterdir())) - 1
    )
    assert {technicians for technicians, _ in variables["days"].index} == by_sql.keys() - {None}
    assert variables["runs"]["error"].drop_nulls().len() == 1


def test_points_of_a_latin_hypercube_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_dataset(tmp_path, "{latin_hypercube: {points: 3, between: {failures.host_per_day: [0.1, 0.9]}}}")
    text = "SELECT \"failures.host_per_day\" FROM 'question.results/runs/*.parquet'"
    points = sorted(row[0] for row in duckdb.execute(text).fetchall())
    assert len({*points}) == 3
    assert points == sorted(pd.read_parquet("question.results/runs")["failures.host_per_day"])
    runs = pl.read_parquet("question.results/runs/*.parquet")
    assert points == sorted(runs["failures.host_per_day"])


def test_a_parameter_that_varies_later_becomes_a_column_of_earlier_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_dataset(tmp_path, "{list: [{repairs.technicians: 1}]}")
    first = {path.name for path in Path("question.results/runs").iterdir()}
    write_dataset(tmp_path, "{list: [{repairs.technicians: 1}, {failures.host_per_day: 1}]}")
    run_documented_code()
    runs = pl.read_parquet("question.results/runs/*.parquet")
    assert runs["failures.host_per_day"].to_list().count(1.0) == 2
    assert runs["failures.host_per_day"].null_count() == 2
    assert first < {path.name for path in Path("question.results/runs").iterdir()}
    write_dataset(tmp_path, "{list: [{failures.host_per_day: 1}, {failures.host_per_day: 2}]}")
    run_documented_code()
    assert len(list((tmp_path / "question.results" / RUNS).iterdir())) == 6
