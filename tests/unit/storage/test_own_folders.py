"""Folders below a given folder must not be links, wherever the twin makes or reads them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from shared.basics.errors import LightwaveError
from shared.storage.files.own_folders import (
    check_no_links,
    check_own_parents,
    is_own_folder,
    make_own_folders,
)
from shared.storage.log.archive_reader import read_segments
from shared.storage.log.frame_files import TelemetryFolder
from shared.storage.log.indexed_log import IndexedLog
from shared.storage.log.offset_file import OffsetFile
from shared.storage.snapshots.snapshot_folder import SnapshotFolder

IS_LINK = "is a link; must be a folder"

USES: dict[str, tuple[str, Callable[[Path], object]]] = {
    "write a frame": (
        "telemetry/pod-0",
        lambda root: TelemetryFolder(root / "telemetry").put("pod-0", 7, b"x"),
    ),
    "write the first frame": (
        "telemetry",
        lambda root: TelemetryFolder(root / "telemetry").put("pod-0", 7, b"x"),
    ),
    "read a frame": ("telemetry/pod-0", lambda root: TelemetryFolder(root / "telemetry").latest("pod-0")),
    "read frames": ("telemetry", lambda root: [*TelemetryFolder(root / "telemetry").after("pod-0", 0)]),
    "list snapshots": ("snapshots/pod-0", lambda root: snapshots(root).positions()),
    "list snapshots of all sites": ("snapshots", lambda root: snapshots(root).positions()),
    "read a snapshot": ("snapshots/pod-0", lambda root: snapshots(root).read(7)),
    "discard snapshots": ("snapshots", lambda root: snapshots(root).discard_after(0)),
    "open a log": ("log", lambda root: IndexedLog(root / "log" / "pod-0.jsonl")),
    "open offsets": ("log", lambda root: OffsetFile(root / "log" / "pod-0.offsets")),
    "read an archive": ("log/pod-0.archive", lambda root: read_segments(root / "log" / "pod-0.archive")),
}


def snapshots(root: Path) -> SnapshotFolder:
    return SnapshotFolder(root / "snapshots" / "pod-0", "pod-0", "1.0")


@pytest.mark.parametrize("use", USES)
def test_no_folder_is_used_through_a_link(tmp_path: Path, use: str) -> None:
    name, run = USES[use]
    foreign = tmp_path / "foreign"
    (foreign / "pod-0").mkdir(parents=True)
    for place in (foreign, foreign / "pod-0"):
        for file in (f"{7:020d}.arrows", f"{7:012d}.snapshot", "x.part", "manifest.json", "pod-0.jsonl.part"):
            (place / file).write_bytes(b"precious")
    before = contents(foreign)
    link = tmp_path / "data" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(foreign)
    with pytest.raises(LightwaveError, match=IS_LINK):
        run(tmp_path / "data")
    assert contents(foreign) == before


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_folder_is_own_if_it_is_real(tmp_path: Path) -> None:
    real, link, dangling, file = (tmp_path / name for name in ("real", "link", "dangling", "file"))
    real.mkdir()
    link.symlink_to(real)
    dangling.symlink_to(tmp_path / "missing")
    file.write_bytes(b"")
    assert is_own_folder(real)
    assert not is_own_folder(tmp_path / "missing")
    for path in (link, dangling):
        with pytest.raises(OSError, match=IS_LINK):
            is_own_folder(path)
        with pytest.raises(OSError, match=IS_LINK):
            make_own_folders(path, path / "below")
    with pytest.raises(NotADirectoryError):
        is_own_folder(file)
    make_own_folders(tmp_path / "a" / "b", tmp_path / "a" / "b" / "c")
    assert is_own_folder(tmp_path / "a" / "b" / "c")
    assert not (tmp_path / "missing").exists()


def test_all_folders_of_a_file_are_checked_but_the_given_one(tmp_path: Path) -> None:
    (tmp_path / "real" / "a" / "b").mkdir(parents=True)
    given = tmp_path / "given"
    given.symlink_to(tmp_path / "real")
    check_own_parents(given, "a/b/file")
    check_own_parents(given, "file")
    check_own_parents(given, "new/file")
    (tmp_path / "real" / "a" / "link").symlink_to(tmp_path / "real")
    for name in ("a/link/file", "a/link/a/b/file"):
        with pytest.raises(OSError, match=IS_LINK):
            check_own_parents(given, name)


def test_links_to_files_are_refused_where_another_program_opens_them(tmp_path: Path) -> None:
    (tmp_path / "redis" / "appendonlydir").mkdir(parents=True)
    (tmp_path / "redis" / "appendonlydir" / "x.aof").symlink_to(tmp_path / "victim")
    check_no_links(tmp_path, ["redis", "missing"])
    with pytest.raises(OSError, match="is a link; must be a regular file"):
        check_no_links(tmp_path, [], files_too=["redis"])
