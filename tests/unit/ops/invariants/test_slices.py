"""The checkers of slices and hardware find violations, and accept valid sequences."""

from collections.abc import Sequence

import pytest

from ops.invariants.checker import Checker
from ops.invariants.part_reports import PartReportChecker
from ops.invariants.slices import (
    BackOffChecker,
    CubeChecker,
    PreflightChecker,
    SliceChecker,
    StartPauseChecker,
)
from schemas.body import Body
from schemas.config.pods import SuperpodConfig
from schemas.config.scheduler import SchedulerConfig
from schemas.envelope import enclose
from schemas.messages.cubes import CubeHealthy, CubeUnhealthy, HostDown, HostUp
from schemas.messages.ocs import OcsDown, OcsUp, PortDown, PortUp
from schemas.messages.scheduler import (
    CubeSwapped,
    SliceAdmitted,
    SliceBackedOff,
    SliceCompleted,
    SliceDegraded,
    SliceEvicted,
    SliceNoticed,
    SlicePreflight,
    SliceRecovering,
    SliceRefused,
    SliceRequeued,
    SliceRestored,
    SliceStarted,
    StartsPaused,
    StartsResumed,
)
from schemas.messages.sequencer import FabricCommissioned
from schemas.messages.transceivers import ModuleReported
from schemas.messages.workload import SliceRequested
from schemas.multislice import Multislice
from schemas.recovery_policy import Choice
from shared.basics.units import US_PER_S
from tests.support.requested import slice_requested

NAME = "pod-0/slice-0"


def requested(name: str = NAME) -> SliceRequested:
    return slice_requested(name, shape=(4, 4, 8))


def admitted(name: str = NAME, cubes: tuple[int, ...] = (0, 1)) -> SliceAdmitted:
    return SliceAdmitted(slice=name, shape=(4, 4, 8), twisted=False, cubes=cubes, corner=None, waited_us=0)


def swapped(left: int, spare: int) -> CubeSwapped:
    return CubeSwapped(slice=NAME, left=left, spare=spare, corner=None, reason="failed")


STARTED = SliceStarted(slice=NAME)
RESTORED = SliceRestored(slice=NAME)
DEGRADED = SliceDegraded(slice=NAME, links_down=2, links_degraded=0)
COMPLETED = SliceCompleted(slice=NAME, reason="finished")
EVICTED = SliceEvicted(slice=NAME, reason="no spare")
NOTICED = SliceNoticed(slice=NAME, why="drained", until_us=9)
REFUSED = SliceRefused(slice=NAME, reason="queue full")


def recovering(cube: int, choice: Choice | None = None) -> SliceRecovering:
    return SliceRecovering(slice=NAME, part=f"pod-0/cube-{cube}", choice=choice, costs_chip_us=None)


def preflight(until_us: int) -> SlicePreflight:
    return SlicePreflight(slice=NAME, until_us=until_us)


def judged(checker: Checker, bodies: Sequence[Body]) -> list[str]:
    """Return the checker's findings in a log of only these bodies."""
    log = [
        enclose(body, fabric="pod-0", at_us=seq, cause="ocs@pod-0/1", source=f"{body.writer}@pod-0", seq=seq)
        for seq, body in enumerate(bodies, start=1)
    ]
    return [problem for message in log for problem in checker.see(message)]


@pytest.mark.parametrize(
    "life",
    [
        [STARTED, COMPLETED],
        [STARTED, DEGRADED, DEGRADED, RESTORED, COMPLETED],
        [STARTED, recovering(0), RESTORED, EVICTED],
        [STARTED, recovering(0), DEGRADED, RESTORED],
        [STARTED, recovering(0), recovering(1), swapped(0, 2), swapped(1, 3), RESTORED],
        [STARTED, swapped(0, 2), DEGRADED],
        [preflight(9), STARTED, swapped(0, 2), preflight(9), DEGRADED],
        [preflight(9), recovering(0), swapped(0, 2), preflight(9), STARTED],
        [preflight(9), swapped(0, 2), EVICTED],
        [recovering(0), swapped(0, 2), STARTED, DEGRADED],
        [STARTED, NOTICED, RESTORED, COMPLETED],
        [STARTED, NOTICED, DEGRADED, RESTORED, RESTORED],
        [swapped(0, 2), STARTED],
        [swapped(0, 2), swapped(1, 0), recovering(2), EVICTED],
    ],
)
def test_valid_lives_of_a_slice_are_accepted(life: list[Body]) -> None:
    assert judged(SliceChecker(), [requested(), admitted(), *life]) == []
    assert (
        judged(CubeChecker(), [FabricCommissioned(site="pod-0", config=SuperpodConfig()), admitted(), *life])
        == []
    )


