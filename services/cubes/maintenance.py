"""Cubes that are taken out of use by plan: for work on single ones, at a rate, and for roll-outs of software,
which go over the pod a few at a time.

A cube is drained as an operator would drain it, so slices leave it if there is room elsewhere, and it comes
back when its time is over. One that an operator has drained is left alone: what was planned is done to it
meanwhile. An operator who drains a cube that is out by plan keeps it out, and one who undrains it ends what
was planned for it; the roll-out goes on with the next.
"""

from schemas.envelope import Envelope
from schemas.messages.cubes import CubeDrained, CubeUndrained
from schemas.messages.failures import ParametersChanged
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
    """When the next cube is taken out or comes back by plan."""
    moments = [planned_drain.until_us for planned_drain in state.planned_drains.values()]
    moments += [at_us for at_us in (state.next_maintenance_us, state.next_rollout_us) if at_us is not None]
    return min(moments, default=None)


def run_plan(state: CubesState) -> list[Output]:
    """What the plan says for now: first who comes back, then who is taken out."""
    over = sorted(
        (o.until_us, cube) for cube, o in state.planned_drains.items() if o.until_us <= state.now_us
    )
    emitted: list[Output] = []
    for _, cube in over:
        del state.planned_drains[cube]
        state.drained[cube] = False
        touch(state, cube)
        emitted.append(CubeUndrained(cube=cube))
    return [*emitted, *_start_maintenance(state), *roll_out(state)]


def redraw_maintenance(state: CubesState, salt: int) -> None:
    """Draw anew which cubes are worked on, and when: what is left of an exponential gap has the law of a new
    one."""
    state.draw_seed = rekeyed_seed(state.draw_seed, salt)
    state.next_maintenance_us = maintenance_after(
        state.draw_seed, state.fabric, state.config, state.cubes, state.maintenance_count, state.now_us
    )


def _start_maintenance(state: CubesState) -> list[Output]:
    """Take out single cubes for work."""
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
    """What is planned from now on goes by them, and so do heartbeats that are waited for from now on."""
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
    """Begin a roll-out that is due, unless one is still on; and go on with it: the next cube for every one
    that has come back."""
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
