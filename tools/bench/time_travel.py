"""Group `past`: snapshots of a log, and past times restored from them, compared with the fold from the
start."""

import os
import random
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from ops.local.software_version import software_version
from ops.twin.segmented_audit import (
    AuditedSite,
    audit_segment,
    audit_segments,
    merge_results,
    usable_snapshots,
    whole_log,
)
from schemas.api.changes import TimedRequest
from schemas.messages.operator import DrainCube
from services.fabric_kinds import services_of
from services.forecasts.forecast import ForecastCase, run_forecast
from shared.basics.errors import OperationFailed
from shared.basics.units import US_PER_DAY
from shared.runtimes.process_pool import WorkerPool
from shared.storage.log.indexed_log import IndexedLog
from shared.storage.snapshots.site_history import ReplayedSite, SiteHistory
from shared.storage.snapshots.site_snapshot import SiteSnapshot, to_bytes
from shared.storage.snapshots.snapshot_folder import SnapshotFolder
from shared.storage.snapshots.snapshot_interval import SNAPSHOT_INTERVAL_MESSAGES
from tools.bench.figure import BenchFigure

SAMPLED_TIMES = 100
FUTURES = 20
TAKEN = 20
CORES = os.cpu_count() or 1


def measure_time_travel(quick: bool, lightwave: str) -> list[BenchFigure]:
    """Measure time travel; `lightwave` is the command of this installation."""
    days = 10 if quick else 365
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch, "pod-0.jsonl")
        words = [lightwave, "lab", "run", "--days", str(days), "--seed", "7", "--log", str(path)]
        subprocess.run(words, stdout=subprocess.DEVNULL, check=True)  # noqa: S603 -- own command
        log = IndexedLog(path)
        try:
            return _figures(
                log, SnapshotFolder(Path(scratch, "snapshots"), "pod-0", software_version()), days
            )
        finally:
            log.close()


def _figures(log: IndexedLog, snapshots: SnapshotFolder, days: int) -> list[BenchFigure]:
    history = SiteHistory(log, snapshots, services_of)
    began_s = time.perf_counter()
    moment = history.at(log.end)
    fold_s = time.perf_counter() - began_s
    take_s = statistics.median([_taken_s(moment, snapshots.software) for _ in range(TAKEN)])
    made = history.take_due_snapshots()
    size = sum(path.stat().st_size for path in snapshots.folder.iterdir())
    spans_s = _time_travel_s(history, log.end)
    end = moment.snapshot(snapshots.software)
    audited = AuditedSite("pod-0", ("pod-0",), log.content, snapshots, end.states, log.end)
    of = f"lab run --days {days} --seed 7, {log.end:,} messages"
    return [
        BenchFigure(
            "snapshot of a pod",
            round(1e3 * take_s, 1),
            "ms",
            "-",
            f"states encoded and compressed, at its end; the median of {TAKEN}",
        ),
        BenchFigure(
            "share of a fold's time for snapshots",
            round(100 * take_s * (log.end / SNAPSHOT_INTERVAL_MESSAGES) / fold_s, 2),
            "%",
            "under 3",
            f"one every {SNAPSHOT_INTERVAL_MESSAGES:,} messages, over folding "
            "the same log; a twin also writes and commits",
        ),
        BenchFigure(
            "snapshots of the whole log", round(size / 1e6, 1), "MB", "about 18 a pod-year", f"{made} of {of}"
        ),
        BenchFigure(
            "any time of the log, median",
            round(statistics.median(spans_s), 3),
            "s",
            "-",
            f"{SAMPLED_TIMES} positions at random, restored from a snapshot and folded from there",
        ),
        BenchFigure(
            "any time of the log, longest", round(max(spans_s), 3), "s", "under 1", "of the same positions"
        ),
        BenchFigure(
            "its end from the start, over any time",
            round(fold_s / statistics.median(spans_s)),
            "×",
            "-",
            f"folded without snapshots in {fold_s:.1f} s",
        ),
        _audit_in_parts(audited),
        _forecast(end),
    ]


def _taken_s(moment: ReplayedSite, software: str) -> float:
    began_s = time.perf_counter()
    to_bytes(moment.snapshot(software))
    return time.perf_counter() - began_s


def _forecast(end: SiteSnapshot) -> BenchFigure:
    """Measure the forecast of draining a cube: futures of the end of the log with and without the drain."""
    drain = TimedRequest(0, "pod-0", DrainCube(cube="pod-0/cube-12"))
    case = ForecastCase(to_bytes(end), end.at_us, US_PER_DAY, (drain,))
    began_s = time.perf_counter()
    with WorkerPool(CORES, run_forecast.__module__) as workers:
        found = run_forecast(case, FUTURES, workers)
    took_s = time.perf_counter() - began_s
    return BenchFigure(
        f"{FUTURES} futures of a day, with and without a drain",
        round(took_s, 1),
        "s",
        "under 10",
        f"{found.messages:,} messages on {CORES} cores, including the start of worker processes",
    )


def _audit_in_parts(audited: AuditedSite) -> BenchFigure:
    """Measure the audit of a log in parts on all cores over the plain audit."""
    began_s = time.perf_counter()
    whole = audit_segment(audited, whole_log(audited))
    whole_s = time.perf_counter() - began_s
    began_s = time.perf_counter()
    parts = merge_results(
        audit_segments(audited, usable_snapshots(audited).offsets, CORES, lambda _messages: None)
    )
    parts_s = time.perf_counter() - began_s
    if whole.difference or whole.differing or parts != whole:
        raise OperationFailed("the audit of the log is not clean, or not the same in parts")
    return BenchFigure(
        "audit in parts over audit",
        round(parts_s / whole_s, 2),
        "ratio",
        f"near 1/{CORES}",
        f"--jobs {CORES} in {parts_s:.1f} s, every snapshot compared; the plain one in {whole_s:.1f} s",
    )


def _time_travel_s(history: SiteHistory, end: int) -> list[float]:
    draw = random.Random(1)  # noqa: S311 -- which moments is no secret
    found = []
    for _ in range(SAMPLED_TIMES):
        began_s = time.perf_counter()
        history.at(draw.randrange(end))
        found.append(time.perf_counter() - began_s)
    return found
