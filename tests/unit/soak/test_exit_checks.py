"""The exits of processes are judged by the signals sent to them, and their output by its tracebacks."""

import signal
from pathlib import Path

from shared.runtimes.live.process.health import EXIT_RESTART
from tests.soak.checks import check_exits, check_logs, wrong_usage_exits

KILL, TERM = signal.SIGKILL, signal.SIGTERM


def test_exits_caused_by_faults_and_clean_exits_are_no_problem() -> None:
    exits = {"ocs-a": [-9, 1, 0, EXIT_RESTART, -9], "gateway": [-15, 143], "sequencer": []}
    sent = {("ocs-a", KILL): 3, ("ocs-a", TERM): 1, ("gateway", TERM): 2}
    assert [*check_exits(exits, sent)] == []


def test_an_unexplained_exit_is_found() -> None:
    exits = {"ocs-a": [-9, -9, 0], "gateway": [-11, 3], "cubes-a": [143]}
    assert [*check_exits(exits, {("ocs-a", KILL): 1, ("gateway", KILL): 1})] == [
        "ocs-a ended in good order 1 times, and was asked to 0 times",
        "ocs-a ended with SIGKILL 2 times, faults of the soak did so 1 times",
        "gateway ended with SIGSEGV 1 times, faults of the soak did so 0 times",
        "gateway ended with exit code 3 1 times, faults of the soak did so 0 times",
        "cubes-a ended in good order 1 times, and was asked to 0 times",
    ]


def test_a_process_that_shows_its_use_is_wrong_is_named() -> None:
    assert wrong_usage_exits({"ocs-a": [2, 1], "gateway": [1, 2], "sequencer": []}) == ["gateway"]


def test_a_traceback_is_found_in_any_output(tmp_path: Path) -> None:
    (tmp_path / "gateway.log").write_text("lightwave: Kafka at 127.0.0.1:9: refused; see that it runs\n")
    (tmp_path / "ocs-a.log").write_text(
        "13:00 ocs-a: error\nTraceback (most recent call last):\n  File a\n    it()\nKeyError: 'first'\n"
        "13:01 ocs-a: again\nTraceback (most recent call last):\n  File b\n    it()\n\nValueError: last\nso\n"
    )
    assert [*check_logs(tmp_path)] == ["ocs-a wrote 2 tracebacks, the last of: ValueError: last"]
