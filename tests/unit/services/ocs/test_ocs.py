"""The messages of the OCSes, by example."""

from typing import Any

import numpy as np
import pytest

from schemas.body import Body
from schemas.config.pods import PodConfig
from schemas.messages.failures import FaultBegan
from schemas.messages.ocs import (
    CircuitsConnected,
    CircuitsDisconnected,
    CircuitsRefused,
    CircuitsRestored,
    OcsDown,
    OcsPartDown,
    OcsPartUp,
    OcsUp,
    PortDown,
    PortUp,
)
from schemas.messages.scheduler import ConnectCircuits, DisconnectCircuits, LeaveCircuits
from schemas.names import Join
from services.ocs.service import SERVICE
from shared.models.optics.palomar import insertion_loss_db
from shared.models.superpod.wiring import OCS_COUNT
from tests.support.ocs_model import CONFIG, SWITCHING_US, fault_began, fault_ended
from tests.support.rig import Bench, bodies

NAME = "pod-0/slice-0"
JOIN: Join = (1, 2, 3)
"""On OCSes 16 to 31: N4 to S7 and N7 to S4."""
CHASSIS = fault_began("pod-0/fault-0", "ocs", "pod-0/ocs-17")
NORTH_PORT = fault_began("pod-0/fault-1", "port", "pod-0/ocs-17/N4")
SOUTH_PORT = fault_began("pod-0/fault-2", "port", "pod-0/ocs-17/S7")
LONG_US = 10 * SWITCHING_US


def connect(*joins: Join, name: str = NAME) -> ConnectCircuits:
    return ConnectCircuits(slice=name, joins=joins)


def disconnect(*joins: Join, name: str = NAME) -> DisconnectCircuits:
    return DisconnectCircuits(slice=name, joins=joins)


def connected(
    *joins: Join, missing_ocs: tuple[int, ...] = (), missing_ports: tuple[tuple[int, int], ...] = ()
) -> CircuitsConnected:
    return CircuitsConnected(slice=NAME, joins=joins, missing_ocs=missing_ocs, missing_ports=missing_ports)


def after(bench: Bench, wait_us: int) -> list[Body]:
    """The messages that the OCSes emit on their own within this time."""
    log = bench.run(bench.now_us + wait_us)
    return bodies([message for message in log if message.type != "Tick"])


@pytest.fixture
def bench() -> Bench:
    return Bench([SERVICE], CONFIG)


@pytest.fixture
def made(bench: Bench) -> Bench:
    """A bench with one join of one slice made."""
    bench.say(connect(JOIN), 100)
    assert after(bench, SWITCHING_US) == [connected(JOIN)]
    return bench


def test_circuits_are_made_a_switching_time_after_the_command(bench: Bench) -> None:
    assert bench.say(connect(JOIN), 100) == []
    assert bench.state("ocs").made.sum() == 0
    assert bench.due_us() == 100 + SWITCHING_US
    tick, emitted = bench.run(100 + SWITCHING_US)
    assert emitted.body == connected(JOIN)
    assert emitted.at_us == tick.at_us == 100 + SWITCHING_US
    assert emitted.cause == "scheduler@pod-0/1", "the command is the cause, not the Tick"
    assert bench.state("ocs").made.sum() == bench.state("ocs").cross_connects == 32


def test_circuits_are_removed_at_once(made: Bench) -> None:
    assert bodies(made.say(disconnect(JOIN))) == [CircuitsDisconnected(slice=NAME, joins=(JOIN,))]
    assert made.state("ocs").made.sum() == 0
    assert (made.state("ocs").wanted == -1).all()
    assert (made.state("ocs").owner == -1).all()
    assert bodies(made.say(connect((1, 2, 2)))) == [], "the ports are free for others"


