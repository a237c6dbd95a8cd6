"""Results in a folder: complete rows or none, written by one process, for one experiment."""

import errno
import fcntl
import json
import os
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ops.experiments import dataset
from ops.experiments.dataset import RUNS, SERIES, Dataset, digest_of, open_dataset, require_same_identity
from ops.experiments.loader import PlannedExperiment
from ops.experiments.schema import Experiment
from ops.experiments.service_run import RunResult, Window
from ops.experiments.variants import Variant, variants_of
from ops.lab.backlog import BACKLOGS, SAMPLES
from shared.basics.errors import InvalidInput, OperationFailed
from shared.storage.files.own_files import Mode, open_own

MEASURES = ("goodput", "queue_h_p95")
ONE, TWO = (Variant((("repairs.technicians", n),)) for n in (1, 2))
BUILD = "1.0+abc"


def planned(**changed: object) -> PlannedExperiment:
    base: dict[str, object] = {
        "title": "t",
        "question": "q",
        "fabric": {"days": 1.0},
        "measure": MEASURES,
        "vary": {"grid": {"repairs.technicians": [1, 2]}},
    }
    experiment = Experiment.model_validate(base | changed)
    return PlannedExperiment(experiment, variants_of(experiment), Path())


def trial(goodput: float, windows: int = 3) -> RunResult:
    return RunResult(
        figures={"goodput": goodput, "queue_h_p95": None},
        windows=tuple(Window(n, n + 1, {"goodput": goodput}) for n in range(windows)),
        messages=7,
        cpu_s=1.25,
        digest="00ff",
        halves={"goodput": (0.4, 0.6), "queue_h_p95": (None, None)},
        backlogs={"open_repairs": tuple(range(SAMPLES + 1))},
    )


def fill(folder: Path, order: list[tuple[Variant, int]]) -> None:
    with open_dataset(folder, planned(), BUILD, resume=True) as dataset:
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
        "goodput_first_half": 0.4,
        "goodput_second_half": 0.6,
        "queue_h_p95": None,
        "queue_h_p95_first_half": None,
        "queue_h_p95_second_half": None,
        "open_repairs": [float(n) for n in range(SAMPLES + 1)],
        "queued_slices": None,
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


def test_the_dataset_does_not_depend_on_the_order_of_runs(tmp_path: Path) -> None:
    order = [(variant, seed) for variant in (ONE, TWO) for seed in range(4)]
    fill(tmp_path / "a", order)
    fill(tmp_path / "b", order[5:])
    fill(tmp_path / "b", order[:5])
    assert digest_of(tmp_path / "a") == digest_of(tmp_path / "b")


def test_runs_that_are_done_are_known_again(tmp_path: Path) -> None:
    fill(tmp_path / "r", [(ONE, 3), (TWO, 0)])
    with open_dataset(tmp_path / "r", planned(), BUILD, resume=True) as dataset:
        dataset.keep_failure(TWO, 1, "ZeroDivisionError: here")
        done = dataset.done()
    assert {(key, row.error) for key, row in done.items()} == {
        ((ONE.key, 3), None),
        ((TWO.key, 0), None),
        ((TWO.key, 1), "ZeroDivisionError: here"),
    }
    assert done[ONE.key, 3].figures == {"goodput": 0.53, "queue_h_p95": None}
    assert done[ONE.key, 3].halves == {"goodput": (0.4, 0.6), "queue_h_p95": (None, None)}
    assert done[ONE.key, 3].backlogs == {"open_repairs": tuple(map(float, range(SAMPLES + 1)))}
    assert (done[TWO.key, 1].halves, done[TWO.key, 1].backlogs) == ({}, {})


