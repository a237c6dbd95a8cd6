"""Bursts of faults are injected one after the other, each when the twin has recovered."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from shared.basics.errors import OperationFailed
from tests.soak.fabric_progress import FabricProgress
from tests.soak.fault_bursts import describe, inject_bursts
from tests.soak.fault_plan import FaultAction, PlannedFault
from tests.soak.faults.context import FaultContext
from tests.soak.recovery_meter import TICKS, RecoveryMeter, RecoveryProbe
from tests.soak.whole_twin import FaultTarget

Hit = Callable[[FaultContext, PlannedFault], None]


def fault(number: int, burst: int, hit: Hit, after_s: float = 0.0) -> PlannedFault:
    return PlannedFault(
        number, burst, after_s, FaultAction("worker", "kill", hit), FaultTarget("ocs-a", "worker"), 0.0, 1
    )


class Twin:
    """A twin that is alive at every inspection, unless it is dead."""

    def __init__(self) -> None:
        self.dead = False
        self.count = 0

    def ticks(self) -> dict[str, FabricProgress]:
        self.count += 0 if self.dead else TICKS
        return {"pod-0": FabricProgress(self.count, 0, is_due=True)}

    def answered(self) -> dict[str, float]:
        return {"gateway": 0.0 if self.dead else time.monotonic()}


@pytest.fixture
def context() -> FaultContext:
    twin: Any = None
    return FaultContext(twin)


def run(
    twin: Twin, context: FaultContext, plan: list[PlannedFault], wait: Callable[[float], None] = time.sleep
) -> RecoveryMeter:
    meter = RecoveryMeter(RecoveryProbe(twin.ticks, twin.answered))
    meter.start()
    try:
        inject_bursts(plan, 0.0, context, meter, wait, lambda _: None)
    finally:
        meter.stop()
    return meter


def test_faults_of_a_burst_overlap_and_bursts_do_not(context: FaultContext) -> None:
    seen: list[tuple[str, int]] = []

    def hit(context: FaultContext, fault: PlannedFault) -> None:
        seen.append(("begins", fault.number))
        context.hold(0.5)
        seen.append(("ends", fault.number))

    plan = [fault(0, 0, hit), fault(1, 0, hit, after_s=0.2), fault(2, 1, hit)]
    meter = run(Twin(), context, plan)
    assert seen[:2] == [("begins", 0), ("begins", 1)]
    assert seen[4:] == [("begins", 2), ("ends", 2)]
    first, second, third = meter.injected
    assert first.since_s == second.since_s
    assert second.since_s is not None
    assert second.since_s < third.at_s
    assert all(one.recovery_s is not None for one in meter.injected)


def test_a_twin_that_does_not_recover_ends_the_soak(context: FaultContext) -> None:
    twin = Twin()

    def hit(_scene: FaultContext, _fault: PlannedFault) -> None:
        twin.dead = True

    def wait(seconds: float) -> None:
        if twin.dead and time.monotonic() > until_s:
            raise TimeoutError
        time.sleep(seconds)

    until_s = time.monotonic() + 1.0
    with pytest.raises(TimeoutError):
        run(twin, context, [fault(0, 0, hit), fault(1, 1, hit)], wait)


def test_a_soak_with_a_failed_strike_is_not_clean(context: FaultContext) -> None:
    def hit(_scene: FaultContext, _fault: PlannedFault) -> None:
        raise OperationFailed("Java is gone")

    with pytest.raises(OperationFailed, match="Java is gone"):
        run(Twin(), context, [fault(0, 0, hit)])


def test_a_soak_that_stops_lets_every_fault_finish(context: FaultContext) -> None:
    let_go: list[int] = []

    def hit(context: FaultContext, fault: PlannedFault) -> None:
        try:
            context.hold(60.0)
        finally:
            let_go.append(fault.number)

    def wait(_: float) -> None:
        time.sleep(0.3)
        raise KeyboardInterrupt

    meter = RecoveryMeter(RecoveryProbe(Twin().ticks, Twin().answered))
    with pytest.raises(KeyboardInterrupt):
        inject_bursts(
            [fault(0, 0, hit), fault(1, 0, hit)], 0.0, context, meter, until_second_time(wait), lambda _: None
        )
    assert sorted(let_go) == [0, 1]


def until_second_time(wait: Callable[[float], None]) -> Callable[[float], None]:
    """The first wait is the one before the burst."""
    waited: list[float] = []

    def found(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) > 1:
            wait(seconds)

    return found


def test_a_fault_is_described_in_a_few_words() -> None:
    assert describe(fault(3, 1, lambda *_: None)) == "3: kill, ocs-a"
