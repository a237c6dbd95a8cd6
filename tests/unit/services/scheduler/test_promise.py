"""The earliest start of a slice on a timeline, against a check at every time."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from schemas.names import Shape
from services.scheduler.structures.occupancy import BLOCKS, WHOLE_CUBE
from services.scheduler.structures.pod_placement import PLACEMENTS
from services.scheduler.structures.timeline import FOREVER, BusyInterval, Timeline
from shared.models.superpod.shapes import chips_of

NOW_US = 10
TIMES_US = st.sampled_from([NOW_US, 11, 12, 15, 20, FOREVER])
MASKS = st.sampled_from([WHOLE_CUBE, *(mask for _, mask in BLOCKS[32]), *(mask for _, mask in BLOCKS[16])])
STAYS = st.lists(st.tuples(MASKS, TIMES_US), max_size=3).map(tuple)
CUBES = st.lists(STAYS, min_size=1, max_size=5)
SHAPES: list[Shape] = [(2, 2, 4), (2, 4, 4), (4, 4, 4), (4, 4, 8), (4, 4, 12)]


def fits_at(cubes: list[tuple[BusyInterval, ...]], shape: Shape, held_back: int, at_us: int) -> bool:
    """By brute force over the used chips: a mesh fits in a cube with others, or in one beyond the held-back
    cubes."""
    used = [sum({bit for mask, until in cube if until > at_us for bit in bits(mask)}) for cube in cubes]
    free = used.count(0) - held_back
    if chips_of(shape) >= 64:
        return free >= chips_of(shape) // 64
    return free >= 1 or any(
        mask_used and not mask_used & mask for mask_used in used for _, mask in BLOCKS[chips_of(shape)]
    )


def timeline(cubes: list[tuple[BusyInterval, ...]]) -> Timeline:
    """Cubes used completely by one slice are given by their end times alone."""
    single_ends = {at: stays[0] for at, stays in enumerate(cubes) if len(stays) == 1}
    whole = {at: until_us for at, (mask, until_us) in single_ends.items() if mask == WHOLE_CUBE}
    parts = {at: stays for at, stays in enumerate(cubes) if stays and at not in whole}
    return Timeline(NOW_US, [whole.get(at, NOW_US) for at in range(len(cubes))], parts)


def bits(mask: int) -> set[int]:
    return {1 << bit for bit in range(64) if mask >> bit & 1}


@given(CUBES, st.sampled_from(SHAPES), st.integers(0, 2))
def test_a_start_is_the_first_time_at_which_the_slice_fits(
    cubes: list[tuple[BusyInterval, ...]], shape: Shape, held_back: int
) -> None:
    start_us = PLACEMENTS["superpod"].start_us(timeline(cubes), shape, held_back)
    fits = [at_us for at_us in (NOW_US, 11, 12, 15, 20) if fits_at(cubes, shape, held_back, at_us)]
    assert start_us == (min(fits) if fits else FOREVER)


@given(CUBES, st.data(), MASKS, TIMES_US)
def test_adding_a_slice_to_a_timeline_adds_one_stay(
    cubes: list[tuple[BusyInterval, ...]], data: st.DataObject, mask: int, until_us: int
) -> None:
    chosen = data.draw(
        st.sampled_from([c for n in (1, 2) for c in combinations(range(len(cubes)), n)] or [()])
    )
    before = timeline(cubes)
    after = before.with_slice(chosen, mask, until_us)
    rebuilt = timeline([(*cube, (mask, until_us)) if at in chosen else cube for at, cube in enumerate(cubes)])
    assert starts(after) == starts(rebuilt)
    assert starts(before) == starts(timeline(cubes)), "it is as it was"


def starts(line: Timeline) -> list[int]:
    start_us = PLACEMENTS["superpod"].start_us
    return [start_us(line, shape, held_back) for shape in SHAPES for held_back in (0, 1)]
