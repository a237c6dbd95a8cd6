"""Restarts of the software of an OCS."""

import pytest

from ops.invariants.circuits import CircuitChecker
from schemas.body import Body
from schemas.config.pods import PodOcsConfig
from schemas.messages.ocs import (
    CircuitsConnected,
    CircuitsParked,
    CircuitsRestored,
    OcsDown,
    OcsFreed,
    OcsHeld,
    OcsRestarted,
    OcsRestarting,
    OcsUp,
    RestartRefused,
)
from schemas.messages.operator import RestartOcs
from schemas.messages.scheduler import ConnectCircuits, DisconnectCircuits
from schemas.names import Join
from services.ocs.service import SERVICE
from shared.basics.units import US_PER_S
from tests.support.ocs_model import CONFIG, SWITCHING_US, fault_began, fault_ended
from tests.support.rig import Bench, bodies

OCS = "pod-0/ocs-17"
JOIN: Join = (1, 2, 3)
OTHER: Join = (1, 0, 1)
TAKES_US = round(CONFIG.ocs.restart_s * US_PER_S)


def bench_with(*, keeps: bool = True, technology: str = "palomar") -> Bench:
    """A bench with one join of one slice made."""
    answer = {"restart_keeps": keeps, "technology": technology, "switching_time_ms": SWITCHING_US / 1_000}
    bench = Bench([SERVICE], CONFIG.model_copy(update={"ocs": PodOcsConfig.model_validate(answer)}))
    bench.say(connect(JOIN), 100)
    bench.run(bench.now_us + US_PER_S)
    return bench


def connect(join: Join) -> ConnectCircuits:
    return ConnectCircuits(slice="pod-0/slice-0", joins=(join,))


def on_its_own(bench: Bench, wait_us: int = 2 * TAKES_US) -> list[Body]:
    return bodies([message for message in bench.run(bench.now_us + wait_us) if message.type != "Tick"])


def made(bench: Bench) -> int:
    return int(bench.state("ocs").made[17].sum())


def test_circuits_remain_and_commands_wait_during_a_restart() -> None:
    bench = bench_with()
    assert bodies(bench.say(RestartOcs(ocs=OCS))) == [OcsRestarting(ocs=17, keeps=True), OcsHeld(ocs=17)]
    assert made(bench) == 2
    assert bench.documents["ocs", OCS].state == "held"
    bench.say(connect(OTHER))
    bench.reload()
    (connected, *later) = on_its_own(bench)
    assert isinstance(connected, CircuitsConnected)
    assert connected.missing_ocs == (17,)
    assert later[:2] == [OcsRestarted(ocs=17), OcsFreed(ocs=17)]
    (restored,) = later[2:]
    assert isinstance(restored, CircuitsRestored)
    assert made(bench) == 4
    assert bench.due_us() is None


def test_circuits_released_during_the_restart_are_removed_after_it() -> None:
    bench = bench_with()
    bench.say(RestartOcs(ocs=OCS))
    bench.say(DisconnectCircuits(slice="pod-0/slice-0", joins=(JOIN,)))
    assert bench.documents["ocs", OCS].circuits_stale == 2
    assert on_its_own(bench) == [
        OcsRestarted(ocs=17),
        CircuitsParked(ocs=17, circuits=((4, 7), (7, 4))),
        OcsFreed(ocs=17),
    ]
    assert bench.documents["ocs", OCS].circuits_stale == 0


def test_software_that_resets_mirrors_loses_circuits_until_it_runs() -> None:
    bench = bench_with(keeps=False)
    assert bodies(bench.say(RestartOcs(ocs=OCS))) == [
        OcsRestarting(ocs=17, keeps=False),
        OcsHeld(ocs=17),
        OcsDown(ocs=17),
    ]
    assert made(bench) == 0
    assert on_its_own(bench) == [
        OcsRestarted(ocs=17),
        OcsUp(ocs=17),
        OcsFreed(ocs=17),
        CircuitsRestored(ocs=17, circuits=((4, 7), (7, 4))),
    ]
    assert made(bench) == 2


def test_a_latching_ocs_keeps_its_circuits_in_any_case() -> None:
    bench = bench_with(keeps=False, technology="robotic")
    assert bodies(bench.say(RestartOcs(ocs=OCS)))[0] == OcsRestarting(ocs=17, keeps=True)
    assert made(bench) == 2


@pytest.mark.parametrize("keeps", [True, False])
def test_it_stays_held_while_its_controller_is_down(keeps: bool) -> None:
    bench, checker = bench_with(keeps=keeps), CircuitChecker()
    cpu = fault_began("pod-0/fault-0", "cpu", f"{OCS}/cpu")
    bench.say(cpu)
    assert OcsHeld(ocs=17) not in bodies(bench.say(RestartOcs(ocs=OCS)))
    assert OcsFreed(ocs=17) not in on_its_own(bench)
    assert bench.documents["ocs", OCS].state == "held"
    assert OcsFreed(ocs=17) in bodies(bench.say(fault_ended(cpu)))
    on_its_own(bench)
    assert made(bench) == 2
    assert [problem for message in bench.log for problem in checker.see(message)] == []


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (OCS, "its software is already restarting"),
        ("pod-0/ocs-3", "it is down; its software starts when it is back"),
        ("pod-0/ocs-48", "no such OCS; must be between pod-0/ocs-0 and pod-0/ocs-47"),
        ("pod-1/ocs-1", "not an OCS of superpod pod-0; a name is like pod-0/ocs-17"),
    ],
)
def test_a_restart_of_a_missing_ocs_is_refused(name: str, reason: str) -> None:
    bench = bench_with()
    bench.say(RestartOcs(ocs=OCS))
    bench.say(fault_began("pod-0/fault-0", "ocs", "pod-0/ocs-3"))
    assert bodies(bench.say(RestartOcs(ocs=name))) == [RestartRefused(ocs=name, reason=reason)]
