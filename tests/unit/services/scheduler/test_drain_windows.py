"""Planned drains and the slices placed before them, from the log alone."""

import random
from typing import Literal

import pytest

from schemas.config.failures import FailuresConfig
from schemas.config.pods import PodConfig, SuperpodConfig
from schemas.config.scheduler import SchedulerConfig
from schemas.config.workload import WorkloadConfig
from schemas.envelope import Envelope
from schemas.messages.cubes import CubeDrained, CubeUndrained, DrainPlanned, PlannedDrainCancelled
from schemas.messages.operator import DrainCube, RequestSlice, UndrainCube
from schemas.messages.scheduler import CubeSwapped, SliceAdmitted
from schemas.messages.workload import SliceRequested
from schemas.request_metadata import RequestBody
from shared.basics.units import US_PER_HOUR
from shared.engine.site_driver import LabRequest
from tests.support.pods import lab_log

pytestmark = pytest.mark.integration

CUBES, HOURS = 8, 48
SHAPES = [(4, 4, 4), (4, 4, 8), (4, 8, 8), (2, 2, 2), (4, 8, 4), (2, 4, 4)]
BACKFILLS: tuple[Literal["easy", "conservative", "none"], ...] = ("easy", "conservative", "none")


def requests(seed: int, *, plans: bool = True) -> list[LabRequest]:
    """Slices with and without a run time, and planned drains, some of which are cancelled."""
    number = random.Random(seed)
    times = sorted(number.randrange(HOURS * US_PER_HOUR) for _ in range(120))
    drawn = []
    for n, at_us in enumerate(times, 1):
        cube = f"pod-0/cube-{number.randrange(CUBES)}"
        kind = number.random()
        body: RequestBody
        if kind < 0.15:
            from_us = at_us + number.randrange(1, 8 * US_PER_HOUR)
            length_us = number.choice([None, number.randrange(1, 6 * US_PER_HOUR)])
            body = DrainCube(cube=cube, from_us=from_us, duration_us=length_us)
        elif kind < 0.25:
            body = UndrainCube(cube=cube)
        else:
            length_us = number.choice([None, *4 * [number.randrange(1, 6 * US_PER_HOUR)]])
            body = RequestSlice(
                shape=number.choice(SHAPES),
                duration_us=length_us if number.random() < 0.9 else None,
                tier=number.choice(("production", "research", "filler")),
            )
        if plans or not isinstance(body, DrainCube | UndrainCube):
            drawn.append(LabRequest(at_us, "pod-0", body, n))
    return drawn


def log_of(seed: int, *, plans: bool = True) -> list[Envelope]:
    config = SuperpodConfig(
        seed=seed,
        pod=PodConfig(cubes=CUBES),
        workload=WorkloadConfig(enabled=False),
        failures=FailuresConfig(enabled=False),
        scheduler=SchedulerConfig(backfill=BACKFILLS[seed % 3]),
    )
    return lab_log(config, HOURS * US_PER_HOUR, requests(seed, plans=plans))


def crossings(log: list[Envelope]) -> tuple[list[str], int]:
    """(slices placed across a planned drain or without a known end before one, number of slices that were
    placed before one and end in time)."""
    windows: dict[int, int] = {}
    duration_us: dict[str, int | None] = {}
    placed: set[str] = set()
    crossing, in_time = [], 0
    for message in log:
        match message.body:
            case DrainPlanned(cube=cube, from_us=from_us):
                windows[cube] = from_us
            case PlannedDrainCancelled(cube=cube) | CubeDrained(cube=cube) | CubeUndrained(cube=cube):
                windows.pop(cube, None)
            case SliceRequested() as body:
                duration_us[body.slice] = body.duration_us
            case CubeSwapped() as swapped:
                if swapped.spare in windows:
                    crossing.append(swapped.slice)
            case SliceAdmitted() as admitted:
                starts = [windows[cube] for cube in admitted.cubes if cube in windows]
                length_us = duration_us[admitted.slice]
                was_placed = admitted.slice in placed  # it may have less work left
                placed.add(admitted.slice)
                if starts and not was_placed:
                    if length_us is None or message.at_us + length_us > min(starts):
                        crossing.append(admitted.slice)
                    else:
                        in_time += 1
    return crossing, in_time


@pytest.mark.parametrize("seed", range(12))
def test_no_slice_is_placed_across_a_planned_drain(seed: int) -> None:
    crossing, _ = crossings(log_of(seed))
    assert crossing == []


def test_cubes_are_used_until_their_planned_drain() -> None:
    """Otherwise, the property above would be true because nothing is placed at all."""
    assert sum(crossings(log_of(seed))[1] for seed in range(3)) > 5


def test_a_log_without_planned_drains_has_no_trace_of_them() -> None:
    text = [message.type for message in log_of(1, plans=False)]
    assert not {"DrainPlanned", "PlannedDrainCancelled"} & set(text)


def test_the_end_of_a_planned_drain_is_a_promised_start() -> None:
    """One of four cubes is drained for two hours. The slice of the whole pod starts after that."""
    config = SuperpodConfig(
        pod=PodConfig(cubes=4),
        workload=WorkloadConfig(enabled=False),
        failures=FailuresConfig(enabled=False),
    )
    body = DrainCube(cube="pod-0/cube-1", from_us=US_PER_HOUR, duration_us=2 * US_PER_HOUR)
    slices = [RequestSlice(shape=(4, 8, 8), duration_us=length * US_PER_HOUR // 2) for length in (1, 4)]
    lab_requests = [
        LabRequest(n, "pod-0", request_body, n) for n, request_body in enumerate((body, *slices), 1)
    ]
    log = lab_log(config, 6 * US_PER_HOUR, lab_requests)
    admitted = {m.body.slice: m.at_us for m in log if isinstance(m.body, SliceAdmitted)}
    assert admitted["pod-0/slice-0"] < 100
    assert admitted["pod-0/slice-1"] == 3 * US_PER_HOUR
