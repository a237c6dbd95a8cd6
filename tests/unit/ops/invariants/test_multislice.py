"""The checker of multi-pod jobs finds every incomplete job, and accepts a whole life."""

from collections.abc import Sequence

import pytest

from ops.invariants.multislice import LATE_US, MultisliceChecker
from schemas.body import Body
from schemas.envelope import enclose
from schemas.messages.scheduler import (
    PodHeld,
    PodsJoined,
    PodsParted,
    PodWaits,
    SliceAdmitted,
    SliceCompleted,
    SliceRequeued,
)
from schemas.messages.sequencer import Tick
from schemas.multislice import Multislice
from tests.support.requested import slice_requested

ONE, TWO = "pod-0/slice-4", "pod-1/slice-7"
JOB = Multislice(job=ONE, pods=("pod-0", "pod-1"), gradient_bytes=1, step_us=1)
REQUESTED = [slice_requested(name, multislice=JOB) for name in (ONE, TWO)]
RESERVED = [PodHeld(job=ONE, slice=name, until_us=100) for name in (ONE, TWO)]
JOINED = PodsJoined(job=ONE, slices=(ONE, TWO), chips=64, gradient_bytes=1, step_us=1)
ADMITTED = [
    SliceAdmitted(slice=name, shape=(4, 4, 4), twisted=False, cubes=(1,), corner=None, waited_us=0)
    for name in (ONE, TWO)
]
REQUEUED = [SliceRequeued(slice=name, reason="r") for name in (ONE, TWO)]
PARTED = [PodsParted(job=ONE, slice=name, ends="requeued", reason="r") for name in (ONE, TWO)]
DONE = [SliceCompleted(slice=name, reason="finished") for name in (ONE, TWO)]
LATER = Tick(service="scheduler", due_us=50, count=1)
TOO_LATE = Tick(service="scheduler", due_us=101 + LATE_US, count=2)


def problems(bodies: Sequence[Body]) -> list[str]:
    checker, findings, at_us = MultisliceChecker(), [], 0
    for seq, body in enumerate([*bodies, TOO_LATE], start=1):
        is_root = isinstance(body, Tick)
        at_us = body.due_us if isinstance(body, Tick) else at_us
        message = enclose(
            body,
            fabric="pod-0",
            at_us=at_us,
            cause=None if is_root else "x@pod-0/1",
            source="x@pod-0",
            seq=seq,
        )
        findings += list(checker.see(message))
    return findings


def test_a_whole_life_breaks_no_rule() -> None:
    again = [*RESERVED, JOINED, *ADMITTED]
    lost = [REQUEUED[0], PARTED[0], REQUEUED[1], PARTED[1]]
    assert problems([*REQUESTED, *again, LATER, *lost, *again, LATER, *DONE]) == []
    waits = PodWaits(job=ONE, slice=ONE, again_us=160, reason="r")
    assert problems([*REQUESTED, RESERVED[0], LATER, waits]) == []
    # A request at the same time comes before the Tick that ends the hold.
    assert problems([*REQUESTED, RESERVED[0], Tick(service="scheduler", due_us=101, count=2), waits]) == []


@pytest.mark.parametrize(
    ("expected", "problem"),
    [
        ([*REQUESTED, RESERVED[0]], f"cubes are reserved for {ONE} for longer than until 100"),
        ([*REQUESTED, ADMITTED[0], ADMITTED[1]], f"{ONE} has cubes before its job {ONE} starts"),
        ([*REQUESTED, *RESERVED, JOINED, ADMITTED[0]], f"of job {ONE} over 2 pods only {ONE} have cubes"),
        (
            [*REQUESTED, *RESERVED, JOINED, *ADMITTED, LATER, DONE[1]],
            f"of job {ONE} over 2 pods only {ONE} have",
        ),
        (
            [REQUESTED[0], RESERVED[0], JOINED, ADMITTED[0]],
            f"job {ONE} starts with ('{ONE}', '{TWO}'), but was requested",
        ),
        (
            [*REQUESTED, *RESERVED, JOINED, *ADMITTED, RESERVED[0]],
            f"{ONE} has cubes, but more are reserved for it",
        ),
    ],
)
def test_every_incomplete_job_is_found(expected: list[Body], problem: str) -> None:
    assert problems(expected)[0].startswith(problem)
