"""Waiting times as a run reads them from its log."""

from typing import Any

from schemas.body import Body
from schemas.envelope import enclose
from schemas.messages.scheduler import (
    SliceAdmitted,
    SliceCompleted,
    SliceDegraded,
    SliceRecovering,
    SliceRefused,
    SliceRequeued,
    SliceRestored,
    SliceStarted,
)
from schemas.names import Shape, Tier
from schemas.recovery_policy import Choice
from schemas.registry import decode, encode
from services.totals.slice_waits import SliceWaits
from tests.support.requested import slice_requested


def line(at_us: int, body: Body, fabric: str = "pod-0") -> bytes:
    source = f"{body.writer}@{fabric}"
    message = enclose(body, fabric=fabric, at_us=at_us, cause=None, source=source, seq=at_us)
    return encode(message) + b"\n"


class Heard(SliceWaits):
    """Process lines as every reader of the log does."""

    def rows(self, fabric: str, at_us: int) -> list[dict[str, Any]]:
        return [row.model_dump() for row in self.report(fabric, at_us)]

    def hear(self, lines: bytes) -> None:
        for one in lines.splitlines():
            message = decode(one)
            self.see(message.fabric, message.at_us, message.body)


def requested(at_us: int, number: int, tier: Tier = "research", shape: Shape = (4, 4, 4)) -> bytes:
    body = slice_requested(f"pod-0/slice-{number}", tier=tier, shape=shape)
    return line(at_us, body)


def started(at_us: int, number: int) -> bytes:
    return line(at_us, SliceStarted(slice=f"pod-0/slice-{number}", speed_ppm=1_000_000))


def test_waits_are_reported_by_tier_and_size() -> None:
    waits = Heard(-1)
    for number in range(20):
        waits.hear(requested(0, number) + started(number, number))
    waits.hear(requested(3, 20, "production", (4, 4, 8)) + started(10, 20) + started(99, 20))
    assert waits.rows("pod-0", 100) == [
        {"tier": "production", "chips": 128, "started": 1, "waiting": 0}
        | {"p50_us": 7, "p95_us": 7, "most_us": 7},
        {"tier": "research", "chips": 64, "started": 20, "waiting": 0}
        | {"p50_us": 9, "p95_us": 18, "most_us": 19},
    ]
    assert waits.rows("pod-1", 100) == []


def test_a_waiting_slice_counts_its_time_up_to_now_and_a_refused_one_does_not() -> None:
    waits = Heard(-1)
    refused = line(6, SliceRefused(slice="pod-0/slice-1", reason="no room"))
    waits.hear(requested(2, 0) + requested(2, 1) + refused)
    (row,) = waits.rows("pod-0", 52)
    assert (row["started"], row["waiting"], row["most_us"]) == (0, 1, 50)


def test_requests_of_the_warm_up_are_left_out() -> None:
    waits = Heard(10)
    waits.hear(requested(10, 0) + requested(11, 1) + started(12, 0) + started(13, 1))
    (row,) = waits.rows("pod-0", 20)
    assert (row["started"], row["most_us"]) == (1, 2)


def admitted(at_us: int, number: int, shape: Shape = (4, 4, 4)) -> bytes:
    body = SliceAdmitted(
        slice=f"pod-0/slice-{number}", shape=shape, twisted=False, cubes=(0,), corner=None, waited_us=0
    )
    return line(at_us, body)


def recovering(at_us: int, number: int, choice: Choice | None = None) -> bytes:
    body = SliceRecovering(
        slice=f"pod-0/slice-{number}", part="pod-0/cube-0", choice=choice, costs_chip_us=None
    )
    return line(at_us, body)


NONE = {"count": 0, "p50_us": None, "p95_us": None, "most_us": None}


def test_start_up_times_run_from_cubes_to_running_if_circuits_are_needed() -> None:
    waits = Heard(0)
    for number in range(4):
        waits.hear(admitted(10, number) + started(20 + number, number))
    waits.hear(admitted(10, 4, (2, 2, 2)) + started(11, 4))
    waits.hear(admitted(30, 5) + line(35, SliceRequeued(slice="pod-0/slice-5", reason="r")) + started(99, 5))
    found = waits.spans("pod-0")
    assert found["startups"] == {"count": 4, "p50_us": 11, "p95_us": 13, "most_us": 13}
    assert found["recoveries"] == NONE
    assert waits.spans("pod-1") == {"startups": NONE, "recoveries": NONE}


def test_recovery_times_run_from_the_failure_to_running_again_by_any_choice() -> None:
    waits = Heard(0)
    name = "pod-0/slice-0"
    ways = (
        started(40, 0),
        line(40, SliceRestored(slice=name)),
        line(40, SliceDegraded(slice=name, links_down=2, links_degraded=0)),
    )
    for way in ways:
        waits.hear(recovering(10, 0) + recovering(30, 0, "wait") + way)
    waits.hear(recovering(50, 0) + line(60, SliceCompleted(slice=name, reason="operator")) + started(70, 0))
    requeued = line(90, SliceRequeued(slice=name, reason="r"))
    waits.hear(recovering(80, 0) + requeued + admitted(95, 0) + started(100, 0))
    found = waits.spans("pod-0")
    assert found["recoveries"] == {"count": 4, "p50_us": 30, "p95_us": 30, "most_us": 30}
    assert found["startups"] == {"count": 1, "p50_us": 5, "p95_us": 5, "most_us": 5}


def test_spans_that_started_in_the_warm_up_are_left_out() -> None:
    waits = Heard(10)
    waits.hear(admitted(10, 0) + recovering(10, 1) + started(12, 0) + started(13, 1))
    assert waits.spans("pod-0") == {"startups": NONE, "recoveries": NONE}


def test_a_slice_that_something_failed_under_is_met_once() -> None:
    waits = Heard(10)
    for number in range(4):
        waits.hear(started(10 + number, number))  # the first one within the warm-up
    waits.hear(recovering(20, 1) + recovering(21, 1) + recovering(22, 0) + recovering(23, 3))
    for number in range(3):
        waits.hear(line(30, SliceCompleted(slice=f"pod-0/slice-{number}", reason="finished")))
    assert waits.disrupted("pod-0") == {"ended": 2, "disrupted": 1}
    assert waits.disrupted("pod-1") == {"ended": 0, "disrupted": 0}