def test_runs_of_builds_without_halves_are_read(tmp_path: Path) -> None:
    fill(tmp_path / "r", [(ONE, 3)])
    path = tmp_path / "r" / RUNS / f"{ONE.key}-3.parquet"
    table = pq.read_table(path, partitioning=None)
    kept = [name for name in table.schema.names if "_half" not in name and name not in BACKLOGS]
    pq.write_table(table.select(kept), path)
    found = Dataset(tmp_path / "r", MEASURES).done()[ONE.key, 3]
    assert (found.figures["goodput"], found.halves, found.backlogs) == (0.53, {}, {})


def test_a_partly_written_file_is_not_a_run(tmp_path: Path) -> None:
    fill(tmp_path / "r", [(ONE, 3)])
    half = tmp_path / "r" / RUNS / f"{TWO.key}-0.part"
    half.write_bytes(b"PAR1")
    with open_dataset(tmp_path / "r", planned(), BUILD, resume=True) as dataset:
        assert [*dataset.done()] == [(ONE.key, 3)]
    assert not half.exists()


def test_results_are_continued_only_on_request(tmp_path: Path) -> None:
    fill(tmp_path / "r", [(ONE, 3)])
    with (
        pytest.raises(InvalidInput, match="already has 1 runs; continue with --resume"),
        open_dataset(tmp_path / "r", planned(), BUILD, resume=False),
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
def test_results_of_another_experiment_are_refused(
    tmp_path: Path, changed: dict[str, object], build: str, field: str
) -> None:
    fill(tmp_path / "r", [(ONE, 3)])
    before = digest_of(tmp_path / "r")
    with (
        pytest.raises(InvalidInput, match=f"its 1 runs have another {field}"),
        open_dataset(tmp_path / "r", planned(**changed), build, resume=True),
    ):
        pass
    assert digest_of(tmp_path / "r") == before


def test_more_variants_and_seeds_may_be_requested(tmp_path: Path) -> None:
    fill(tmp_path / "r", [(ONE, 3)])
    more = planned(vary={"grid": {"repairs.technicians": [1, 2, 3]}}, seeds={"count": 50}, title="other")
    with open_dataset(tmp_path / "r", more, BUILD, resume=True) as dataset:
        assert [*dataset.done()] == [(ONE.key, 3)]


def test_two_processes_do_not_write_one_folder(tmp_path: Path) -> None:
    fill(tmp_path / "r", [])
    with (tmp_path / "r" / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with (
            pytest.raises(OperationFailed, match="another process"),
            open_dataset(tmp_path / "r", planned(), BUILD, resume=True),
        ):
            pass


def test_a_file_that_is_not_a_run_is_named(tmp_path: Path) -> None:
    fill(tmp_path / "r", [(ONE, 3)])
    (tmp_path / "r" / RUNS / f"{TWO.key}-0.parquet").write_bytes(b"nothing")
    with pytest.raises(InvalidInput, match=f"{TWO.key}-0.parquet: is not a run of this experiment"):
        Dataset(tmp_path / "r", MEASURES).done()


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("goodput", pa.array(["x"])),
        ("goodput", pa.array([float("nan")])),
        ("goodput", pa.array([[1.0]])),
        ("seed", pa.array(["a"])),
        ("seed", pa.array([None], pa.int64())),
        ("variant", pa.array([[1]])),
        ("error", pa.array([1])),
    ],
)
def test_a_run_with_wrong_types_is_refused(tmp_path: Path, column: str, values: Any) -> None:
    fill(tmp_path / "r", [(ONE, 0)])
    (path,) = (tmp_path / "r" / RUNS).glob("*.parquet")
    table = pq.read_table(path, partitioning=None)
    pq.write_table(table.set_column(table.schema.get_field_index(column), column, values), path)
    with pytest.raises(InvalidInput, match="is not a run of this experiment"):
        Dataset(tmp_path / "r", MEASURES).done()


@pytest.mark.parametrize("values", [pa.array([[1.0]]), None])
def test_a_foreign_file_does_not_become_a_run(tmp_path: Path, values: Any) -> None:
    fill(tmp_path / "r", [(ONE, 0)])
    (path,) = (tmp_path / "r" / RUNS).glob("*.parquet")
    table = pq.read_table(path, partitioning=None).drop_columns(["goodput"])
    pq.write_table(table if values is None else table.append_column("goodput", values), path)
    before = path.read_bytes()
    with pytest.raises(InvalidInput, match="is not a run of this experiment"):
        fill(tmp_path / "r", [])
    assert path.read_bytes() == before


