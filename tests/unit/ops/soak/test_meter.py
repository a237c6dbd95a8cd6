"""When a twin lives again is measured from its own Ticks and from what its gateways answer."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from ops.soak.meter import TICKS, Meter, Probe, Struck, check_live, summary
from ops.soak.plan import Fault, Kind, Strike, Target
from shared.basics.errors import OperationFailed
from shared.runtimes.waiting import until

WAIT_S_MAX = 10.0


@dataclass
class Twin:
    """What the probe sees; ticks None: Redis does not answer."""

    ticks: dict[str, int] | None = field(default_factory=lambda: {"pod-0": 5, "pod-1": 9})
    gateways: dict[str, float] = field(default_factory=lambda: {"gateway": 0.0, "gateway-b": 0.0})

    def look(self) -> dict[str, int]:
        if self.ticks is None:
            raise OperationFailed("Redis does not answer")
        return dict(self.ticks)

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
def meter(twin: Twin) -> Iterator[Meter]:
    found = Meter(Probe(twin.look, twin.answered))
    found.start()
    yield found
    found.stop()


def fault(action: str = "kill", kind: Kind = "worker") -> Fault:
    return Fault(7, 3, 0.0, Strike(kind, action, lambda *_: None), Target("it", kind), 0.0, 1)


def struck_now(meter: Meter) -> Struck:
    meter.begin(fault())
    meter.end()
    (struck,) = meter.waiting()
    assert until(lambda: struck.ticks is not None, WAIT_S_MAX)
    return struck


def test_every_pod_must_go_on_and_every_gateway_answer(twin: Twin, meter: Meter) -> None:
    struck = struck_now(meter)
    twin.advance("pod-0")
    time.sleep(0.25)
    assert meter.waiting() == [struck]
    assert struck.awaited == ("pod-1", "gateway", "gateway-b")
    twin.answer("gateway", "gateway-b")
    time.sleep(0.25)
    assert meter.waiting() == [struck]
    twin.advance("pod-1")
    assert until(lambda: struck.live_s is not None, WAIT_S_MAX)
    assert struck.live_s is not None
    assert struck.live_s >= 0.5
    assert meter.waiting() == []


def test_one_silent_gateway_is_enough_not_to_live(twin: Twin, meter: Meter) -> None:
    struck = struck_now(meter)
    twin.advance("pod-0", "pod-1")
    twin.answer("gateway")
    time.sleep(0.4)
    assert meter.waiting() == [struck]
    assert struck.awaited == ("gateway-b",)
    twin.answer("gateway-b")
    assert until(lambda: not meter.waiting(), WAIT_S_MAX)


def test_an_answer_to_what_was_asked_before_tells_nothing(twin: Twin, meter: Meter) -> None:
    twin.answer("gateway", "gateway-b")
    struck = struck_now(meter)
    twin.advance("pod-0", "pod-1")
    time.sleep(0.4)
    assert meter.waiting() == [struck]


def test_time_counts_from_the_end_of_the_volley(twin: Twin, meter: Meter) -> None:
    twin.ticks = None
    meter.begin(fault("pause", "redis"))
    time.sleep(0.5)
    meter.begin(fault("kill", "kafka"))
    began_s = time.monotonic()
    meter.end()
    twin.ticks = {"pod-0": 1, "pod-1": 1}
    assert until(lambda: all(one.ticks is not None for one in meter.struck), WAIT_S_MAX)
    twin.advance("pod-0", "pod-1")
    twin.answer("gateway", "gateway-b")
    assert until(lambda: not meter.waiting(), WAIT_S_MAX)
    lived_s = time.monotonic() - began_s
    assert all(one.live_s is not None and one.live_s <= lived_s for one in meter.struck)


def test_a_pod_that_retired_is_not_waited_for(twin: Twin, meter: Meter) -> None:
    struck = struck_now(meter)
    twin.answer("gateway", "gateway-b")
    twin.ticks = {"pod-0": 5 + TICKS}
    assert until(lambda: struck.live_s is not None, WAIT_S_MAX)
    time.sleep(0.4)
    twin.advance("pod-0")
    assert until(lambda: meter.still_s() < 0.2, WAIT_S_MAX)


def test_it_tells_how_long_time_stands(twin: Twin, meter: Meter) -> None:
    assert until(lambda: meter.still_s() > 0.4, WAIT_S_MAX)
    twin.advance("pod-0", "pod-1")
    assert until(lambda: meter.still_s() < 0.2, WAIT_S_MAX)


def test_a_twin_that_lives_too_late_or_never_is_named_with_its_fault() -> None:
    lived = (60.0, 61.0, None)
    rows = [Struck(fault(), 0, awaited=("pod-1", "gateway"), live_s=seconds) for seconds in lived]
    assert [*check_live(rows, 60.0)] == [
        f"fault 7 (kill it): live again {took} after the end of its volley 3, allowed are 60 s; "
        "awaited last: pod-1, gateway"
        for took in ("only 61 s", "never")
    ]


def test_summary_tells_least_median_and_most_of_every_strike() -> None:
    rows = [Struck(fault("kill", "worker"), 0, live_s=seconds) for seconds in (3.0, 1.0, 9.0)]
    rows += [Struck(fault("pause", "redis"), 0, live_s=0.5), Struck(fault("kill", "kafka"), 0)]
    assert summary(rows) == {
        "redis": {"pause": {"count": 1, "least_s": 0.5, "median_s": 0.5, "most_s": 0.5}},
        "worker": {"kill": {"count": 3, "least_s": 1.0, "median_s": 3.0, "most_s": 9.0}},
    }
