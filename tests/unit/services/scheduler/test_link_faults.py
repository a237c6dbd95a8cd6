"""The faults of slices are kept until an end of their cubes changes, and are then computed again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.scheduler.structures.link_faults import LinkCondition, LinkFaults, SliceFaults
from services.scheduler.structures.pod_placement import FIXED_GRID_PLACEMENT, SWITCHED_PLACEMENT
from shared.models.superpod.wiring import ENDS_PER_CUBE

SHAPE, CUBES = (4, 4, 8), (0, 1)
OTHER_SHAPE, OTHER_CUBES = (4, 4, 4), (2,)
WRONG = SliceFaults(SHAPE, CUBES, down=(5,))


def poisoned() -> LinkFaults:
    """Link faults whose kept entry for one slice is wrong."""
    faults = LinkFaults({}, SWITCHED_PLACEMENT.is_inside)
    assert faults.of(SHAPE, CUBES) == SliceFaults(SHAPE, CUBES)
    faults._known[SHAPE, CUBES] = WRONG
    return faults


def test_a_kept_entry_is_used_again_while_nothing_changes() -> None:
    """So a stale entry would be seen."""
    assert poisoned().of(SHAPE, CUBES) is WRONG


@pytest.mark.parametrize("condition", ["down", "degraded", None])
@pytest.mark.parametrize("cube", CUBES)
def test_a_change_of_any_end_of_its_cubes_drops_the_entry_of_a_slice(
    cube: int, condition: LinkCondition | None
) -> None:
    faults = poisoned()
    end = cube * ENDS_PER_CUBE + 17
    faults.record(end, condition)
    found = faults.of(SHAPE, CUBES)
    assert (found.down, found.degraded) == (
        (end,) if condition == "down" else (),
        (end,) if condition == "degraded" else (),
    )


def test_a_change_on_another_cube_keeps_the_entry() -> None:
    """The cost grows with what changed, not with what is broken."""
    faults = poisoned()
    faults.record(OTHER_CUBES[0] * ENDS_PER_CUBE, "down")
    assert faults.of(SHAPE, CUBES) is WRONG
    assert faults.of(OTHER_SHAPE, OTHER_CUBES).down == (OTHER_CUBES[0] * ENDS_PER_CUBE,)


def test_only_the_last_slice_on_a_cube_is_kept() -> None:
    faults = LinkFaults({}, SWITCHED_PLACEMENT.is_inside)
    for cube in range(10):
        faults.of(SHAPE, (0, cube + 1))
    assert len(faults._known) == 1


def test_a_link_out_of_a_box_of_a_static_pod_does_not_belong_to_its_slice() -> None:
    """Of a box of two cubes along z, the fibres between them belong to it; those of +z at cube 1 lead out."""
    inside, outside = 4 * 16, ENDS_PER_CUBE + 4 * 16
    faults = LinkFaults({inside: "down", outside: "down"}, FIXED_GRID_PLACEMENT.is_inside)
    assert faults.of(SHAPE, CUBES).down == (inside,)


def test_the_narrowest_plane_tells_what_is_left() -> None:
    """4 of the 16 links of one dimension's plane, at one cube of two; the − end of a link does not count
    again."""
    plus, minus = range(4), range(16, 20)
    faults = LinkFaults(dict.fromkeys([*plus, *minus], "down"), SWITCHED_PLACEMENT.is_inside).of(SHAPE, CUBES)
    assert faults.remaining_ppm == (875_000, 1_000_000, 1_000_000)
    assert faults.down_by_cube == {0: 8}
    assert faults.down_by_ocs == dict.fromkeys(range(4), 2)
    assert faults.down_by_cube_without([0, 1]) == {0: 4}


CHANGES = st.lists(
    st.tuples(st.integers(0, 6 * ENDS_PER_CUBE - 1), st.sampled_from(["down", "degraded", None])), max_size=60
)


@given(changes=CHANGES)
def test_kept_faults_equal_those_computed_from_the_ends(
    changes: list[tuple[int, LinkCondition | None]],
) -> None:
    """After every change, for slices that take over each other's cubes."""
    bad: dict[int, LinkCondition] = {}
    kept = LinkFaults(bad, SWITCHED_PLACEMENT.is_inside)
    slices = [(SHAPE, (0, 1)), (OTHER_SHAPE, (2,)), (SHAPE, (1, 2)), ((4, 8, 8), (2, 3, 4, 5))]
    for number, (end, condition) in enumerate(changes):
        kept.record(end, condition)
        bad.pop(end, None)
        if condition is not None:
            bad[end] = condition
        shape, cubes = slices[number % len(slices)]
        found = kept.of(shape, cubes)
        assert found == LinkFaults(bad, SWITCHED_PLACEMENT.is_inside).of(shape, cubes)
        mine = sorted(end for end in bad if end // ENDS_PER_CUBE in cubes)
        assert found.down == tuple(end for end in mine if bad[end] == "down")
        assert found.degraded == tuple(end for end in mine if bad[end] == "degraded")
        assert sorted(kept.ends_on(end // ENDS_PER_CUBE)) == [
            other for other in sorted(bad) if other // ENDS_PER_CUBE == end // ENDS_PER_CUBE
        ]