def test_a_pipe_is_not_a_run(tmp_path: Path) -> None:
    fill(tmp_path / "r", [])
    os.mkfifo(tmp_path / "r" / RUNS / "x.parquet")
    with pytest.raises(InvalidInput, match="is not a regular file"):
        fill(tmp_path / "r", [])


@pytest.mark.parametrize(
    "name", ["costs.jsonl", "identity.json", "experiment.yaml", f"{RUNS}/x.parquet", ".lock"]
)
def test_nothing_is_written_through_links_of_others(tmp_path: Path, name: str) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    fill(tmp_path / "r", [(ONE, 3)])
    (tmp_path / "r" / name).unlink(missing_ok=True)
    (tmp_path / "r" / name).symlink_to(victim)
    if name == "experiment.yaml":  # the link is replaced, not its target
        fill(tmp_path / "r", [])
    else:
        with pytest.raises((InvalidInput, OperationFailed), match="is a link; must be a regular file"):
            fill(tmp_path / "r", [])
    assert victim.read_bytes() == b"precious"


@pytest.mark.parametrize("part", [RUNS, SERIES])
def test_no_part_of_a_folder_of_results_is_a_link(tmp_path: Path, part: str) -> None:
    foreign = tmp_path / "foreign"
    fill(tmp_path / "r", [(ONE, 3)])
    (tmp_path / "r" / part).rename(foreign)
    (foreign / "thesis.part").write_bytes(b"precious")
    before = {path: path.read_bytes() for path in foreign.iterdir()}
    (tmp_path / "r" / part).symlink_to(foreign)
    for use in (lambda: fill(tmp_path / "r", [(ONE, 4)]), lambda: digest_of(tmp_path / "r")):
        with pytest.raises(InvalidInput, match=f"{part}: is a link; must be a folder"):
            use()
    assert {path: path.read_bytes() for path in foreign.iterdir()} == before


def test_a_run_of_thirty_million_rows_is_not_unpacked(tmp_path: Path) -> None:
    fill(tmp_path / "r", [(ONE, 3)])
    (path,) = (tmp_path / "r" / RUNS).glob("*.parquet")
    row = pq.read_table(path, partitioning=None)
    bomb = pa.table({name: pa.repeat(row[name][0], 3_000_000) for name in ("seed", "messages")})
    pq.write_table(bomb, path, compression="zstd")
    with pytest.raises(InvalidInput, match="it has 3,000,000 rows; must have at most 1"):
        fill(tmp_path / "r", [])
    huge = row.set_column(0, "variant", [["x" * (300 << 20)]])
    pq.write_table(huge, path, compression="zstd", use_dictionary=False)
    with pytest.raises(InvalidInput, match=r"it unpacks to 314,\d{3},\d{3} bytes"):
        fill(tmp_path / "r", [])


def test_a_file_that_is_not_a_run_stops_only_this_sweep(tmp_path: Path) -> None:
    fill(tmp_path / "r", [(ONE, 3)])
    bad = tmp_path / "r" / RUNS / f"{TWO.key}-0.parquet"
    bad.write_bytes(b"PAR1nothingPAR1")
    with pytest.raises(InvalidInput, match=r"is not a run of this experiment .*; delete it, and --resume"):
        fill(tmp_path / "r", [])
    bad.unlink()
    fill(tmp_path / "r", [(TWO, 0)])


@pytest.mark.parametrize("place", ["r", f"r/{RUNS}", f"r/{SERIES}"])
def test_a_folder_that_is_a_file_is_reported(tmp_path: Path, place: str) -> None:
    (tmp_path / place).parent.mkdir(exist_ok=True)
    (tmp_path / place).write_text("")
    with pytest.raises(InvalidInput, match=f"{place}: is not a folder; give another one with --out"):
        fill(tmp_path / "r", [])