def test_leftover_circuits_remain_and_are_not_made_again_for_the_next_slice(made: Bench) -> None:
    assert made.say(LeaveCircuits(slice=NAME, joins=(JOIN,))) == []
    assert made.state("ocs").made.sum() == 32
    assert (made.state("ocs").owner == -1).all()
    other_slice = "pod-0/slice-1"
    assert made.say(connect(JOIN, (0, 1, 1), name=other_slice)) == []
    assert made.state("ocs").made.sum() == 32
    (emitted,) = after(made, SWITCHING_US)
    assert isinstance(emitted, CircuitsConnected)
    assert (emitted.slice, emitted.joins, emitted.missing_ocs) == (other_slice, (JOIN, (0, 1, 1)), ())
    assert made.state("ocs").made.sum() == made.state("ocs").cross_connects == 64


def test_leftover_circuits_may_be_removed_for_another_slice_but_used_ones_may_not(made: Bench) -> None:
    other_slice = "pod-0/slice-1"
    (refused,) = bodies(made.say(LeaveCircuits(slice=other_slice, joins=(JOIN,))))
    assert isinstance(refused, CircuitsRefused)
    (refused,) = bodies(made.say(disconnect(JOIN, name=other_slice)))
    assert isinstance(refused, CircuitsRefused)
    made.say(LeaveCircuits(slice=NAME, joins=(JOIN,)))
    (refused,) = bodies(made.say(connect((1, 2, 2), name=other_slice)))
    assert isinstance(refused, CircuitsRefused)
    assert refused.reason == "busy with an unowned circuit"
    assert bodies(made.say(disconnect(JOIN, name=other_slice))) == [
        CircuitsDisconnected(slice=other_slice, joins=(JOIN,))
    ]


def test_a_leftover_circuit_returns_with_its_ocs(made: Bench) -> None:
    made.say(LeaveCircuits(slice=NAME, joins=(JOIN,)))
    made.say(CHASSIS)
    assert made.state("ocs").made.sum() == 30
    made.say(fault_ended(CHASSIS))
    assert [type(body) for body in after(made, SWITCHING_US)] == [CircuitsRestored]
    assert made.state("ocs").made.sum() == 32


def test_a_withdrawn_command_is_never_carried_out(bench: Bench) -> None:
    bench.say(connect(JOIN, (0, 1, 1)), 100)
    assert bodies(bench.say(disconnect(JOIN))) == [CircuitsDisconnected(slice=NAME, joins=(JOIN,))]
    assert after(bench, LONG_US) == [connected((0, 1, 1))]
    bench.say(connect(JOIN))
    bench.say(disconnect(JOIN))
    assert bench.due_us() is None


def test_a_swap_moves_the_joins_of_one_cube_only(bench: Bench) -> None:
    bench.say(connect((0, 0, 1), (0, 1, 0), (1, 0, 0), (1, 1, 1)), 100)
    after(bench, LONG_US)
    bench.say(disconnect((0, 0, 1), (0, 1, 0), (1, 1, 1)))
    bench.say(connect((0, 0, 2), (0, 2, 0), (1, 2, 2)))
    assert bench.state("ocs").made.sum() == 32
    assert after(bench, LONG_US) == [connected((0, 0, 2), (0, 2, 0), (1, 2, 2))]
    assert bench.state("ocs").made.sum() == 4 * 32


@pytest.mark.parametrize(
    ("command", "ocs", "port", "reason"),
    [
        (connect((1, 2, 0), name="pod-0/slice-1"), 16, "N4", "busy with a circuit of pod-0/slice-0"),
        (connect((1, 0, 3), name="pod-0/slice-1"), 16, "N7", "busy with a circuit of pod-0/slice-0"),
        (connect((0, 0, 1), (1, 2, 0)), 16, "N4", "busy with a circuit of pod-0/slice-0"),
        (connect((2, 0, 4)), 32, "S9", "no such working port; must be between 0 and 7"),
        (connect((2, 143, 0)), 32, "N286", "no such working port; must be between 0 and 7"),
        (connect((0, 1, 2), (0, 1, 3)), 0, "N2", "named twice in one command"),
        (connect((0, 1, 2), (0, 3, 2)), 0, "S5", "named twice in one command"),
        (disconnect((1, 2, 2)), 16, "N4", "no circuit N4 to S5 of pod-0/slice-0"),
        (disconnect((0, 2, 3)), 0, "N4", "no circuit N4 to S7 of pod-0/slice-0"),
        (disconnect(JOIN, name="pod-0/slice-1"), 16, "N4", "no circuit N4 to S7 of pod-0/slice-1"),
        (disconnect(JOIN, JOIN), 16, "N4", "named twice in one command"),
        (disconnect((1, 143, 3)), 16, "N286", "no such working port; must be between 0 and 7"),
    ],
)
def test_a_refusal_names_port_and_reason_and_changes_nothing(
    made: Bench, command: ConnectCircuits | DisconnectCircuits, ocs: int, port: str, reason: str
) -> None:
    emitted = bodies(made.say(command))
    assert emitted == [CircuitsRefused(slice=command.slice, ocs=ocs, port=port, reason=reason)]
    assert made.state("ocs").made.sum() == (made.state("ocs").wanted >= 0).sum() == 32
    assert made.due_us() is None


