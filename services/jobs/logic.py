"""The rules of jobs: what happens to a slice happens to its job, which says when it is done, and when it has
kept what it did because it was told to leave.

A job goes by what is said of its slice. While that stalls it stands, and what no checkpoint keeps is lost.
"""

from collections.abc import Callable
from dataclasses import replace

from schemas.envelope import Envelope
from schemas.jobs import JobCheckpointed, JobFinished
from schemas.names import number_of
from schemas.scheduler import (
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
from services.jobs.state import Job, JobsState, book, book_for
from shared.engine.ledger import keep_ended
from shared.engine.service import CausedBy, Output
from shared.models.jobs.progress import (
    Progress,
    asked_to_leave,
    at,
    placed,
    ready,
    struck,
    turns_us,
    unplaced,
)
from shared.models.superpod.shapes import chips_of

SliceBody = (
    SliceAdmitted
    | SliceStarted
    | SliceDegraded
    | SliceRestored
    | SliceRecovering
    | CubeSwapped
    | SliceNoticed
    | SliceRequeued
)


def due(state: JobsState) -> int | None:
    """When the next job is done, or has kept what it did, as things stand."""
    return min([job.turns_us for job in state.jobs.values() if job.turns_us is not None], default=None)


def on_tick(state: JobsState, _tick: Tick, _message: Envelope) -> list[Output]:
    """The jobs that are done or stand by now, in order of time and slice."""
    done = sorted(
        (job.turns_us, number)
        for number, job in state.jobs.items()
        if job.turns_us is not None and job.turns_us <= state.now_us
    )
    return [said for _, number in done for said in _change(state, number, at, state.jobs[number].cause)]


def on_slice_requested(state: JobsState, body: SliceRequested, message: Envelope) -> list[Output]:
    """Somebody wants a job done, or a slice to hold."""
    number = number_of(body.slice)
    owner = book_for(state, body.owner, body.tier).owner
    progress = Progress(body.job, state.now_us)
    state.jobs[number] = Job(owner, body.tier, chips_of(body.shape), progress, None, message.id)
    _touch(state, number)
    return []


def on_slice_admitted(state: JobsState, body: SliceAdmitted, message: Envelope) -> list[Output]:
    return _change(state, number_of(body.slice), placed, message.id)


def on_slice_started(state: JobsState, body: SliceStarted, message: Envelope) -> list[Output]:
    return _change(state, number_of(body.slice), ready, message.id)


def on_slice_goes_on(
    state: JobsState, body: SliceDegraded | SliceRestored, message: Envelope
) -> list[Output]:
    """Whole again, or as well as it gets: a job that stood starts again; one that runs does not notice."""
    return _change(state, number_of(body.slice), _ready_if_standing, message.id)


def on_slice_struck(state: JobsState, body: SliceRecovering | CubeSwapped, message: Envelope) -> list[Output]:
    """A cube is gone from under the job."""
    return _change(state, number_of(body.slice), _struck_if_started, message.id)


def on_slice_noticed(state: JobsState, body: SliceNoticed, message: Envelope) -> list[Output]:
    """It keeps what it did while there is time, and says when it has."""
    number = number_of(body.slice)
    said = _change(state, number, asked_to_leave, message.id)
    job = state.jobs.get(number)
    if said or job is None or job.turns_us is not None or job.progress.phase == "finished":
        return said
    return [JobCheckpointed(slice=body.slice)]


def on_slice_requeued(state: JobsState, body: SliceRequeued, message: Envelope) -> list[Output]:
    """It has lost its cubes, and goes on from its last checkpoint when it is admitted again."""
    return _change(state, number_of(body.slice), unplaced, message.id)


def on_slice_ended(
    state: JobsState, body: SliceRefused | SliceEvicted | SliceCompleted, _message: Envelope
) -> list[Output]:
    """Nobody wants it any more: what it used goes into the books of those that ended."""
    number = number_of(body.slice)
    job = state.jobs.pop(number, None)
    if job is not None:
        job = replace(job, progress=unplaced(job.progress, state.now_us), turns_us=None)
        book(state, job)
        forgotten = keep_ended(state.ended, number, job)
        if forgotten is not None:
            _touch(state, forgotten)
        _touch(state, number)
    return []


def _change(
    state: JobsState, number: int, change: Callable[[Progress, int], Progress], cause: str
) -> list[Output]:
    """Change a job that there is, by the message with this id; whoever comes when it is done by itself hears
    that too."""
    job = state.jobs.get(number)
    if job is None:
        return []
    said: list[Output] = []
    if job.turns_us is not None and job.turns_us <= state.now_us:
        is_done = at(job.progress, state.now_us).phase == "finished"
        name = f"{state.fabric}/slice-{number}"
        said.append(CausedBy(job.cause, JobFinished(slice=name) if is_done else JobCheckpointed(slice=name)))
    progress = change(job.progress, state.now_us)
    state.jobs[number] = replace(job, progress=progress, turns_us=turns_us(progress), cause=cause)
    _touch(state, number)
    return said


def _ready_if_standing(progress: Progress, now_us: int) -> Progress:
    return ready(progress, now_us) if progress.phase == "standing" else at(progress, now_us)


def _struck_if_started(progress: Progress, now_us: int) -> Progress:
    if progress.phase == "preparing":
        return at(progress, now_us)
    return struck(progress, now_us)


def _touch(state: JobsState, number: int) -> None:
    state.touched.add(("jobs", f"{state.fabric}/slice-{number}"))
    state.touched.add(("summaries", f"{state.fabric}/jobs"))
