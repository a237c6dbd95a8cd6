"""The names that find a message: the slices that came to a cube and left it, and the partners of a link."""

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from schemas.body import Body
from schemas.config.dcn import DcnConfig
from schemas.config.pods import SuperpodConfig
from schemas.messages.demands import DemandMoved
from schemas.messages.jobs import PodSignalled
from schemas.messages.ocs import CircuitsConnected, CircuitsDisconnected
from schemas.messages.scheduler import (
    ConnectCircuits,
    CubeSwapped,
    DisconnectCircuits,
    LeaveCircuits,
    PodHeld,
    PodsJoined,
    PodsParted,
    PodWaits,
    SliceAdmitted,
    SliceCompleted,
    SliceEvicted,
)
from schemas.messages.traffic import JobBandwidthSet
from services.gateway.log.subjects import SiteSubjects

SLICE = "pod-0/slice-4"
PLACED: list[Body] = [
    SliceAdmitted(slice=SLICE, shape=(4, 4, 8), twisted=False, cubes=(1, 2), corner=None, waited_us=0),
    CubeSwapped(slice=SLICE, left=2, spare=5, corner=None, reason="failed"),
]
LEFT: list[Body] = [SliceCompleted(slice=SLICE, reason="finished"), SliceEvicted(slice=SLICE, reason="why")]
X_FACES = "pod-0/cube-2/+x", "pod-0/cube-2/-x"
CIRCUITS = CircuitsConnected(slice=SLICE, joins=((1, 2, 3),), missing_ocs=(), missing_ports=())


def as_json(body: Body, fabric: str = "pod-0") -> dict[str, Any]:
    return {"type": type(body).__name__, "fabric": fabric, "body": body.model_dump(mode="json")}


def subjects_after(before: Iterable[Body] = ()) -> SiteSubjects:
    """The subjects of a log that has these messages before the index was built."""

    def recall(name: str, types: tuple[str, ...]) -> list[Mapping[str, Any]]:
        assert name == SLICE
        return [as_json(body) for body in before if type(body).__name__ in types]

    return SiteSubjects(lambda name: DcnConfig() if name == "dcn-0" else SuperpodConfig(), recall)


@pytest.mark.parametrize("read_before", [0, 1, 2])
@pytest.mark.parametrize("left", LEFT, ids=lambda body: type(body).__name__)
def test_the_end_of_a_slice_is_found_under_the_cubes_that_it_leaves(left: Body, read_before: int) -> None:
    """Whether this process or an earlier one read the start of the slice."""
    names = subjects_after(PLACED[:read_before])
    for body in PLACED[read_before:]:
        assert "pod-0/cube-2" in names(as_json(body))
    assert names(as_json(left)) == {SLICE, "pod-0/cube-1", "pod-0/cube-5"}


def test_circuits_are_found_under_their_faces_and_axes_and_commands_under_no_face() -> None:
    joins = ((1, 2, 3), (0, 2, 2))
    axes, faces = {"pod-0/+y", "pod-0/+x"}, {"pod-0/cube-2/+y", "pod-0/cube-3/-y", *X_FACES}
    names = subjects_after()
    assert names(as_json(CIRCUITS)) == {SLICE, "pod-0/+y", "pod-0/cube-2/+y", "pod-0/cube-3/-y"}
    for body in (CircuitsDisconnected(slice=SLICE, joins=joins), LeaveCircuits(slice=SLICE, joins=joins)):
        assert names(as_json(body)) == {SLICE, *axes, *faces}
    assert names(as_json(ConnectCircuits(slice=SLICE, joins=joins))) == {SLICE, *axes}
    assert names(as_json(DisconnectCircuits(slice=SLICE, joins=joins))) == {SLICE}


JOB, OTHER = "pod-0/slice-4", "pod-1/slice-2"
JOINED = PodsJoined(job=JOB, slices=(JOB, OTHER), chips=64, gradient_bytes=1, step_us=1)


@pytest.mark.parametrize("is_read_before", [True, False])
def test_messages_of_a_multislice_job_are_found_under_all_its_slices(is_read_before: bool) -> None:
    names = subjects_after([JOINED] if is_read_before else [])
    if not is_read_before:
        assert names(as_json(JOINED)) == {JOB, OTHER}
    for body in (
        JobBandwidthSet(job=JOB, mbps=5),
        PodsParted(job=JOB, slice=JOB, ends="requeued", reason="why"),
    ):
        assert names(as_json(body, "dcn-0")) == {JOB, OTHER}


def test_a_message_of_one_slice_of_a_job_is_found_under_that_slice_only() -> None:
    names = subjects_after([JOINED])
    for body in (
        PodHeld(job=JOB, slice=OTHER, until_us=1),
        PodWaits(job=JOB, slice=OTHER, again_us=None, reason=None),
        PodSignalled(job=JOB, slice=OTHER, signal="goes", speed_ppm=1),
    ):
        assert names(as_json(body, "pod-1")) == {OTHER}


def test_hourly_reports_of_a_job_are_not_part_of_its_history_but_of_that_of_demands() -> None:
    moved = DemandMoved(hour=1, jobs=((0, 2, 7),), rings=((JOB, (0, 1), 3),), sent=(7, 0, 0))
    assert subjects_after()(as_json(moved, "dcn-0")) == {
        *("dcn-0/block-0", "dcn-0/block-1", "dcn-0/block-2", "dcn-0/demand")
    }
