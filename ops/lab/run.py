"""`lightwave lab run`: fabrics in virtual time, in one or several worker processes, and what came of them."""

import shlex
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

from ops.common.sites import common_seed
from ops.common.version import VERSION
from schemas.documents import (
    CubesSummary,
    FailuresSummary,
    OcsSummary,
    RepairsSummary,
    SchedulerSummary,
    WorkloadSummary,
)
from schemas.site_plan import SitePlan
from services.fleet import services_of
from shared.basics.errors import OperationFailed
from shared.basics.units import US_PER_DAY
from shared.engine.codec import encode_instance, state_digest
from shared.engine.site import Site
from shared.models.superpod.wiring import CHIPS_PER_CUBE
from shared.runtimes.lab import Lab
from shared.storage.log.lines import LineWriter

Progress = Callable[[float], None]
"""Told the share of the run that is done, 0 to 1."""

PROGRESS_STEPS = 200


@dataclass(frozen=True, slots=True)
class SiteResult:
    """What one site's run came to, with a report for each of its fabrics."""

    reports: list[dict[str, Any]]
    messages: int
    log_sha256: str
    state_sha256: str


def run_lab(
    *,
    sites: Sequence[SitePlan],
    days: float,
    jobs: int,
    log: Path | None,
    repeat: list[str],
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Run these sites for `days` simulated days; returns the one object that `lab run` prints.

    Fabrics with the same configuration differ by their names, from which their draws differ. `repeat` is the
    command line that repeats the run. `seed` is that of all fabrics, None where they have several.
    """
    started = time.perf_counter()
    names = [plan.site for plan in sites]
    until_us = round(days * US_PER_DAY)
    parts = [_part(log, name, len(sites)) for name in names]
    told = progress if len(sites) == 1 or jobs == 1 else None
    results: list[SiteResult] = Parallel(n_jobs=min(jobs, len(sites)))(
        delayed(run_site)(plan, until_us, part, _share(told, n, len(sites)))
        for n, (plan, part) in enumerate(zip(sites, parts, strict=True))
    )
    if log is not None and len(sites) > 1:
        _join(log, [part for part in parts if part is not None])
    wall_s = time.perf_counter() - started
    messages = sum(result.messages for result in results)
    reports = [report for result in results for report in result.reports]
    return {
        "fabric_days": len(reports) * days,
        "wall_s": round(wall_s, 3),
        "messages": messages,
        "messages_per_s": round(messages / wall_s),
        "log_sha256": combined(names, [r.log_sha256 for r in results]),
        "state_sha256": combined(names, [r.state_sha256 for r in results]),
        "seed": common_seed(sites),
        "version": VERSION,
        "repeat": shlex.join(repeat),
        "fabrics": reports,
    }


def run_site(plan: SitePlan, until_us: int, log: Path | None, progress: Progress | None) -> SiteResult:
    """One site from the commissioning of its fabrics up to `until_us`."""
    writer = LineWriter(log) if log is not None else None
    lab = Lab(plan.site, plan.fabrics, services_of, writer.write if writer else None)
    for step in range(1, PROGRESS_STEPS + 1):
        lab.run(until_us * step // PROGRESS_STEPS)
        if progress is not None:
            progress(step / PROGRESS_STEPS)
    if writer is not None:
        writer.close()
    return SiteResult(
        reports=[
            {"fabric": fabric, "kind": config.kind, "site": plan.site, "seed": config.seed}
            | pod_report(lab.site, fabric, until_us)
            for fabric, config in plan.fabrics.items()
        ],
        messages=lab.messages,
        log_sha256=lab.log_sha256,
        state_sha256=site_digest(lab.site),
    )


def site_digest(site: Site) -> str:
    """SHA-256 over every stored field of every service's state."""
    return state_digest((instance.source, encode_instance(instance)) for instance in site.instances)


def combined(names: list[str], digests: list[str]) -> str:
    """One digest for several sites: a single site's own, otherwise SHA-256 over lines `name digest`."""
    if len(digests) == 1:
        return digests[0]
    lines = [f"{name} {digest}\n" for name, digest in zip(names, digests, strict=True)]
    return sha256("".join(lines).encode()).hexdigest()


def pod_report(site: Site, fabric: str, until_us: int) -> dict[str, Any]:
    """Slices, utilisation, availability, faults, repairs of one pod up to `until_us`, from its status
    documents.

    Utilisation is allocated chip-time over all chip-time since the pod was commissioned; cube availability is
    healthy cube-time over all cube-time. What OCSes did is left out where there are none.
    """
    workload = _summary(site, fabric, "workload", WorkloadSummary)
    scheduler = _summary(site, fabric, "scheduler", SchedulerSummary)
    cubes = _summary(site, fabric, "cubes", CubesSummary)
    failures = _summary(site, fabric, "failures", FailuresSummary)
    repairs = _summary(site, fabric, "repairs", RepairsSummary)
    switched = any(i.fabric == fabric and i.name == "ocs" for i in site.instances)
    chip_us = scheduler.allocated_chip_us + scheduler.chips_allocated * (until_us - scheduler.at_us)
    cube_us = cubes.healthy_cube_us + cubes.healthy * (until_us - cubes.at_us)
    span_us = until_us - workload.commissioned_us
    report = {
        "fabric": fabric,
        "slices": {
            "requested": workload.requested,
            "admitted": scheduler.admitted,
            "completed": scheduler.completed,
            "evicted": scheduler.evicted,
            "refused": scheduler.refused,
            "running": scheduler.running,
            "waiting": scheduler.waiting,
            "swapped": scheduler.swapped,
        },
        "utilisation": chip_us / (cubes.cubes * CHIPS_PER_CUBE * span_us) if span_us else 0.0,
        "cube_availability": cube_us / (cubes.cubes * span_us) if span_us else 1.0,
        "faults": {"host": failures.host, "link": failures.link}
        | ({"ocs": failures.ocs} if switched else {}),
        "repairs": repairs.completed,
    }
    if switched:
        report["cross_connects"] = _summary(site, fabric, "ocs", OcsSummary).cross_connects
    return report


def _summary(site: Site, fabric: str, service: str, model: type[Any]) -> Any:
    instance = site.instance(fabric, service)
    document = instance.service.document(instance.state, ("summaries", f"{fabric}/{service}"))
    if not isinstance(document, model):
        raise TypeError(f"{service} of {fabric} has no summary")
    return document


def _part(log: Path | None, name: str, sites: int) -> Path | None:
    """Where one site's log goes: the file itself, or a part of it that keeps the suffix and so the
    compression.
    """
    if log is None or sites == 1:
        return log
    return log.with_name(f".{log.stem}.{name}{log.suffix}")


def _join(log: Path, parts: list[Path]) -> None:
    """The sites' parts one after the other: compressed streams may simply be concatenated."""
    try:
        with log.open("wb") as whole:
            for part in parts:
                with part.open("rb") as file:
                    shutil.copyfileobj(file, whole)
                part.unlink()
    except OSError as error:
        raise OperationFailed(f"log file {log}: {error.strerror or error}") from None


def _share(progress: Progress | None, n: int, sites: int) -> Progress | None:
    if progress is None:
        return None
    return lambda done: progress((n + done) / sites)
