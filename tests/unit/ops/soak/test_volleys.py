"""Volleys are shot one after the other, each when the twin lives again."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from ops.soak.meter import TICKS, Meter, Probe
from ops.soak.plan import Fault, Strike, Target
from ops.soak.strikes.scene import Scene
from ops.soak.volleys import carry_out, describe
from shared.basics.errors import OperationFailed

Hit = Callable[[Scene, Fault], None]


def fault(number: int, volley: int, hit: Hit, after_s: float = 0.0) -> Fault:
    return Fault(number, volley, after_s, Strike("worker", "kill", hit), Target("ocs-a", "worker"), 0.0, 1)


class Twin:
    """Lives whenever it is looked at, unless it is dead."""

    def __init__(self) -> None:
        self.dead = False
        self.count = 0

    def ticks(self) -> dict[str, int]:
        self.count += 0 if self.dead else TICKS
        return {"pod-0": self.count}

    def answered(self) -> dict[str, float]:
        return {"gateway": 0.0 if self.dead else time.monotonic()}


@pytest.fixture
def scene() -> Scene:
    twin: Any = None
    return Scene(twin)


def run(twin: Twin, scene: Scene, plan: list[Fault], wait: Callable[[float], None] = time.sleep) -> Meter:
    meter = Meter(Probe(twin.ticks, twin.answered))
    meter.start()
    try:
        carry_out(plan, 0.0, scene, meter, wait, lambda _: None)
    finally:
        meter.stop()
    return meter


def test_strikes_of_a_volley_overlap_and_volleys_do_not(scene: Scene) -> None:
    seen: list[tuple[str, int]] = []

    def hit(scene: Scene, fault: Fault) -> None:
        seen.append(("begins", fault.number))
        scene.hold(0.5)
        seen.append(("ends", fault.number))

    plan = [fault(0, 0, hit), fault(1, 0, hit, after_s=0.2), fault(2, 1, hit)]
    meter = run(Twin(), scene, plan)
    assert seen[:2] == [("begins", 0), ("begins", 1)]
    assert seen[4:] == [("begins", 2), ("ends", 2)]
    first, second, third = meter.struck
    assert first.since_s == second.since_s
    assert second.since_s is not None
    assert second.since_s < third.at_s
    assert all(one.live_s is not None for one in meter.struck)


def test_a_twin_that_does_not_live_again_ends_the_soak(scene: Scene) -> None:
    twin = Twin()

    def hit(_scene: Scene, _fault: Fault) -> None:
        twin.dead = True

    def wait(seconds: float) -> None:
        if twin.dead and time.monotonic() > until_s:
            raise TimeoutError
        time.sleep(seconds)

    until_s = time.monotonic() + 1.0
    with pytest.raises(TimeoutError):
        run(twin, scene, [fault(0, 0, hit), fault(1, 1, hit)], wait)


def test_a_strike_that_cannot_be_carried_out_is_no_clean_soak(scene: Scene) -> None:
    def hit(_scene: Scene, _fault: Fault) -> None:
        raise OperationFailed("Java is gone")

    with pytest.raises(OperationFailed, match="Java is gone"):
        run(Twin(), scene, [fault(0, 0, hit)])


def test_a_soak_that_ends_lets_every_strike_come_to_its_end(scene: Scene) -> None:
    let_go: list[int] = []

    def hit(scene: Scene, fault: Fault) -> None:
        try:
            scene.hold(60.0)
        finally:
            let_go.append(fault.number)

    def wait(_: float) -> None:
        time.sleep(0.3)
        raise KeyboardInterrupt

    meter = Meter(Probe(Twin().ticks, Twin().answered))
    with pytest.raises(KeyboardInterrupt):
        carry_out(
            [fault(0, 0, hit), fault(1, 0, hit)], 0.0, scene, meter, until_second_time(wait), lambda _: None
        )
    assert sorted(let_go) == [0, 1]


def until_second_time(wait: Callable[[float], None]) -> Callable[[float], None]:
    """The first wait is the one before the volley."""
    waited: list[float] = []

    def found(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) > 1:
            wait(seconds)

    return found


def test_a_fault_is_told_in_a_few_words() -> None:
    assert describe(fault(3, 1, lambda *_: None)) == "3: kill, ocs-a"
