"""Cubes that are taken out of use by plan: for work on single ones, at a rate, and for roll-outs of software,
which go over the pod a few at a time.

A cube is drained as an operator would drain it, so slices leave it if there is room elsewhere, and it comes
back when its time is over. One that an operator has drained is left alone: what was planned is done to it
meanwhile. An operator who drains a cube that is out by plan keeps it out, and one who undrains it ends what
was planned for it; the roll-out goes on with the next.
"""

from schemas.cubes import CubeDrained, CubeUndrained
from schemas.envelope import Envelope
from schemas.failures import ParametersChanged
from services.cubes.plan import cube_of_work, work_after, work_at_other_rate, work_us, works_per_day
from services.cubes.state import CubesState, Outing, Reason
from services.cubes.verdict import touch
from shared.basics.keyed_random import rekeyed
from shared.basics.units import US_PER_DAY, US_PER_HOUR, us
from shared.engine.service import Output


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
    return [*said, *_works(state), *roll_out(state)]


def draw_anew(state: CubesState, salt: int) -> None:
    """Draw anew which cubes are worked on, and when: what is left of an exponential gap has the law of a new
    one."""
    state.draws = rekeyed(state.draws, salt)
    state.next_work_us = work_after(
        state.draws, state.fabric, state.config, state.cubes, state.works, state.now_us
    )


def _works(state: CubesState) -> list[Output]:
    """Take out single cubes for work."""
    said: list[Output] = []
    seed, fabric, config, cubes = state.draws, state.fabric, state.config, state.cubes
    while state.next_work_us is not None and state.next_work_us <= state.now_us:
        cube = cube_of_work(seed, fabric, cubes, state.works)
        if not state.drained[cube]:
            said.append(_take_out(state, cube, work_us(seed, fabric, config, state.works), "maintenance"))
        state.works += 1
        state.next_work_us = work_after(seed, fabric, config, cubes, state.works, state.next_work_us)
    return said


def on_parameters_changed(state: CubesState, body: ParametersChanged, _message: Envelope) -> list[Output]:
    """What is planned from now on goes by them, and so do heartbeats that are waited for from now on."""
    changed = body.of("cubes")
    if not changed:
        return []
    before = works_per_day(state.config, state.cubes)
    state.config = state.config.model_copy(update=changed)
    rates = before, works_per_day(state.config, state.cubes)
    drawn = state.draws, state.fabric, rates, state.next_work_us
    state.next_work_us = work_at_other_rate(*drawn, state.now_us, state.works)
    return []


def roll_out(state: CubesState) -> list[Output]:
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
