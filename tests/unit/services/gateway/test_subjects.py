"""Under which names messages are found: what came to a cube and left it, and a link's partners."""

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from schemas.body import Body
from schemas.config import SuperpodConfig
from schemas.ocs import CircuitsConnected
from schemas.scheduler import ConnectCircuits, CubeSwapped, SliceAdmitted, SliceCompleted, SliceEvicted
from services.gateway.subjects import SiteSubjects

SLICE = "pod-0/slice-4"
PLACED: list[Body] = [
    SliceAdmitted(slice=SLICE, shape=(4, 4, 8), twisted=False, cubes=(1, 2), corner=None, waited_us=0),
    CubeSwapped(slice=SLICE, left=2, spare=5, corner=None, reason="failed"),
]
LEFT: list[Body] = [SliceCompleted(slice=SLICE, reason="finished"), SliceEvicted(slice=SLICE, reason="why")]
CIRCUITS = CircuitsConnected(slice=SLICE, joins=((1, 2, 3),), missing_ocs=(), missing_ports=())


def as_json(body: Body) -> dict[str, Any]:
    return {"type": type(body).__name__, "fabric": "pod-0", "body": body.model_dump(mode="json")}


def subjects(before: Iterable[Body] = ()) -> SiteSubjects:
    """Of a log that held these messages when the index was taken up."""

    def recall(name: str, types: tuple[str, ...]) -> list[Mapping[str, Any]]:
        assert name == SLICE
        return [as_json(body) for body in before if type(body).__name__ in types]

    return SiteSubjects(lambda _: SuperpodConfig(), recall)


@pytest.mark.parametrize("seen", [0, 1, 2])
@pytest.mark.parametrize("left", LEFT, ids=lambda body: type(body).__name__)
def test_the_end_of_a_slice_is_found_under_the_cubes_that_it_leaves(left: Body, seen: int) -> None:
    """Whether its beginning was read now or by a process before."""
    names = subjects(PLACED[:seen])
    for body in PLACED[seen:]:
        assert "pod-0/cube-2" in names(as_json(body))
    assert names(as_json(left)) == {SLICE, "pod-0/cube-1", "pod-0/cube-5"}


def test_circuits_are_found_under_the_faces_that_they_join_and_commands_under_none() -> None:
    assert subjects()(as_json(CIRCUITS)) == {SLICE, "pod-0/cube-2/+y", "pod-0/cube-3/-y"}
    assert subjects()(as_json(ConnectCircuits(slice=SLICE, joins=((1, 2, 3),)))) == {SLICE}
