"""Invalid files: pipes, devices, and frames larger than allowed."""

import os
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from shared.basics.errors import OperationFailed
from shared.storage.files.compression import decompress_bounded
from shared.storage.files.own_files import Mode, open_own, read_own
from shared.storage.snapshots.snapshot_folder import SnapshotFolder


@given(st.binary(max_size=2_000), st.integers(0, 2_000))
def test_a_frame_is_unpacked_within_its_bound_and_no_further(data: bytes, most: int) -> None:
    packed = zstandard.compress(data)
    if len(data) <= most:
        assert decompress_bounded(packed, most) == data
    else:
        with pytest.raises(zstandard.ZstdError, match=f"{len(data)} bytes; must be at most {most}"):
            decompress_bounded(packed, most)


def test_a_frame_without_a_declared_size_is_bounded_too() -> None:
    packed = zstandard.ZstdCompressor(write_content_size=False).compress(b"0" * 100_000)
    with pytest.raises(zstandard.ZstdError):
        decompress_bounded(packed, 1_000)


@pytest.mark.parametrize("mode", ["rb", "ab", "ab+", "wb"])
def test_own_files_are_regular_files(tmp_path: Path, mode: Mode) -> None:
    """Nothing is written through a link, and no pipe or device is waited for."""
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    link, dangling, pipe, folder = (tmp_path / name for name in ("link", "dangling", "pipe", "folder"))
    link.symlink_to(victim)
    dangling.symlink_to(tmp_path / "new")
    os.mkfifo(pipe)
    folder.mkdir()
    device = tmp_path / "device"
    device.symlink_to("/dev/zero")
    for path in (link, dangling, device):
        with pytest.raises(OSError, match="is a link; must be a regular file") as refusal:
            open_own(path, mode)
        assert refusal.value.filename == str(path)
    with pytest.raises(OSError, match="is not a regular file"):
        open_own(pipe, mode)
    with pytest.raises(IsADirectoryError):
        open_own(folder, mode)
    assert victim.read_bytes() == b"precious"
    assert not (tmp_path / "new").exists()


def test_own_files_are_written_and_read_as_with_open(tmp_path: Path) -> None:
    path = tmp_path / "own"
    with pytest.raises(FileNotFoundError):
        open_own(path)
    with open_own(path, "wb") as file:
        file.write(b"first, and longer")
    with open_own(path, "wb") as file:
        file.write(b"one")
    with open_own(path, "ab") as file:
        file.write(b" two")
    with open_own(path, "ab+") as file:
        file.write(b" three")
        file.seek(0)
        assert file.read() == b"one two three"
    assert read_own(path, 13) == b"one two three"
    with pytest.raises(OSError, match="is larger than 12 bytes"):
        read_own(path, 12)


REFUSALS = {"pipe": "is not a regular file", "device": "is a link", "folder": "Is a directory"}


@pytest.mark.parametrize("kind", REFUSALS)
def test_a_pipe_is_neither_read_nor_waited_for(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"{7:012d}.snapshot"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()
    with pytest.raises(OSError, match=REFUSALS[kind]):
        open_own(path)
    with pytest.raises(OperationFailed, match=REFUSALS[kind]):
        SnapshotFolder(tmp_path, "pod-0", "1.0").read(7)
    assert SnapshotFolder(tmp_path, "pod-0", "1.0").newest() is None
