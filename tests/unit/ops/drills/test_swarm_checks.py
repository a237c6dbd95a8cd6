"""What the swarm checks: starvation and drills, on hand-made logs, and a run with a planted fault."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from ops.drills.swarm import hunt, judge
from ops.drills.swarm.combination import Combination, SwarmStep, lab_drill_of
from ops.drills.swarm.hunt import SeedResult, SwarmPlan, SwarmResult, run_swarm
from ops.drills.swarm.starvation import STARVED_US, StarvationChecker
from ops.invariants import AllCheckers
from ops.invariants.drills import DrillChecker
from ops.sites.configuration import superpod_config
from schemas.body import Body
from schemas.envelope import Envelope, enclose
from schemas.messages.cubes import CubeDrained, CubeUnhealthy, HostDown
from schemas.messages.drills import DrillBegun, DrillEnded, DrillPhaseBegun, DrillStepEnded
from schemas.messages.failures import FaultBegan, FaultEnded
from schemas.messages.ocs import OcsDown, OcsUp
from schemas.messages.scheduler import (
    CubeSwapped,
    SliceAdmitted,
    SliceBackedOff,
    SliceRecovering,
    SliceRequeued,
    SliceStarted,
)
from schemas.messages.sequencer import FabricCommissioned, Tick
from schemas.names import Shape
from schemas.recovery_policy import Choice
from tests.support.requested import slice_requested

POD, DRILL = "pod-0", "pod-0/drill-0"
HOUR_US = STARVED_US
TICK = Tick(service="cubes", due_us=0, count=1)
Timed = tuple[int, Body]


def found(checker: Any, timed: Sequence[Timed]) -> list[str]:
    """The checker's findings in a log of bodies at these times, with a last message three hours later."""
    rows = [*timed, (timed[-1][0] + 3 * HOUR_US, TICK)]
    log = [
        enclose(body, fabric=POD, at_us=at_us, cause="ocs@pod-0/1", source=f"{body.writer}@pod-0", seq=seq)
        for seq, (at_us, body) in enumerate(rows, start=1)
    ]
    return [problem for message in log for problem in checker.see(message)]


def pod(*pairs: str) -> Timed:
    return 0, FabricCommissioned(site=POD, config=superpod_config(["pod.cubes=4", *pairs], seed=1))


def wanted(number: int, shape: Shape = (4, 4, 8)) -> Timed:
    return 0, slice_requested(f"pod-0/slice-{number}", shape=shape)


def given(number: int, *cubes: int) -> Timed:
    name = f"pod-0/slice-{number}"
    return 0, SliceAdmitted(
        slice=name, shape=(4, 4, 4 * len(cubes)), twisted=False, cubes=cubes, corner=None, waited_us=0
    )


def hit(choice: Choice | None) -> Timed:
    return 9, SliceRecovering(slice="pod-0/slice-0", part="pod-0/cube-0", choice=choice, costs_chip_us=None)


DEAD = 5, CubeUnhealthy(cube=0, reasons=("host",))
SWAPPED = 9, CubeSwapped(slice="pod-0/slice-0", left=0, spare=3, corner=None, reason="failed")
BACKED_OFF = SliceBackedOff(
    slice="pod-0/slice-0", until_us=9 * HOUR_US, preflights=3, links=1, ocses=(1,), over=(1,)
)

STARVED: dict[str, list[Timed]] = {
    "two of four cubes wait": [pod(), wanted(0)],
    "of two waiting ones both fit": [pod(), wanted(0), wanted(1, (4, 4, 4))],
    "enough are left": [pod(), wanted(0), given(0, 0, 1), wanted(1)],
    "the OCS came back": [pod(), wanted(0), (1, OcsDown(ocs=3)), (2, OcsUp(ocs=3))],
    "a slice left again": [
        pod(),
        wanted(0),
        given(0, 0, 1),
        (9, SliceRequeued(slice="pod-0/slice-0", reason="x")),
    ],
    "no choice": [pod(), wanted(0), given(0, 0, 1), DEAD, hit(None)],
    "a swap that does not come": [pod(), wanted(0), given(0, 0, 1), DEAD, hit("swap")],
}
NOT_STARVED: dict[str, list[Timed]] = {
    "it got its cubes": [pod(), wanted(0), given(0, 0, 1)],
    "too large": [pod(), wanted(0, (4, 8, 12))],
    "one of two does not fit": [pod(), wanted(0, (4, 8, 8)), given(0, 0, 1, 2, 3), wanted(1)],
    "a cube is dead, one drained": [pod(), wanted(0, (4, 4, 12)), (1, CubeDrained(cube=2)), DEAD],
    "cubes are kept": [pod("scheduler.hot_spares=1"), wanted(0, (4, 8, 8))],
    "an OCS is down": [pod(), wanted(0), (1, OcsDown(ocs=3))],
    "hold_back is not in cubes": [pod("scheduler.hold_back=availability"), wanted(0)],
    "it backs off": [
        pod(),
        wanted(0),
        given(0, 0, 1),
        (9, SliceRequeued(slice="pod-0/slice-0", reason="x")),
        (9, BACKED_OFF),
    ],
    "it waits for a repair": [pod(), wanted(0), given(0, 0, 1), DEAD, hit("wait")],
    "it got another cube": [pod(), wanted(0), given(0, 0, 1), DEAD, hit("swap"), SWAPPED],
    "it runs": [pod(), wanted(0), given(0, 0, 1), DEAD, hit(None), (9, SliceStarted(slice="pod-0/slice-0"))],
    "no cube is free": [pod(), wanted(0), given(0, 0, 1), wanted(1), given(1, 2, 3), DEAD, hit("swap")],
    "a drained cube": [pod(), wanted(0, (4, 8, 8)), (1, CubeDrained(cube=2))],
}


