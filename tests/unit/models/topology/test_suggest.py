"""The shapes with a given number of chips, and their ranking."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.basics.errors import InvalidInput
from shared.models.superpod.shapes import is_twistable, legal_shapes, parse_shape
from shared.models.topology import slice_figures, slice_topology
from shared.models.topology.suggest import TRAFFICS, ranked_shapes, ring_chips

SIZES = sorted({x * y * z for x, y, z in legal_shapes(64)})


@given(st.sampled_from(SIZES), st.sampled_from(TRAFFICS))
def test_every_shape_of_this_many_chips_is_ranked_once(chips: int, traffic: str) -> None:
    found = ranked_shapes(chips, traffic)
    wanted = {
        (shape, twisted)
        for shape in legal_shapes(64)
        for twisted in (False, True)
        if shape[0] * shape[1] * shape[2] == chips and (not twisted or is_twistable(shape))
    }
    assert {(parse_shape(one.shape), one.twisted) for one in found} == wanted
    assert [one.rank for one in found] == list(range(1, len(wanted) + 1))
    figures = [one.figure or 0.0 for one in found]
    assert figures == sorted(figures, reverse=True)


def best(chips: int, traffic: str) -> tuple[str, bool]:
    first = ranked_shapes(chips, traffic)[0]
    return first.shape, first.twisted


def test_the_choices_of_the_papers_rank_first() -> None:
    """[T4] 2.7 and 2.8: 8×8×8 for the highest bisection; twisted where there is no cube."""
    assert best(512, "all-to-all") == ("8x8x8", False)
    assert best(128, "all-to-all") == ("4x4x8", True)
    assert best(256, "all-to-all") == ("4x8x8", True)
    assert best(512, "nearest") == ("8x8x8", False)
    assert best(128, "nearest") == ("4x4x8", False)
    assert best(512, "ring:x") == ("4x8x16", False)
    assert best(1, "all-to-all") == ("1x1x1", False)


def test_figures_are_those_of_show_and_of_the_definitions() -> None:
    for one in ranked_shapes(256, "all-to-all"):
        assert one.figure == slice_figures(parse_shape(one.shape), one.twisted).all_to_all_throughput
    assert {one.shape: one.figure for one in ranked_shapes(512, "ring:z")}["4x8x16"] == 16 / 15
    assert ranked_shapes(512, "nearest")[0].figure == pytest.approx(1.0)
    assert ranked_shapes(16, "ring:z")[0].figure == 1.0
    assert ranked_shapes(4, "ring:x")[0].figure is None


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize(
    ("shape", "twisted"), [((4, 4, 8), False), ((4, 4, 8), True), ((4, 8, 8), False), ((4, 8, 8), True)]
)
def test_rings_are_as_long_as_one_walks(shape: tuple[int, int, int], twisted: bool, axis: int) -> None:
    topology = slice_topology(shape, twisted)
    chip, walked = int(topology.neighbours[0, 2 * axis]), 1
    while chip != 0:
        chip, walked = int(topology.neighbours[chip, 2 * axis]), walked + 1
    assert ring_chips(shape, twisted, axis) == walked


@pytest.mark.parametrize(
    ("chips", "traffic", "sentence"),
    [
        (
            100,
            "nearest",
            "chips: 100 is not the size of any slice of a pod of 64 cubes; the nearest are 64 and 128",
        ),
        (5000, "nearest", "the nearest is 4096"),
        (0, "nearest", "the nearest is 1"),
        (
            512,
            "ring:w",
            "traffic: 'ring:w' is not a known pattern; must be one of all-to-all, ring:x, ring:y, ring:z",
        ),
    ],
)
def test_an_impossible_suggestion_is_an_error_in_one_sentence(
    chips: int, traffic: str, sentence: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        ranked_shapes(chips, traffic)
    assert sentence in str(refused.value)
