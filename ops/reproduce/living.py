"""Claims that only a living pod can answer: lab runs of the twin, read off their logs."""

import math
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from ops.reproduce.claims import NSDI, SIGMAS, Claim, Measured, Stated
from ops.reproduce.labs import POD, LabRun, drill_run, hardware_run, workload_run
from schemas.failures import FaultBegan
from schemas.names import FaultKind
from schemas.ocs import CircuitsConnected
from schemas.operator import InjectFault
from schemas.scheduler import (
    ConnectCircuits,
    CubeSwapped,
    SliceAdmitted,
    SliceCompleted,
    SliceDegraded,
    SliceEvicted,
    SliceStalled,
    SliceStarted,
)
from services.failures.hazards import population
from shared.basics.units import US_PER_DAY, US_PER_HOUR
from shared.models.superpod.plant import superpod_plant
from shared.runtimes.lab import LabRequest

CUBES = 64
WEEK_US = 7 * US_PER_DAY
STRUCK_OCS = 17
DRILLED = 24
"""Hosts struck in the drill, an hour apart on its second day, each in a cube of its own."""
SECOND_MS = 1_000
BUSY, SLACK = 1.1, 0.2
"""Offered load: a pod full of slices, and one with idle cubes at any time."""


def _failures(kind: FaultKind) -> Callable[[], Measured]:
    """Percent of the parts of a kind that fail in a day, within three deviations of a Poisson count."""

    def measure() -> Measured:
        run = hardware_run()
        parts_days = population(kind, superpod_plant(CUBES)) * run.days
        count = run.report["faults"][kind]
        return Measured(
            100.0 * count / parts_days,
            tolerance=100.0 * SIGMAS * math.sqrt(count) / parts_days,
            note=f"the twin's rate is set to it: {count:,} faults in {run.days:,.0f} days; tolerance: three "
            "deviations of such a count",
        )

    return measure


