"""Output files are complete, or as they were."""

import os
from pathlib import Path
from threading import Thread

import pytest

from ops.lab.run import partial_path
from ops.local.output_file import atomic_output_file, is_same_file, real_path


def write_half(out: Path) -> None:
    with atomic_output_file(out) as file:
        file.write(b"half")
        raise OSError("full")


def test_a_file_gets_its_name_when_it_is_complete(tmp_path: Path) -> None:
    out = tmp_path / "day.parquet"
    out.write_bytes(b"before")
    with atomic_output_file(out) as file:
        file.write(b"after")
        assert out.read_bytes() == b"before"
    assert out.read_bytes() == b"after"
    assert [path.name for path in tmp_path.iterdir()] == ["day.parquet"]


def test_a_failed_write_keeps_the_old_file(tmp_path: Path) -> None:
    out = tmp_path / "day.parquet"
    out.write_bytes(b"before")
    with pytest.raises(OSError, match="full"):
        write_half(out)
    assert out.read_bytes() == b"before"
    assert [path.name for path in tmp_path.iterdir()] == ["day.parquet"]


def test_it_writes_through_links(tmp_path: Path) -> None:
    real, link, dangling = (tmp_path / name for name in ("real", "link", "dangling"))
    real.write_bytes(b"before")
    link.symlink_to(real)
    dangling.symlink_to(tmp_path / "new")
    for out in (link, dangling):
        with atomic_output_file(out) as file:
            file.write(b"after")
        assert out.is_symlink()
    assert (real.read_bytes(), (tmp_path / "new").read_bytes()) == (b"after", b"after")


def test_a_pipe_is_written_to_and_stays_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    with atomic_output_file(pipe) as file:
        file.write(b"through")
    reader.join()
    assert read == [b"through"]
    assert pipe.is_fifo()


def test_a_link_in_place_of_the_temporary_file_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"theirs")
    (tmp_path / "day.part").symlink_to(victim)
    with atomic_output_file(tmp_path / "day") as file:
        file.write(b"ours")
    assert victim.read_bytes() == b"theirs"


def test_a_loop_of_links_is_a_path_like_any_other(tmp_path: Path) -> None:
    """`Path.resolve` raises RuntimeError for it before Python 3.13."""
    loop, other = tmp_path / "loop", tmp_path / "other"
    loop.symlink_to(loop)
    assert real_path(loop).name == "loop"
    assert is_same_file(loop, loop)
    assert not is_same_file(loop, other)
    assert partial_path(loop).name == "loop.partial"
