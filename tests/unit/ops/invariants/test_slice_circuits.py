"""The checker of slices' circuits finds every incomplete set, and accepts a whole life."""

from collections.abc import Sequence

import pytest

from ops.invariants.slice_circuits import SliceCircuitsChecker
from schemas.body import Body
from schemas.config.pods import SuperpodConfig
from schemas.envelope import enclose
from schemas.messages.scheduler import (
    ConnectCircuits,
    CubeSwapped,
    DisconnectCircuits,
    LeaveCircuits,
    SliceAdmitted,
    SliceCompleted,
    SliceRequeued,
)
from schemas.messages.sequencer import FabricCommissioned, Tick
from schemas.names import Join
from shared.models.superpod.shapes import slice_joins

NAME, OTHER = "pod-0/slice-0", "pod-0/slice-1"
JOINS = slice_joins((4, 4, 8), False, (2, 5))
MOVED = slice_joins((4, 4, 8), False, (2, 7))
BEGIN = SliceAdmitted(slice=NAME, shape=(4, 4, 8), twisted=False, cubes=(2, 5), corner=None, waited_us=0)
MESH = SliceAdmitted(slice=OTHER, shape=(2, 4, 4), twisted=False, cubes=(5,), corner=(0, 0, 0), waited_us=0)
SWAP = CubeSwapped(slice=NAME, left=5, spare=7, corner=None, reason="failed")
DONE = SliceCompleted(slice=NAME, reason="finished")


def connect(joins: Sequence[Join]) -> ConnectCircuits:
    return ConnectCircuits(slice=NAME, joins=tuple(joins))


def disconnect(joins: Sequence[Join], name: str = NAME) -> DisconnectCircuits:
    return DisconnectCircuits(slice=name, joins=tuple(joins))


def judged(*steps: Sequence[Body]) -> list[str]:
    """Return the checker's findings in a log of these steps, each caused by one Tick."""
    checker = SliceCircuitsChecker()
    config = FabricCommissioned(site="pod-0", config=SuperpodConfig())
    tick = Tick(service="scheduler", due_us=0, count=1)
    log = [config, *[body for step in steps for body in (tick, *step)], tick]
    return [
        problem
        for seq, body in enumerate(log, start=1)
        for problem in checker.see(
            enclose(
                body,
                fabric="pod-0",
                at_us=seq,
                cause=None if body.writer == "sequencer" else "sequencer@pod-0/1",
                source=f"{body.writer}@pod-0",
                seq=seq,
            )
        )
    ]


def test_a_whole_life_is_accepted() -> None:
    gone, new = set(JOINS) - set(MOVED), set(MOVED) - set(JOINS)
    assert (
        judged(
            [BEGIN, connect(JOINS)],
            [SWAP, disconnect(sorted(gone)), connect(sorted(new))],
            [LeaveCircuits(slice=NAME, joins=MOVED), SliceRequeued(slice=NAME, reason="preempted")],
            [BEGIN.model_copy(update={"cubes": (2, 7)}), connect(MOVED)],
            [LeaveCircuits(slice=NAME, joins=MOVED), DONE],
            [MESH.model_copy(update={"cubes": (4,)})],
        )
        == []
    )


@pytest.mark.parametrize(
    ("steps", "expected_text"),
    [
        ([[BEGIN], [connect(JOINS)]], "which do not match its shape"),
        ([[BEGIN, connect(JOINS[1:])]], "which do not match its shape"),
        ([[BEGIN, connect(JOINS)], [SWAP]], "which do not match its shape"),
        ([[BEGIN, connect(JOINS)], [DONE]], f"{NAME} has no cubes, but still {len(JOINS)} joins"),
        ([[connect(JOINS)]], f"{NAME} has no cubes, but still {len(JOINS)} joins"),
        ([[BEGIN.model_copy(update={"cubes": (2, 2)})]], "its shape needs 2"),
        (
            [[BEGIN, connect(JOINS)], [LeaveCircuits(slice=NAME, joins=JOINS), DONE], [MESH]],
            f"is stale and connects to a cube of {OTHER}",
        ),
    ],
)
def test_every_incomplete_set_is_found(steps: list[list[Body]], expected_text: str) -> None:
    findings = judged(*steps)
    assert findings
    assert all(expected_text in problem for problem in findings)
