"""Group `hardware`: the cost of a pod-year with faulty hardware, compared with ideal hardware.

The peer is the same year without imperfections: constant connection times, links that only fail completely,
and no inspection of readings. Parts are removed one at a time, so the cost of each is the difference to all
of them. Runs take turns, and processor time of whole processes is measured, so other work on the machine
affects all runs alike.
"""

import json
import os
import statistics
import subprocess
from collections.abc import Callable

from tools.bench.figure import BenchFigure

SEED = 7
YEAR_DAYS, QUICK_DAYS = 365.0, 14.6
ROUNDS, QUICK_ROUNDS = 3, 1
ALL = "all of it"
PARTS: dict[str, tuple[str, ...]] = {
    "alignment by camera": ("ocs.switching_time_ms=10",),
    "faults by degrees": ("failures.optics_per_day=0",),
    "inspections and verdicts": ("transceivers.inspection_interval_s=0",),
}
"""Options that remove a part of the behaviour."""
NONE = "none of it"
VARIANTS: dict[str, tuple[str, ...]] = {
    ALL: (),
    **{f"without {part}": options for part, options in PARTS.items()},
    NONE: tuple(option for options in PARTS.values() for option in options),
}


def measure_hardware(quick: bool, command: str) -> list[BenchFigure]:
    """Measure the processor time of a pod-year by variant, and the ratios."""
    days = QUICK_DAYS if quick else YEAR_DAYS
    rounds = QUICK_ROUNDS if quick else ROUNDS
    spent = in_turns(lambda options: _run(command, days, options), rounds)
    taken = {name: statistics.median(seconds for seconds, _ in rows) for name, rows in spent.items()}
    messages = {name: rows[0][1] for name, rows in spent.items()}
    how = f"lab run --pods 1 --days {days:g} --seed {SEED}, median of {rounds}, in turns"
    figures = [
        BenchFigure(
            f"hardware year, {name}",
            round(taken[name] * YEAR_DAYS / days, 1),
            "CPU s",
            "-",
            f"{how}; {messages[name]:,} messages" + "".join(f", {option}" for option in options),
        )
        for name, options in VARIANTS.items()
    ]
    ratio = statistics.median(
        whole / bare for (whole, _), (bare, _) in zip(spent[ALL], spent[NONE], strict=True)
    )
    figures.append(
        BenchFigure("hardware over none of it", round(ratio, 2), "ratio", "at most 1.5", "in the same run")
    )
    return figures


def in_turns(
    run: Callable[[tuple[str, ...]], tuple[float, int]], rounds: int
) -> dict[str, list[tuple[float, int]]]:
    """Return (seconds, messages) of every round of every variant, one round after another."""
    spent: dict[str, list[tuple[float, int]]] = {name: [] for name in VARIANTS}
    for _ in range(rounds):
        for name, options in VARIANTS.items():
            spent[name].append(run(options))
    return spent


def _run(command: str, days: float, options: tuple[str, ...]) -> tuple[float, int]:
    """Return (processor seconds, messages) of one whole process."""
    words = ["lab", "run", "--pods", "1", "--days", f"{days:g}", "--seed", str(SEED), "-o", "json"]
    sets = [word for option in options for word in ("--set", option)]
    before = os.times()
    done = subprocess.run(  # noqa: S603 -- own command
        [command, *words, *sets], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True
    )
    after = os.times()
    seconds = after.children_user + after.children_system - before.children_user - before.children_system
    return seconds, int(json.loads(done.stdout)["messages"])
