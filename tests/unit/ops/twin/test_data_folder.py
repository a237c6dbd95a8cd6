"""The data folder of a twin, and folders of other twins."""

import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from ops.twin.backups.create import run_backup
from ops.twin.data_folder import LIVE_TWIN_FILES, DataFolder
from ops.twin.folder_audit import run_audit
from ops.twin.forks.create_fork import ForkOptions, run_fork
from ops.twin.log_archive import run_archive
from ops.twin.up import UpOptions, run_up
from ops.twin.version_upgrade import check_upgrade, run_upgrade
from shared.basics.errors import OperationFailed
from shared.storage.files.folder_lock import is_locked

COMMANDS: dict[str, Callable[[Path], object]] = {
    "up": lambda data: run_up(UpOptions(data, port=0)),
    "up --fresh": lambda data: run_up(UpOptions(data, port=0, fresh=True)),
    "audit": lambda data: run_audit(data=data),
    "backup": lambda data: run_backup(data.parent / "backup", data),
    "fork": partial(run_fork, ForkOptions("copy")),
    "archive": lambda data: run_archive(data, 0),
    "upgrade": run_upgrade,
    "upgrade --check": check_upgrade,
}


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("part", LIVE_TWIN_FILES)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_live_twin_s_folder_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, part: str
) -> None:
    """Its Redis and its records have the same paths as those of the other kind of twin."""
    monkeypatch.setattr("os.umask", lambda _mask: 0)  # the umask also applies to the test's process
    data = tmp_path / "data"
    for path in (part, "redis/appendonlydir/appendonly.aof.1.incr.aof", "upgrades/t/pod-0/1.snapshot"):
        (data / path).parent.mkdir(parents=True, exist_ok=True)
        (data / path).write_text("kept")
    before = files_in(tmp_path)
    with pytest.raises(
        OperationFailed, match=rf"holds files of a live twin \({part.split('/', maxsplit=1)[0]}\)"
    ):
        COMMANDS[name](data)
    assert files_in(tmp_path) == before


def test_a_folder_name_alone_does_not_make_a_live_twin(tmp_path: Path) -> None:
    (tmp_path / "kafka").mkdir()
    (tmp_path / "mirror" / "photos").mkdir(parents=True)
    folder = DataFolder(tmp_path)
    assert folder.identity() is None
    folder.hold()
    folder.release()


def make_link(key: Path) -> None:
    key.rename(key.with_name("other"))
    key.symlink_to(key.with_name("other"))


def make_fifo(key: Path) -> None:
    key.unlink()
    os.mkfifo(key, 0o600)


def make_folder(key: Path) -> None:
    key.unlink()
    key.mkdir()


def make_newline(key: Path) -> None:
    key.write_bytes(key.read_bytes() + b"\n")


DIGEST_KEYS: list[tuple[Callable[[Path], object], str]] = [
    (lambda key: key.unlink(), "new"),
    (lambda key: key.write_text("a" * 64), "new"),
    (lambda key: key.write_text("a"), "made a new one"),
    (lambda key: key.write_bytes(b""), "made a new one"),
    (lambda key: key.write_bytes(b"\0" * 1_000_000), "made a new one"),
    (make_newline, "same"),
    (lambda key: key.chmod(0o640), "other users can access digest.key"),
    (make_link, "digest.key: is a link; must be a regular file"),
    (make_fifo, "digest.key: is not a regular file"),
    (make_folder, "digest.key: Is a directory"),
]


@pytest.mark.parametrize(("change", "outcome"), DIGEST_KEYS)
def test_a_key_of_digests_that_was_changed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, change: Callable[[Path], object], outcome: str
) -> None:
    """A new key rebuilds the states; what is not a file of the twin's own is refused in one sentence."""
    folder = DataFolder(tmp_path)
    before = folder.state_digests().fingerprint
    change(tmp_path / "digest.key")
    if "digest.key" in outcome:
        with pytest.raises(OperationFailed, match=re.escape(outcome)):
            folder.state_digests()
        return
    after = folder.state_digests().fingerprint
    assert (after == before) == (outcome == "same")
    assert ("made a new one" in caplog.text) == (outcome == "made a new one")
    assert folder.state_digests().fingerprint == after


@pytest.mark.parametrize(
    "name",
    [
        "log",
        "log/pod-0.archive",
        "telemetry",
        "telemetry/pod-0",
        "snapshots",
        "snapshots/pod-0",
        "upgrades",
        "upgrades/pod-0",
        "redis",
        "redis/appendonlydir",
    ],
)
def test_a_folder_in_a_data_folder_is_not_a_link(tmp_path: Path, name: str) -> None:
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "precious").write_bytes(b"precious")
    link = tmp_path / "data" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(foreign)
    folder = DataFolder(tmp_path / "data")
    for use in (folder.hold, folder.identity):
        with pytest.raises(OperationFailed, match=f"{name}: is a link; must be a folder"):
            use()
    assert [path.name for path in foreign.iterdir()] == ["precious"]


def test_a_data_folder_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real" / "log").mkdir(parents=True)
    (tmp_path / "data").symlink_to(tmp_path / "real")
    folder = DataFolder(tmp_path / "data")
    folder.hold()
    assert is_locked(tmp_path / "real")
    folder.release()
