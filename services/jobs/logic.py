"""The rules of jobs: what happens to a slice happens to its job, which says when it is done, and when it has
kept what it did because it was told to leave.

A job goes by what is said of its slice. While that recovers it stands, and what no checkpoint keeps is lost.
A host or chip that dies under it, it notices itself (`faults`).
"""

from functools import partial

from schemas.envelope import Envelope
from schemas.failures import ParametersChanged
from schemas.names import number_of
from schemas.scheduler import (
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
from schemas.sequencer import Tick
from schemas.workload import SliceRequested
from services.jobs.changes import change, kept_at_once, signals, touch, turn
from services.jobs.cooling import granted
from services.jobs.faults import strike_if_broken
from services.jobs.multislice import disband, team_of
from services.jobs.reports import reported
from services.jobs.state import Job, JobsState, book, book_for
from shared.basics.records import replace
from shared.engine.ledger import keep_ended
from shared.engine.service import Output
from shared.models.jobs.progress import (
    Progress,
    asked_to_leave,
    goes_on,
    halted,
    if_started,
    placed,
    ready,
    struck,
    unplaced,
)


def due(state: JobsState) -> int:
    """When the next job is done, has kept what it did, or notices a fault, as things stand; or all is
    reported."""
    turns_us = [job.turns_us for job in state.jobs.values() if job.turns_us is not None]
    return min([state.reports_us, *turns_us])


def on_tick(state: JobsState, _tick: Tick, _message: Envelope) -> list[Output]:
    """The jobs that are done, stand or notice a fault by now, in order of time and slice; then the report."""
    done = sorted(
        (job.turns_us, number)
        for number, job in state.jobs.items()
        if job.turns_us is not None and job.turns_us <= state.now_us
    )
    said = [said for _, number in done for said in turn(state, number)]
    return [*said, *reported(state)]


def on_parameters_changed(state: JobsState, body: ParametersChanged, _message: Envelope) -> list[Output]:
    """Faults that strike from now on are noticed by them."""
    state.config = state.config.model_copy(update=body.of("jobs"))
    return []


def on_slice_requested(state: JobsState, body: SliceRequested, message: Envelope) -> list[Output]:
    """Somebody wants a job done, or a slice to hold."""
    number = number_of(body.slice)
    owner = book_for(state, body.owner, body.tier).owner
    progress = Progress(body.job, state.now_us)
    state.jobs[number] = Job(owner, body.tier, body.shape, progress, message.id)
    if body.multislice is not None:
        state.teams[number] = team_of(body.multislice)
    touch(state, number)
    return []


def on_slice_admitted(state: JobsState, body: SliceAdmitted, message: Envelope) -> list[Output]:
    number = number_of(body.slice)
    if number in state.jobs:
        state.jobs[number] = replace(state.jobs[number], cubes=body.cubes, corner=body.corner)
    disband(state, number)
    return change(state, number, placed, message.id)


def on_slice_started(state: JobsState, body: SliceStarted, message: Envelope) -> list[Output]:
    number = number_of(body.slice)
    speed_ppm = granted(state, number, body.speed_ppm)
    if number in state.teams:
        return [*signals(state, number, "goes", speed_ppm)]
    said = change(state, number, partial(ready, speed_ppm=speed_ppm), message.id)
    return said + strike_if_broken(state, number)


def on_slice_goes_on(
    state: JobsState, body: SliceDegraded | SliceRestored, message: Envelope
) -> list[Output]:
    """Whole again, or as well as it gets: a job that stood starts again; one that runs is slower or faster
    from now on."""
    number = number_of(body.slice)
    allowed_ppm = body.speed_ppm if isinstance(body, SliceDegraded) else FULL_SPEED
    speed_ppm = granted(state, number, allowed_ppm)
    if number in state.teams:
        return [*signals(state, number, "goes", speed_ppm)]
    said = change(state, number, partial(goes_on, speed_ppm=speed_ppm), message.id)
    return said + strike_if_broken(state, number)


def on_slice_recovering(state: JobsState, body: SliceRecovering, message: Envelope) -> list[Output]:
    """Something is gone from under the job. What it did since its last checkpoint is gone, too, but for one
    that replicates as long as a warm cube may take the place of the one that died."""
    number, is_kept = number_of(body.slice), body.choice in (None, "spare")
    if number in state.teams:
        return [*signals(state, number, "stands" if is_kept else "struck")]
    return change(state, number, partial(if_started, ends=halted if is_kept else struck), message.id)


def on_cube_swapped(state: JobsState, body: CubeSwapped, message: Envelope) -> list[Output]:
    """It goes on elsewhere, when the slice is ready."""
    number = number_of(body.slice)
    job = state.jobs.get(number)
    if job is not None:
        cubes = tuple([body.spare if cube == body.left else cube for cube in job.cubes])
        state.jobs[number] = replace(job, cubes=cubes, corner=body.corner)
    if number in state.teams:
        return [*signals(state, number, "stands")]
    return change(state, number, partial(if_started, ends=halted), message.id)


def on_slice_noticed(state: JobsState, body: SliceNoticed, message: Envelope) -> list[Output]:
    """It keeps what it did while there is time, and says when it has."""
    number = number_of(body.slice)
    if number in state.teams:
        return [*signals(state, number, "leaves")]
    said = change(state, number, asked_to_leave, message.id)
    return said or kept_at_once(state, number)


def on_slice_requeued(state: JobsState, body: SliceRequeued, message: Envelope) -> list[Output]:
    """It has lost its cubes, and goes on from its last checkpoint when it is admitted again."""
    disband(state, number_of(body.slice))
    return change(state, number_of(body.slice), unplaced, message.id)


def on_slice_ended(
    state: JobsState, body: SliceRefused | SliceEvicted | SliceCompleted, _message: Envelope
) -> list[Output]:
    """Nobody wants it any more: what it used goes into the books of those that ended."""
    number = number_of(body.slice)
    state.teams.pop(number, None)
    job = state.jobs.pop(number, None)
    if job is not None:
        progress = unplaced(job.progress, state.now_us)
        job = replace(job, progress=progress, turns_us=None, symptom=None)
        book(state, job)
        forgotten = keep_ended(state.ended, number, job)
        if forgotten is not None:
            touch(state, forgotten)
        touch(state, number)
    return []
