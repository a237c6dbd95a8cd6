"""The status documents of jobs, one a slice that somebody wants, and a summary of those that ended."""

from schemas.documents import JobDocument, JobsSummary
from schemas.names import number_of
from services.jobs.state import JobsState
from shared.engine.service import DocumentKey
from shared.models.jobs.ledger import PLACES


def document_keys(state: JobsState) -> list[DocumentKey]:
    return [
        *(("jobs", f"{state.fabric}/slice-{number}") for number in sorted(state.jobs)),
        ("summaries", f"{state.fabric}/jobs"),
    ]


def document(state: JobsState, key: DocumentKey) -> JobDocument | JobsSummary | None:
    kind, name = key
    if kind == "jobs":
        return _job(state, name)
    if key != ("summaries", f"{state.fabric}/jobs"):
        return None
    return JobsSummary(name=name, used_chip_us=dict(state.used_chip_us))


def _job(state: JobsState, name: str) -> JobDocument | None:
    job = state.jobs.get(number_of(name))
    if job is None:
        return None
    progress = job.progress
    return JobDocument(
        name=name,
        chips=job.chips,
        terms=progress.terms,
        since_us=progress.since_us,
        phase=progress.phase,
        speed_ppm=progress.speed_ppm,
        spent_us=progress.spent_us,
        kept_us=progress.kept_us,
        fresh_us=progress.fresh_us,
        leaving=progress.leaving,
        starts=progress.starts,
        used_us={place: getattr(progress.ledger, place) for place in PLACES},
        finishes_us=job.turns_us,
    )
