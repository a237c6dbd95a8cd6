"""Throttling: the chips of hot cubes run slower, and a slice runs at the speed of its slowest cube."""

from functools import partial

from schemas.envelope import Envelope
from schemas.messages.failures import FaultBegan, FaultEnded
from schemas.messages.scheduler import FULL_SPEED
from services.jobs.state import Job, JobsState
from services.jobs.transitions import change_job, signals
from shared.basics.fast_replace import replace
from shared.engine.service import Output
from shared.models.assumptions import assumed
from shared.models.jobs.job_progress import slowed
from shared.models.superpod.superpod_plant import superpod_plant


def set_link_speed(state: JobsState, number: int, speed_ppm: int) -> int:
    """Store the speed that a slice's links allow, and return its speed with throttling."""
    job = state.jobs.get(number)
    if job is None:
        return speed_ppm
    state.jobs[number] = replace(job, link_speed_ppm=speed_ppm)
    return _speed_ppm(state, state.jobs[number])


def on_cooling_lost(state: JobsState, body: FaultBegan, message: Envelope) -> list[Output]:
    """Throttle the chips of a cube."""
    cube = superpod_plant(state.cubes).parse(body.target)["cube"]
    return _change_hot(state, {**state.hot_cubes, body.fault: cube}, message)


def on_cooling_back(state: JobsState, body: FaultEnded, message: Envelope) -> list[Output]:
    return _change_hot(state, {f: cube for f, cube in state.hot_cubes.items() if f != body.fault}, message)


def _change_hot(state: JobsState, hot_cubes: dict[str, int], message: Envelope) -> list[Output]:
    """Change the set of hot cubes, and the speeds of the jobs on them."""
    before = {number: _speed_ppm(state, job) for number, job in sorted(state.jobs.items())}
    state.hot_cubes = hot_cubes
    emitted: list[Output] = []
    for number, was_ppm in before.items():
        speed_ppm = _speed_ppm(state, state.jobs[number])
        if speed_ppm == was_ppm:
            continue
        multislice_job = state.multislice_jobs.get(number)
        if multislice_job is None:
            emitted += change_job(state, number, partial(slowed, speed_ppm=speed_ppm), message.id)
        elif multislice_job.speeds_ppm[multislice_job.pods.index(state.fabric)] is not None:
            emitted += signals(state, number, "goes", speed_ppm)
    return emitted


def _speed_ppm(state: JobsState, job: Job) -> int:
    if set(state.hot_cubes.values()).isdisjoint(job.cubes):
        return job.link_speed_ppm
    return max(1, job.link_speed_ppm * round(assumed("throttled_speed") * FULL_SPEED) // FULL_SPEED)
