"""Report of a pod's run between two times: slices, utilisation, availability, faults, repairs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from schemas.documents.pods import (
    CubesSummary,
    FailuresSummary,
    LinkGroupDocument,
    LinksSummary,
    OcsSummary,
    SchedulerSummary,
    WorkloadSummary,
)
from schemas.documents.repairs import RepairsSummary
from schemas.names import FaultKind
from services.jobs.state import Job, JobsState
from shared.engine.site import Site
from shared.models.jobs.goodput_accounting import (
    TIERS,
    ChipTime,
    JobUse,
    chip_time_between,
    chip_time_spans,
    chip_time_until,
    goodput_span,
)

WORKLOAD_COUNTS = ("requested", "balked")
SLICE_COUNTS = (*WORKLOAD_COUNTS, "admitted", "completed", "evicted", "refused", "swapped")
"""Slices that are counted as something happens to them; those that run or wait are as many as there are."""
SPANS_MAX = 120
"""Maximum number of spans with goodput in a report."""


@dataclass(frozen=True, slots=True)
class PodTotals:
    """All counters of one pod from its commissioning up to `at_us`.

    `books` are of every chip's time, `cube_us` is healthy cube-time in microseconds. `cross_connects` is None
    where there are no OCSes.
    """

    at_us: int
    cubes: int
    slices: dict[str, int]
    running: int
    queued: int
    books: ChipTime
    cube_us: int
    faults: dict[FaultKind, int]
    repairs: int
    links: dict[str, float | None]
    cross_connects: int | None


class ChipTimeReader:
    """The books of one pod at one moment after the other. Once all is read, only slices are read again that
    live or have ended since: `between` two moments in a row no others count."""

    def __init__(self, site: Site, fabric: str) -> None:
        self._site, self._fabric = site, fabric
        self._ended: set[int] = set()

    def at(self, at_us: int) -> ChipTime:
        """Read the chip-time at `at_us`."""
        site, fabric = self._site, self._fabric
        state = site.instance(fabric, "jobs").state
        if not isinstance(state, JobsState):
            raise TypeError(f"{fabric} has no jobs")
        uses = {
            f"{fabric}/slice-{number}": _job_use(job, ended=number in state.ended)
            for jobs in (state.jobs, {n: state.ended[n] for n in state.ended.keys() - self._ended})
            for number, job in jobs.items()
            if job.cubes  # without any it has used nothing yet
        }
        self._ended = set(state.ended)
        return chip_time_until(
            summary_of(site, fabric, "workload", WorkloadSummary).commissioned_us,
            at_us,
            summary_of(site, fabric, "scheduler", SchedulerSummary),
            {(book.owner, book.tier): book.used for book in state.books.values()},
            uses,
        )


def pod_totals(
    site: Site, fabric: str, at_us: int, *, links: bool = True, books: ChipTimeReader | None = None
) -> PodTotals:
    """Read off the status documents of one pod, whose time has come to `at_us`; without its links, which
    take long to read, where nobody asks for them. `books` has read the same pod's before."""
    workload = summary_of(site, fabric, "workload", WorkloadSummary)
    scheduler = summary_of(site, fabric, "scheduler", SchedulerSummary)
    cubes = summary_of(site, fabric, "cubes", CubesSummary)
    switched = any(i.fabric == fabric and i.name == "ocs" for i in site.instances)
    return PodTotals(
        at_us=at_us,
        cubes=cubes.cubes,
        slices={
            word: getattr(workload if word in WORKLOAD_COUNTS else scheduler, word) for word in SLICE_COUNTS
        },
        running=scheduler.running,
        queued=scheduler.queued,
        books=(books or ChipTimeReader(site, fabric)).at(at_us),
        cube_us=cubes.healthy_cube_us + cubes.healthy * (at_us - cubes.at_us),
        faults=summary_of(site, fabric, "failures", FailuresSummary).begun,
        repairs=summary_of(site, fabric, "repairs", RepairsSummary).completed,
        links=_links(site, fabric) if links else {},
        cross_connects=summary_of(site, fabric, "ocs", OcsSummary).cross_connects if switched else None,
    )


def _job_use(job: Job, *, ended: bool = False) -> JobUse:
    return JobUse((job.owner, job.tier), job.chips, job.progress, ended)


