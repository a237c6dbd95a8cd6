"""A removal of a fork that is killed at any step leaves the whole fork, or nothing that commands use."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ops.twin.forks import fork_folders
from ops.twin.forks.fork_folders import existing_fork_folder, fork_names, new_fork_folder, remove_fork
from shared.basics.errors import NotFound, OperationFailed

NAME = "drill"
FILES = ("origin.json", "identity.json", "logs/pod-0.jsonl", "snapshots/pod-0/7.snapshot")
STEPS = ("rename", "unlink", "rmdir")
"""Calls of the system that change something on the way."""


class Killed(BaseException):
    """Stands for SIGKILL: nothing of the command runs after it, except that the system drops its locks."""


@pytest.fixture
def fork(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a fork with a few files."""
    monkeypatch.setattr(fork_folders, "forks_folder", lambda: tmp_path)
    for name in FILES:
        path = tmp_path / NAME / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    return tmp_path / NAME


@contextmanager
def killed_at(step: int) -> Iterator[list[str]]:
    """Within it, the call of this number is the last before the kill; yields the calls so far."""
    calls: list[str] = []
    killed = False

    def counted(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            nonlocal killed
            if killed:
                return None  # of the command's own cleaning up, which does not happen after a kill
            if len(calls) == step:
                killed = True
                raise Killed
            calls.append(name)
            return real(*args, **named)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in STEPS:
            patch.setattr(os, name, counted(name, getattr(os, name)))
        yield calls


def files_of(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("step", range(9))
def test_a_removal_that_was_killed_can_be_repeated(fork: Path, step: int) -> None:
    with killed_at(step) as calls, pytest.raises(Killed):
        remove_fork(NAME)
    if calls.count("rename"):
        assert fork_names() == []
        with pytest.raises(NotFound, match=r"^fork drill: no such fork"):
            existing_fork_folder(NAME)
    else:
        assert {*FILES} <= {*files_of(fork)}
        assert existing_fork_folder(NAME) == fork
        with pytest.raises(OperationFailed, match=r"^fork drill: already exists"):
            new_fork_folder(NAME)
    remove_fork(NAME)
    assert [*fork.parent.iterdir()] == []
    with pytest.raises(NotFound):
        remove_fork(NAME)
    assert new_fork_folder(NAME) == fork


def test_the_steps_above_are_all_of_a_removal(fork: Path) -> None:
    with killed_at(1_000) as calls:
        remove_fork(NAME)
    assert "rename" in calls
    assert len(calls) >= 9
    assert [*fork.parent.iterdir()] == []
