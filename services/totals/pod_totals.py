"""Counters of one pod at a time: slices, chip-time, healthy cube-time, faults, repairs and links."""

from dataclasses import dataclass
from statistics import median

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
from services.totals.summaries import summary_of
from shared.engine.site import Site
from shared.models.jobs.goodput_accounting import ChipTime, JobUse, chip_time_until

WORKLOAD_COUNTS = ("requested", "balked")
SLICE_COUNTS = (*WORKLOAD_COUNTS, "admitted", "completed", "evicted", "refused", "swapped")
"""Slices that are counted at an event; running and queued slices are counted as they are."""


@dataclass(frozen=True, slots=True)
class PodTotals:
    """All counters of one pod from its commissioning up to `at_us`.

    `chip_time` is the time of every chip, `cube_us` healthy cube-time in microseconds. `cross_connects` is
    None if there are no OCSes.
    """

    at_us: int
    cubes: int
    slices: dict[str, int]
    running: int
    """Slices in the state `running`."""
    active: int
    """Slices with cubes, in any state."""
    queued: int
    chip_time: ChipTime
    cube_us: int
    faults: dict[FaultKind, int]
    repairs: int
    links: dict[str, float | None]
    cross_connects: int | None


class ChipTimeReader:
    """Reads the chip-time of one pod at increasing times. After the first time it reads only slices that live
    or have ended since the last time, because only they matter between two consecutive times."""

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
            {(usage.owner, usage.tier): usage.used for usage in state.usage_by_owner.values()},
            uses,
        )


def pod_totals(
    site: Site, fabric: str, at_us: int, *, links: bool = True, reader: ChipTimeReader | None = None
) -> PodTotals:
    """The counters of one pod at `at_us`, the time that it has reached, from its status documents. Links take
    long to read and are optional. `reader` has read earlier times of the same pod."""
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
        running=scheduler.running_undisturbed,
        active=scheduler.running,
        queued=scheduler.queued,
        chip_time=(reader or ChipTimeReader(site, fabric)).at(at_us),
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