def test_an_identity_that_nests_without_end_is_reported(tmp_path: Path) -> None:
    (tmp_path / "identity.json").write_text("[" * 100_000)
    with pytest.raises(InvalidInput, match=r"identity\.json: cannot be read"):
        fill(tmp_path, [])


def test_an_identity_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    (tmp_path / "r" / "identity.json").mkdir(parents=True)
    with pytest.raises(InvalidInput, match=r"identity.json: cannot be read: "):
        fill(tmp_path / "r", [])


def test_a_folder_that_may_not_be_read_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(path: Path, *_: object) -> Any:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    fill(tmp_path / "r", [(ONE, 3)])
    monkeypatch.setattr(dataset, "open_own", refused)
    with pytest.raises(OperationFailed, match=r"r/.lock: Permission denied; finished runs are kept"):
        fill(tmp_path / "r", [])


@pytest.mark.parametrize("part", [RUNS, SERIES])
def test_a_full_disk_costs_the_run_that_is_written_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    fill(tmp_path / "whole", [(ONE, 3), (TWO, 0)])
    fill(tmp_path / "r", [(ONE, 3)])
    write = pq.write_table

    def full(table: Any, file: Any, **options: Any) -> None:
        if ("from_us" in table.column_names) == (part == SERIES):
            file.write(b"PAR1")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(table, file, **options)

    with monkeypatch.context() as patched:
        patched.setattr(pq, "write_table", full)
        with pytest.raises(OperationFailed, match="r: No space left on device; finished runs are kept"):
            fill(tmp_path / "r", [(TWO, 0)])
    assert [path.name for path in (tmp_path / "r" / RUNS).iterdir()] == [f"{ONE.key}-3.parquet"]
    fill(tmp_path / "r", [(TWO, 0)])
    assert digest_of(tmp_path / "r") == digest_of(tmp_path / "whole")


def test_a_disk_that_is_really_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, mode: Mode = "rb") -> IO[bytes]:
        is_costs = path.name == "costs.jsonl" and mode == "ab"
        return Path("/dev/full").open("ab") if is_costs else open_own(path, mode)

    fill(tmp_path / "r", [(ONE, 3)])
    monkeypatch.setattr(dataset, "open_own", full)
    with pytest.raises(OperationFailed, match="No space left on device; finished runs are kept"):
        fill(tmp_path / "r", [(TWO, 0)])
    assert [path.name for path in (tmp_path / "r" / RUNS).iterdir()] == [f"{ONE.key}-3.parquet"]


SITE = """\
site: pod-0
fabrics:
  - {name: pod-0, config: {pod: {cubes: %d}}}
"""


def test_a_site_whose_file_was_edited_is_another(tmp_path: Path) -> None:
    def of_site(text: str) -> None:
        (tmp_path / "site.yaml").write_text(text)
        experiment = Experiment.model_validate(
            {
                "title": "t",
                "question": "q",
                "fabric": {"days": 1.0, "site": "site.yaml"},
                "measure": MEASURES,
                "vary": {"grid": {"repairs.technicians": [1, 2]}},
            }
        )
        plan = PlannedExperiment(experiment, variants_of(experiment), tmp_path)
        with open_dataset(tmp_path / "r", plan, BUILD, resume=True) as dataset:
            if not dataset.done():
                dataset.keep(ONE, 0, trial(0.5))

    of_site(SITE % 16)
    of_site("# the content is the same\n" + SITE % 16)
    with pytest.raises(InvalidInput, match="its 1 runs have another site"):
        of_site(SITE % 32)


