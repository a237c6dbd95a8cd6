"""The lab continues from the states of a running twin."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from ops.cli.experiments.lab_start import check_start_options, start_snapshots
from ops.lab.from_snapshot import plan_from_snapshots
from ops.lab.run import RunPlan, run_lab, run_site
from ops.lab.run_inputs import RunInputs
from ops.local.software_version import software_version
from ops.sites.site_plans import NewTwinOptions
from ops.twin.data_folder import IDENTITY_FILE, TwinIdentity
from schemas.config.failures import FailuresConfig
from schemas.config.pods import PodConfig, SuperpodConfig
from schemas.files.site_plan import SitePlan
from shared.basics.errors import InvalidInput, NotFound, OperationFailed, SnapshotRefused
from shared.basics.units import US_PER_DAY
from shared.runtimes.lab import Lab
from shared.storage.snapshots.site_snapshot import to_bytes
from tests.support.pods import POD, pod_lab

DAY = US_PER_DAY
CONFIG = SuperpodConfig(
    seed=5, pod=PodConfig(cubes=8), failures=FailuresConfig(host_per_day=0.002, ocs_per_day=0.01)
)
PLAN = SitePlan(site=POD, fabrics={POD: CONFIG})


@pytest.fixture(scope="module")
def lab_run() -> tuple[Lab, list[bytes]]:
    lines: list[bytes] = []
    lab = pod_lab(CONFIG, sink=lambda some: lines.extend(some.splitlines(keepends=True)))
    lab.run(8 * DAY)
    return lab, lines


@pytest.fixture
def data(tmp_path: Path, lab_run: tuple[Lab, list[bytes]]) -> Path:
    """Return the folder of a twin that has run for eight days. Its name contains the character that separates
    it from a time."""
    place = tmp_path / "pod@home"
    (place / "log").mkdir(parents=True)
    (place / "log" / f"{POD}.jsonl").write_bytes(b"".join(lab_run[1]))
    (place / IDENTITY_FILE).write_text(TwinIdentity(sites=(PLAN,)).model_dump_json())
    return place


def test_the_lab_writes_the_log_of_the_twin(
    data: Path, lab_run: tuple[Lab, list[bytes]], tmp_path: Path
) -> None:
    snapshots, again = start_snapshots(f"{data}@5d")
    assert again == f"{data}@{5 * DAY}us"
    plan, _ = plan_from_snapshots(snapshots, 2.0, 0.0, RunInputs())
    log = tmp_path / "on.jsonl"
    run_site(plan, 0, log)
    later = log.read_bytes().splitlines(keepends=True)
    assert later == lab_run[1][snapshots[0].position :][: len(later)]
    assert json.loads(later[-1])["at_us"] <= plan.until_us
    assert json.loads(lab_run[1][snapshots[0].position + len(later)])["at_us"] > plan.until_us
    assert {path.name for path in data.iterdir()} == {"log", IDENTITY_FILE}
    again_held, _ = start_snapshots(again)
    assert to_bytes(again_held[0]) == to_bytes(snapshots[0])


def test_figures_cover_the_time_after_the_snapshot(data: Path) -> None:
    snapshots, _ = start_snapshots(f"{data}@5d")
    since_us = snapshots[0].at_us
    days = (8 * DAY - since_us) / DAY
    plan, _ = plan_from_snapshots(snapshots, days, 0.0, RunInputs())
    (on,) = run_lab(plan, jobs=1, log=None, repeat=["x"]).fabrics
    whole = run_lab(RunPlan((PLAN,), days, since_us / DAY), jobs=1, log=None, repeat=["x"])
    (same,) = whole.fabrics
    names = ("slices", "utilisation", "cube_availability", "faults", "repairs", "links", "cross_connects")
    assert [on.json().get(name) for name in names] == [same.json().get(name) for name in names]


def test_a_fault_may_be_injected_at_once_or_later(data: Path, tmp_path: Path) -> None:
    snapshots, _ = start_snapshots(str(data))
    texts = ("cube-power:pod-0/cube-3@0s+1h", "cube-power:pod-0/cube-4@2h")
    plan, _ = plan_from_snapshots(snapshots, 1.0, 0.0, RunInputs(inject=texts))
    log = tmp_path / "on.jsonl"
    run_site(plan, 0, log)
    injections = [
        row for row in map(json.loads, log.read_text().splitlines()) if row["type"] == "InjectFault"
    ]
    assert [row["at_us"] - plan.since_us for row in injections] == [1, 2 * 3_600_000_000]


def test_a_run_can_start_from_a_snapshot_file(data: Path, tmp_path: Path) -> None:
    snapshots, _ = start_snapshots(f"{data}@5d")
    file = tmp_path / "5d.snapshot"
    file.write_bytes(to_bytes(snapshots[0]))
    (snapshot,), again = start_snapshots(str(file))
    assert (to_bytes(snapshot), again) == (to_bytes(snapshots[0]), str(file))
    file.write_bytes(to_bytes(snapshots[0])[:-1])
    with pytest.raises(SnapshotRefused, match="content changed since it was written"):
        start_snapshots(str(file))
    file.write_bytes(to_bytes(replace(snapshots[0], software="0+0")))
    with pytest.raises(
        OperationFailed, match=rf"is of build 0\+0, and this command is of {software_version()[:3]}"
    ):
        start_snapshots(str(file))


def test_a_run_can_start_from_a_fork_by_its_name(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    place = tmp_path / "state" / "lightwave-forks" / "calm"
    shutil.copytree(data, place)
    (place / "origin.json").write_text("{}")
    (snapshot,), again = start_snapshots("calm@5d")
    assert again == f"{place}@{5 * DAY}us"
    assert to_bytes(snapshot) == to_bytes(start_snapshots(f"{data}@5d")[0][0])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "calm").mkdir()
    with pytest.raises(NotFound, match="holds no twin"):
        start_snapshots("calm")  # a folder of this name has precedence


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (NewTwinOptions(pods=2), "--pods"),
        (NewTwinOptions(kind="dcn"), "--kind"),
        (NewTwinOptions(seed=0), "--seed"),
        (NewTwinOptions(pairs=("a.b=1",)), "--set"),
        (NewTwinOptions(site_files=(Path("x"),)), "--site"),
        (NewTwinOptions(calibration="field"), "--calibration"),
    ],
)
def test_options_that_the_snapshot_sets_are_refused(given: NewTwinOptions, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{sentence}: cannot be combined with --from"):
        check_start_options(given, None)


def test_a_missing_twin_or_invalid_time_is_an_error_in_one_sentence(data: Path, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"^--from .*: no such fork, folder or file; must be a fork's name"):
        start_snapshots(str(tmp_path / "nowhere"))
    with pytest.raises(NotFound, match="holds no twin"):
        start_snapshots(str(tmp_path))
    with pytest.raises(InvalidInput, match="at '900d': is in the future; must be at most"):
        start_snapshots(f"{data}@900d")
