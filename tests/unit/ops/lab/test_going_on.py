"""The lab goes on from what a living twin held."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from ops.cli.lab_from import check_alone, held_by
from ops.common.sites import AskedTwin
from ops.common.version import software
from ops.lab.going_on import going_on
from ops.lab.run import RunPlan, run_lab, run_site
from ops.twin.data import MARK, TwinIdentity
from schemas.config import PodConfig, SuperpodConfig
from schemas.config_failures import FailuresConfig
from schemas.site_plan import SitePlan
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
def lived() -> tuple[Lab, list[bytes]]:
    lines: list[bytes] = []
    lab = pod_lab(CONFIG, sink=lambda some: lines.extend(some.splitlines(keepends=True)))
    lab.run(8 * DAY)
    return lab, lines


@pytest.fixture
def data(tmp_path: Path, lived: tuple[Lab, list[bytes]]) -> Path:
    """The folder of a twin that has lived for eight days; its name has what divides it from a moment."""
    place = tmp_path / "pod@home"
    (place / "log").mkdir(parents=True)
    (place / "log" / f"{POD}.jsonl").write_bytes(b"".join(lived[1]))
    (place / MARK).write_text(TwinIdentity(sites=(PLAN,)).model_dump_json())
    return place


def test_it_says_what_the_twin_then_says(data: Path, lived: tuple[Lab, list[bytes]], tmp_path: Path) -> None:
    held, again = held_by(f"{data}@5d")
    assert again == f"{data}@{5 * DAY}us"
    plan = going_on(held, 2.0, 0.0, ())
    log = tmp_path / "on.jsonl"
    run_site(plan, 0, log)
    later = log.read_bytes().splitlines(keepends=True)
    assert later == lived[1][held[0].position :][: len(later)]
    assert json.loads(later[-1])["at_us"] <= plan.until_us
    assert json.loads(lived[1][held[0].position + len(later)])["at_us"] > plan.until_us
    assert {path.name for path in data.iterdir()} == {"log", MARK}
    again_held, _ = held_by(again)
    assert to_bytes(again_held[0]) == to_bytes(held[0])


def test_figures_are_those_of_the_time_behind_the_moment(data: Path) -> None:
    held, _ = held_by(f"{data}@5d")
    since_us = held[0].at_us
    days = (8 * DAY - since_us) / DAY
    (on,) = run_lab(going_on(held, days, 0.0, ()), jobs=1, log=None, repeat=["x"])["fabrics"]
    whole = run_lab(RunPlan((PLAN,), days, since_us / DAY), jobs=1, log=None, repeat=["x"])
    (same,) = whole["fabrics"]
    told = ("slices", "utilisation", "cube_availability", "faults", "repairs", "links", "cross_connects")
    assert [on.get(name) for name in told] == [same.get(name) for name in told]


def test_a_fault_may_be_injected_at_once_or_later(data: Path, tmp_path: Path) -> None:
    held, _ = held_by(str(data))
    plan = going_on(held, 1.0, 0.0, ("cube-power:pod-0/cube-3@0s+1h", "cube-power:pod-0/cube-4@2h"))
    log = tmp_path / "on.jsonl"
    run_site(plan, 0, log)
    asked = [row for row in map(json.loads, log.read_text().splitlines()) if row["type"] == "InjectFault"]
    assert [row["at_us"] - plan.since_us for row in asked] == [1, 2 * 3_600_000_000]


def test_a_snapshot_may_be_gone_on_from(data: Path, tmp_path: Path) -> None:
    held, _ = held_by(f"{data}@5d")
    file = tmp_path / "5d.snapshot"
    file.write_bytes(to_bytes(held[0]))
    (found,), again = held_by(str(file))
    assert (to_bytes(found), again) == (to_bytes(held[0]), str(file))
    file.write_bytes(to_bytes(held[0])[:-1])
    with pytest.raises(SnapshotRefused, match="is not as it was written"):
        held_by(str(file))
    file.write_bytes(to_bytes(replace(held[0], software="0+0")))
    with pytest.raises(OperationFailed, match=rf"is of build 0\+0, and this command is of {software()[:3]}"):
        held_by(str(file))


def test_a_fork_may_be_gone_on_from_by_its_name(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    place = tmp_path / "state" / "lightwave-forks" / "calm"
    shutil.copytree(data, place)
    (place / "origin.json").write_text("{}")
    (found,), again = held_by("calm@5d")
    assert again == f"{place}@{5 * DAY}us"
    assert to_bytes(found) == to_bytes(held_by(f"{data}@5d")[0][0])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "calm").mkdir()
    with pytest.raises(NotFound, match="holds no twin"):
        held_by("calm")  # a folder of this name is nearer


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (AskedTwin(pods=2), "--pods"),
        (AskedTwin(kind="dcn"), "--kind"),
        (AskedTwin(seed=0), "--seed"),
        (AskedTwin(pairs=("a.b=1",)), "--set"),
        (AskedTwin(site_files=(Path("x"),)), "--site"),
        (AskedTwin(calibration="field"), "--calibration"),
    ],
)
def test_what_a_fabric_has_already_is_not_asked_for(given: AskedTwin, said: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{said}: not together with --from"):
        check_alone(given, None)


def test_what_is_no_twin_and_no_moment_is_one_sentence(data: Path, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"^--from .*: no such fork, folder or file; allowed: a fork's name"):
        held_by(str(tmp_path / "nowhere"))
    with pytest.raises(NotFound, match="holds no twin"):
        held_by(str(tmp_path))
    with pytest.raises(InvalidInput, match="the twin has not lived then"):
        held_by(f"{data}@900d")
