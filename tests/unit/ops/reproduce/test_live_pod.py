"""Slices that a swap harms in the drills, computed from hand-written messages."""

import pytest

from ops.reproduce import lab_runs
from ops.reproduce.claim import ClaimRow
from ops.reproduce.pods import live_pod
from ops.reproduce.registry import select_claims
from schemas.body import Body
from schemas.envelope import enclose
from schemas.messages.cubes import CubeHealthy
from schemas.messages.failures import FaultBegan
from schemas.messages.scheduler import (
    CubeSwapped,
    SliceAdmitted,
    SliceDegraded,
    SliceEvicted,
    SliceRecovering,
    SliceRequeued,
    SliceStarted,
)
from schemas.recovery_policy import Choice
from services.totals.availability_time import AvailabilitySpans


def admitted(number: int, *cubes: int) -> SliceAdmitted:
    shape = (4, 4, 4 * len(cubes))
    return SliceAdmitted(
        slice=f"pod-0/slice-{number}", shape=shape, twisted=False, cubes=cubes, corner=None, waited_us=0
    )


def broken(cube: int) -> FaultBegan:
    return FaultBegan(
        fault=f"pod-0/fault-{cube}",
        kind="host",
        target=f"pod-0/cube-{cube}/host-0",
        injected=True,
        severity=None,
        onset_us=0,
        expires_us=None,
    )


def swapped(number: int, left: int, spare: int) -> CubeSwapped:
    return CubeSwapped(slice=f"pod-0/slice-{number}", left=left, spare=spare, corner=None, reason="failed")


def recovering(number: int, choice: Choice | None = None) -> SliceRecovering:
    return SliceRecovering(
        slice=f"pod-0/slice-{number}",
        part="pod-0/cube-1",
        choice=choice,
        costs_chip_us=None,
    )


def bystanders(
    monkeypatch: pytest.MonkeyPatch, *timed: tuple[int, Body], cut: dict[str, int] | None = None
) -> ClaimRow:
    messages = tuple(
        enclose(body, fabric="pod-0", at_us=at_us, cause=None, source=f"{body.writer}@pod-0", seq=n)
        for n, (at_us, body) in enumerate(timed)
    )
    run = lab_runs.ClaimRun(1.0, None, AvailabilitySpans((), (), {}), messages, cut or {})
    monkeypatch.setattr(live_pod, "lab_runs", lambda _: [run])
    (claim,) = select_claims(("slices/bystanders",))
    return claim.row()


TWO = ((0, admitted(1, 1, 2)), (0, admitted(2, 3)), (1, SliceStarted(slice="pod-0/slice-2")))
SWAP = ((10, broken(1)), (11, recovering(1, "swap")), (11, swapped(1, 1, 5)))
LATER = {
    "requeued": SliceRequeued(slice="pod-0/slice-2", reason="preempted"),
    "evicted": SliceEvicted(slice="pod-0/slice-2", reason="preempted"),
    "degraded": SliceDegraded(slice="pod-0/slice-2", links_down=1, links_degraded=0),
    "recovering": recovering(2),
}


def test_a_slice_that_lost_a_cube_is_no_bystander(monkeypatch: pytest.MonkeyPatch) -> None:
    row = bystanders(monkeypatch, *TWO, *SWAP, (12, broken(3)), (13, recovering(2)))
    assert (row.measured, row.holds) == (0, True)


@pytest.mark.parametrize("how", LATER)
def test_a_slice_on_healthy_cubes_is_harmed(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    row = bystanders(monkeypatch, *TWO, *SWAP, (11, LATER[how]))
    assert (row.measured, row.holds) == (1, False)
    lost = int(how in ("requeued", "evicted"))
    assert row.note.startswith(f"of 1 slices that ran in 5 pods; {lost} of them lost their cubes to a swap")


def test_a_slice_that_was_moved_before_may_be_harmed_by_a_later_swap(monkeypatch: pytest.MonkeyPatch) -> None:
    moved = ((5, broken(3)), (6, recovering(2, "swap")), (6, swapped(2, 3, 4)))
    assert bystanders(monkeypatch, *TWO, *moved, *SWAP, (11, LATER["requeued"])).measured == 1


def test_a_repaired_cube_explains_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    repaired = ((2, broken(3)), (3, CubeHealthy(cube=3)))
    assert bystanders(monkeypatch, *TWO, *repaired, *SWAP, (11, LATER["degraded"])).measured == 1


def test_a_slice_that_makes_way_for_a_start_is_not_harmed_by_a_swap(monkeypatch: pytest.MonkeyPatch) -> None:
    row = bystanders(monkeypatch, *TWO, *SWAP, (20, LATER["requeued"]), (20, admitted(3, 3)))
    assert row.measured == 0


def test_a_slice_whose_circuits_an_ocs_cut_is_harmed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert bystanders(monkeypatch, *TWO, *SWAP, cut={"pod-0/slice-2": 3}).measured == 1
