"""The check of a log against the changes of the clock, on small histories."""

import json

import pytest

from shared.basics.units import US_PER_S
from tests.soak.clock_check import ClockChange, check_clock, clock_changes
from tests.soak.log_facts import AppendedMessage, LogRecord

SPEED = 100.0


def change(wall_s: float, anchor_s: float, who: str = "sequencer", *, paused: bool = False) -> ClockChange:
    return ClockChange(round(wall_s * US_PER_S), who, round(anchor_s * US_PER_S), SPEED, paused)


def message(wall_s: float, at_s: float) -> AppendedMessage:
    return AppendedMessage("ocs@pod-0/7", round(at_s * US_PER_S), round(wall_s * US_PER_S))


START = change(0, 0, "root@host")


@pytest.mark.parametrize(
    ("changes", "messages", "problem"),
    [
        ([START], [message(10, 1_000)], None),
        # A site that lags catches up faster than the clock runs.
        ([START], [message(40, 0), message(41, 4_000)], None),
        ([START], [message(10, 1_190)], None),
        ([START], [message(10, 1_300)], "ocs@pod-0/7 is 3.0 s ahead of the clock at 00:00:10Z"),
        # Set back to where time stands: what was stamped before is not ahead.
        ([START, change(20, 500)], [message(20.1, 1_900), message(25, 1_000)], None),
        ([START, change(20, 500)], [message(34, 2_500)], "ocs@pod-0/7 is 5.0 s ahead of the clock"),
        ([START, change(20, 2_500)], [], "sequencer set the clock forward by 5.0 s at 00:00:20Z"),
        # While it is paused it shows the slowest site, and it continues from the furthest.
        ([START, change(10, 200, paused=True), change(99, 1_000)], [message(50, 1_000)], None),
        ([START, change(10, 200, paused=True)], [message(50, 1_500)], "ocs@pod-0/7 is 5.0 s ahead"),
    ],
)
def test_what_is_ahead_of_the_clock_is_found(
    changes: list[ClockChange], messages: list[AppendedMessage], problem: str | None
) -> None:
    found = [*check_clock(reversed(changes), messages, SPEED)]
    assert [one[: len(problem or "")] for one in found] == ([] if problem is None else [problem])


def test_changes_are_read_once_each_and_other_records_are_passed_over() -> None:
    body = {"speed": SPEED, "paused": False, "anchor_us": 7, "until_us": None, "run_speed": None}
    operation = {"id": "a", "wall_us": 5, "who": "sequencer", "type": "ClockChanged", "v": 1, "body": body}
    texts = [
        json.dumps(operation).encode(),
        json.dumps(operation).encode(),
        json.dumps({**operation, "id": "b", "type": "VersionStarted"}).encode(),
        b"\xff",
        b"[]",
    ]
    records = [LogRecord(0, offset, {}, text) for offset, text in enumerate(texts)]
    assert clock_changes(records) == [ClockChange(5, "sequencer", 7, SPEED, paused=False)]
