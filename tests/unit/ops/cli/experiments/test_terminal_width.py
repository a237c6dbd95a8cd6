"""Experiments, importers and their `--out` on a terminal of 80 columns."""

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from ops.cli.main import root
from ops.report.table_style import ELLIPSIS, display_width

WIDTH = 80
DOCUMENT = """
title: Hosts and technicians
question: How much of the time are cubes healthy if hosts fail more often than they were measured to fail?
fabric: {days: 4, warm_up_days: 1, set: {failures.optics_per_day: 0, failures.stray_per_day: 0}}
vary: {failures.host_per_day: [0.001, 0.02], repairs.technicians: [2, 8]}
seeds: 3
measure: [cube_availability, faults_a_day, repairs_a_day]
compare: {against: {failures.host_per_day: 0.001, repairs.technicians: 2}}
method: kernel
"""
VARIANTS = [
    f"failures.host_per_day {rate}, repairs.technicians {people}"
    for rate in ("0.001", "0.02")
    for people in (2, 8)
]
MEASURES = ("cube_availability", "faults_a_day", "repairs_a_day")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the document and its results, in a folder named with `--out`."""
    found = tmp_path_factory.mktemp("experiment")
    (found / "mine.yaml").write_text(DOCUMENT, "utf-8")
    done = CliRunner().invoke(
        root, ["experiment", "run", str(found / "mine.yaml"), "--out", str(found / "r")]
    )
    assert done.exit_code == 0, done.output
    return found


@pytest.fixture
def on_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ops.cli.common.table_options.is_terminal", lambda: True)


def run(line: str, folder: Path) -> list[str]:
    env = {"COLUMNS": str(WIDTH), "TERM": "xterm", "NO_COLOR": "1"}
    done = CliRunner(env=env).invoke(root, shlex.split(line.replace("HERE", str(folder))))
    assert done.exit_code == 0, (done.output, done.exception)
    return done.stdout.splitlines()


@pytest.mark.usefixtures("on_terminal")
@pytest.mark.parametrize(
    "line",
    [
        "experiment validate HERE/mine.yaml",
        "experiment plan HERE/mine.yaml",
        "experiment list",
        "experiment run HERE/mine.yaml --resume --out HERE/r",
        "experiment report HERE/mine.yaml --out HERE/r",
        "experiment report HERE/mine.yaml --out HERE/r --no-headers",
        "experiment status HERE/mine.yaml --out HERE/r",
        "experiment compare HERE/r --against failures.host_per_day=0.02 --against repairs.technicians=8",
    ],
)
def test_results_fit_the_terminal_and_tell_variants_measures_and_questions_apart(
    folder: Path, line: str
) -> None:
    lines = [one for one in run(line, folder) if str(folder) not in one]
    assert [one for one in lines if display_width(one) > WIDTH] == []
    assert not [one for one in lines if ELLIPSIS in one], "nothing that tells rows apart is cut"
    if " report " in line or " run " in line:
        assert {*VARIANTS} <= {*lines}
        for measure in MEASURES:
            assert sum(one.startswith(f"  {measure} ") for one in lines) == 2 * len(VARIANTS) - 1


@pytest.mark.parametrize("line", ["model goodput", "model goodput --sweep", "ocs matrix pod-0/ocs-17"])
def test_output_in_a_file_is_as_in_a_pipe(folder: Path, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    piped = run(line, folder)
    monkeypatch.setattr("ops.cli.common.table_options.is_terminal", lambda: True)
    run(f"{line} --out HERE/out.txt", folder)
    assert (folder / "out.txt").read_text("utf-8").splitlines() == piped


def test_an_estimate_that_is_small_is_not_zero(folder: Path) -> None:
    amounts = dict(
        line.rsplit(maxsplit=1) for line in run("experiment plan HERE/mine.yaml", folder) if "cpu" in line
    )
    assert {*amounts} == {"cpu s a run", "cpu hours"}
    assert all(float(amount) > 0.0 for amount in amounts.values())
