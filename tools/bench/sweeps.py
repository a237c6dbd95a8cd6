"""Group `experiments`: the cost of a superpod-year in a sweep over that of its messages alone, and the gain
of a second core."""

import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from shared.basics.errors import OperationFailed
from tools.bench.figure import BenchFigure
from tools.bench.processes import floor_of

SEEDS = 16
DOCUMENT = """\
title: Sixteen seeds
question: How long do sixteen seeds take?
fabric: {{days: {days}, calibration: field}}
seeds: {seeds}
measure: [goodput]
"""


def measure_experiments(quick: bool, lightwave: str) -> list[BenchFigure]:
    """Measure sweeps; `lightwave` is the command of this installation."""
    return [*_year(quick, lightwave), *_cores(quick, lightwave)]


def _year(quick: bool, lightwave: str) -> list[BenchFigure]:
    """Measure the processor time of a run over that of its messages, in turns."""
    days, rounds = (20, 2) if quick else (365, 3)
    run = [
        lightwave,
        "lab",
        "run",
        "--days",
        str(days),
        "--seed",
        "7",
        "--calibration",
        "field",
        "-o",
        "json",
    ]
    taken, floors, count = [], [], 0
    with tempfile.TemporaryDirectory() as scratch:
        log = Path(scratch, "log.jsonl")
        _cpu_s([*run, "--log", str(log)])
        for _ in range(rounds):
            taken.append(_cpu_s(run))
            floor_s, count = floor_of(log, time.process_time)
            floors.append(floor_s)
    run_s, floor_s = statistics.median(taken), statistics.median(floors)
    how = f"lab run --days {days} --seed 7 --calibration field, median of {rounds}, in turns with its floor"
    return [
        BenchFigure("field superpod-year", round(run_s * 365 / days, 1), "CPU s", "-", how),
        BenchFigure(
            "field superpod-year over its floor",
            round(run_s / floor_s, 2),
            "ratio",
            "at most 3.5, aiming at 2.5",
            f"processor time over that of only decoding, encoding and hashing the same {count:,} messages",
        ),
    ]


def _cores(quick: bool, lightwave: str) -> list[BenchFigure]:
    """Measure the same sweep with one worker and with two, in turns."""
    days, rounds = (5, 1) if quick else (30, 3)
    ratios = []
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch, "sixteen.yaml")
        file.write_text(DOCUMENT.format(days=days, seeds=SEEDS), encoding="utf-8")
        for n in range(rounds):
            spans = []
            for workers in (1, 2):
                began_s = time.perf_counter()
                out = Path(scratch, f"{n}-{workers}")
                _done(
                    [lightwave, "experiment", "run", str(file), "--out", str(out), "--workers", str(workers)]
                )
                spans.append(time.perf_counter() - began_s)
            ratios.append(spans[0] / spans[1])
    how = f"experiment run of {SEEDS} seeds and {days} days, median of {rounds}, wall time of one over two"
    return [
        BenchFigure("two workers over one", round(statistics.median(ratios), 2), "×", "at least 1.8", how)
    ]


def _done(words: list[str]) -> None:
    subprocess.run(words, stdout=subprocess.DEVNULL, check=True)  # noqa: S603 -- own command


def _cpu_s(words: list[str]) -> float:
    """Return the user and system time of a whole process."""
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)  # noqa: S603 -- own command
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise OperationFailed(f"{' '.join(words)} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime
