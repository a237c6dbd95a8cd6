"""Planned drains of cubes: maintenance of single cubes at a rate, and software roll-outs over the whole pod.

A cube is drained as an operator would drain it, so slices leave it if there is room elsewhere. It is
undrained when its time is over. A cube that an operator has drained stays as it is; its planned work is done
meanwhile. If an operator drains a cube that is out by plan, it stays out. If an operator undrains it, its
planned work ends, and a roll-out continues with the next cube.
"""

from schemas.envelope import Envelope
from schemas.messages.cubes import CubeDrained, CubeUndrained
from schemas.messages.failures import ParametersChanged
from services.cubes import drain_windows
from services.cubes.cube_health import touch
from services.cubes.maintenance_schedule import (
    drains_per_day,
    maintenance_after,
    maintenance_at_other_rate,
    maintenance_cube,
    maintenance_us,
)
from services.cubes.state import CubesState, PlannedDrain, PlannedDrainReason
from shared.basics.keyed_random import rekeyed_seed
from shared.basics.units import US_PER_DAY, US_PER_HOUR, to_whole_us
from shared.engine.service import Output


def due_us(state: CubesState) -> int | None:
    """The time at which the next planned drain starts or ends."""
    times_us = [planned_drain.until_us for planned_drain in state.planned_drains.values()]
    times_us += [window.from_us for window in state.windows.values()]
    times_us += [at_us for at_us in (state.next_maintenance_us, state.next_rollout_us) if at_us is not None]
    return min(times_us, default=None)


def run_plan(state: CubesState) -> list[Output]:
    """Run the plan: end planned drains that are over, then start new ones, those of operators first."""
    over = sorted(
        (drain.until_us, cube)
        for cube, drain in state.planned_drains.items()
        if drain.until_us <= state.now_us
    )
    emitted: list[Output] = []
    for _, cube in over:
        del state.planned_drains[cube]
        state.drained[cube] = False
        touch(state, cube)
        emitted.append(CubeUndrained(cube=cube))
    return [*emitted, *drain_windows.begin_windows(state), *_start_maintenance(state), *roll_out(state)]


def redraw_maintenance(state: CubesState, salt: int) -> None:
    """Draw the cubes and times of maintenance again. The rest of an exponential gap has the law of a new
    gap."""
    state.draw_seed = rekeyed_seed(state.draw_seed, salt)
    state.next_maintenance_us = maintenance_after(
        state.draw_seed, state.fabric, state.config, state.cubes, state.maintenance_count, state.now_us
    )


def _start_maintenance(state: CubesState) -> list[Output]:
    """Start due maintenance of single cubes."""
    emitted: list[Output] = []
    seed, fabric, config, cubes = state.draw_seed, state.fabric, state.config, state.cubes
    while state.next_maintenance_us is not None and state.next_maintenance_us <= state.now_us:
        cube = maintenance_cube(seed, fabric, cubes, state.maintenance_count)
        if not state.drained[cube]:
            emitted.append(
                _drain(
                    state, cube, maintenance_us(seed, fabric, config, state.maintenance_count), "maintenance"
                )
            )
        state.maintenance_count += 1
        state.next_maintenance_us = maintenance_after(
            seed, fabric, config, cubes, state.maintenance_count, state.next_maintenance_us
        )
    return emitted


def on_parameters_changed(state: CubesState, body: ParametersChanged, _message: Envelope) -> list[Output]:
    """Apply changed parameters to future plans and to heartbeats expected from now on."""
    changed = body.of("cubes")
    if not changed:
        return []
    before = drains_per_day(state.config, state.cubes)
    state.config = state.config.model_copy(update=changed)
    rates = before, drains_per_day(state.config, state.cubes)
    drawn = state.draw_seed, state.fabric, rates, state.next_maintenance_us
    state.next_maintenance_us = maintenance_at_other_rate(*drawn, state.now_us, state.maintenance_count)
    return []


def roll_out(state: CubesState) -> list[Output]:
    """Start a roll-out that is due, unless one is running, and continue it.

    Each cube that comes back is followed by the next.
    """
    every_days = state.config.rollout_every_days
    if every_days is not None and state.next_rollout_us is not None and state.next_rollout_us <= state.now_us:
        state.next_rollout_us += to_whole_us(every_days, US_PER_DAY)
        if state.next_rollout_cube is None:
            state.next_rollout_cube = 0
    emitted: list[Output] = []
    out = sum(planned_drain.why == "rollout" for planned_drain in state.planned_drains.values())
    while state.next_rollout_cube is not None and out < state.config.rollout_cubes:
        cube = state.next_rollout_cube
        state.next_rollout_cube = cube + 1 if cube + 1 < state.cubes else None
        if not state.drained[cube]:
            emitted.append(_drain(state, cube, to_whole_us(state.config.rollout_h, US_PER_HOUR), "rollout"))
            out += 1
    return emitted


def _drain(state: CubesState, cube: int, for_us: int, why: PlannedDrainReason) -> CubeDrained:
    state.planned_drains[cube] = PlannedDrain(state.now_us + for_us, why)
    state.drained[cube] = True
    touch(state, cube)
    return CubeDrained(cube=cube, why=why)
