"""The reported reason of a waiting slice is correct, according to the accounting of the model around the
scheduler."""

import re
from collections import Counter
from dataclasses import dataclass
from itertools import product

import pytest

from schemas.config.scheduler import SchedulerConfig
from services.scheduler.explain.slice_explanation import explain_slice
from services.scheduler.placement.holdback import held_back
from services.scheduler.queue.preemption import preemptable_by
from services.scheduler.structures.occupancy import BLOCKS
from services.scheduler.structures.slice_record import Slice
from services.scheduler.structures.timeline import FOREVER
from shared.models.superpod.shapes import cubes_of, is_mesh
from tests.support.scheduler_model import FABRIC, World
from tests.unit.services.scheduler.test_swarm import long_life, play

CUBES = 8


@dataclass
class Cubes:
    """The use of every cube in the model's own accounting: numbers of the idle cubes, and of those that only
    filler uses."""

    idle: list[int]
    filler: list[int]
    closed: set[int]


def cubes_in(world: World) -> Cubes:
    """Reserved cubes are those of claims and moves, and warm spares; only the scheduler knows them."""
    state = world.state
    users = {
        cube: {name for name, slice_cubes in world.held_cubes.items() if cube in slice_cubes}
        for cube in range(CUBES)
    }
    closed = {
        *state.unhealthy,
        *state.drained,
        *state.warm_cubes,
        *(move.spare for move in world.moves.values()),
    }
    closed |= {cube for claim in world.claims.values() for cube in claim.cubes}
    open_ = [cube for cube in range(CUBES) if cube not in closed]
    idle = [cube for cube in open_ if not users[cube]]
    filler = [
        cube for cube in open_ if users[cube] and {world.tiers[name] for name in users[cube]} == {"filler"}
    ]
    return Cubes(idle, filler, closed)


def room_for_mesh(world: World, row: Slice, cubes: Cubes) -> bool:
    """Whether an open cube that others use still has a free block; filler does not count, except for
    filler."""
    firm = {
        name: slice_cubes
        for name, slice_cubes in world.held_cubes.items()
        if row.tier == "filler" or world.tiers[name] != "filler"
    }
    blocks = [(world.shapes[name][0], slice_cubes, world.corners[name]) for name, slice_cubes in firm.items()]
    state = world.state
    for number, claim in world.claims.items():
        blocks.append((state.slices[number].shape, claim.cubes, claim.corner))
    for number, move in world.moves.items():
        blocks.append((state.slices[number].shape, (move.spare,), move.corner))
    used = {chip for block in blocks for chip in world.chips(*block)}
    closed = {*state.unhealthy, *state.drained, *state.warm_cubes, *cubes.idle, *cubes.filler}
    partly = [cube for cube in range(CUBES) if cube not in closed and any(cube in at for _, at, _ in blocks)]
    return any(
        not {(cube, *chip) for chip in product(*_sides(corner, row))} & used
        for cube in partly
        for corner, _ in BLOCKS[row.chips]
    )


def _sides(corner: tuple[int, int, int], row: Slice) -> list[range]:
    return [range(start, start + side) for start, side in zip(corner, row.shape, strict=True)]


def head_start_us(world: World, head: Slice, taken: list[int]) -> int:
    """The start of the first in line if these cubes are never free again. One cube after the other comes free
    as its slices leave; slices that it may preempt leave at once."""
    state, yielding = world.state, preemptable_by(world.state, head)
    free_us = []
    for cube in range(CUBES):
        holders = [
            state.slices[int(name.rpartition("-")[2])]
            for name, slice_cubes in world.held_cubes.items()
            if cube in slice_cubes
        ]
        ends = [row.ends_us or FOREVER for row in holders if row.number not in yielding]
        ends += [FOREVER] * (
            cube in taken or cube in state.unhealthy or cube in state.drained or cube in state.warm_cubes
        )
        for number, claim in world.claims.items():
            estimate_us = state.slices[number].estimate_us
            if cube in claim.cubes:
                ends.append(FOREVER if estimate_us is None else claim.until_us + estimate_us)
        ends += [FOREVER] * any(move.spare == cube for move in world.moves.values())
        free_us.append(max([max(end_us, state.now_us + 1) for end_us in ends], default=state.now_us))
    return sorted(free_us)[cubes_of(head.shape) + held_back(state) - 1]