@pytest.mark.parametrize("case", STARVED)
def test_slices_that_wait_although_cubes_are_free_starve(case: str) -> None:
    (sentence,) = found(StarvationChecker(), STARVED[case])
    assert sentence.endswith("for more than 1h")


@pytest.mark.parametrize("case", NOT_STARVED)
def test_slices_that_cannot_have_cubes_do_not_starve(case: str) -> None:
    assert found(StarvationChecker(), NOT_STARVED[case]) == []


# --- drills -------------------------------------------------------------------------------------------------


def began(fault: int, drill: str | None = DRILL) -> FaultBegan:
    return FaultBegan(
        fault=f"pod-0/fault-{fault}",
        kind="ocs",
        target="pod-0/ocs-1",
        injected=True,
        severity=None,
        expires_us=None,
        drill=drill,
    )


def ended(fault: int) -> FaultEnded:
    return FaultEnded(fault=f"pod-0/fault-{fault}", kind="ocs", target="pod-0/ocs-1", how="cleared")


BEGUN = DrillBegun(drill=DRILL, title="T", document_sha256="0" * 64, seed=1, lease_ends_us=2 * HOUR_US)
END = DrillEnded(drill=DRILL, status="completed", deviated=False)
DONE = DrillStepEnded(drill=DRILL, step="one", repeat=1, outcome="done")


def phase(word: Any) -> DrillPhaseBegun:
    return DrillPhaseBegun(drill=DRILL, phase=word)


@pytest.mark.parametrize(
    ("bodies", "problem"),
    [
        ([BEGUN, phase("gate"), phase("method"), began(1), DONE, ended(1), phase("undo"), END], None),
        ([BEGUN, began(1, None), END], None),
        ([BEGUN, began(1), END.model_copy(update={"left": ("pod-0/fault-1",)}), ended(1)], None),
        ([BEGUN, began(1), END, ended(1)], "ends, but its pod-0/fault-1 is active"),
        ([BEGUN, began(1)], "pod-0/fault-1 is active after the lease of pod-0/drill-0"),
        ([BEGUN, BEGUN], "begins twice"),
        ([BEGUN, phase("undo"), phase("settle")], "phase settle begins after a later one"),
        ([BEGUN, DONE, DONE], "step one ends twice"),
        ([BEGUN, END, END], "ends twice"),
    ],
)
def test_nothing_of_a_drill_outlives_it(bodies: list[Body], problem: str | None) -> None:
    problems = found(DrillChecker(), [(1, body) for body in bodies])
    assert len(problems) == (problem is not None)
    assert problem is None or problem in problems[0]


# --- a planted fault ----------------------------------------------------------------------------------------

SMALL = Combination(
    seed=3,
    steps=(
        SwarmStep("drain", {"cube": ["pod-0/cube-1"]}),
        SwarmStep("inject", {"kind": "host", "target": ["pod-0/cube-2/host-1", "pod-0/cube-3/host-1"]}),
        SwarmStep("wait", {"lasts": 600}),
    ),
    pairs={"pod.cubes": 4},
    warm_up_s=3_600,
    verify_s=60,
)


class Planted(AllCheckers):
    """A checker by whose rule no host of cube 3 is ever down."""

    def see(self, message: Envelope) -> Iterator[str]:
        yield from super().see(message)
        if isinstance(message.body, HostDown) and message.body.cube == 3:
            yield f"{message.id} (HostDown): host {message.body.host} of cube 3 is down"


@pytest.mark.integration
def test_a_swarm_finds_and_shrinks_a_planted_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "AllCheckers", Planted)
    monkeypatch.setattr(hunt, "draw_combination", lambda _: SMALL)
    seen: list[SeedResult] = []
    result = run_swarm(
        SwarmPlan(range(1), budget_s=600, judges_cost=False), lambda _r, one, _f: seen.append(one)
    )
    assert [one.status for one in seen] == ["completed"]
    (finding,) = result.findings
    assert finding.problem.sentence == "(HostDown): host 1 of cube 3 is down"
    assert finding.shrunk.is_minimal
    assert [step.verb for step in finding.shrunk.combination.steps] == ["inject", "wait"]
    assert finding.shrunk.combination.steps[0].arguments["target"] == ["pod-0/cube-3/host-1"]
    assert (result.seeds_run, result.ended_by) == (1, None)


@pytest.mark.integration
def test_an_error_of_the_product_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(AllCheckers):
        def see(self, message: Envelope) -> Iterator[str]:
            raise ZeroDivisionError("planted")
            yield ""

    monkeypatch.setattr(judge, "AllCheckers", Broken)
    (problem,) = judge.judge(lab_drill_of(SMALL)).problems
    assert problem.kind == "error"
    assert "ZeroDivisionError in " in problem.sentence
    assert problem.sentence.endswith("see: planted")


@pytest.mark.integration
def test_a_budget_that_is_over_ends_the_swarm_cleanly() -> None:
    result = run_swarm(SwarmPlan(range(3), budget_s=0), lambda *_: None)
    assert (result.seeds_run, result.ended_by, result.findings) == (0, "budget", [])
    assert isinstance(result, SwarmResult)
