"""Changes of a job and the messages about them."""

from collections.abc import Callable

from schemas.messages.jobs import JobCheckpointed, JobFailed, JobFinished, PodSignal, PodSignalled
from services.jobs.state import Job, JobsState, Symptom
from shared.basics.fast_replace import replace
from shared.engine.service import CausedBy, Output
from shared.models.jobs.job_progress import Progress, halted, next_change_us, progress_at


def change_job(
    state: JobsState, number: int, by: Callable[[Progress, int], Progress], cause: str
) -> list[Output]:
    """Change a job, if it exists, after advancing it.

    `cause` is the id of the message; it is also the cause of the job's next change by itself.
    """
    if number not in state.jobs:
        return []
    emitted = advance_job(state, number)
    job = state.jobs[number]
    store_job(state, number, job, by(job.progress, state.now_us), job.symptom, cause)
    return emitted


def store_job(
    state: JobsState,
    number: int,
    job: Job,
    progress: Progress,
    symptom: Symptom | None,
    cause: str | None = None,
) -> None:
    """Store a job, with a new cause if given. A symptom is kept only while the job hangs."""
    if progress.phase != "hung":
        symptom = None
    turns = next_change_us(progress) if symptom is None else symptom.at_us
    state.jobs[number] = replace(
        job, progress=progress, turns_us=turns, symptom=symptom, cause=cause or job.cause
    )
    touch(state, number)


def advance_job(state: JobsState, number: int) -> list[Output]:
    """Advance a job whose next change is due, and report it."""
    job = state.jobs[number]
    if job.turns_us is None or job.turns_us > state.now_us:
        return []
    name = f"{state.fabric}/slice-{number}"
    symptom = job.symptom
    if symptom is not None:
        store_job(state, number, job, halted(job.progress, state.now_us), None)
        failed = JobFailed(slice=name, part=symptom.part.name, seen_as=symptom.seen_as)
        return [CausedBy(symptom.part.cause, body) for body in (failed, *signals(state, number, "stands"))]
    progress = progress_at(job.progress, state.now_us)
    store_job(state, number, job, progress, None)
    if progress.phase == "finished":
        return [CausedBy(job.cause, JobFinished(slice=name))]
    multislice_job = state.multislice_jobs.get(number)
    if multislice_job is not None:
        if not multislice_job.must_leave:
            return []  # another slice of the job leaves its cubes, and its pod reports that
        state.multislice_jobs[number] = replace(multislice_job, must_leave=False)
    return [CausedBy(job.cause, JobCheckpointed(slice=name))]


def checkpoint_without_write(state: JobsState, number: int) -> list[Output]:
    """Report a checkpoint for a job that must leave and has nothing to write."""
    job = state.jobs.get(number)
    if job is None or job.turns_us is not None or job.progress.phase == "finished":
        return []
    return [JobCheckpointed(slice=f"{state.fabric}/slice-{number}")]


def signals(
    state: JobsState, number: int, signal: PodSignal, speed_ppm: int | None = None
) -> list[PodSignalled]:
    """The signal of a multi-pod job's slice to all its pods; nothing for other jobs."""
    multislice_job = state.multislice_jobs.get(number)
    if multislice_job is None:
        return []
    name = f"{state.fabric}/slice-{number}"
    return [PodSignalled(job=multislice_job.job, slice=name, signal=signal, speed_ppm=speed_ppm)]


def touch(state: JobsState, number: int) -> None:
    """Mark the documents of the job and the summary as changed."""
    state.changed_documents.add(("jobs", f"{state.fabric}/slice-{number}"))
    state.changed_documents.add(("summaries", f"{state.fabric}/jobs"))
