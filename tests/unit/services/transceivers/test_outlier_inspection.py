"""The times at which link ends are inspected."""

import pytest

from schemas.config.pods import SuperpodConfig
from schemas.messages.failures import FaultBegan
from schemas.messages.ocs import CircuitsConnected, CircuitsDisconnected
from schemas.messages.transceivers import EndsStoodOut
from schemas.names import FaultKind
from services.transceivers.service import SERVICE
from services.transceivers.state import TransceiversState
from shared.basics.units import US_PER_DAY, US_PER_HOUR, US_PER_MIN
from tests.support.rig import Bench, bodies

SLICE = "pod-0/slice-0"
JOINS = tuple((0, cube, cube + 1) for cube in range(4))
CONNECTED = CircuitsConnected(slice=SLICE, joins=JOINS, missing_ocs=(), missing_ports=())
DIRTY = {1 * 96 + 7, 2 * 96 + 16 + 7}
"""cube-1/+x/7 and cube-2/-x/7, joined by a circuit."""
DIM = {3 * 96 + 9, 4 * 96 + 16 + 9}
"""The same two ends of cube-3/+x/9."""
BEGAN_US = US_PER_DAY + 5 * US_PER_MIN


@pytest.fixture
def bench() -> Bench:
    driven = Bench([SERVICE], SuperpodConfig())
    driven.say(CONNECTED, 100)
    return driven


def state_of(bench: Bench) -> TransceiversState:
    state = bench.state("transceivers")
    assert isinstance(state, TransceiversState)
    return state


def began(number: int, kind: FaultKind, severity: float, target: str) -> FaultBegan:
    return FaultBegan(
        fault=f"pod-0/fault-{number}",
        kind=kind,
        target=target,
        injected=True,
        severity=severity,
        onset_us=0,
        expires_us=None,
    )


def strike_both(bench: Bench) -> None:
    """One link is lost to dirt; another is up, and somewhat darker than normal."""
    bench.say(began(3, "connector", 12.0, "pod-0/cube-1/+x/7"), BEGAN_US)
    bench.say(began(4, "fibre", 0.8, "pod-0/cube-3/+x/9"), BEGAN_US + 1)


def told_of(said: list[EndsStoodOut]) -> set[int]:
    return {look.end for body in said for look in body.ends}


def test_an_unhealthy_link_is_inspected_soon_and_all_others_every_hour(bench: Bench) -> None:
    strike_both(bench)
    early_ends = bodies(bench.run(BEGAN_US + 2 * US_PER_MIN), EndsStoodOut)
    assert told_of(early_ends) == DIRTY
    assert not state_of(bench).early_ends
    later = bodies(bench.run(BEGAN_US + 54 * US_PER_MIN), EndsStoodOut)
    assert not later
    hourly = bodies(bench.run(US_PER_DAY + US_PER_HOUR), EndsStoodOut)
    assert told_of(hourly) == DIM


def test_requests_within_a_minute_cause_one_inspection(bench: Bench) -> None:
    bench.say(began(3, "connector", 12.0, "pod-0/cube-1/+x/7"), BEGAN_US)
    bench.say(began(4, "connector", 12.0, "pod-0/cube-3/+x/9"), BEGAN_US + 40_000_000)
    early_ends = bodies(bench.run(BEGAN_US + US_PER_MIN), EndsStoodOut)
    assert len(early_ends) == 1
    assert told_of(early_ends) == DIRTY | DIM


def test_links_gone_by_then_are_not_inspected(bench: Bench) -> None:
    strike_both(bench)
    bench.say(CircuitsDisconnected(slice=SLICE, joins=JOINS), BEGAN_US + 2)
    assert not bodies(bench.run(BEGAN_US + 2 * US_PER_MIN), EndsStoodOut)


def test_a_full_inspection_includes_the_requested_ends(bench: Bench) -> None:
    just_before = US_PER_DAY + US_PER_HOUR - 1_000_000
    bench.say(began(3, "connector", 12.0, "pod-0/cube-1/+x/7"), just_before)
    bench.say(began(4, "fibre", 0.8, "pod-0/cube-3/+x/9"), just_before + 1)
    emitted = bodies(bench.run(US_PER_DAY + US_PER_HOUR), EndsStoodOut)
    assert len(emitted) == 1
    assert told_of(emitted) == DIRTY | DIM
    assert state_of(bench).early_inspection_us is None
    assert not bodies(bench.run(US_PER_DAY + US_PER_HOUR + 5 * US_PER_MIN), EndsStoodOut)
