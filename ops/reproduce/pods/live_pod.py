"""Claims that only a living pod can answer: lab runs of the twin, read off their logs."""

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from ops.reproduce.claim import (
    NSDI_SOURCE,
    Measured,
    PaperClaim,
    Stated,
    derived,
    on_machines,
    over_seeds,
    predicted,
    second_hand,
)
from ops.reproduce.lab_runs import (
    HARDWARE_RUNS,
    POD,
    SEEDS,
    WORKLOAD_DAYS,
    WORKLOAD_RUNS,
    ClaimRun,
    drill,
    lab_runs,
)
from schemas.messages.failures import FaultBegan
from schemas.messages.operator import InjectFault
from schemas.messages.scheduler import (
    ConnectCircuits,
    CubeSwapped,
    DisconnectCircuits,
    LeaveCircuits,
    SliceAdmitted,
    SliceCompleted,
    SliceDegraded,
    SliceEvicted,
    SliceRecovering,
    SliceRequeued,
    SliceStarted,
)
from schemas.names import FaultKind
from shared.basics.units import US_PER_DAY, US_PER_HOUR
from shared.engine.cascades import LabRequest
from shared.models.ocs.parts import PARTS

CUBES = 64
WEEK_US = 7 * US_PER_DAY
DRILLED = 24
"""Hosts struck in the drill, an hour apart on its second day, each in a cube of its own."""
IN_THE_NOISE = 10
"""Percent: what individual failures of modules might at most be, of all that take a cube."""
SCHEDULING = predicted("nothing fitted; assumed: run times, which decide how many slices stand at a time")
DRILLS = predicted(
    "nothing fitted; set: the hosts that fail; assumed: run times and a load that leaves idle cubes"
)
SLACK = 0.2
"""Offered load of a pod with idle cubes at any time."""


def _faults(kind: FaultKind) -> int:
    """How many began of a kind; of OCSes those of their parts."""
    kinds = [part.word for part in PARTS] if kind == "ocs" else [kind]
    return sum(int(run.pod.faults[one]) for run in lab_runs(HARDWARE_RUNS) for one in kinds)


def _modules_share() -> Measured:
    """Percent of the faults that take a cube out of use which are those of a module or its fibre."""
    hosts, links = _faults("host"), _faults("link")
    return Measured(
        100.0 * links / (hosts + links),
        note=f"{links:,} link ends and {hosts:,} hosts failed for a cube each",
    )


