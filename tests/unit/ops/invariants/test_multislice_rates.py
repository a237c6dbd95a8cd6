"""The checker of network demand finds multi-pod jobs that a network does not know."""

from collections.abc import Sequence

import pytest

from ops.invariants.multislice import MultisliceRateChecker
from schemas.body import Body
from schemas.config.dcn import DcnConfig
from schemas.envelope import enclose
from schemas.messages.demands import DemandMoved
from schemas.messages.scheduler import PodsJoined, PodsParted, PodsRunning
from schemas.messages.sequencer import FabricCommissioned, FabricRetired, Tick

ONE, TWO, ELSEWHERE = "pod-0/slice-4", "pod-1/slice-7", "pod-2/slice-0"
CONFIG = DcnConfig.model_validate({"network": {"blocks": ({"pod": "pod-0"}, {"pod": "pod-1"}, {})}})
BEGINS = FabricCommissioned(site="campus", config=CONFIG)
JOINED = PodsJoined(job=ONE, slices=(ONE, TWO), chips=64, gradient_bytes=1, step_us=1)
OTHERS = PodsJoined(job=ELSEWHERE, slices=(ELSEWHERE, TWO), chips=64, gradient_bytes=1, step_us=1)
PARTED = PodsParted(job=ONE, slice=TWO, ends="finished", reason="")
RUNNING = PodsRunning(dcn="dcn-0", job=ONE, slices=(ONE, TWO), gradient_bytes=1, step_us=1)
NOTHING = DemandMoved(hour=0, jobs=(), rings=(), sent=(0, 0, 0))
CARRIED = DemandMoved(hour=0, jobs=(), rings=((ONE, (0, 1), 7),), sent=(7, 7, 0))
QUIET = Tick(service="traffic", due_us=1, count=1)


def problems(bodies: Sequence[Body]) -> list[str]:
    checker, findings = MultisliceRateChecker(), []
    for seq, body in enumerate([*bodies, QUIET], start=1):
        cause = None if isinstance(body, Tick | FabricCommissioned | FabricRetired) else "x@dcn-0/1"
        message = enclose(body, fabric="dcn-0", at_us=0, cause=cause, source="x@dcn-0", seq=seq)
        findings += list(checker.see(message))
    return findings


@pytest.mark.parametrize(
    "expected",
    [
        [BEGINS, QUIET, NOTHING, QUIET, JOINED, CARRIED, QUIET, PARTED, NOTHING],
        [JOINED, QUIET, BEGINS, RUNNING, QUIET, CARRIED],
        [JOINED, QUIET, BEGINS, QUIET],  # no hour was reported
        [BEGINS, NOTHING, QUIET, OTHERS],
        [BEGINS, NOTHING, QUIET, FabricRetired(), QUIET, JOINED],
    ],
)
def test_a_network_that_carries_the_jobs_of_its_pods_breaks_no_rule(expected: list[Body]) -> None:
    assert problems(expected) == []


@pytest.mark.parametrize(
    ("expected", "problem"),
    [
        ([JOINED, QUIET, BEGINS, QUIET, NOTHING], f"job {ONE} runs, and is no part of the demand of dcn-0"),
        ([BEGINS, NOTHING, QUIET, JOINED], f"job {ONE} runs, and is no part of the demand of dcn-0"),
        (
            [BEGINS, JOINED, CARRIED, QUIET, PARTED],
            f"job {ONE} does not run, and is a part of the demand of dcn-0",
        ),
        (
            [BEGINS, RUNNING, NOTHING],
            f"job {ONE} is reported to run with ('{ONE}', '{TWO}'), but runs with None",
        ),
    ],
)
def test_a_wrong_view_of_a_job_is_found(expected: list[Body], problem: str) -> None:
    assert problems(expected) == [problem]
