"""The recovery time of a twin is measured from its own Ticks and from the answers of its gateways."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from shared.basics.errors import OperationFailed
from shared.runtimes.poll import poll_until
from tests.soak.fabric_progress import FabricProgress, standing
from tests.soak.fault_plan import FaultAction, PlannedFault
from tests.soak.recovery_meter import (
    TICKS,
    InjectedFault,
    RecoveryMeter,
    RecoveryProbe,
    check_recovery,
    recovery_summary,
)
from tests.soak.whole_twin import FaultTarget, TargetKind

WAIT_S_MAX = 10.0


@dataclass
class Twin:
    """The observations of the probe; ticks None: Redis does not answer."""

    ticks: dict[str, int] | None = field(default_factory=lambda: {"pod-0": 5, "pod-1": 9})
    gateways: dict[str, float] = field(default_factory=lambda: {"gateway": 0.0, "gateway-b": 0.0})
    idle: set[str] = field(default_factory=set)
    """Fabrics of which nothing is due."""

    def look(self) -> dict[str, FabricProgress]:
        if self.ticks is None:
            raise OperationFailed("Redis does not answer")
        return {name: FabricProgress(n, 0, name not in self.idle) for name, n in self.ticks.items()}

    def answered(self) -> dict[str, float]:
        return dict(self.gateways)

    def advance(self, *fabrics: str) -> None:
        assert self.ticks is not None
        for fabric in fabrics:
            self.ticks[fabric] += TICKS

    def answer(self, *gateways: str) -> None:
        """To requests that are sent now."""
        for gateway in gateways:
            self.gateways[gateway] = time.monotonic()


@pytest.fixture
def twin() -> Twin:
    return Twin()


@pytest.fixture
def meter(twin: Twin) -> Iterator[RecoveryMeter]:
    found = RecoveryMeter(RecoveryProbe(twin.look, twin.answered))
    found.start()
    yield found
    found.stop()


def fault(action: str = "kill", kind: TargetKind = "worker") -> PlannedFault:
    return PlannedFault(
        7, 3, 0.0, FaultAction(kind, action, lambda *_: None), FaultTarget("it", kind), 0.0, 1
    )


def injected_now(meter: RecoveryMeter) -> InjectedFault:
    meter.begin(fault())
    meter.end()
    (injected,) = meter.waiting()
    assert poll_until(lambda: injected.ticks is not None, WAIT_S_MAX)
    return injected


def test_every_pod_must_continue_and_every_gateway_answer(twin: Twin, meter: RecoveryMeter) -> None:
    injected = injected_now(meter)
    twin.advance("pod-0")
    time.sleep(0.25)
    assert meter.waiting() == [injected]
    assert injected.awaited == ("pod-1", "gateway", "gateway-b")
    twin.answer("gateway", "gateway-b")
    time.sleep(0.25)
    assert meter.waiting() == [injected]
    twin.advance("pod-1")
    assert poll_until(lambda: injected.recovery_s is not None, WAIT_S_MAX)
    assert injected.recovery_s is not None
    assert injected.recovery_s >= 0.5
    assert meter.waiting() == []


def test_a_fabric_without_work_advances_with_its_site(twin: Twin, meter: RecoveryMeter) -> None:
    twin.idle = {"pod-1"}
    injected = injected_now(meter)
    twin.answer("gateway", "gateway-b")
    time.sleep(0.25)
    assert injected.awaited == ("pod-0", "pod-1")
    twin.advance("pod-0")
    assert poll_until(lambda: injected.recovery_s is not None, WAIT_S_MAX)


@pytest.mark.parametrize(
    ("now", "standing_now"),
    [
        ({"a": (4, 0, True), "b": (9, 0, True)}, ["a", "b"]),
        ({"a": (6, 0, True), "b": (9, 0, False)}, []),
        ({"a": (6, 0, True), "b": (9, 0, True)}, ["b"]),
        ({"a": (6, 0, True), "b": (9, 1, False)}, ["b"]),  # another site
        ({"a": (5, 0, False), "b": (9, 0, False)}, ["a", "b"]),
        ({"a": (5, 0, False), "b": (10, 0, False)}, []),
        ({"a": (6, 0, False), "c": (0, 1, True)}, []),  # a new one
        ({"a": (4, 0, True)}, ["a"]),
    ],
)
def test_fabrics_whose_time_stands(now: dict[str, tuple[int, int, bool]], standing_now: list[str]) -> None:
    before = {"a": FabricProgress(4, 0, is_due=True), "b": FabricProgress(9, 0, is_due=True)}
    found = standing(before, {name: FabricProgress(*one) for name, one in now.items()}, TICKS)
    assert found == standing_now


def test_one_silent_gateway_is_enough_to_count_as_down(twin: Twin, meter: RecoveryMeter) -> None:
    injected = injected_now(meter)
    twin.advance("pod-0", "pod-1")
    twin.answer("gateway")
    time.sleep(0.4)
    assert meter.waiting() == [injected]
    assert injected.awaited == ("gateway-b",)
    twin.answer("gateway-b")
    assert poll_until(lambda: not meter.waiting(), WAIT_S_MAX)


def test_an_answer_to_an_earlier_query_shows_nothing(twin: Twin, meter: RecoveryMeter) -> None:
    twin.answer("gateway", "gateway-b")
    injected = injected_now(meter)
    twin.advance("pod-0", "pod-1")
    time.sleep(0.4)
    assert meter.waiting() == [injected]


def test_time_counts_from_the_end_of_the_burst(twin: Twin, meter: RecoveryMeter) -> None:
    twin.ticks = None
    meter.begin(fault("pause", "redis"))
    time.sleep(0.5)
    meter.begin(fault("kill", "kafka"))
    began_s = time.monotonic()
    meter.end()
    twin.ticks = {"pod-0": 1, "pod-1": 1}
    assert poll_until(lambda: all(one.ticks is not None for one in meter.injected), WAIT_S_MAX)
    twin.advance("pod-0", "pod-1")
    twin.answer("gateway", "gateway-b")
    assert poll_until(lambda: not meter.waiting(), WAIT_S_MAX)
    lived_s = time.monotonic() - began_s
    assert all(one.recovery_s is not None and one.recovery_s <= lived_s for one in meter.injected)


def test_a_pod_that_retired_is_not_waited_for(twin: Twin, meter: RecoveryMeter) -> None:
    injected = injected_now(meter)
    twin.answer("gateway", "gateway-b")
    twin.ticks = {"pod-0": 5 + TICKS}
    assert poll_until(lambda: injected.recovery_s is not None, WAIT_S_MAX)
    time.sleep(0.4)
    twin.advance("pod-0")
    assert poll_until(lambda: meter.stalled_s() < 0.2, WAIT_S_MAX)


def test_the_duration_of_a_standstill_is_measured(twin: Twin, meter: RecoveryMeter) -> None:
    assert poll_until(lambda: meter.stalled_s() > 0.4, WAIT_S_MAX)
    twin.advance("pod-0", "pod-1")
    assert poll_until(lambda: meter.stalled_s() < 0.2, WAIT_S_MAX)


def test_a_planned_stop_is_not_a_standstill(twin: Twin, meter: RecoveryMeter) -> None:
    assert poll_until(lambda: meter.stalled_s() > 0.2, WAIT_S_MAX)
    meter.expect_stop(True)
    time.sleep(0.3)
    assert meter.stalled_s() == 0.0
    meter.expect_stop(False)
    assert meter.stalled_s() < 0.2
    assert poll_until(lambda: meter.stalled_s() > 0.2, WAIT_S_MAX)


def test_a_twin_that_recovers_late_or_never_is_reported_with_its_fault() -> None:
    lived = (60.0, 61.0, None)
    rows = [InjectedFault(fault(), 0, awaited=("pod-1", "gateway"), recovery_s=seconds) for seconds in lived]
    assert [*check_recovery(rows, 60.0)] == [
        f"fault 7 (kill it): live again {took} after the end of burst 3; must be at most 60 s; "
        "awaited last: pod-1, gateway"
        for took in ("only 61 s", "never")
    ]


def test_summary_shows_least_median_and_most_of_every_strike() -> None:
    rows = [InjectedFault(fault("kill", "worker"), 0, recovery_s=seconds) for seconds in (3.0, 1.0, 9.0)]
    rows += [
        InjectedFault(fault("pause", "redis"), 0, recovery_s=0.5),
        InjectedFault(fault("kill", "kafka"), 0),
    ]
    assert recovery_summary(rows) == {
        "redis": {"pause": {"count": 1, "least_s": 0.5, "median_s": 0.5, "most_s": 0.5}},
        "worker": {"kill": {"count": 3, "least_s": 1.0, "median_s": 3.0, "most_s": 9.0}},
    }
