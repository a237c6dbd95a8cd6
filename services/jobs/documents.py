"""Status documents of jobs, one for each current or recent slice, and a summary of all ended ones."""

from schemas.documents.pods import JobDocument, JobsSummary
from schemas.messages.jobs import OwnerUse
from schemas.names import number_of
from services.jobs.state import JobsState
from services.jobs.usage_reports import chip_time
from shared.engine.service import DocumentKey


def document_keys(state: JobsState) -> list[DocumentKey]:
    return [
        *(("jobs", f"{state.fabric}/slice-{number}") for number in sorted([*state.jobs, *state.ended])),
        ("summaries", f"{state.fabric}/jobs"),
    ]


def document(state: JobsState, key: DocumentKey) -> JobDocument | JobsSummary | None:
    kind, name = key
    if kind == "jobs":
        return _job(state, name)
    if key != ("summaries", f"{state.fabric}/jobs"):
        return None
    ended = [
        OwnerUse(owner=usage.owner, tier=usage.tier, chip_us=chip_time(usage.used))
        for _, usage in sorted(state.usage_by_owner.items())
    ]
    return JobsSummary(name=name, ended=tuple(ended))


def _job(state: JobsState, name: str) -> JobDocument | None:
    number = number_of(name)
    job = state.jobs.get(number) or state.ended.get(number)
    if job is None:
        return None
    progress = job.progress
    return JobDocument(
        name=name,
        owner=job.owner,
        tier=job.tier,
        chips=job.chips,
        terms=progress.terms,
        since_us=progress.since_us,
        phase=progress.phase,
        speed_ppm=progress.speed_ppm,
        spent_us=progress.spent_us,
        kept_us=progress.kept_us,
        uncommitted_us=progress.uncommitted_us,
        leaving=progress.leaving,
        starts=progress.starts,
        used_us=progress.usage.by_category(),
        finishes_us=None if job.symptom else job.turns_us,
        ended=number in state.ended,
    )
