"""The productive share of a pod: what its utilisation was worth."""

from schemas.documents.pods import JobDocument
from services.gateway.resources.service_summaries import PodSummaries, pod_summaries
from services.gateway.resources.status_documents import parse_document
from services.gateway.runtime_ports import TwinPorts
from shared.models.jobs.goodput_accounting import (
    ALLOCATED,
    UNUSABLE,
    ended_use,
    integral,
    job_use,
    sum_usage,
)

READ_TRIES = 5
"""Attempts to read documents of one consistent time: services commit one after another."""


def productive_share(twin: TwinPorts, fabric: str, summaries: PodSummaries, at_us: int) -> float | None:
    """Chip-time whose work was kept, as a share of the same chip-time as utilisation, from the commissioning
    of a pod until `at_us`.

    0 if no chip was usable; None if its services were at different times at every attempt.
    """
    for _ in range(READ_TRIES):
        # The summary has the use of jobs that have ended.
        texts = twin.documents.all(fabric, "jobs")  # in any order: to sort the names takes a quarter of all
        jobs = [parse_document(JobDocument, name, text) for name, text in texts.items()]
        living = [job_use(job) for job in jobs if not job.ended]
        scheduler = summaries.scheduler
        until_us = max([at_us, scheduler.at_us, *(use.progress.since_us for use in living)])
        chip_us = integral(scheduler.chip_us, scheduler.chips_by_category, until_us - scheduler.at_us)
        used = sum_usage([*ended_use(summaries.jobs).values(), *(use.used(until_us) for use in living)])
        if sum(used.by_category().values()) == chip_us[ALLOCATED]:
            usable_us = sum([us for category, us in chip_us.items() if category not in UNUSABLE])
            return used.productive / usable_us if usable_us else 0.0
        summaries = pod_summaries(twin, fabric)
    return None
