"""Claims that need a running pod: lab runs of the twin, evaluated from their logs."""

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
from schemas.envelope import Envelope
from schemas.messages.cubes import CubeHealthy
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
from shared.engine.site_driver import LabRequest
from shared.models.ocs.parts import PARTS
from shared.models.superpod.wiring import FACE_LINKS, STRANDS

CUBES = 64
CIRCUITS_PER_JOIN = STRANDS * FACE_LINKS
WEEK_US = 7 * US_PER_DAY
DRILLED = 24
"""Hosts that fail in the drill, an hour apart on its second day, each in a different cube."""
IN_THE_NOISE = 10
"""Percent: our upper bound for individual module failures among all failures that take a cube."""
SCHEDULING = predicted("nothing fitted; assumed: run times, which decide how many slices run at a time")
DRILLS = predicted(
    "nothing fitted; set: the hosts that fail; assumed: run times and a load that leaves idle cubes"
)
SLACK = 0.2
"""Offered load of a pod that always has idle cubes."""


def _faults(kind: FaultKind) -> int:
    """Count the faults of a kind; for OCSes, the faults of their parts."""
    kinds = [part.word for part in PARTS] if kind == "ocs" else [kind]
    return sum(int(run.pod.faults[one]) for run in lab_runs(HARDWARE_RUNS) for one in kinds)


def _modules_share() -> Measured:
    """Return the percentage of the faults that take a cube out of use that are faults of a module or its
    fibre."""
    hosts, links = _faults("host"), _faults("link")
    return Measured(
        100.0 * links / (hosts + links),
        note=f"{links:,} link ends and {hosts:,} hosts failed and took a cube each",
    )


def _weekly_machine_faults(run: ClaimRun) -> npt.NDArray[np.float64]:
    """Return the host faults in each whole week."""
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
    """Return the circuits of slices that the OCSes cut for another slice, plus the link bundles of one slice
    that a command for another took or cut.

    A join of dimension d connects cube a's + face to cube b's − face. It owns both faces from the command
    that makes it to the one that removes it, or leaves it without an owner.
    """
    touched = joins = cut = made = 0
    for run in lab_runs(WORKLOAD_RUNS):
        cut += sum(run.cut.values())
        made += run.circuits_made
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
        CIRCUITS_PER_JOIN * touched + cut,
        note=f"{touched} joins of others in {joins:,} commands for joins, and {cut:,} of {made:,} circuits "
        "cut at the OCSes themselves, except those that their slice gave up or a fault darkened; "
        f"{len(SEEDS)} times {WORKLOAD_DAYS:.0f} days, faults included",
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
"""One host fails permanently in each of several cubes, an hour apart; there are idle cubes."""


def _swapped() -> Measured:
    """Return the percentage of the slices that lost a cube while healthy ones were idle and that got one of
    these."""
    moved = planned = 0
    for run in lab_runs(HOST_DRILLS):
        for choice, idle in _choices(run):
            planned += bool(idle)
            moved += bool(idle) and choice in ("swap", "spare")
    return Measured(
        100.0 * moved / planned,
        note=f"{len(SEEDS)} times {DRILLED} hosts failed; {planned} slices used their cubes while other "
        "cubes were idle",
    )


def _with_cubes(run: ClaimRun) -> Iterator[tuple[Envelope, dict[str, set[int]], set[int]]]:
    """Yield (message, cubes by slice, broken cubes) for each message, with the state before it."""
    held: dict[str, set[int]] = {}
    broken: set[int] = set()
    for message in run.messages:
        yield message, held, broken
        match message.body:
            case FaultBegan(target=target):
                broken.add(int(target.split("/")[1].removeprefix("cube-")))
            case CubeHealthy(cube=cube):
                broken.discard(cube)
            case SliceAdmitted(slice=name, cubes=cubes):
                held[name] = set(cubes)
            case SliceCompleted(slice=name) | SliceEvicted(slice=name) | SliceRequeued(slice=name):
                held.pop(name, None)
            case CubeSwapped(slice=name, left=left, spare=spare):
                held[name] = held[name] - {left} | {spare}
            case _:
                pass


def _choices(run: ClaimRun) -> Iterator[tuple[str, int]]:
    """Yield (the choice, healthy idle cubes) for each time that a slice lost a cube."""
    for message, held, broken in _with_cubes(run):
        if isinstance(message.body, SliceRecovering) and message.body.choice is not None:
            yield message.body.choice, CUBES - len(broken.union(*held.values()))


def _bystanders() -> Measured:
    """Return the number of slices on healthy cubes that were degraded, recovering, requeued or evicted
    nevertheless, or whose circuits were cut. Slices that make way for a slice that starts are left out: that
    is not a swap."""
    count = seen = made_way = 0
    for run in lab_runs(HOST_DRILLS):
        swap_times = {m.at_us for m in run.messages if isinstance(m.body, CubeSwapped)}
        start_times = {m.at_us for m in run.messages if isinstance(m.body, SliceAdmitted)} - swap_times
        harmed, gone = set(run.cut), set[str]()
        for message, held, broken in _with_cubes(run):
            match message.body:
                case SliceRequeued(slice=name) | SliceEvicted(slice=name):
                    if name in held and held[name].isdisjoint(broken) and message.at_us not in start_times:
                        gone.add(name)
                case SliceDegraded(slice=name) | SliceRecovering(slice=name):
                    if name in held and held[name].isdisjoint(broken):
                        harmed.add(name)
                case _:
                    pass
        count += len(harmed | gone)
        made_way += len(gone)
        seen += len({m.body.slice for m in run.messages if isinstance(m.body, SliceStarted)})
    return Measured(
        count,
        note=f"of {seen} slices that ran in {len(SEEDS)} pods; {made_way} of them lost their cubes to a swap",
    )


FAILURE_CLAIMS: tuple[PaperClaim, ...] = (
    PaperClaim(
        "failures/modules-in-the-noise",
        "Failures of individual modules are within the noise of other failures",
        "[LF] 4.1.2 (derived)",
        Stated(IN_THE_NOISE, "% of outages of cubes", "below"),
        derived("the paper has a word and no number: a tenth is our reading, and a generous one"),
        "lab run",
        _modules_share,
        "in the twin, a module fails as often as "
        "NSDI 2024 states for an ICI cable, and every fault of a module takes its cube out of use",
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
        "counts of one pod: at 5.7 a week, Poisson alone varies by 0.42; the counts of a fleet would vary "
        "less",
        runs=HARDWARE_RUNS,
    ),
    PaperClaim(
        "failures/weekly-memory",
        "From one week to the next, the rate of machine failures keeps a correlation of 0.63",
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
        Stated(0, "circuits of others"),
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
        "[LF] 2.3, [T4] 2.6",
        Stated(0, "slices harmed"),
        DRILLS,
        "lab run",
        _bystanders,
        "if no cube is idle, a slice of a higher tier preempts another for its spare. This is a rule of the "
        "twin and not of the papers, which state the isolation of the network; slices/undisturbed checks "
        "that no circuit of a slice is cut",
        runs=HOST_DRILLS,
    ),
)
