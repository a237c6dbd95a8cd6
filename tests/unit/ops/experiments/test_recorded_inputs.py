"""Recorded inputs of experiments: the same files and changes as in the lab, in every seed."""

import json
import re
from pathlib import Path

import pytest

from ops.experiments.comparison import _name_and_value
from ops.experiments.dataset import identity_of
from ops.experiments.interval_text import figure_text
from ops.experiments.loader import parse_experiment, plan_experiment, quick_version, read_experiment
from ops.experiments.sweep import SweepRun, plan_of
from ops.lab import workload_trace
from ops.lab.run_inputs import RunInputs, timed_requests
from schemas.config.pods import SuperpodConfig
from shared.basics.errors import InvalidInput, LightwaveError
from shared.models.statistics.means import Interval

FABRIC = "{days: 2, warm_up_days: 1, set: {pod.cubes: 4}, %s}"


def document(folder: Path, inputs: str) -> Path:
    path = folder / "q.yaml"
    path.write_text(
        f"title: t\nquestion: q?\nfabric: {FABRIC % inputs}\n"
        "vary: {repairs.technicians: [1, 2]}\nseeds: 2\nmeasure: [cube_availability]\n"
    )
    (folder / "faults.csv").write_text(
        "kind,target,begin_s,for_s\nhost,cube-1/host-1,3600,60\nocs,ocs-1,864000,\n"
    )
    (folder / "trace.csv").write_text(
        "submit_s,duration_s,chips\n1680000000,60,64\n1680003600,60,64\n1690000000,60,64\n"
    )
    return path


CHANGES = "changes: [{at: 12h, set: {failures.host_per_day: 0.1, repairs.technicians: 3}}]"
TRACE = "trace: trace.csv, trace_from: 1680000000"


def test_every_seed_and_variant_has_the_inputs_of_the_lab(tmp_path: Path) -> None:
    """The oracle is `lab run` with the same options."""
    planned = read_experiment(document(tmp_path, f"faults: faults.csv, {CHANGES}"))
    options = RunInputs(
        faults=tmp_path / "faults.csv",
        changes=("failures.host_per_day=0.1@12h", "repairs.technicians=3@12h"),
    )
    for variant in planned.variants:
        for seed in (0, 1):
            plan = plan_of(planned, SweepRun(variant, seed))
            assert plan.requests == timed_requests(options, plan.sites, 3.0)[0]
            assert len(plan.requests) == 2
    assert planned.method.name == "services"
    assert "only the full services play fabric.changes" in planned.method.sentence
    (note,) = planned.notes
    assert note.startswith(f"faults {tmp_path / 'faults.csv'}: 1 of 2 rows are not played: they begin after")


def test_a_trace_is_part_of_every_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = read_experiment(document(tmp_path, TRACE))
    plan = plan_of(planned, SweepRun(planned.variants[0], 1))
    config = plan.sites[0].fabrics["pod-0"]
    assert isinstance(config, SuperpodConfig)
    assert [row.submit_us for row in config.trace or ()] == [0, 3_600_000_000, 10_000_000_000_000]
    assert (config.seed, plan.trace) == (1, None)
    assert "1 of 3 rows are not played: 1 after the end of the run" in planned.notes[0]
    monkeypatch.setattr(workload_trace, "TRACE_ROWS_MAX", 1)
    monkeypatch.setattr(workload_trace, "TRACE_PART_ROWS_MAX", 1)
    (tmp_path / "trace.csv").write_text("submit_s,duration_s,chips\n1680000000,60,64\n1680003600,60,128\n")
    assert plan_of(planned, SweepRun(planned.variants[0], 1)).trace is not None


def test_a_quick_run_leaves_out_later_inputs(tmp_path: Path) -> None:
    planned = read_experiment(
        document(tmp_path, f"faults: faults.csv, {CHANGES.replace('12h', '2d')}, {TRACE}")
    )
    quick = quick_version(planned)
    assert len(plan_of(quick, SweepRun(quick.variants[0], 0)).requests) == 1


def test_a_document_without_recorded_inputs_is_stored_as_before() -> None:
    content = {"title": "t", "question": "q?", "fabric": {"days": 1}, "measure": ["cube_availability"]}
    planned = plan_experiment(parse_experiment(content), Path())
    text = json.dumps(identity_of(planned, "x"))
    assert not {"trace", "faults", "changes", "trace_from", "trace_until"} & json.loads(text)["fabric"].keys()
    assert json.loads(text)["site"] is None


