"""Waiting ends with the first true answer or with its time; a file that is replaced is always whole."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.runtimes.poll import poll_until
from shared.storage.files.atomic_files import write_private_text


def test_the_first_true_answer_is_reported() -> None:
    answers: Iterator[int] = iter((0, 0, 7, 8))
    assert poll_until(lambda: next(answers), 5.0, 0.001) == 7
    assert next(answers) == 8


def test_the_last_answer_is_reported_when_the_time_is_over() -> None:
    began_s = time.monotonic()
    assert poll_until(lambda: "", 0.05, 0.001) == ""
    assert time.monotonic() - began_s >= 0.05


def test_there_is_always_one_question() -> None:
    assert poll_until(lambda: 3, 0.0) == 3
    assert poll_until(lambda: None, -1.0) is None


def test_the_polled_function_can_raise() -> None:
    with pytest.raises(ZeroDivisionError):
        poll_until(lambda: 1 // 0, 1.0)


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    file = tmp_path / "clock.json"
    write_private_text(file, "old")
    before = file.open()
    write_private_text(file, "new and longer")
    with before:
        assert before.read() == "old"
    assert file.read_text() == "new and longer"
    assert list(tmp_path.iterdir()) == [file]


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    file = tmp_path / "clock.json"
    write_private_text(file, "old")
    (tmp_path / "clock.json.part").mkdir()
    with pytest.raises(IsADirectoryError):
        write_private_text(file, "new")
    assert file.read_text() == "old"
