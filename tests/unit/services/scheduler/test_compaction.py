"""Compaction: as few meshes as possible move to free whole cubes, and they move whenever it helps."""

from itertools import combinations, permutations

from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.config.scheduler import SchedulerConfig
from schemas.messages.scheduler import CubeSwapped, SliceAdmitted, SliceNoticed, SliceRestored
from schemas.names import Shape
from services.scheduler.structures.occupancy import BLOCKS
from shared.models.superpod.shapes import chips_of
from tests.support.scheduler_model import Said, World

CUBE: Shape = (4, 4, 4)
HALF: Shape = (2, 4, 4)
QUARTER: Shape = (2, 2, 4)


def noticed(emitted: list[Said]) -> list[str]:
    return [body.slice for body in emitted if isinstance(body, SliceNoticed)]


def scattered() -> tuple[World, list[str]]:
    """Four cubes, each with one half used by a mesh."""
    world = World(cubes=4)
    meshes = [world.start(HALF) for _ in range(8)]
    for released in meshes[1::2]:
        world.release(released)
    return world, meshes[::2]


def test_a_slice_blocked_only_by_scattered_meshes_gets_one_moved_per_cube() -> None:
    world, meshes = scattered()
    preemptor, emitted = world.request(CUBE)
    assert noticed(emitted) == [meshes[0]]
    (notice,) = emitted
    assert isinstance(notice, SliceNoticed)
    assert notice.why == "compacted"
    world.check()
    emitted = world.checkpoint(meshes[0])
    (swapped,) = [body for body in emitted if isinstance(body, CubeSwapped)]
    assert (swapped.left, swapped.corner, swapped.reason) == (0, (2, 0, 0), "compacted")
    assert SliceRestored(slice=meshes[0]) in emitted
    assert [body.slice for body in emitted if isinstance(body, SliceAdmitted)] == [preemptor]
    assert world.held_cubes[preemptor] == (0,)
    world.check()


def test_if_the_slice_is_withdrawn_the_mesh_still_moves_and_no_claim_remains() -> None:
    world, meshes = scattered()
    preemptor, _ = world.request((4, 4, 8))
    world.release(preemptor)
    world.check()
    for mesh in sorted({f"pod-0/slice-{number}" for number in world.notices}):
        world.checkpoint(mesh)
    world.check()
    assert [*world.claims, *world.moves, *world.notices] == []
    assert len(world.idle) == 2
    assert meshes


def test_a_mesh_whose_new_place_fails_stays_and_the_slice_waits_again() -> None:
    world, meshes = scattered()
    preemptor, _ = world.request(CUBE)
    spare = world.moves[0].spare
    world.fail(spare)
    world.checkpoint(meshes[0])
    world.check()
    assert world.status(preemptor).state in ("queued", "programming")


def test_no_mesh_moves_if_no_other_cube_has_room() -> None:
    world = World(cubes=4)
    for _ in range(4):
        world.start(HALF)
    world.start((4, 4, 8))
    _, emitted = world.request(CUBE)
    assert noticed(emitted) == []
    world.check()


def fits_elsewhere(meshes: list[Shape], used: list[int]) -> bool:
    """Whether these cubes have room for all meshes, by trying every order and every position."""
    return any(_place(list(order), used) for order in set(permutations(meshes)))


def _place(meshes: list[Shape], used: list[int]) -> bool:
    if not meshes:
        return True
    return any(
        _place(meshes[1:], [*used[:cube], mask | block, *used[cube + 1 :]])
        for cube, mask in enumerate(used)
        for _, block in BLOCKS[chips_of(meshes[0])]
        if mask and not mask & block
    )


ROWS = st.lists(st.tuples(st.sampled_from([HALF, HALF, QUARTER]), st.booleans()), min_size=4, max_size=12)


@settings(deadline=None, max_examples=100)
@given(ROWS, st.integers(1, 2))
def test_the_fewest_meshes_move_and_none_moves_without_effect(
    rows: list[tuple[Shape, bool]], requested_cubes: int
) -> None:
    """Against every choice of cubes to empty, and every way to place their meshes elsewhere."""
    world = World(cubes=4, policy=SchedulerConfig(research_waits_h=10_000.0))
    started = [(world.request(shape)[0], stays) for shape, stays in rows]
    for name, stays in started:
        if not stays:
            world.release(name)
    if world.state.queued or len(world.idle) >= requested_cubes:
        return
    used = list(world.state.occupancy.used) if world.state.occupancy else []
    on: dict[int, list[str]] = {cube: [] for cube in range(4)}
    for name, (cube,) in world.held_cubes.items():
        on[cube].append(name)
    busy = [cube for cube in range(4) if on[cube]]
    counts = [
        len(moved)
        for emptied in combinations(busy, requested_cubes - len(world.idle))
        if (moved := [name for cube in emptied for name in on[cube]])
        and fits_elsewhere(
            [world.shapes[name][0] for name in moved], [used[cube] for cube in busy if cube not in emptied]
        )
    ]
    _, emitted = world.request((4, 4, 4 * requested_cubes))
    assert len(noticed(emitted)) == min(counts, default=0)
    world.check()
    while world.notices:
        world.checkpoint(f"pod-0/slice-{min(world.notices)}")
    world.check()
    assert world.state.queued == (0 if counts else 1)
