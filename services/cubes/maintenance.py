"""Cubes that are taken out of use by plan: for work on single ones, at a rate, and for roll-outs of software,
which go over the pod a few at a time.

A cube is drained as an operator would drain it, so slices leave it if there is room elsewhere, and it comes
back when its time is over. One that an operator has drained is left alone: what was planned is done to it
meanwhile. An operator who undrains a cube ends what was planned for it.
"""

from schemas.cubes import CubeDrained, CubeUndrained
from services.cubes.state import CubesState, Outing, Reason
from services.cubes.verdict import touch
from shared.basics.keyed_random import draw_exponential, draw_index, draw_lognormal
from shared.basics.units import US_PER_DAY, US_PER_HOUR, us
from shared.engine.service import Output

WORK_SIGMA = 0.5
"""Standard deviation of the logarithm of how long a cube is out for work: as that of repairs."""


def plan_from(state: CubesState, at_us: int) -> None:
    """Plan the first work and the first roll-out of a pod that is commissioned at a moment."""
    state.next_work_us = _work_after(state, at_us)
    every_days = state.config.rollout_every_days
    state.next_rollout_us = None if every_days is None else at_us + us(every_days, US_PER_DAY)


def due_us(state: CubesState) -> int | None:
    """When the next cube is taken out or comes back by plan."""
    moments = [outing.until_us for outing in state.outings.values()]
    moments += [at_us for at_us in (state.next_work_us, state.next_rollout_us) if at_us is not None]
    return min(moments, default=None)


def follow_plan(state: CubesState) -> list[Output]:
    """What the plan says for now: first who comes back, then who is taken out."""
    over = sorted((o.until_us, cube) for cube, o in state.outings.items() if o.until_us <= state.now_us)
    said: list[Output] = []
    for _, cube in over:
        del state.outings[cube]
        state.drained[cube] = False
        touch(state, cube)
        said.append(CubeUndrained(cube=cube))
    return [*said, *_works(state), *_roll_out(state)]


def _works(state: CubesState) -> list[Output]:
    """Take out single cubes for work."""
    said: list[Output] = []
    while state.next_work_us is not None and state.next_work_us <= state.now_us:
        number = state.works
        cube = draw_index(state.seed, state.fabric, "maintenance of", number, state.cubes)
        if not state.drained[cube]:
            mean_h = state.config.maintenance_h
            hours = draw_lognormal(state.seed, state.fabric, "maintenance", number, mean_h, WORK_SIGMA)
            said.append(_take_out(state, cube, us(hours, US_PER_HOUR), "maintenance"))
        state.works = number + 1
        state.next_work_us = _work_after(state, state.next_work_us)
    return said


def _roll_out(state: CubesState) -> list[Output]:
    """Begin a roll-out that is due, unless one is still on; and go on with it: the next cube for every one
    that has come back."""
    every_days = state.config.rollout_every_days
    if every_days is not None and state.next_rollout_us is not None and state.next_rollout_us <= state.now_us:
        state.next_rollout_us += us(every_days, US_PER_DAY)
        if state.rollout_at is None:
            state.rollout_at = 0
    said: list[Output] = []
    out = sum(outing.why == "rollout" for outing in state.outings.values())
    while state.rollout_at is not None and out < state.config.rollout_cubes:
        cube = state.rollout_at
        state.rollout_at = cube + 1 if cube + 1 < state.cubes else None
        if not state.drained[cube]:
            said.append(_take_out(state, cube, us(state.config.rollout_h, US_PER_HOUR), "rollout"))
            out += 1
    return said


def _take_out(state: CubesState, cube: int, for_us: int, why: Reason) -> CubeDrained:
    state.outings[cube] = Outing(state.now_us + for_us, why)
    state.drained[cube] = True
    touch(state, cube)
    return CubeDrained(cube=cube, why=why)


def _work_after(state: CubesState, since_us: int) -> int | None:
    """When the next cube is taken out for work, after the one before it; None where none ever is."""
    rate = state.config.maintenance_per_day * state.cubes
    if not rate:
        return None
    gap_days = draw_exponential(state.seed, state.fabric, "maintenance time", state.works, 1 / rate)
    return since_us + us(gap_days, US_PER_DAY)
