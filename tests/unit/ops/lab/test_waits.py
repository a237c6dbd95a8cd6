"""Waits as a run reads them off its log."""

from ops.lab.waits import Waits
from schemas.body import Body
from schemas.envelope import enclose
from schemas.names import Shape, Tier
from schemas.registry import encode
from schemas.scheduler import SliceRefused, SliceStarted
from tests.support.requested import slice_requested


def line(at_us: int, body: Body, fabric: str = "pod-0") -> bytes:
    source = f"{body.writer}@{fabric}"
    message = enclose(body, fabric=fabric, at_us=at_us, cause=None, source=source, seq=at_us)
    return encode(message) + b"\n"


def requested(at_us: int, number: int, tier: Tier = "research", shape: Shape = (4, 4, 4)) -> bytes:
    body = slice_requested(f"pod-0/slice-{number}", tier=tier, shape=shape)
    return line(at_us, body)


def started(at_us: int, number: int) -> bytes:
    return line(at_us, SliceStarted(slice=f"pod-0/slice-{number}", speed_ppm=1_000_000))


def test_waits_are_told_by_tier_and_size() -> None:
    waits = Waits(-1)
    for number in range(20):
        waits.see(requested(0, number) + started(number, number))
    waits.see(requested(3, 20, "production", (4, 4, 8)) + started(10, 20) + started(99, 20))
    assert waits.report("pod-0", 100) == [
        {"tier": "production", "chips": 128, "started": 1, "waiting": 0}
        | {"p50_us": 7, "p95_us": 7, "most_us": 7},
        {"tier": "research", "chips": 64, "started": 20, "waiting": 0}
        | {"p50_us": 9, "p95_us": 18, "most_us": 19},
    ]
    assert waits.report("pod-1", 100) == []


def test_who_still_waits_counts_with_the_time_so_far_and_who_was_refused_does_not() -> None:
    waits = Waits(-1)
    refused = line(6, SliceRefused(slice="pod-0/slice-1", reason="no room"))
    waits.see(requested(2, 0) + requested(2, 1) + refused)
    (row,) = waits.report("pod-0", 52)
    assert (row["started"], row["waiting"], row["most_us"]) == (0, 1, 50)


def test_what_was_asked_for_in_the_warm_up_is_none_of_it() -> None:
    waits = Waits(10)
    waits.see(requested(10, 0) + requested(11, 1) + started(12, 0) + started(13, 1))
    (row,) = waits.report("pod-0", 20)
    assert (row["started"], row["most_us"]) == (1, 2)