def chip_time_at(site: Site, fabric: str, at_us: int) -> ChipTime:
    """The chip-time of one pod at `at_us`."""
    return ChipTimeReader(site, fabric).at(at_us)


def goodput_spans(chip_times: Sequence[ChipTime], since: PodTotals | None) -> dict[str, Any]:
    """What came of all the time from `since`, or else from the commissioning, as `span`; and as `spans` of
    that between the moments of these books, or every few of them, where they are many."""
    every = -(-len(chip_times) // SPANS_MAX)
    begin = chip_times[-1].at_start if since is None else since.books
    chosen = [begin, *chip_times[every - 1 : -1 : every], chip_times[-1]]
    return {
        "span": goodput_span(chip_time_between(begin, chip_times[-1])).model_dump(),
        "spans": [goodput_span(books).model_dump() for books in chip_time_spans(chosen)],
    }


def report_between(fabric: str, end: PodTotals, since: PodTotals | None = None) -> dict[str, Any]:
    """What happened from `since`, or else from the commissioning, up to `end`; links are those of the end.

    Utilisation is what slices had of the chip-time that was healthy and not drained, all and by tier; cube
    availability is healthy cube-time over all cube-time. Slices that run or wait are those at the end. What
    OCSes did is left out where there are none.
    """
    since = since or _zero_totals(end)
    books = chip_time_between(since.books, end.books)
    span_us, cube_us = books.until_us - books.since_us, end.cube_us - since.cube_us
    counted = {word: count - since.slices[word] for word, count in end.slices.items()}
    found = {
        "fabric": fabric,
        "slices": counted | {"running": end.running, "queued": end.queued},
        "utilisation": books.utilisation(),
        "utilisation_by_tier": {tier: books.utilisation(tier) for tier in TIERS},
        "goodput": {"total_chip_us": books.total_chip_us, "chip_us": books.chip_us},
        "cube_availability": cube_us / (end.cubes * span_us) if span_us else 1.0,
        "cubes": end.cubes,
        "cube_us": cube_us,
        "span_us": span_us,
        "faults": {kind: count - since.faults[kind] for kind, count in end.faults.items()},
        "repairs": end.repairs - since.repairs,
        "links": end.links,
    }
    if end.cross_connects is not None:
        found["cross_connects"] = end.cross_connects - (since.cross_connects or 0)
    return found


def _links(site: Site, fabric: str) -> dict[str, float | None]:
    """The link ends of now: how many of those that slices use are up, degraded and down; and of those that
    light passes, what OCS and fibre lose and the bit error rate, in the median and at worst."""
    summary = summary_of(site, fabric, "transceivers", LinksSummary)
    links = site.instance(fabric, "transceivers")
    losses, bers = list[float](), list[float]()
    for key in links.service.document_keys(links.state):
        found = links.service.document(links.state, key)
        if isinstance(found, LinkGroupDocument):
            losses += [loss_db for loss_db in found.losses_db if loss_db is not None]
            bers += [ber for ber in found.bers if ber is not None]
    figures = {
        "median_loss_db": median(losses) if losses else None,
        "worst_loss_db": max(losses, default=None),
        "median_ber": median(bers) if bers else None,
        "worst_ber": max(bers, default=None),
    }
    return {"up": summary.up, "degraded": summary.degraded, "down": summary.down} | figures


def _zero_totals(end: PodTotals) -> PodTotals:
    """The counters of the same pod at its commissioning: all zero."""
    books = end.books
    return replace(
        end,
        at_us=books.since_us,
        slices=dict.fromkeys(end.slices, 0),
        books=books.at_start,
        cube_us=0,
        faults=dict.fromkeys(end.faults, 0),
        repairs=0,
        cross_connects=0,
    )


def pod_report(site: Site, fabric: str, until_us: int) -> dict[str, Any]:
    """Report of one pod from its commissioning up to `until_us`."""
    return report_between(fabric, pod_totals(site, fabric, until_us))


def summary_of(site: Site, fabric: str, service: str, model: type[Any]) -> Any:
    """The summary document of a fabric's service; TypeError if it has another type."""
    instance = site.instance(fabric, service)
    document = instance.service.document(instance.state, ("summaries", f"{fabric}/{service}"))
    if not isinstance(document, model):
        raise TypeError(f"{service} of {fabric} has no summary")
    return document
