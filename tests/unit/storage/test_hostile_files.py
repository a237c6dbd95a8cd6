"""Files that are not what they should be: pipes, devices, and frames that hold more than they may."""

import os
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from shared.basics.errors import OperationFailed
from shared.storage.files.atomic_files import open_regular
from shared.storage.files.compression import decompress_bounded
from shared.storage.snapshots.snapshot_folder import SnapshotFolder


@given(st.binary(max_size=2_000), st.integers(0, 2_000))
def test_a_frame_is_unpacked_within_its_bound_and_no_further(data: bytes, most: int) -> None:
    packed = zstandard.compress(data)
    if len(data) <= most:
        assert decompress_bounded(packed, most) == data
    else:
        with pytest.raises(zstandard.ZstdError, match=f"{len(data)} bytes; must be at most {most}"):
            decompress_bounded(packed, most)


def test_a_frame_that_does_not_say_what_it_holds_is_bounded_too() -> None:
    packed = zstandard.ZstdCompressor(write_content_size=False).compress(b"0" * 100_000)
    with pytest.raises(zstandard.ZstdError):
        decompress_bounded(packed, 1_000)


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_a_pipe_is_neither_read_nor_waited_for(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"{7:012d}.snapshot"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()
    with pytest.raises(OSError, match="is not a regular file"):
        open_regular(path)
    with pytest.raises(OperationFailed, match="is not a regular file"):
        SnapshotFolder(tmp_path, "pod-0", "1.0").read(7)
    assert SnapshotFolder(tmp_path, "pod-0", "1.0").newest() is None