def test_a_chassis_loses_its_circuits_and_makes_them_again(made: Bench) -> None:
    assert bodies(made.say(CHASSIS)) == [OcsPartDown(part="pod-0/ocs-17"), OcsDown(ocs=17)]
    assert made.state("ocs").made.sum() == 30
    assert made.state("ocs").wanted[17, 4] == 7
    assert after(made, LONG_US) == []
    up = made.say(fault_ended(CHASSIS))
    assert bodies(up) == [OcsPartUp(part="pod-0/ocs-17"), OcsUp(ocs=17)]
    restored = made.run(made.now_us + SWITCHING_US)[1]
    assert restored.body == CircuitsRestored(ocs=17, circuits=((4, 7), (7, 4)))
    assert restored.cause == up[0].cause, "the end of the fault is the cause, not the Tick"
    assert made.state("ocs").cross_connects == 34


def test_a_chassis_with_two_faults_returns_when_the_last_one_ends(made: Bench) -> None:
    second_fault = CHASSIS.model_copy(update={"fault": "pod-0/fault-9"})
    down = [OcsPartDown(part="pod-0/ocs-17"), OcsDown(ocs=17)]
    assert [bodies(made.say(body)) for body in (CHASSIS, second_fault)] == [down, []]
    assert bodies(made.say(fault_ended(CHASSIS))) == []
    assert bodies(made.say(fault_ended(second_fault))) == [OcsPartUp(part="pod-0/ocs-17"), OcsUp(ocs=17)]


def test_a_port_with_two_faults_returns_when_the_last_one_ends(made: Bench) -> None:
    second_fault = SOUTH_PORT.model_copy(update={"fault": "pod-0/fault-9"})
    down, up = (kind(ocs=17, side="S", port=7) for kind in (PortDown, PortUp))
    assert [bodies(made.say(body)) for body in (SOUTH_PORT, second_fault)] == [[down], []]
    assert bodies(made.say(fault_ended(SOUTH_PORT))) == []
    assert bodies(made.say(fault_ended(second_fault))) == [up]


@pytest.mark.parametrize("port", [NORTH_PORT, SOUTH_PORT])
def test_a_broken_port_stays_dark_when_its_chassis_is_back(made: Bench, port: FaultBegan) -> None:
    made.say(CHASSIS)
    made.say(port)
    made.say(fault_ended(CHASSIS))
    assert after(made, LONG_US) == [CircuitsRestored(ocs=17, circuits=((7, 4),))]


def test_circuits_that_return_together_are_restored_once(made: Bench) -> None:
    for fault in (CHASSIS, NORTH_PORT):
        made.say(fault)
    for fault in (CHASSIS, NORTH_PORT):
        made.say(fault_ended(fault))
    assert after(made, LONG_US) == [CircuitsRestored(ocs=17, circuits=((4, 7), (7, 4)))]
    assert made.state("ocs").cross_connects == 34


@pytest.mark.parametrize("fault", [CHASSIS, NORTH_PORT, SOUTH_PORT])
def test_circuits_that_have_returned_by_now_are_not_missing(bench: Bench, fault: FaultBegan) -> None:
    bench.say(fault, 100)
    bench.say(connect(JOIN), 200)
    bench.say(fault_ended(fault), 200)
    assert after(bench, LONG_US) == [connected(JOIN)]


