"""The checker of boxes finds impossible placements in the grid, and accepts possible ones."""

from collections.abc import Sequence

import pytest

from ops.invariants.slices import StaticPodSliceChecker
from schemas.body import Body
from schemas.config.pods import FabricConfig, StaticPodConfig, SuperpodConfig
from schemas.envelope import enclose
from schemas.messages.scheduler import ConnectCircuits, CubeSwapped, SliceAdmitted
from schemas.messages.sequencer import FabricCommissioned
from schemas.names import Shape
from shared.models.static_pod.boxes import boxes
from shared.models.superpod.shapes import MESHES, legal_shapes

NAME = "pod-0/slice-0"
STATIC = StaticPodConfig()


def judged(bodies: Sequence[Body], config: FabricConfig = STATIC) -> list[str]:
    """Return the checker's findings in a log of only these bodies."""
    checker = StaticPodSliceChecker()
    log = [FabricCommissioned(site="pod-0", config=config), *bodies]
    return [
        problem
        for seq, body in enumerate(log, start=1)
        for problem in checker.see(
            enclose(body, fabric="pod-0", at_us=seq, cause=None, source=f"{body.writer}@pod-0", seq=seq)
        )
    ]


def admitted(shape: Shape, cubes: tuple[int, ...], twisted: bool = False) -> SliceAdmitted:
    return SliceAdmitted(slice=NAME, shape=shape, twisted=twisted, cubes=cubes, corner=None, waited_us=0)


def swapped(left: int, spare: int) -> CubeSwapped:
    return CubeSwapped(slice=NAME, left=left, spare=spare, corner=None, reason="failed")


def test_every_box_is_accepted() -> None:
    fitting = [shape for shape in legal_shapes(64) if shape not in MESHES and max(shape) <= 16]
    assert [
        (shape, cubes) for shape in fitting for _, cubes in boxes(shape) if judged([admitted(shape, cubes)])
    ] == []


@pytest.mark.parametrize(
    ("shape", "cubes"),
    [
        ((4, 4, 8), (0, 2)),  # two steps apart
        ((4, 4, 8), (0, 5)),  # across a corner
        ((4, 4, 12), (0, 1, 5)),  # around a corner
        ((4, 4, 16), (0, 1, 2, 2)),  # one cube twice
        ((4, 8, 8), (0, 1, 4)),  # one too few
        ((4, 8, 8), (0, 1, 5, 4)),  # not in x-major order
        ((4, 8, 8), (0, 1, 1, 2)),  # both sides along z
        ((4, 8, 8), (0, 1, 16, 5)),  # bent
        ((8, 8, 8), (0, 1, 4, 5, 16, 17, 20, 22)),
    ],
)
def test_a_placement_that_is_not_a_box_is_found(shape: Shape, cubes: tuple[int, ...]) -> None:
    assert judged([admitted(shape, cubes)])
    assert judged([admitted(shape, cubes)], SuperpodConfig()) == []


def test_only_a_slice_inside_one_cube_moves() -> None:
    assert judged([admitted((4, 4, 4), (7,)), swapped(7, 60)]) == []
    assert judged([admitted((4, 4, 8), (6, 7)), swapped(7, 60)]) == [
        "pod-0/slice-0 has 2 cubes, but leaves cube 7"
    ]


def test_there_is_nothing_to_command_or_to_twist() -> None:
    joins = ConnectCircuits(slice=NAME, joins=((0, 0, 1),))
    assert judged([joins]) == ["pod-0/slice-0 commands circuits in a pod without OCSes"]
    assert judged([admitted((4, 4, 8), (0, 1), twisted=True)]) == ["pod-0/slice-0 is twisted on fixed fibres"]
