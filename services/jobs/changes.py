"""How a job changes, and what it says of that by itself."""

from collections.abc import Callable

from schemas.jobs import JobCheckpointed, JobFailed, JobFinished, JobsBody
from services.jobs.state import Job, JobsState, Symptom
from shared.basics.records import replace
from shared.engine.service import CausedBy, Output
from shared.models.jobs.progress import Progress, at, halted, turns_us


def change(
    state: JobsState, number: int, by: Callable[[Progress, int], Progress], cause: str
) -> list[Output]:
    """Change a job that there is, by the message with this id; whoever comes when it turns by itself hears
    that too."""
    job = state.jobs.get(number)
    if job is None:
        return []
    said = _turned(state, number, job)
    job = state.jobs[number]
    put(state, number, job, by(job.progress, state.now_us), job.symptom, cause)
    return said


def put(
    state: JobsState,
    number: int,
    job: Job,
    progress: Progress,
    symptom: Symptom | None,
    cause: str | None = None,
) -> None:
    """Keep a job as it is now, perhaps by another message than before; what it is about to notice only while
    it hangs."""
    if progress.phase != "hung":
        symptom = None
    turns = turns_us(progress) if symptom is None else symptom.at_us
    state.jobs[number] = replace(
        job, progress=progress, turns_us=turns, symptom=symptom, cause=cause or job.cause
    )
    touch(state, number)


def _turned(state: JobsState, number: int, job: Job) -> list[Output]:
    """What a job says that turns by itself by now."""
    if job.turns_us is None or job.turns_us > state.now_us:
        return []
    name = f"{state.fabric}/slice-{number}"
    symptom = job.symptom
    if symptom is not None:
        put(state, number, job, halted(job.progress, state.now_us), None)
        failed = JobFailed(slice=name, part=symptom.part.name, seen_as=symptom.seen_as)
        return [CausedBy(symptom.part.cause, failed)]
    progress = at(job.progress, state.now_us)
    put(state, number, job, progress, None)
    body: JobsBody = JobFinished(slice=name) if progress.phase == "finished" else JobCheckpointed(slice=name)
    return [CausedBy(job.cause, body)]


def touch(state: JobsState, number: int) -> None:
    """The document of a job has changed, and the summary."""
    state.touched.add(("jobs", f"{state.fabric}/slice-{number}"))
    state.touched.add(("summaries", f"{state.fabric}/jobs"))