def _weekly_machine_faults() -> npt.NDArray[np.float64]:
    """Faults of hosts in each whole week."""
    run = hardware_run()
    began = [m.at_us for m in run.messages if isinstance(m.body, FaultBegan) and m.body.kind == "host"]
    weeks = int(run.days // 7)
    return np.bincount(np.array(began) // WEEK_US, minlength=weeks)[:weeks].astype(np.float64)


def _weekly_variation() -> float:
    weekly = _weekly_machine_faults()
    return float(weekly.std() / weekly.mean())


def _weekly_memory() -> float:
    """Autocorrelation from one week to the next."""
    from_mean = _weekly_machine_faults()
    from_mean -= from_mean.mean()
    return float(from_mean[1:] @ from_mean[:-1] / (from_mean @ from_mean))


def _switching_ms() -> float:
    """The longest from a command to the circuits it asked for."""
    asked: dict[str, int] = {}
    longest_us = 0
    for message in workload_run().messages:
        if isinstance(message.body, ConnectCircuits):
            asked[message.id] = message.at_us
        elif isinstance(message.body, CircuitsConnected) and message.cause in asked:
            longest_us = max(longest_us, message.at_us - asked[message.cause])
    return longest_us / 1_000 if longest_us else math.nan


def _scattered() -> float:
    """Percent of slices of four cubes that are not on four cubes in a row."""
    placed = [
        m.body.cubes
        for m in workload_run().messages
        if isinstance(m.body, SliceAdmitted) and len(m.body.cubes) == 4
    ]
    return 100.0 * sum(max(cubes) - min(cubes) > 3 for cubes in placed) / len(placed)


# --- drills -------------------------------------------------------------------------------------------------


def _ocs_drill() -> Measured:
    """Percent of the running slices of several cubes that one failed OCS degrades."""
    at_us = US_PER_DAY
    fault = InjectFault(kind="ocs", target=f"{POD}/ocs-{STRUCK_OCS}")
    run = drill_run((LabRequest(at_us, POD, fault, 1),), BUSY)
    running = {name for name, cubes in _running(run, at_us) if cubes > 1}
    degraded = {
        m.body.slice
        for m in run.messages
        if isinstance(m.body, SliceDegraded) and 0 <= m.at_us - at_us < US_PER_HOUR
    }
    alone = {name for name, cubes in _running(run, at_us) if cubes == 1} & degraded
    return Measured(
        100.0 * len(running & degraded) / len(running),
        note=f"of {len(running)} slices; so were {len(alone)} tori of one cube, whose wrap-around links pass "
        "the same OCSes",
    )


def _running(run: LabRun, at_us: int) -> Iterator[tuple[str, int]]:
    """(name, cubes) of the slices that have started by then and not ended."""
    cubes: dict[str, int] = {}
    started: dict[str, None] = {}
    for message in run.messages:
        if message.at_us >= at_us:
            break
        body = message.body
        if isinstance(body, SliceAdmitted):
            cubes[body.slice] = len(body.cubes)
        elif isinstance(body, SliceStarted):
            started[body.slice] = None
        elif isinstance(body, SliceCompleted | SliceEvicted):
            started.pop(body.slice, None)
    return ((name, cubes[name]) for name in started)


def _host_drill() -> LabRun:
    """One host of each of some cubes fails for good, an hour apart; there are idle cubes."""
    return drill_run(
        tuple(
            LabRequest(
                US_PER_DAY + n * US_PER_HOUR,
                POD,
                InjectFault(kind="host", target=f"{POD}/cube-{n}/host-0"),
                n + 1,
            )
            for n in range(DRILLED)
        ),
        SLACK,
    )


def _swapped() -> Measured:
    """Percent of the slices that lost a cube which had a spare at once."""
    messages = _host_drill().messages
    moved = sum(isinstance(m.body, CubeSwapped) and m.body.reason == "failed" for m in messages)
    stalled = sum(isinstance(m.body, SliceStalled) for m in messages)
    return Measured(
        100.0 * moved / (moved + stalled), note=f"{DRILLED} hosts failed, {moved} slices were on their cubes"
    )


def _bystanders() -> float:
    """Slices that neither lost a cube nor took one, and were degraded, stalled or ended all the same."""
    messages = _host_drill().messages
    moved = {m.body.slice for m in messages if isinstance(m.body, CubeSwapped)}
    harmed = {
        m.body.slice for m in messages if isinstance(m.body, SliceDegraded | SliceStalled | SliceEvicted)
    }
    return len(harmed - moved)


def _disturbed() -> float:
    """Slices degraded in a pod where nothing breaks and slices come and go."""
    return sum(isinstance(m.body, SliceDegraded) for m in drill_run((), BUSY).messages)


FAILURES: tuple[Claim, ...] = (
    Claim(
        "failures/machines",
        "0.08 % of machines fail a day",
        "NSDI 2024",
        Stated(0.08, "%/day"),
        "lab run",
        _failures("host"),
    ),
    Claim(
        "failures/cables",
        "0.005 % of ICI cables fail a day",
        "NSDI 2024",
        Stated(0.005, "%/day"),
        "lab run",
        _failures("link"),
    ),
    Claim(
        "failures/ocs",
        "0.04 % of OCSes fail a day",
        "NSDI 2024",
        Stated(0.04, "%/day"),
        "lab run",
        _failures("ocs"),
    ),
    Claim(
        "failures/weekly-variation",
        "Weekly rates of machine failures vary by 0.30 of their mean",
        NSDI,
        Stated(0.30, "of the mean", 0.05),
        "lab run",
        _weekly_variation,
        "counts of one pod: at 5.7 a week Poisson alone varies by 0.42; those of a fleet would vary less",
    ),
    Claim(
        "failures/weekly-memory",
        "From one week to the next the rate of machine failures keeps a correlation of 0.63",
        NSDI,
        Stated(0.63, "correlation", 0.1),
        "lab run",
        _weekly_memory,
        "the twin's failures are a Poisson process of constant rate, which has no memory",
    ),
)

SLICES: tuple[Claim, ...] = (
    Claim(
        "slices/switching",
        "OCSes switch circuits in milliseconds",
        "[T4] 2.6, [LF] Table C.1 (derived)",
        Stated(SECOND_MS, "ms", "below"),
        "lab run",
        _switching_ms,
        "the papers give the word and no figure: milliseconds end at a second. The longest from a command to "
        "its circuits; what one takes is a setting of the twin",
    ),
    Claim(
        "slices/scattered",
        "A slice of 256 chips takes four cubes from anywhere, not 256 contiguous chips",
        "[LF] 4.2.4, [T4] 2.5",
        Stated(0, "% not in a row", "above"),
        "lab run",
        _scattered,
    ),
    Claim(
        "slices/undisturbed",
        "Scheduling a slice disturbs no circuit of another",
        "[LF] 2.3, 4.2.4",
        Stated(0, "slices degraded"),
        "lab run",
        _disturbed,
    ),
    Claim(
        "slices/one-ocs-degrades-all",
        "A single OCS failure degrades every slice of more than one cube",
        "[LF] 4.2.2",
        Stated(100, "% of slices"),
        "lab run",
        _ocs_drill,
    ),
    Claim(
        "slices/swap",
        "A failed cube is swapped for any healthy idle one",
        "[LF] 4.2.2",
        Stated(100, "% of slices"),
        "lab run",
        _swapped,
    ),
    Claim(
        "slices/bystanders",
        "A swap touches no other slice: slices are air-gapped from each other",
        "[LF] 4.2.4, [T4] 2.6",
        Stated(0, "slices harmed"),
        "lab run",
        _bystanders,
    ),
)
