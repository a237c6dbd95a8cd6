"""The rules of jobs: what happens to a slice happens to its job, which says when it is done, and when it has
kept what it did because it was told to leave.

A job goes by what is said of its slice. While that recovers it stands, and what no checkpoint keeps is lost.
A host or chip that dies under it, it notices itself (`faults`).
"""

from functools import partial

from schemas.envelope import Envelope
from schemas.messages.failures import ParametersChanged
from schemas.messages.scheduler import (
    FULL_SPEED,
    CubeSwapped,
    SliceAdmitted,
    SliceCompleted,
    SliceDegraded,
    SliceEvicted,
    SliceNoticed,
    SliceRecovering,
    SliceRefused,
    SliceRequeued,
    SliceRestored,
    SliceStarted,
)
from schemas.messages.sequencer import Tick
from schemas.messages.workload import SliceRequested
from schemas.names import number_of
from services.jobs.job_faults import hang_if_broken
from services.jobs.multislice import multislice_job_of, reset_slices
from services.jobs.state import Job, JobsState, add_usage, usage_for
from services.jobs.throttling import set_link_speed
from services.jobs.transitions import advance_job, change_job, checkpoint_without_write, signals, touch
from services.jobs.usage_reports import usage_report
from shared.basics.fast_replace import replace
from shared.engine.ended_rows import add_ended
from shared.engine.service import Output
from shared.models.jobs.progress import (
    Progress,
    given_notice,
    halted,
    placed,
    ready,
    resumed,
    struck,
    unless_preparing,
    unplaced,
)


def due(state: JobsState) -> int:
    """When the next job is done, has kept what it did, or notices a fault, as things stand; or all is
    reported."""
    turns_us = [job.turns_us for job in state.jobs.values() if job.turns_us is not None]
    return min([state.next_report_us, *turns_us])


def on_tick(state: JobsState, _tick: Tick, _message: Envelope) -> list[Output]:
    """The jobs that are done, stand or notice a fault by now, in order of time and slice; then the report."""
    done = sorted(
        (job.turns_us, number)
        for number, job in state.jobs.items()
        if job.turns_us is not None and job.turns_us <= state.now_us
    )
    emitted = [emitted for _, number in done for emitted in advance_job(state, number)]
    return [*emitted, *usage_report(state)]


def on_parameters_changed(state: JobsState, body: ParametersChanged, _message: Envelope) -> list[Output]:
    """Faults that strike from now on are noticed by them."""
    state.config = state.config.model_copy(update=body.of("jobs"))
    return []


def on_slice_requested(state: JobsState, body: SliceRequested, message: Envelope) -> list[Output]:
    """Somebody wants a job done, or a slice to hold."""
    number = number_of(body.slice)
    owner = usage_for(state, body.owner, body.tier).owner
    progress = Progress(body.job, state.now_us)
    state.jobs[number] = Job(owner, body.tier, body.shape, progress, message.id)
    if body.multislice is not None:
        state.multislice_jobs[number] = multislice_job_of(body.multislice)
    touch(state, number)
    return []


def on_slice_admitted(state: JobsState, body: SliceAdmitted, message: Envelope) -> list[Output]:
    number = number_of(body.slice)
    if number in state.jobs:
        state.jobs[number] = replace(state.jobs[number], cubes=body.cubes, corner=body.corner)
    reset_slices(state, number)
    return change_job(state, number, placed, message.id)


def on_slice_started(state: JobsState, body: SliceStarted, message: Envelope) -> list[Output]:
    number = number_of(body.slice)
    speed_ppm = set_link_speed(state, number, body.speed_ppm)
    if number in state.multislice_jobs:
        return [*signals(state, number, "goes", speed_ppm)]
    emitted = change_job(state, number, partial(ready, speed_ppm=speed_ppm), message.id)
    return emitted + hang_if_broken(state, number)


def on_slice_speed_changed(
    state: JobsState, body: SliceDegraded | SliceRestored, message: Envelope
) -> list[Output]:
    """Whole again, or as well as it gets: a job that stood starts again; one that runs is slower or faster
    from now on."""
    number = number_of(body.slice)
    allowed_ppm = body.speed_ppm if isinstance(body, SliceDegraded) else FULL_SPEED
    speed_ppm = set_link_speed(state, number, allowed_ppm)
    if number in state.multislice_jobs:
        return [*signals(state, number, "goes", speed_ppm)]
    emitted = change_job(state, number, partial(resumed, speed_ppm=speed_ppm), message.id)
    return emitted + hang_if_broken(state, number)


def on_slice_recovering(state: JobsState, body: SliceRecovering, message: Envelope) -> list[Output]:
    """Something is gone from under the job. What it did since its last checkpoint is gone, too, but for one
    that replicates as long as a warm cube may take the place of the one that died."""
    number, is_kept = number_of(body.slice), body.choice in (None, "spare")
    if number in state.multislice_jobs:
        return [*signals(state, number, "stands" if is_kept else "struck")]
    return change_job(
        state, number, partial(unless_preparing, ends=halted if is_kept else struck), message.id
    )


def on_cube_swapped(state: JobsState, body: CubeSwapped, message: Envelope) -> list[Output]:
    """It goes on elsewhere, when the slice is ready."""
    number = number_of(body.slice)
    job = state.jobs.get(number)
    if job is not None:
        cubes = tuple([body.spare if cube == body.left else cube for cube in job.cubes])
        state.jobs[number] = replace(job, cubes=cubes, corner=body.corner)
    if number in state.multislice_jobs:
        return [*signals(state, number, "stands")]
    return change_job(state, number, partial(unless_preparing, ends=halted), message.id)


def on_slice_noticed(state: JobsState, body: SliceNoticed, message: Envelope) -> list[Output]:
    """It keeps what it did while there is time, and says when it has."""
    number = number_of(body.slice)
    if number in state.multislice_jobs:
        return [*signals(state, number, "leaves")]
    emitted = change_job(state, number, given_notice, message.id)
    return emitted or checkpoint_without_write(state, number)


def on_slice_requeued(state: JobsState, body: SliceRequeued, message: Envelope) -> list[Output]:
    """It has lost its cubes, and goes on from its last checkpoint when it is admitted again."""
    reset_slices(state, number_of(body.slice))
    return change_job(state, number_of(body.slice), unplaced, message.id)


def on_slice_ended(
    state: JobsState, body: SliceRefused | SliceEvicted | SliceCompleted, _message: Envelope
) -> list[Output]:
    """Nobody wants it any more: what it used goes into the books of those that ended."""
    number = number_of(body.slice)
    state.multislice_jobs.pop(number, None)
    job = state.jobs.pop(number, None)
    if job is not None:
        progress = unplaced(job.progress, state.now_us)
        job = replace(job, progress=progress, turns_us=None, symptom=None)
        add_usage(state, job)
        forgotten = add_ended(state.ended, number, job)
        if forgotten is not None:
            touch(state, forgotten)
        touch(state, number)
    return []
