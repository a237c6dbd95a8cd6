"""A twin that is killed or runs out of disk space while it writes a snapshot or rebuilds its states."""

import json
import shutil
import signal
import sys
from pathlib import Path

import pytest

from shared.runtimes.poll import poll_until
from tests.support.living import LivingTwin, cli

pytestmark = pytest.mark.slow("starts a twin nine times, and kills it as it writes")

WRITING = """
import os, pathlib, signal, sys
how, at = sys.argv[1], int(sys.argv[2])
from shared.storage.snapshots import snapshot_folder
write, name, calls = snapshot_folder.write_atomically, pathlib.Path.replace, 0
def die():
    os.kill(os.getpid(), signal.SIGKILL)
def write_atomically(path, data, **how_long):
    global calls
    calls += 1
    part = path.with_name(path.name + ".part")
    if calls == at and how == "half":
        part.write_bytes(data[: len(data) // 2])
        die()
    if calls >= at and how == "full" and not os.path.exists(sys.argv[0]):
        raise OSError(28, "No space left on device")
    write(path, data, **how_long)
def replace(path, target):
    found = name(path, target)
    if path.parent.parent.name == "snapshots" and calls == at and how == "named":
        die()
    return found
snapshot_folder.write_atomically, pathlib.Path.replace = write_atomically, replace
sys.argv[0:4] = [sys.argv[3]]
from ops.cli.main import main
main()
"""
"""The command line, which is killed or runs out of disk space when it writes its N-th snapshot.

There is space again once the file given as an argument exists.
"""
MAKING = """
import os, signal, sys
from shared.storage.store.redis_store import RedisStore
real = getattr(RedisStore, sys.argv[1])
def and_die(*args, **named):
    real(*args, **named)
    os.kill(os.getpid(), signal.SIGKILL)
setattr(RedisStore, sys.argv[1], and_die)
sys.argv[1:2] = []
from ops.cli.main import main
main()
"""
"""The command line, which is killed after one step of rebuilding states."""
SPAN_S = 90.0
BUSY = ("--speed", "1000000", "--set", "pod.cubes=8", "--seed", "5")


def snapshots(data: Path) -> list[str]:
    return sorted(path.name for path in (data / "snapshots" / "pod-0").glob("*"))


def audited_position(data: Path) -> int:
    done = cli("audit", "--data", str(data), "-o", "json", timeout_s=SPAN_S)
    assert done.returncode == 0, done.stdout + done.stderr
    return int(json.loads(done.stdout)["sites"][0]["position"])


@pytest.mark.parametrize("how", ["half", "named"])
def test_a_kill_during_a_snapshot_leaves_no_partial_snapshot(tmp_path: Path, how: str) -> None:
    program = (sys.executable, "-c", WRITING, how, "2", str(tmp_path / "room"))
    twin = LivingTwin(tmp_path / "data", BUSY, command=program)
    twin.launch()
    try:
        assert twin.process is not None
        assert twin.process.wait(SPAN_S) == -signal.SIGKILL
        remaining = snapshots(twin.data)
        assert len([name for name in remaining if name.endswith(".snapshot")]) == (2 if how == "named" else 1)
        again = LivingTwin(twin.data)
        again.start()
        try:
            assert poll_until(lambda: len(snapshots(twin.data)) > 3, SPAN_S)
            assert all(name.endswith(".snapshot") for name in snapshots(twin.data))
            assert again.get("/v1/cubes?at=0d01:00:00")
            assert again.get("/healthz")["notes"] == []
        finally:
            assert again.stop() == 0
        assert audited_position(twin.data)
    finally:
        twin.stop()


def test_a_snapshot_without_disk_space_is_reported_and_the_next_one_is_taken(tmp_path: Path) -> None:
    program = (sys.executable, "-c", WRITING, "full", "2", str(tmp_path / "room"))
    twin = LivingTwin(tmp_path / "data", BUSY, command=program)
    twin.start()
    try:
        assert poll_until(lambda: twin.get("/healthz")["notes"] != [], SPAN_S)
        (note,) = twin.get("/healthz")["notes"]
        assert "No space left on device; no snapshots until writes succeed" in note
        (single,) = snapshots(twin.data)
        assert twin.get("/v1/cubes?at=-1h")
        (tmp_path / "room").touch()
        assert poll_until(lambda: twin.get("/healthz")["notes"] == [], SPAN_S)
        assert snapshots(twin.data)[0] == single
        assert len(snapshots(twin.data)) > 1
    finally:
        assert twin.stop() == 0
    assert audited_position(twin.data)


@pytest.fixture(scope="module")
def stopped_twin(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """Return the data folder of a twin that took some snapshots and stopped, and the length of its log."""
    twin = LivingTwin(tmp_path_factory.mktemp("stood") / "data", BUSY)
    twin.start()
    try:
        assert poll_until(
            lambda: (twin.data / "snapshots/pod-0").exists() and len(snapshots(twin.data)) > 1, SPAN_S
        )
        twin.post("/v1/clock/pause")
    finally:
        assert twin.stop() == 0
    return twin.data, audited_position(twin.data)


@pytest.mark.parametrize(
    ("step", "again"),
    [("stage", "--rebuild"), ("promote_staged", None), ("discard_after", "--rebuild")],
)
def test_a_rebuild_that_is_killed_can_be_repeated(
    stopped_twin: tuple[Path, int], tmp_path: Path, step: str, again: str | None
) -> None:
    data = tmp_path / "data"
    shutil.copytree(stopped_twin[0], data)
    killed = LivingTwin(data, command=(sys.executable, "-c", MAKING, step))
    with pytest.raises(AssertionError, match="the twin ended"):
        killed.start("--rebuild")
    assert killed.process is not None
    assert killed.process.returncode == -signal.SIGKILL
    twin = LivingTwin(data)
    twin.start(*([again] if again is not None else []))
    try:
        assert twin.get("/v1/cubes")
    finally:
        assert twin.stop() == 0
    assert audited_position(data) == stopped_twin[1]
