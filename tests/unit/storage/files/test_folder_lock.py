"""One process at a time writes to a folder. Two open files of one process exclude each other as those of two
processes do."""

from pathlib import Path

import pytest

from shared.storage.files.folder_lock import FolderLocked, is_locked, lock_folder


def test_a_folder_is_locked_once_until_its_lock_is_closed(tmp_path: Path) -> None:
    folder = tmp_path / "twin"
    assert not is_locked(folder)
    with lock_folder(folder):
        assert is_locked(folder)
        with pytest.raises(FolderLocked, match="twin"):
            lock_folder(folder)
    assert not is_locked(folder)
    with lock_folder(folder):
        assert is_locked(folder)


def test_folders_are_locked_one_by_one(tmp_path: Path) -> None:
    with lock_folder(tmp_path / "a"), lock_folder(tmp_path / "b"):
        assert is_locked(tmp_path / "a")
        assert not is_locked(tmp_path / "c")


def test_looking_at_a_lock_neither_takes_it_nor_creates_anything(tmp_path: Path) -> None:
    folder = tmp_path / "twin"
    assert not is_locked(folder)
    assert not folder.exists()
    lock_folder(folder).close()
    assert not is_locked(folder)
    with lock_folder(folder):
        pass