@pytest.mark.parametrize(
    ("life", "problem"),
    [
        ([REFUSED], f"{NAME} was admitted"),
        ([RESTORED], f"{NAME} was admitted"),
        ([STARTED, RESTORED], f"{NAME} was running"),
        ([STARTED, STARTED], f"{NAME} was running"),
        ([STARTED, NOTICED, RESTORED, RESTORED], f"{NAME} was running"),
        ([STARTED, NOTICED, swapped(0, 2), RESTORED, RESTORED], f"{NAME} was running"),
        ([STARTED, NOTICED, recovering(0), RESTORED, RESTORED], f"{NAME} was running"),
        ([recovering(0), RESTORED], f"{NAME} never started"),
        ([STARTED, swapped(0, 2), STARTED], f"{NAME} starts twice"),
        ([preflight(9), preflight(9)], f"{NAME} was preflight"),
        ([STARTED, preflight(9)], f"{NAME} was running"),
        ([COMPLETED, swapped(0, 2)], f"{NAME} was completed"),
        ([STARTED, COMPLETED, EVICTED], f"{NAME} was completed"),
        ([requested()], f"{NAME} is requested twice"),
    ],
)
def test_invalid_lives_of_a_slice_are_reported(life: list[Body], problem: str) -> None:
    assert problem in judged(SliceChecker(), [requested(), admitted(), *life])


BACKED_OFF = SliceBackedOff(
    slice=NAME, until_us=300 * US_PER_S + 3, preflights=3, links=1, ocses=(0,), over=(1,)
)
REQUEUED = SliceRequeued(slice=NAME, reason="its links are down")


@pytest.mark.parametrize(
    ("expected", "problem"),
    [
        ([REQUEUED, BACKED_OFF], None),
        ([REQUEUED, BACKED_OFF, COMPLETED], None),
        ([REQUEUED, BACKED_OFF, admitted()], "gets cubes, but backs off until"),
        ([STARTED, BACKED_OFF], "is not in the queue"),
        ([REQUEUED, STARTED, BACKED_OFF], "not 300000000 to 3600000000"),
    ],
)
def test_a_slice_in_backoff_has_no_cubes(expected: list[Body], problem: str | None) -> None:
    commissioned = FabricCommissioned(site="pod-0", config=SuperpodConfig())
    findings = judged(BackOffChecker(), [commissioned, *expected])
    assert [problem in finding for finding in findings] == [True] if problem else findings == []


MESH = SliceAdmitted(slice=NAME, shape=(2, 2, 4), twisted=False, cubes=(0,), corner=(0, 0, 0), waited_us=0)
PAUSED = StartsPaused(until_us=300 * US_PER_S + 2, slices=6)
RESUMED = StartsResumed(slice=NAME)
ACROSS_PODS = requested().model_copy(
    update={
        "multislice": Multislice(job="pod-0/slice-0", pods=("pod-0", "pod-1"), gradient_bytes=1, step_us=1),
    }
)


@pytest.mark.parametrize(
    ("expected", "problem"),
    [
        ([PAUSED, MESH], None),
        ([PAUSED, RESUMED, admitted()], None),
        ([PAUSED, ACROSS_PODS, admitted()], None),
        ([PAUSED, PAUSED.model_copy(update={"until_us": 200 * US_PER_S})], None),
        ([PAUSED, admitted()], "gets cubes, but starts pause until"),
        ([RESUMED], "but were not paused"),
        ([PAUSED, PAUSED], "which is not sooner"),
        ([MESH, PAUSED], "starts pause for 299999999 us, not 300000000"),
    ],
)
def test_no_slice_of_whole_cubes_gets_cubes_while_starts_pause(
    expected: list[Body], problem: str | None
) -> None:
    commissioned = FabricCommissioned(site="pod-0", config=SuperpodConfig())
    findings = judged(StartPauseChecker(), [commissioned, *expected])
    assert [problem in finding for finding in findings] == [True] if problem else findings == []


def test_starts_that_resume_end_all_backoffs() -> None:
    commissioned = FabricCommissioned(site="pod-0", config=SuperpodConfig())
    backed_off = BACKED_OFF.model_copy(update={"until_us": 300 * US_PER_S + 3})
    assert judged(BackOffChecker(), [commissioned, REQUEUED, backed_off, RESUMED, admitted()]) == []


CHECKED = (preflight(140 * US_PER_S),)
STARTS: list[tuple[int, Body]] = [(140, STARTED)]


def with_preflight(seconds: int, timed: Sequence[tuple[int, Body]]) -> list[str]:
    """Return the preflight checker's findings in a log of these bodies at these times in s."""
    config = SuperpodConfig(scheduler=SchedulerConfig(preflight_s=seconds))
    commissioned = FabricCommissioned(site="pod-0", config=config)
    checker, cause = PreflightChecker(), "ocs@pod-0/1"
    return [
        problem
        for seq, (at_s, body) in enumerate([(0, commissioned), *timed], start=1)
        for problem in checker.see(
            enclose(
                body,
                fabric="pod-0",
                at_us=at_s * US_PER_S,
                cause=cause,
                source=f"{body.writer}@pod-0",
                seq=seq,
            )
        )
    ]