@pytest.mark.parametrize(
    ("fault", "missing"),
    [
        (CHASSIS, {"missing_ocs": (17,)}),
        (NORTH_PORT, {"missing_ports": ((17, 4),)}),
        (SOUTH_PORT, {"missing_ports": ((17, 4),)}),
    ],
)
def test_circuits_that_fail_while_the_mirrors_turn_are_missing(
    bench: Bench, fault: FaultBegan, missing: dict[str, Any]
) -> None:
    bench.say(connect(JOIN), 100)
    bench.say(fault, 200)
    assert after(bench, LONG_US) == [connected(JOIN, **missing)]


@pytest.mark.parametrize("fault", [CHASSIS, NORTH_PORT, SOUTH_PORT])
def test_circuits_that_return_while_the_mirrors_turn_take_their_own_time(
    bench: Bench, fault: FaultBegan
) -> None:
    bench.say(connect(JOIN), 100)
    bench.say(fault, 200)
    bench.say(fault_ended(fault), 300)
    (first,) = after(bench, SWITCHING_US - 200)
    assert isinstance(first, CircuitsConnected)
    assert first.missing_ocs or first.missing_ports
    (second,) = after(bench, 200)
    assert isinstance(second, CircuitsRestored)
    assert (4, 7) in second.circuits
    assert bench.now_us == 300 + SWITCHING_US


@pytest.mark.parametrize("second", [CHASSIS, NORTH_PORT, SOUTH_PORT])
@pytest.mark.parametrize("first", [CHASSIS, NORTH_PORT, SOUTH_PORT])
def test_a_restoration_starts_again_after_another_failure(
    made: Bench, first: FaultBegan, second: FaultBegan
) -> None:
    start_us = made.now_us
    made.say(first)
    made.say(fault_ended(first), start_us + 100)
    made.say(second.model_copy(update={"fault": "pod-0/fault-9"}), start_us + 200)
    made.say(fault_ended(second).model_copy(update={"fault": "pod-0/fault-9"}), start_us + 300)
    made.run(start_us + SWITCHING_US + 299)
    assert not made.state("ocs").made[17, 4]
    made.run(start_us + SWITCHING_US + 300)
    assert made.state("ocs").made.sum() == 32


@pytest.mark.parametrize("side_and_port", ["N4", "S7"])
def test_a_failed_port_takes_one_circuit_down(made: Bench, side_and_port: str) -> None:
    fault = fault_began("pod-0/fault-1", "port", f"pod-0/ocs-17/{side_and_port}")
    where = {"ocs": 17, "side": side_and_port[0], "port": int(side_and_port[1:])}
    assert bodies(made.say(fault)) == [PortDown.model_validate(where)]
    assert made.state("ocs").made.sum() == 31
    assert bodies(made.say(fault_ended(fault))) == [PortUp.model_validate(where)]
    assert after(made, LONG_US) == [CircuitsRestored(ocs=17, circuits=((4, 7),))]


def test_an_unused_port_fails_and_returns_without_further_messages(made: Bench) -> None:
    fault = fault_began("pod-0/fault-1", "port", "pod-0/ocs-17/N130")
    assert bodies(made.say(fault)) == [PortDown(ocs=17, side="N", port=130)]
    assert bodies(made.say(fault_ended(fault))) == [PortUp(ocs=17, side="N", port=130)]
    assert made.due_us() is None


def test_the_circuits_of_a_departed_slice_are_not_restored(made: Bench) -> None:
    made.say(CHASSIS)
    made.say(disconnect(JOIN))
    made.say(fault_ended(CHASSIS))
    assert after(made, LONG_US) == []


def test_an_ocs_ignores_faults_of_other_hardware(made: Bench) -> None:
    fault = fault_began("pod-0/fault-1", "host", "pod-0/cube-1/host-2")
    assert made.say(fault) == made.say(fault_ended(fault)) == []