def test_results_belong_to_the_content_of_the_files(tmp_path: Path) -> None:
    planned = read_experiment(document(tmp_path, f"faults: faults.csv, {TRACE}"))
    before = identity_of(planned, "x")["site"]
    assert before == identity_of(planned, "x")["site"]
    with (tmp_path / "faults.csv").open("a") as file:
        file.write("ocs,ocs-2,60,60\n")
    assert identity_of(planned, "x")["site"] != before


@pytest.mark.parametrize(
    ("inputs", "sentence"),
    [
        ("changes: [{at: 9d, set: {failures.host_per_day: 1}}]", "is after the end of the run; must be"),
        ("changes: [{at: 5, set: {failures.host_per_day: 1}}]", "fabric.changes.0.at: 5 is not allowed"),
        ("changes: [{at: soon, set: {failures.host_per_day: 1}}]", "'soon' is not a valid time"),
        ("changes: [{at: 1h, set: {}}]", "fabric.changes.0.set"),
        ("changes: [{set: {failures.host_per_day: 1}}]", "fabric.changes.0.at: is missing"),
        ("changes: [{at: 1h, set: {pod.cubes: 8}}]", "pod.cubes 8: cannot change after the fabric"),
        ("changes: [{at: 1h, set: {seed: 8}}]", "seed 8: cannot change after the fabric is commissioned"),
        ("changes: [{at: 1h, set: {traffic.hedge: 1}}]", "traffic.hedge: not a parameter of a superpod"),
        ("changes: [{at: 1h, set: {repairs.technicians: -1}}]", "repairs.technicians: -1 is not allowed"),
        ("changes: [{at: 1h, set: {repairs.technicians: 2}, fabric: pod-4}]", "no such fabric 'pod-4'"),
        ("faults: none.csv", "none.csv: no such file"),
        ("faults: q.yaml", "line 1: column kind is missing"),
        ("trace: trace.csv", "3 of 3 rows are not played: 3 after the end of the run"),
        ("trace: trace.csv, trace_from: 2022-01-01", "'2022-01-01' is not allowed; must be seconds"),
        ("trace_from: 5", "fabric.trace_from: needs a trace; give trace too, or leave it out"),
        ("trace: trace.csv, site: x.yaml", "fabric.trace: must not be given together with site"),
        ("trace: trace.csv, kind: dcn", "a dcn has no slices to request"),
    ],
)
def test_invalid_recorded_inputs_are_refused(tmp_path: Path, inputs: str, sentence: str) -> None:
    path = document(tmp_path, inputs)
    if "kind: dcn" in inputs:
        path.write_text(path.read_text().replace("pod.cubes: 4", "topology.gain_min: 0.1"))
    with pytest.raises(LightwaveError, match=re.escape(sentence)) as caught:
        read_experiment(path)
    if isinstance(caught.value, InvalidInput):
        assert str(caught.value).startswith(f"{path}: line ")


@pytest.mark.parametrize("text", ["repairs.technicians=1", "repairs.technicians 1"])
def test_a_variant_is_named_as_tables_print_it(text: str) -> None:
    assert _name_and_value(text) == ("repairs.technicians", "1")


@pytest.mark.parametrize("text", ["", "repairs.technicians", "=1", "repairs.technicians="])
def test_a_variant_has_a_name_and_a_value(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"must be NAME=VALUE, such as repairs\.technicians=2"):
        _name_and_value(text)


@pytest.mark.parametrize(
    ("value", "half", "measure", "sentence"),
    [
        (0.87, 0.37, "goodput", "87 (50 to 100) %"),
        (0.2, 0.37, "goodput", "20 (0 to 57) %"),
        (0.5, 0.9, "goodput", "50 (0 to 100) %"),
        (0.5, 0.1, "goodput", "50.0 ± 10.0 %"),
        (30.0, 90.0, "queue_h_p95", "30 (0 to 120) hours"),
        (30.0, 9.0, "queue_h_p95", "30.0 ± 9.0 hours"),
    ],
)
def test_no_figure_has_bounds_that_are_impossible(
    value: float, half: float, measure: str, sentence: str
) -> None:
    assert figure_text(Interval(value, value - half, value + half, 0.95, 2, 1.0), measure) == sentence