def _weekly_machine_faults(run: ClaimRun) -> npt.NDArray[np.float64]:
    """Faults of hosts in each whole week."""
    began = [m.at_us for m in run.messages if isinstance(m.body, FaultBegan) and m.body.kind == "host"]
    weeks = int(run.days // 7)
    return np.bincount(np.array(began) // WEEK_US, minlength=weeks)[:weeks].astype(np.float64)


def _variation(weekly: npt.NDArray[np.float64]) -> float:
    return float(weekly.std() / weekly.mean())


def _memory(weekly: npt.NDArray[np.float64]) -> float:
    """Autocorrelation from one week to the next."""
    from_mean = weekly - weekly.mean()
    return float(from_mean[1:] @ from_mean[:-1] / (from_mean @ from_mean))


def _weekly(of: Callable[[npt.NDArray[np.float64]], float]) -> Measured:
    return over_seeds([of(_weekly_machine_faults(run)) for run in lab_runs(HARDWARE_RUNS)])


def _disturbed() -> Measured:
    """Link bundles that a command for one slice took or cut although another slice held them.

    A join of dimension d puts cube a's + face against cube b's − face: it holds both, from the command that
    makes it to the one that takes it away, or leaves it for nobody.
    """
    touched = joins = 0
    for run in lab_runs(WORKLOAD_RUNS):
        holder: dict[tuple[int, int, str], str] = {}
        for message in run.messages:
            body = message.body
            if not isinstance(body, ConnectCircuits | DisconnectCircuits | LeaveCircuits):
                continue
            for dimension, north, south in body.joins:
                faces = ((dimension, north, "+"), (dimension, south, "-"))
                joins += 1
                touched += any(holder.get(face, body.slice) != body.slice for face in faces)
                for face in faces:
                    if isinstance(body, ConnectCircuits):
                        holder[face] = body.slice
                    else:
                        holder.pop(face, None)
    return Measured(
        touched,
        note=f"{joins:,} joins and cuts in {len(SEEDS)} times {WORKLOAD_DAYS:.0f} days, faults included",
    )


# --- drills -------------------------------------------------------------------------------------------------


HOST_DRILLS = tuple(
    drill(
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
        seed,
    )
    for seed in SEEDS
)
"""One host of each of some cubes fails for good, an hour apart; there are idle cubes."""


def _swapped() -> Measured:
    """Percent of the slices that lost a cube while healthy ones were idle which got one of these."""
    moved = planned = 0
    for run in lab_runs(HOST_DRILLS):
        for choice, idle in _choices(run):
            planned += bool(idle)
            moved += bool(idle) and choice in ("swap", "spare")
    return Measured(
        100.0 * moved / planned,
        note=f"{len(SEEDS)} times {DRILLED} hosts failed; {planned} slices were on their cubes while others "
        "were idle",
    )


def _choices(run: ClaimRun) -> Iterator[tuple[str, int]]:
    """(the choice, healthy idle cubes) for each time that a slice lost a cube."""
    held: dict[str, set[int]] = {}
    broken: set[int] = set()
    for message in run.messages:
        body = message.body
        if isinstance(body, FaultBegan):
            broken.add(int(body.target.split("/")[1].removeprefix("cube-")))
        elif isinstance(body, SliceAdmitted):
            held[body.slice] = set(body.cubes)
        elif isinstance(body, SliceCompleted | SliceEvicted | SliceRequeued):
            held.pop(body.slice, None)
        elif isinstance(body, CubeSwapped):
            held[body.slice] = held[body.slice] - {body.left} | {body.spare}
        elif isinstance(body, SliceRecovering) and body.choice is not None:
            yield body.choice, CUBES - len(broken.union(*held.values()))


def _bystanders() -> Measured:
    """Slices that neither lost a cube nor took one, and were degraded, recovering or ended all the same."""
    count = seen = 0
    for run in lab_runs(HOST_DRILLS):
        moved = {m.body.slice for m in run.messages if isinstance(m.body, CubeSwapped)}
        harmed = {
            m.body.slice
            for m in run.messages
            if isinstance(m.body, SliceDegraded | SliceRecovering | SliceEvicted)
        }
        count += len(harmed - moved)
        seen += len({m.body.slice for m in run.messages if isinstance(m.body, SliceStarted)} - moved)
    return Measured(count, note=f"of {seen} slices that ran in {len(SEEDS)} pods and were not moved")


FAILURE_CLAIMS: tuple[PaperClaim, ...] = (
    PaperClaim(
        "failures/modules-in-the-noise",
        "Failures of individual modules are within the noise of other failures",
        "[LF] 4.1.2 (derived)",
        Stated(IN_THE_NOISE, "% of outages of cubes", "below"),
        derived("the paper has a word and no number: a tenth is our reading, and generous"),
        "lab run",
        _modules_share,
        "the twin lets a module fail as often "
        "as NSDI "
        "2024 states for an ICI cable, and every fault of a module takes its cube out of use",
        runs=HARDWARE_RUNS,
    ),
    PaperClaim(
        "failures/weekly-variation",
        "Weekly rates of machine failures vary by 0.30 of their mean",
        NSDI_SOURCE,
        on_machines(0.30, "of the mean"),
        second_hand("computed"),
        "lab run",
        lambda: _weekly(_variation),
        "counts of one pod: at 5.7 a week Poisson alone varies by 0.42; those of a fleet would vary less",
        runs=HARDWARE_RUNS,
    ),
    PaperClaim(
        "failures/weekly-memory",
        "From one week to the next the rate of machine failures keeps a correlation of 0.63",
        NSDI_SOURCE,
        on_machines(0.63, "correlation"),
        second_hand("computed"),
        "lab run",
        lambda: _weekly(_memory),
        "the twin's failures are a Poisson process of constant rate, which has no memory",
        runs=HARDWARE_RUNS,
    ),
)

SLICE_CLAIMS: tuple[PaperClaim, ...] = (
    PaperClaim(
        "slices/undisturbed",
        "Scheduling a slice disturbs no circuit of another",
        "[LF] 2.3, 4.2.4",
        Stated(0, "joins of others"),
        SCHEDULING,
        "lab run",
        _disturbed,
        runs=WORKLOAD_RUNS,
    ),
    PaperClaim(
        "slices/swap",
        "A failed cube is swapped for any healthy idle one",
        "[LF] 4.2.2",
        Stated(100, "% of slices"),
        DRILLS,
        "lab run",
        _swapped,
        runs=HOST_DRILLS,
    ),
    PaperClaim(
        "slices/bystanders",
        "A swap touches no other slice: slices are air-gapped from each other",
        "[LF] 4.2.4, [T4] 2.6",
        Stated(0, "slices harmed"),
        DRILLS,
        "lab run",
        _bystanders,
        runs=HOST_DRILLS,
    ),
)
