"""Rules of jobs: a job follows the messages about its slice.

It reports when it is finished, and when it has written a checkpoint after a notice to leave. While its slice
recovers, it stands still, and work after the last checkpoint is lost. It notices a failed host or chip by
itself (`job_faults`).
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
from shared.models.jobs.job_progress import (
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
    """The time of the next change of a job (finish, checkpoint or symptom), or of the next usage report."""
    turns_us = [job.turns_us for job in state.jobs.values() if job.turns_us is not None]
    return min([state.next_report_us, *turns_us])


def on_tick(state: JobsState, _tick: Tick, _message: Envelope) -> list[Output]:
    """Advance the jobs that are due, in order of time and slice, then report usage."""
    done = sorted(
        (job.turns_us, number)
        for number, job in state.jobs.items()
        if job.turns_us is not None and job.turns_us <= state.now_us
    )
    emitted = [emitted for _, number in done for emitted in advance_job(state, number)]
    return [*emitted, *usage_report(state)]


def on_parameters_changed(state: JobsState, body: ParametersChanged, _message: Envelope) -> list[Output]:
    """Apply changed parameters to future faults."""
    state.config = state.config.model_copy(update=body.of("jobs"))
    return []


def on_slice_requested(state: JobsState, body: SliceRequested, message: Envelope) -> list[Output]:
    """Create the job of a requested slice, which may also be empty."""
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
    """Set the job's speed: the slice is whole again, or as good as possible. A stopped job starts again."""
    number = number_of(body.slice)
    allowed_ppm = body.speed_ppm if isinstance(body, SliceDegraded) else FULL_SPEED
    speed_ppm = set_link_speed(state, number, allowed_ppm)
    if number in state.multislice_jobs:
        return [*signals(state, number, "goes", speed_ppm)]
    emitted = change_job(state, number, partial(resumed, speed_ppm=speed_ppm), message.id)
    return emitted + hang_if_broken(state, number)


def on_slice_recovering(state: JobsState, body: SliceRecovering, message: Envelope) -> list[Output]:
    """Stop the job of a slice that recovers.

    Work after its last checkpoint is lost, unless the job replicates and a warm cube may replace the failed
    one.
    """
    number, is_kept = number_of(body.slice), body.choice in (None, "spare")
    if number in state.multislice_jobs:
        return [*signals(state, number, "stands" if is_kept else "struck")]
    return change_job(
        state, number, partial(unless_preparing, ends=halted if is_kept else struck), message.id
    )


def on_cube_swapped(state: JobsState, body: CubeSwapped, message: Envelope) -> list[Output]:
    """Move the job to the spare cube; it continues when the slice is ready."""
    number = number_of(body.slice)
    job = state.jobs.get(number)
    if job is not None:
        cubes = tuple([body.spare if cube == body.left else cube for cube in job.cubes])
        state.jobs[number] = replace(job, cubes=cubes, corner=body.corner)
    if number in state.multislice_jobs:
        return [*signals(state, number, "stands")]
    return change_job(state, number, partial(unless_preparing, ends=halted), message.id)


def on_slice_noticed(state: JobsState, body: SliceNoticed, message: Envelope) -> list[Output]:
    """Start a checkpoint if there is time before the job must leave, and report its end."""
    number = number_of(body.slice)
    if number in state.multislice_jobs:
        return [*signals(state, number, "leaves")]
    emitted = change_job(state, number, given_notice, message.id)
    return emitted or checkpoint_without_write(state, number)


def on_slice_requeued(state: JobsState, body: SliceRequeued, message: Envelope) -> list[Output]:
    """Queue the job again: it has lost its cubes, and restarts from its last checkpoint when admitted
    again."""
    reset_slices(state, number_of(body.slice))
    return change_job(state, number_of(body.slice), unplaced, message.id)


def on_slice_ended(
    state: JobsState, body: SliceRefused | SliceEvicted | SliceCompleted, _message: Envelope
) -> list[Output]:
    """End a job, and add its usage to the totals."""
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