@pytest.mark.parametrize(
    "timed",
    [
        [(1, admitted()), (4, preflight(124 * US_PER_S)), (124, STARTED)],
        [(1, admitted()), (4, preflight(124 * US_PER_S)), (9, recovering(0)), (20, *CHECKED), *STARTS],
        [(1, admitted()), (20, *CHECKED), *STARTS, (150, recovering(0, "route")), (151, DEGRADED)],
        [
            *((1, admitted()), (20, *CHECKED), *STARTS, (150, recovering(0, "spare"))),
            *((151, swapped(0, 2)), (152, RESTORED)),
        ],
        [(1, MESH), (1, STARTED), (5, recovering(0, "wait")), (9, RESTORED)],
        [(1, admitted()), (4, preflight(124 * US_PER_S)), (5, EVICTED), (6, admitted()), (7, EVICTED)],
        [(1, MESH), (1, STARTED)],
    ],
)
def test_links_are_checked_before_a_job_runs_on_them(timed: list[tuple[int, Body]]) -> None:
    assert with_preflight(120, timed) == []


def test_nothing_is_checked_where_preflight_is_turned_off() -> None:
    assert with_preflight(0, [(1, admitted()), (4, STARTED)]) == []
    problems = with_preflight(0, [(1, admitted()), (4, preflight(4 * US_PER_S)), (4, STARTED)])
    assert problems == [f"{NAME} is in preflight, but preflights are off"]


@pytest.mark.parametrize(
    ("timed", "problem"),
    [
        ([(1, admitted()), (4, STARTED)], "continues without a preflight"),
        (
            [(1, admitted()), (4, preflight(124 * US_PER_S)), (123, STARTED)],
            "continues before its preflight ends",
        ),
        (
            [(1, admitted()), (4, preflight(124 * US_PER_S)), (9, recovering(0)), (200, STARTED)],
            "continues without a preflight",
        ),
        (
            [
                *((1, admitted()), (20, *CHECKED), *STARTS, (150, recovering(0, "swap"))),
                *((151, swapped(0, 2)), (152, RESTORED)),
            ],
            "continues without a preflight",
        ),
        (
            [(1, admitted()), (20, *CHECKED), *STARTS, (150, recovering(0, "wait")), (300, RESTORED)],
            "continues without a preflight",
        ),
        ([(1, admitted()), (4, preflight(5 * US_PER_S))], "takes 1000000 us, not 120000000"),
    ],
)
def test_a_check_that_is_left_out_or_cut_short_is_found(timed: list[tuple[int, Body]], problem: str) -> None:
    problems = with_preflight(120, timed)
    assert len(problems) == 1
    assert problem in problems[0]


@pytest.mark.parametrize(
    ("expected", "problem"),
    [
        ([admitted(), admitted("pod-0/slice-1", (1, 2))], "is allocated to both"),
        ([admitted(cubes=(63, 64))], "cube 64 is not in the pod"),
        ([admitted(), swapped(5, 6)], f"{NAME} leaves cube 5, which it does not have"),
        ([admitted(), recovering(5)], f"{NAME} is hit by cube 5, which it does not have"),
    ],
)
def test_invalid_allocations_of_cubes_are_reported(expected: list[Body], problem: str) -> None:
    problems = judged(CubeChecker(), [FabricCommissioned(site="pod-0", config=SuperpodConfig()), *expected])
    assert len(problems) == 1
    assert problem in problems[0]


def test_slices_are_counted_by_state() -> None:
    checker = SliceChecker()
    names = [f"pod-0/slice-{n}" for n in range(3)]
    bodies = [*(requested(name) for name in names), admitted(names[0]), admitted(names[1]), STARTED]
    assert judged(checker, [*bodies, recovering(0)]) == []
    assert checker.counts() == {"running": 2, "queued": 1}


REPORTS: list[list[Body]] = [
    [CubeUnhealthy(cube=3, reasons=("host 0",)), CubeHealthy(cube=3)],
    [
        HostDown(cube=3, host=2, reason="chip"),
        HostDown(cube=3, host=2, reason="host"),
        HostUp(cube=3, host=2),
    ],
    [OcsDown(ocs=7), OcsUp(ocs=7)],
    [PortDown(ocs=7, side="N", port=3), PortUp(ocs=7, side="N", port=3)],
    [ModuleReported(end=9, condition="failed"), ModuleReported(end=9, condition="ok")],
]


@pytest.mark.parametrize("news", REPORTS, ids=[type(news[0]).__name__ for news in REPORTS])
def test_only_changes_of_hardware_are_reported(news: list[Body]) -> None:
    assert judged(PartReportChecker(), news * 2) == []
    last = news[-1]
    assert len(judged(PartReportChecker(), [last])) == 1, "at first all parts are ok"
    assert len(judged(PartReportChecker(), [news[0], news[0]])) == 1
    assert len(judged(PartReportChecker(), [*news, last])) == 1