def test_columns_are_of_the_type_of_their_parameter(tmp_path: Path) -> None:
    values: list[dict[str, object]] = [
        {"repairs.technicians": "3", "failures.host_per_day": 1},
        {"failures.host_per_day": "0.5", "transceivers.soft_fec": "on"},
        {"repairs.technicians": 2, "transceivers.soft_fec": False},
    ]
    plan = planned(vary={"list": values})
    with open_dataset(tmp_path / "r", plan, BUILD, resume=False) as dataset:
        for variant in plan.variants[:2]:
            dataset.keep(variant, 0, trial(0.5))
        dataset.keep_failure(plan.variants[2], 0, "ValueError: no")
    files = sorted((tmp_path / "r" / RUNS).iterdir())
    assert len({pq.read_schema(path) for path in files}) == 1
    rows_found = [pq.read_table(path, partitioning=None).to_pylist()[0] for path in files]
    assert {
        (row["repairs.technicians"], row["failures.host_per_day"], row["transceivers.soft_fec"])
        for row in rows_found
    } == {(3, 1.0, None), (None, 0.5, True), (2, None, False)}


def test_runs_without_an_identity_are_refused(tmp_path: Path) -> None:
    fill(tmp_path / "r", [(ONE, 3)])
    (tmp_path / "r" / "identity.json").unlink()
    with pytest.raises(InvalidInput, match=r"has 1 runs, but no identity.json to identify them"):
        fill(tmp_path / "r", [])
    with pytest.raises(InvalidInput, match=r"has 1 runs, but no identity.json to identify them"):
        require_same_identity(tmp_path / "r", planned())


def test_runs_match_their_document_and_smaller_ones(tmp_path: Path) -> None:
    require_same_identity(
        tmp_path / "r", planned(fabric={"days": 2.0})
    )  # an empty folder matches every document
    fill(tmp_path / "r", [(ONE, 3)])
    require_same_identity(tmp_path / "r", planned())
    require_same_identity(tmp_path / "r", planned(measure=("goodput",), confidence=0.9))
    with pytest.raises(InvalidInput, match=r"have another fabric, \{'days': 1.0\} instead of \{'days': 2"):
        require_same_identity(tmp_path / "r", planned(fabric={"days": 2.0}))
    with pytest.raises(InvalidInput, match=r"1 runs have another measure"):
        require_same_identity(tmp_path / "r", planned(measure=("utilisation",)))


def test_a_run_that_lost_its_series_is_done_again(tmp_path: Path) -> None:
    fill(tmp_path / "r", [(ONE, 3), (TWO, 0)])
    (tmp_path / "r" / SERIES / f"{ONE.key}-3.parquet").unlink()
    with open_dataset(tmp_path / "r", planned(), BUILD, resume=True) as dataset:
        dataset.keep_failure(TWO, 1, "ZeroDivisionError: here")  # a failed run has no series
        assert {*dataset.done()} == {(TWO.key, 0), (TWO.key, 1)}
    assert len(Dataset(tmp_path / "r", MEASURES).done()) == 3, "its row can still be read"


def test_a_run_under_the_name_of_another_is_refused(tmp_path: Path) -> None:
    fill(tmp_path / "r", [(ONE, 3)])
    runs = tmp_path / "r" / RUNS
    (runs / f"{ONE.key}-4.parquet").write_bytes((runs / f"{ONE.key}-3.parquet").read_bytes())
    with pytest.raises(
        InvalidInput, match=rf"{ONE.key}-4.parquet: is not a run of this .*it contains {ONE.key}-3"
    ):
        Dataset(tmp_path / "r", MEASURES).done()


def test_a_truncated_cost_does_not_lose_others(tmp_path: Path) -> None:
    fill(tmp_path / "r", [(ONE, 3), (TWO, 0)])
    costs = tmp_path / "r" / "costs.jsonl"
    costs.write_text(costs.read_text()[:-9])
    assert Dataset(tmp_path / "r", MEASURES).cpu_s() is None, "the cost of one run is unknown"
    fill(tmp_path / "r", [(TWO, 0)])
    assert Dataset(tmp_path / "r", MEASURES).cpu_s() == 2.5
