"""The format of log lines, for people and for programs."""

import asyncio
import errno
import json
import logging
import re
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from ops.cli.common.log_format import FIELDS, LIBRARY_LEVELS, configure_logging
from shared.basics.errors import StoreUnreachable

log = logging.getLogger("lightwave.live")


@pytest.fixture(autouse=True)
def restore_logging() -> Iterator[None]:
    """Restore the logging configuration after each test."""
    root = logging.getLogger()
    before = (root.handlers[:], root.level, {name: logging.getLogger(name).level for name in LIBRARY_LEVELS})
    yield
    root.handlers[:] = before[0]
    root.setLevel(before[1])
    for name, level in before[2].items():
        logging.getLogger(name).setLevel(level)


def written(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().err.splitlines()


def fail() -> None:
    raise ArithmeticError("a batch broke")


def test_json_lines_carry_every_field_that_is_given(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(as_json=True, replica="ocs-a")
    given: dict[str, Any] = {name: f"the {name}" for name in FIELDS if name != "replica"}
    assert set(given) >= {"message_id", "cause", "service", "partition", "offset", "fabric"}
    log.error("time stands still", extra=given)
    log.info("plain")
    full, plain = map(json.loads, written(capsys))
    assert (
        full.items() >= (given | {"replica": "ocs-a", "text": "time stands still", "level": "error"}).items()
    )
    assert set(plain) == {"time", "level", "logger", "text", "replica"}
    assert plain["logger"] == "lightwave.live"


def test_a_log_line_shows_its_source_level_and_subject(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(as_json=False, replica="ocs-a")
    log.info("holds %s", "partition 3")
    log.error("time stands still", extra={"message_id": "operator@pod-0/7"})
    lines = [re.sub(r"^\d\d:\d\d:\d\dZ ", "", line) for line in written(capsys)]
    assert lines == ["ocs-a: holds partition 3", "ocs-a: error: time stands still (operator@pod-0/7)"]


def test_a_single_process_is_not_named(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(as_json=False)
    log.info("gateway on port 1")
    (line,) = written(capsys)
    assert re.fullmatch(r"\d\d:\d\d:\d\dZ gateway on port 1", line)


@pytest.mark.parametrize("as_json", [False, True])
def test_an_unexpected_error_is_reported_with_its_origin(
    capsys: pytest.CaptureFixture[str], as_json: bool
) -> None:
    configure_logging(as_json=as_json)
    try:
        fail()
    except ArithmeticError:
        log.exception("a batch")
    text = capsys.readouterr().err
    assert "a batch" in text
    assert "ArithmeticError: a batch broke" in text
    assert "in fail" in text
    assert len(text.splitlines()) == 1 or not as_json


@pytest.mark.parametrize("as_json", [False, True])
def test_a_lack_of_file_descriptors_is_reported_in_one_sentence(
    capsys: pytest.CaptureFixture[str], as_json: bool
) -> None:
    configure_logging(as_json=as_json, replica="gateway-b")
    try:
        raise StoreUnreachable("Redis at x does not answer") from OSError(errno.EMFILE, "Too many open files")
    except StoreUnreachable:
        log.exception("batch failed")
    loop = asyncio.new_event_loop()
    with socket.create_server(("127.0.0.1", 0)) as server:
        context: dict[str, Any] = {
            "message": "socket.accept() out of system resource",
            "exception": OSError(errno.ENFILE, "Too many open files in system"),
            "socket": server,
        }
        for _ in range(2):  # asyncio repeats it every second
            loop.call_exception_handler(context)
    loop.close()
    lines = written(capsys)
    own, accept = [json.loads(line)["text"] for line in lines] if as_json else lines
    assert "batch failed: this process has no file descriptor left (its limit is " in own
    assert "socket.accept() out of system resource: this machine has no file descriptor left; raise" in accept


@pytest.mark.parametrize(("library", "least"), LIBRARY_LEVELS.items())
def test_only_important_lines_of_libraries_are_shown(
    capsys: pytest.CaptureFixture[str], library: str, least: int
) -> None:
    configure_logging(as_json=False)
    other = logging.getLogger(f"{library}.conn")
    other.log(least - 1, "connecting")
    other.log(least, "it matters")
    assert [line.endswith("it matters") for line in written(capsys)] == [True]


def test_repeated_lines_of_a_library_are_limited_and_those_of_the_twin_are_not(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    configure_logging(as_json=False)
    library = logging.getLogger("aiokafka.cluster")
    now_s = 1_000.0
    monkeypatch.setattr("logging.time.time", lambda: now_s)
    monkeypatch.setattr("logging.time.time_ns", lambda: int(now_s * 1e9), raising=False)
    for seconds in (0.0, 0.1, 29.0, 31.0, 60.0, 61.5):
        now_s = 1_000.0 + seconds
        library.error("cannot connect to %s", "127.0.0.1:9092")
    library.error("cannot connect to %s", "127.0.0.1:9093")
    assert [line[10:] for line in written(capsys)] == [
        "error: cannot connect to 127.0.0.1:9092",
        "error: cannot connect to 127.0.0.1:9092",
        "error: cannot connect to 127.0.0.1:9092",
        "error: cannot connect to 127.0.0.1:9093",
    ]
    for _ in range(3):
        log.error("time stands still")
    assert len(written(capsys)) == 3
