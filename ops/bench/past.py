"""What it takes to look back: snapshots of a log, and any moment of it by them, beside the fold from its
beginning."""

import os
import random
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from ops.bench.figure import Figure
from ops.common.asks import Ask
from ops.common.version import software
from ops.common.workers import Workers
from ops.forecast.forecast import Case, forecast
from ops.twin.segments import AuditedSite, fold_in_parts, fold_part, summed, usable, whole_of
from schemas.operator import DrainCube
from services.fleet import services_of
from shared.basics.errors import OperationFailed
from shared.basics.units import US_PER_DAY
from shared.storage.log.indexed import IndexedLog
from shared.storage.snapshots.folder import SnapshotFolder
from shared.storage.snapshots.history import EVERY, History, Moment
from shared.storage.snapshots.site_snapshot import SiteSnapshot, to_bytes

MOMENTS = 100
FUTURES = 20
TAKEN = 20
CORES = os.cpu_count() or 1


def measure_past(quick: bool, lightwave: str) -> list[Figure]:
    """`lightwave` is the command of this installation."""
    days = 10 if quick else 365
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch, "pod-0.jsonl")
        words = [lightwave, "lab", "run", "--days", str(days), "--seed", "7", "--log", str(path)]
        subprocess.run(words, stdout=subprocess.DEVNULL, check=True)  # noqa: S603 -- own command
        log = IndexedLog(path)
        try:
            return _figures(log, SnapshotFolder(Path(scratch, "snapshots"), "pod-0", software()), days)
        finally:
            log.close()


def _figures(log: IndexedLog, snapshots: SnapshotFolder, days: int) -> list[Figure]:
    history = History(log, snapshots, services_of)
    began_s = time.perf_counter()
    moment = history.at(log.end)
    fold_s = time.perf_counter() - began_s
    take_s = statistics.median([_taken_s(moment, snapshots.software) for _ in range(TAKEN)])
    made = history.keep_up()
    size = sum(path.stat().st_size for path in snapshots.folder.iterdir())
    spans_s = _looked_back_s(history, log.end)
    end = moment.snapshot(snapshots.software)
    audited = AuditedSite("pod-0", ("pod-0",), log.content, snapshots, end.states, log.end)
    of = f"lab run --days {days} --seed 7, {log.end:,} messages"
    return [
        Figure(
            "snapshot of a pod",
            round(1e3 * take_s, 1),
            "ms",
            "-",
            f"states encoded and compressed, at its end; the median of {TAKEN}",
        ),
        Figure(
            "share of a fold's time for snapshots",
            round(100 * take_s * (log.end / EVERY) / fold_s, 2),
            "%",
            "under 3",
            f"one every {EVERY:,} messages, over folding the same log; a twin also writes and commits",
        ),
        Figure("snapshots of it all", round(size / 1e6, 1), "MB", "about 18 a pod-year", f"{made} of {of}"),
        Figure(
            "any moment of it, median",
            round(statistics.median(spans_s), 3),
            "s",
            "-",
            f"{MOMENTS} positions at random, restored from a snapshot and folded from there",
        ),
        Figure("any moment of it, longest", round(max(spans_s), 3), "s", "under 1", "of the same"),
        Figure(
            "its end from the beginning, over any moment",
            round(fold_s / statistics.median(spans_s)),
            "×",
            "-",
            f"folded without snapshots in {fold_s:.1f} s",
        ),
        _audit_in_parts(audited),
        _forecast(end),
    ]


def _taken_s(moment: Moment, software: str) -> float:
    began_s = time.perf_counter()
    to_bytes(moment.snapshot(software))
    return time.perf_counter() - began_s


def _forecast(end: SiteSnapshot) -> Figure:
    """What it costs to drain a cube: futures of the end with and without that."""
    drain = Ask(0, "pod-0", DrainCube(cube="pod-0/cube-12"))
    case = Case(to_bytes(end), end.at_us, US_PER_DAY, (drain,))
    began_s = time.perf_counter()
    with Workers(CORES, forecast.__module__) as workers:
        found = forecast(case, FUTURES, workers)
    took_s = time.perf_counter() - began_s
    return Figure(
        f"{FUTURES} futures of a day, with and without a drain",
        round(took_s, 1),
        "s",
        "under 10",
        f"{found.messages:,} messages on {CORES} cores, worker processes begun",
    )


def _audit_in_parts(audited: AuditedSite) -> Figure:
    """The audit of a log in parts on all cores, over the plain one."""
    began_s = time.perf_counter()
    whole = fold_part(audited, whole_of(audited))
    whole_s = time.perf_counter() - began_s
    began_s = time.perf_counter()
    parts = summed(fold_in_parts(audited, usable(audited).offsets, CORES, lambda _messages: None))
    parts_s = time.perf_counter() - began_s
    if whole.difference or whole.differing or parts != whole:
        raise OperationFailed("the audit of the log is not clean, or not the same in parts")
    return Figure(
        "audit in parts over audit",
        round(parts_s / whole_s, 2),
        "ratio",
        f"near 1/{CORES}",
        f"--jobs {CORES} in {parts_s:.1f} s, every snapshot compared; the plain one in {whole_s:.1f} s",
    )


def _looked_back_s(history: History, end: int) -> list[float]:
    draw = random.Random(1)  # noqa: S311 -- which moments is no secret
    found = []
    for _ in range(MOMENTS):
        began_s = time.perf_counter()
        history.at(draw.randrange(end))
        found.append(time.perf_counter() - began_s)
    return found