def check_reason(world: World, row: Slice, cubes: Cubes) -> str:
    """Check that the reason of a waiting slice is correct; return its kind."""
    state, reason = world.state, world.status(f"{FABRIC}/slice-{row.number}").reason
    assert reason is not None
    if row.number in world.claims:
        assert reason.startswith("gets cube-")
        return "claim"
    if reason.startswith("waits for pod-0/ocs-"):
        assert world.ocs_out
        return "ocs"
    reserve = 0 if row.tier == "filler" else held_back(state)
    whole = len(cubes.idle) + (0 if row.tier == "filler" else len(cubes.filler))
    there_is_room = whole >= cubes_of(row.shape) + reserve
    if is_mesh(row.shape) and not there_is_room:
        there_is_room = room_for_mesh(world, row, cubes)
    lacks = " healthy idle cube" in reason or "room for" in reason
    assert lacks != there_is_room, reason
    if lacks:
        counts = {
            category: int(count) for count, category in re.findall(r"(\d+) (idle|used by filler)\b", reason)
        }
        assert counts.get("idle") == len(cubes.idle), reason
        assert counts.get("used by filler", 0) == len(cubes.filler), reason
        return "lacks"
    return "would delay"


@pytest.mark.slow("drawn lives of a scheduler, each changed and run again")
def test_the_reported_obstacle_of_a_slice_is_correct() -> None:
    happened: Counter[str] = Counter()
    for seed in range(60):
        life, policy = long_life(seed, 160)
        settings = {"hold_back": "fixed", "hold_back_cubes": seed % 4} if seed % 3 == 0 else {}
        world = World(cubes=CUBES, policy=policy.model_copy(update=settings))
        for number, _ in enumerate(play(world, life)):
            if number % 5:
                continue
            cubes = cubes_in(world)
            for row in world.state.slices.values():
                if row.state == "queued":
                    happened[check_reason(world, row, cubes)] += 1
    assert min(happened[reason] for reason in ("claim", "ocs", "lacks", "would delay")) > 20, happened


def test_a_slice_reported_to_delay_the_first_in_line_would_delay_it() -> None:
    """Whole cubes only: for those, any free cubes are as good as others."""
    links_checked = 0
    for seed in range(120):
        life, policy = long_life(seed, 100)
        calm = [step for step in life if step[0] in ("request", "train", "checkpoint", "release")]
        easy = SchedulerConfig(**policy.model_dump() | {"backfill": "easy", "queue_max": 500})
        world = World(cubes=CUBES, policy=easy)
        for _ in play(world, calm):
            waits = world.state.waits
            for row in world.state.slices.values():
                if row.state != "queued" or is_mesh(row.shape) or waits is None or waits.first is None:
                    continue
                reason, head = (
                    world.status(f"{FABRIC}/slice-{row.number}").reason,
                    world.state.slices[waits.first],
                )
                if is_mesh(head.shape) or not str(reason).startswith("would delay"):
                    continue
                cubes = cubes_in(world)
                passing_cubes = [*cubes.idle, *cubes.filler][: cubes_of(row.shape)]
                promised_us = head_start_us(world, head, [])
                ends_us = world.now_us + (row.estimate_us or FOREVER)
                assert ends_us > promised_us or cubes.filler
                assert head_start_us(world, head, passing_cubes) > promised_us
                links_checked += 1
    assert links_checked > 100


@pytest.mark.slow("drawn lives of a scheduler, all of it explained")
def test_every_slice_can_be_explained() -> None:
    for seed in range(12):
        life, policy = long_life(seed, 150)
        world = World(cubes=CUBES, policy=policy)
        for number, _ in enumerate(play(world, life)):
            if number % 15:
                continue
            for row in [*world.state.slices, *world.state.ended]:
                explained = explain_slice(world.state, f"{FABRIC}/slice-{row}")
                assert explained is not None
                document = world.status(explained.name)
                assert (explained.state, explained.reason) == (document.state, document.reason)
                assert explained.queue_position == document.queue_position
                assert (explained.start is not None) == (explained.state == "queued")
                assert (explained.recovery is not None) == (explained.state == "recovering")
                if explained.state in ("queued", "degraded"):
                    assert explained.obstacles or explained.start is not None
