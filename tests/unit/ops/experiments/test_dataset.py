"""Results in a folder: whole rows or none, for one process, of one experiment."""

import fcntl
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from ops.experiments.dataset import RUNS, SERIES, Dataset, digest_of, opened
from ops.experiments.document import Experiment
from ops.experiments.trial import Trial, Window
from ops.experiments.variants import Variant
from shared.basics.errors import InvalidInput, OperationFailed

MEASURES = ("goodput", "queue_h_p95")
ONE, TWO = (Variant((("repairs.technicians", n),)) for n in (1, 2))
BUILD = "1.0+abc"


def experiment(**changed: object) -> Experiment:
    base: dict[str, object] = {
        "title": "t",
        "question": "q",
        "fabric": {"days": 1.0},
        "measure": MEASURES,
        "vary": {"grid": {"repairs.technicians": [1, 2]}},
    }
    return Experiment.model_validate(base | changed)


def trial(goodput: float, windows: int = 3) -> Trial:
    return Trial(
        figures={"goodput": goodput, "queue_h_p95": None},
        windows=tuple(Window(n, n + 1, {"goodput": goodput}) for n in range(windows)),
        messages=7,
        cpu_s=1.25,
        digest="00ff",
    )


def fill(folder: Path, order: list[tuple[Variant, int]]) -> None:
    with opened(folder, experiment(), (ONE, TWO), BUILD, resume=True) as dataset:
        for variant, seed in order:
            dataset.keep(variant, seed, trial(0.5 + seed / 100))


def test_a_run_is_a_row_and_its_course_are_rows(tmp_path: Path) -> None:
    fill(tmp_path / "r", [(ONE, 3)])
    (run,) = pq.read_table(tmp_path / "r" / RUNS, partitioning=None).to_pylist()
    assert run == {
        "variant": ONE.key,
        "repairs.technicians": 1,
        "seed": 3,
        "goodput": 0.53,
        "queue_h_p95": None,
        "messages": 7,
        "log_sha256": "00ff",
        "version": BUILD,
        "error": None,
    }
    rows = pq.read_table(tmp_path / "r" / SERIES, partitioning=None).to_pylist()
    assert [(row["seed"], row["from_us"], row["to_us"], row["goodput"]) for row in rows] == [
        (3, n, n + 1, 0.53) for n in range(3)
    ]
    costs = [json.loads(line) for line in (tmp_path / "r" / "costs.jsonl").read_text().splitlines()]
    assert costs == [{"variant": ONE.key, "seed": 3, "cpu_s": 1.25}]


def test_whatever_the_order_the_dataset_is_the_same(tmp_path: Path) -> None:
    order = [(variant, seed) for variant in (ONE, TWO) for seed in range(4)]
    fill(tmp_path / "a", order)
    fill(tmp_path / "b", order[5:])
    fill(tmp_path / "b", order[:5])
    assert digest_of(tmp_path / "a") == digest_of(tmp_path / "b")


def test_runs_that_are_done_are_known_again(tmp_path: Path) -> None:
    fill(tmp_path / "r", [(ONE, 3), (TWO, 0)])
    with opened(tmp_path / "r", experiment(), (ONE, TWO), BUILD, resume=True) as dataset:
        dataset.keep_failure(TWO, 1, "ZeroDivisionError: here")
        found = dataset.done()
    assert {(key, row.error) for key, row in found.items()} == {
        ((ONE.key, 3), None),
        ((TWO.key, 0), None),
        ((TWO.key, 1), "ZeroDivisionError: here"),
    }
    assert found[ONE.key, 3].figures == {"goodput": 0.53, "queue_h_p95": None}


def test_what_a_kill_left_half_written_is_no_run(tmp_path: Path) -> None:
    fill(tmp_path / "r", [(ONE, 3)])
    half = tmp_path / "r" / RUNS / f"{TWO.key}-0.part"
    half.write_bytes(b"PAR1")
    with opened(tmp_path / "r", experiment(), (ONE, TWO), BUILD, resume=True) as dataset:
        assert [*dataset.done()] == [(ONE.key, 3)]
    assert not half.exists()


def test_results_are_not_gone_on_with_unasked(tmp_path: Path) -> None:
    fill(tmp_path / "r", [(ONE, 3)])
    with (
        pytest.raises(InvalidInput, match="has 1 runs already; go on with --resume"),
        opened(tmp_path / "r", experiment(), (ONE, TWO), BUILD, resume=False),
    ):
        pass


@pytest.mark.parametrize(
    ("changed", "build", "field"),
    [
        ({"fabric": {"days": 2.0}}, BUILD, "fabric"),
        ({"measure": ("goodput",)}, BUILD, "measure"),
        ({"store": {"window_h": 2.0}}, BUILD, "store"),
        ({}, "1.0+def", "software"),
    ],
)
def test_results_of_something_else_are_refused(
    tmp_path: Path, changed: dict[str, object], build: str, field: str
) -> None:
    fill(tmp_path / "r", [(ONE, 3)])
    before = digest_of(tmp_path / "r")
    with (
        pytest.raises(InvalidInput, match=f"its 1 runs are of another {field}"),
        opened(tmp_path / "r", experiment(**changed), (ONE, TWO), build, resume=True),
    ):
        pass
    assert digest_of(tmp_path / "r") == before


def test_more_variants_and_seeds_may_be_asked_for(tmp_path: Path) -> None:
    fill(tmp_path / "r", [(ONE, 3)])
    more = experiment(vary={"grid": {"repairs.technicians": [1, 2, 3]}}, seeds={"count": 50}, title="other")
    with opened(tmp_path / "r", more, (ONE, TWO), BUILD, resume=True) as dataset:
        assert [*dataset.done()] == [(ONE.key, 3)]


def test_two_processes_do_not_write_one_folder(tmp_path: Path) -> None:
    fill(tmp_path / "r", [])
    with (tmp_path / "r" / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with (
            pytest.raises(OperationFailed, match="another process"),
            opened(tmp_path / "r", experiment(), (ONE, TWO), BUILD, resume=True),
        ):
            pass


def test_a_file_that_is_no_run_is_named(tmp_path: Path) -> None:
    fill(tmp_path / "r", [(ONE, 3)])
    (tmp_path / "r" / RUNS / f"{TWO.key}-0.parquet").write_bytes(b"nothing")
    with pytest.raises(InvalidInput, match=f"{TWO.key}-0.parquet: is no run of this experiment"):
        Dataset(tmp_path / "r", (), MEASURES).done()


def test_a_folder_that_is_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "r").write_text("")
    with pytest.raises(OperationFailed, match="runs that are done are kept"):
        fill(tmp_path / "r", [])
