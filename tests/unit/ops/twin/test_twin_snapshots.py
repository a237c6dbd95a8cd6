"""The snapshots of a twin's sites: how they are taken, failures, and which exist."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ops.local.software_version import software_version
from ops.twin.data_folder import DataFolder
from ops.twin.snapshots import TwinSnapshots
from schemas.config.pods import SuperpodConfig
from services.fabric_kinds import services_of
from shared.basics.units import US_PER_HOUR
from shared.engine.site import Site
from shared.runtimes.poll import poll_until
from shared.storage.log.indexed_log import IndexedLogs
from shared.storage.snapshots.site_snapshot import take_snapshot
from shared.storage.snapshots.snapshot_interval import SNAPSHOT_INTERVAL_MESSAGES
from shared.storage.store.fabric_registry import FabricRegistration
from tests.support.pods import POD, pod_lab, pod_site


@pytest.fixture
def logs(tmp_path: Path) -> Iterator[IndexedLogs]:
    (tmp_path / "log").mkdir()
    lines: list[bytes] = []
    pod_lab(SuperpodConfig(seed=4), sink=lambda some: lines.extend(some.splitlines())).run(US_PER_HOUR)
    (tmp_path / "log" / "pod-0.jsonl").write_bytes(b"".join(line + b"\n" for line in lines))
    logs = IndexedLogs(tmp_path / "log")
    yield logs
    logs.close()


def test_a_snapshot_that_cannot_be_written_is_a_problem_until_it_can(
    tmp_path: Path, logs: IndexedLogs
) -> None:
    (tmp_path / "snapshots").mkdir()
    (tmp_path / "snapshots" / POD).write_text("in the way")
    snapshots = TwinSnapshots(DataFolder(tmp_path), logs)
    taker = snapshots.taker(POD)
    assert snapshots.problems == []
    site, residents = pod_site(), {POD: FabricRegistration(POD, "superpod")}
    taker.on_quiet(site, SNAPSHOT_INTERVAL_MESSAGES, b"", residents)
    assert poll_until(lambda: bool(snapshots.problems), 10)
    (problem,) = snapshots.problems
    assert problem.startswith(f"snapshots {tmp_path}/snapshots/pod-0: ")
    assert problem.endswith("; no snapshots until writes succeed")
    (tmp_path / "snapshots" / POD).unlink()
    taker.on_quiet(site, 2 * SNAPSHOT_INTERVAL_MESSAGES, b"", residents)
    assert poll_until(lambda: not snapshots.problems, 10)
    snapshots.close()
    assert snapshots.folder(POD).positions() == [2 * SNAPSHOT_INTERVAL_MESSAGES]


def test_snapshots_beyond_the_log_are_removed_and_the_newest_is_given_once(
    tmp_path: Path, logs: IndexedLogs
) -> None:
    end = logs.open(POD).end
    snapshots = TwinSnapshots(DataFolder(tmp_path), logs)
    history = snapshots.history(POD)
    snapshots.folder(POD).put(history.at(end).snapshot(software_version()))
    beyond = take_snapshot(Site(POD, services_of), end + 1, b"", software=software_version(), kinds={})
    snapshots.folder(POD).put(beyond)
    snapshots.taker(POD)
    assert snapshots.folder(POD).positions() == [end]
    newest = snapshots.newest(POD)
    assert newest is not None
    assert newest.position == end
    assert snapshots.newest(POD) is None
    snapshots.close()