def test_documents_show_wanted_and_made_circuits(made: Bench) -> None:
    made.say(CHASSIS)
    made.say(NORTH_PORT)
    made.assert_documents_hold()
    document = made.documents["ocs", "pod-0/ocs-17"]
    assert (document.state, document.circuits_wanted, document.circuits_made) == ("down", 2, 0)
    assert document.ports_down == ("N4",)
    assert (document.wanted[4:8:3], document.slices[4:8:3], any(document.made)) == ((7, 4), (0, 0), False)
    assert document.changed_us == made.now_us
    assert made.documents["ocs", "pod-0/ocs-18"].made[4]
    summary = made.documents["summaries", "pod-0/ocs"]
    assert (summary.ocs_down, summary.circuits_made, summary.cross_connects) == (1, 30, 32)
    assert len(made.documents) == OCS_COUNT + 1


def test_documents_show_the_loss_of_every_wanted_circuit_and_no_other(made: Bench) -> None:
    """Whether it is made or not: an OCS that is down keeps its mirror positions."""
    made.say(CHASSIS)
    for ocs in (17, 18, 40):
        document = made.documents["ocs", f"pod-0/ocs-{ocs}"]
        pairs = [(n, s) for n, s in enumerate(document.wanted) if s >= 0]
        assert len(pairs) == document.circuits_wanted
        north, south = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        manual_circuits = insertion_loss_db(CONFIG.seed, "pod-0", np.asarray(ocs), north, south)
        assert [loss_db for loss_db in document.losses_db if loss_db is not None] == [
            round(loss_db, 4) for loss_db in manual_circuits.tolist()
        ]
        assert [n for n, loss_db in enumerate(document.losses_db) if loss_db is not None] == north.tolist()


def test_documents_show_when_their_ocs_changed(bench: Bench) -> None:
    def changed_us() -> list[int]:
        return [bench.documents["ocs", f"pod-0/ocs-{ocs}"].changed_us for ocs in (15, 16, 31, 32)]

    bench.say(connect(JOIN), 100)
    assert changed_us() == [0, 100, 100, 0], "the 16 of the join's dimension, and no other"
    bench.run(100 + SWITCHING_US)
    assert changed_us() == [0, 100 + SWITCHING_US, 100 + SWITCHING_US, 0]
    bench.say(disconnect(JOIN), LONG_US)
    assert changed_us() == [0, LONG_US, LONG_US, 0]


@pytest.mark.parametrize("cubes", [4, 64, 144])
def test_the_last_cube_of_a_pod_of_any_size_has_working_ports(cubes: int) -> None:
    bench = Bench([SERVICE], CONFIG.model_copy(update={"pod": PodConfig(cubes=cubes)}))
    last, spare = 2 * cubes - 1, 2 * cubes
    bench.say(connect((2, cubes - 1, cubes - 1)), 100)
    assert after(bench, LONG_US) == [connected((2, cubes - 1, cubes - 1))]
    assert (bench.state("ocs").wanted[32:, last] == last - 1).all()
    assert bench.documents["ocs", "pod-0/ocs-47"].radix == max(136, 2 * cubes + 8)
    if cubes < 144:  # more cubes than this have no name
        (refused,) = bodies(bench.say(connect((2, cubes, 0))))
        assert isinstance(refused, CircuitsRefused)
        assert (refused.ocs, refused.port) == (32, f"N{spare}")


def test_circuits_that_settle_together_are_reported_in_order_of_their_commands(bench: Bench) -> None:
    joins: list[Join] = [(0, 0, 1), (0, 1, 0), (1, 1, 1)]
    for join in joins:
        bench.say(connect(join), 100)
    bench.reload()
    assert after(bench, SWITCHING_US) == [connected(join) for join in joins]
    faults = [fault_began(f"pod-0/fault-{ocs}", "ocs", f"pod-0/ocs-{ocs}") for ocs in (5, 3, 16)]
    for fault in faults:
        bench.say(fault)
    for fault in faults:
        bench.say(fault_ended(fault))
    bench.reload()
    restored = [body for body in after(bench, SWITCHING_US) if isinstance(body, CircuitsRestored)]
    assert [body.ocs for body in restored] == [5, 3, 16]
