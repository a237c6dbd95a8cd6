"""How long a twin needed to go on is measured from its own Ticks, and a gateway from its answers."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from ops.soak.meter import TICKS, Meter, Probe, Struck, summary
from ops.soak.plan import Action, Fault, Kind, Target
from shared.basics.errors import OperationFailed
from shared.runtimes.waiting import until

WAIT_S_MAX = 10.0


@dataclass
class Twin:
    """What the probe sees; None: nobody answers."""

    ticks: dict[str, int] | None = field(default_factory=lambda: {"pod-0": 5, "pod-1": 9})
    gateway: int | None = 100

    def look(self) -> dict[str, int]:
        if self.ticks is None:
            raise OperationFailed("Redis does not answer")
        return dict(self.ticks)

    def ask(self) -> int:
        if self.gateway is None:
            raise ConnectionRefusedError
        return self.gateway

    def advance(self, *fabrics: str) -> None:
        assert self.ticks is not None
        for fabric in fabrics:
            self.ticks[fabric] += TICKS


@pytest.fixture
def twin() -> Twin:
    return Twin()


@pytest.fixture
def meter(twin: Twin) -> Iterator[Meter]:
    found = Meter(Probe(twin.look, twin.ask))
    found.start()
    yield found
    found.stop()


def fault(action: Action = "kill", kind: Kind = "worker") -> Fault:
    return Fault(0, 0.0, action, Target("it", kind), 0.0)


def test_every_pod_must_go_on(twin: Twin, meter: Meter) -> None:
    struck = meter.begin(fault(), 100)
    meter.end(struck)
    assert until(lambda: struck.ticks is not None, WAIT_S_MAX)
    twin.advance("pod-0")
    time.sleep(0.3)
    assert meter.waiting() == [struck]
    twin.advance("pod-1")
    assert until(lambda: struck.resumed_s is not None, WAIT_S_MAX)
    assert struck.resumed_s is not None
    assert 0.3 <= struck.resumed_s < 5
    assert meter.waiting() == []


def test_time_counts_from_the_end_of_a_fault_that_lasts(twin: Twin, meter: Meter) -> None:
    twin.ticks = None
    struck = meter.begin(fault("pause", "redis"), 100)
    time.sleep(0.5)
    meter.end(struck)
    twin.ticks = {"pod-0": 1, "pod-1": 1}
    assert until(lambda: struck.ticks is not None, WAIT_S_MAX)
    twin.advance("pod-0", "pod-1")
    assert until(lambda: struck.resumed_s is not None, WAIT_S_MAX)
    assert struck.resumed_s is not None
    assert struck.resumed_s < 0.5


def test_a_gateway_is_back_when_another_process_answers(twin: Twin, meter: Meter) -> None:
    killed = meter.begin(fault("kill", "gateway"), 100)
    meter.end(killed)
    time.sleep(0.3)
    assert killed.resumed_s is None
    twin.gateway = None
    time.sleep(0.3)
    assert killed.resumed_s is None
    twin.gateway = 101
    assert until(lambda: killed.resumed_s is not None, WAIT_S_MAX)
    paused = meter.begin(fault("pause", "gateway"), 101)
    meter.end(paused)
    assert until(lambda: paused.resumed_s is not None, WAIT_S_MAX)


def test_it_tells_how_long_time_stands(twin: Twin, meter: Meter) -> None:
    assert until(lambda: meter.still_s() > 0.4, WAIT_S_MAX)
    twin.advance("pod-0", "pod-1")
    assert until(lambda: meter.still_s() < 0.2, WAIT_S_MAX)


def test_summary_tells_median_and_most_by_kind_of_process() -> None:
    rows = [Struck(fault("kill", "worker"), 0, resumed_s=seconds) for seconds in (3.0, 1.0, 9.0)]
    rows += [Struck(fault("pause", "redis"), 0, resumed_s=0.5), Struck(fault("kill", "kafka"), 0)]
    assert summary(rows) == {
        "redis": {"pause": {"count": 1, "median_s": 0.5, "most_s": 0.5}},
        "worker": {"kill": {"count": 3, "median_s": 3.0, "most_s": 9.0}},
    }
