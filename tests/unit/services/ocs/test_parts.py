"""Effects of the failure and the return of each part of a chassis, by example."""

from collections import Counter

import pytest

from schemas.body import Body
from schemas.messages.failures import FaultBegan
from schemas.messages.ocs import (
    CircuitsConnected,
    CircuitsDisconnected,
    CircuitsParked,
    CircuitsRestored,
    OcsDown,
    OcsFreed,
    OcsHeld,
    OcsPartDown,
    OcsPartUp,
    OcsUp,
    PortDown,
    PortsDown,
    PortsUp,
    PortUp,
)
from schemas.messages.scheduler import ConnectCircuits, DisconnectCircuits, LeaveCircuits
from schemas.names import FaultKind, Join
from services.ocs.ports import ports_of_board
from services.ocs.service import SERVICE
from shared.models.optics.palomar import manufactured_ocses
from tests.support.ocs_model import CONFIG, SWITCHING_US, board_of, fault_began, fault_ended
from tests.support.rig import Bench, bodies

OCS = "pod-0/ocs-17"
JOIN: Join = (1, 2, 3)
"""On OCSes 16 to 31: N4 to S7 and N7 to S4."""
OTHER: Join = (1, 2, 1)
"""N4 to S3 and N3 to S4."""
LONG_US = 10 * SWITCHING_US
CONTROLLERS = ("cpu", "fpga")
EYES = ("camera-N", "camera-S", "injector-N", "injector-S")


def fault(part: str, number: int = 0) -> FaultBegan:
    kinds: dict[str, FaultKind] = {
        word: word for word in ("supply", "fan", "cpu", "fpga", "driver", "camera", "injector")
    }
    return fault_began(f"pod-0/fault-{number}", kinds[part.partition("-")[0]], f"{OCS}/{part}")


def connect(join: Join, name: str) -> ConnectCircuits:
    return ConnectCircuits(slice=f"pod-0/{name}", joins=(join,))


def disconnect(join: Join, name: str = "slice-0") -> DisconnectCircuits:
    return DisconnectCircuits(slice=f"pod-0/{name}", joins=(join,))


def after(bench: Bench, wait_us: int = LONG_US) -> list[Body]:
    """The messages that the OCSes emit on their own within this time."""
    log = bench.run(bench.now_us + wait_us)
    return bodies([message for message in log if message.type != "Tick"])


def made_on_17(bench: Bench) -> list[int]:
    """The North ports of the circuits that are made for a slice."""
    found: list[int] = bench.state("ocs").made[17].nonzero()[0].tolist()
    return found


@pytest.fixture
def made() -> Bench:
    """A bench with one join of one slice made."""
    bench = Bench([SERVICE], CONFIG)
    bench.say(connect(JOIN, "slice-0"), 100)
    after(bench)
    assert made_on_17(bench) == [4, 7]
    return bench


# --- what is redundant --------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", ["supply-0", "supply-1", "fan-0", "fan-3"])
def test_a_part_that_is_redundant_is_nothing_but_an_alarm(made: Bench, part: str) -> None:
    assert bodies(made.say(fault(part))) == [OcsPartDown(part=f"{OCS}/{part}")]
    assert made_on_17(made) == [4, 7]
    document = made.documents["ocs", OCS]
    assert (document.state, document.parts_down, document.circuits_made) == ("up", (part,), 2)
    assert made.documents["summaries", "pod-0/ocs"].ocs_parts_down == 1
    assert bodies(made.say(connect((1, 0, 0), "slice-1"))) == []
    (connected,) = after(made)
    assert isinstance(connected, CircuitsConnected)
    assert (connected.missing_ocs, connected.missing_ports) == ((), ())
    assert bodies(made.say(fault_ended(fault(part)))) == [OcsPartUp(part=f"{OCS}/{part}")]
    assert made.documents["ocs", OCS].parts_down == ()
    assert after(made) == []


@pytest.mark.parametrize("parts", [("supply-0", "supply-1"), ("fan-0", "fan-3"), ("fan-2", "fan-1")])
def test_more_failures_than_spares_darken_the_chassis_until_one_part_is_back(
    made: Bench, parts: tuple[str, str]
) -> None:
    first, second = (fault(part, number) for number, part in enumerate(parts))
    made.say(first)
    assert bodies(made.say(second)) == [OcsPartDown(part=f"{OCS}/{parts[1]}"), OcsDown(ocs=17)]
    assert made_on_17(made) == []
    assert made.documents["ocs", OCS].state == "down"
    assert bodies(made.say(fault_ended(first))) == [OcsPartUp(part=f"{OCS}/{parts[0]}"), OcsUp(ocs=17)]
    assert after(made) == [CircuitsRestored(ocs=17, circuits=((4, 7), (7, 4)))]
    assert made.documents["ocs", OCS].parts_down == (parts[1],)


def test_a_third_fan_changes_nothing_more_and_a_supply_and_a_fan_do_not_add_up(made: Bench) -> None:
    made.say(fault("supply-0", 0))
    assert bodies(made.say(fault("fan-0", 1))) == [OcsPartDown(part=f"{OCS}/fan-0")]
    assert bodies(made.say(fault("fan-1", 2)))[1:] == [OcsDown(ocs=17)]
    assert bodies(made.say(fault("fan-2", 3))) == [OcsPartDown(part=f"{OCS}/fan-2")]
    assert bodies(made.say(fault_ended(fault("fan-1", 2)))) == [OcsPartUp(part=f"{OCS}/fan-1")]
    assert bodies(made.say(fault_ended(fault("fan-0", 1))))[1:] == [OcsUp(ocs=17)]


def test_a_chassis_without_power_and_without_supplies_needs_both_back(made: Bench) -> None:
    chassis = fault_began("pod-0/fault-9", "ocs", OCS)
    made.say(fault("supply-0", 0))
    assert bodies(made.say(chassis)) == [OcsPartDown(part=OCS), OcsDown(ocs=17)]
    assert bodies(made.say(fault("supply-1", 1))) == [OcsPartDown(part=f"{OCS}/supply-1")]
    assert made.documents["ocs", OCS].parts_down == ("power", "supply-0", "supply-1")
    assert bodies(made.say(fault_ended(chassis))) == [OcsPartUp(part=OCS)]
    assert bodies(made.say(fault_ended(fault("supply-1", 1))))[1:] == [OcsUp(ocs=17)]


def test_a_part_with_two_faults_is_news_once(made: Bench) -> None:
    made.say(fault("cpu", 0))
    assert bodies(made.say(fault("cpu", 1))) == []
    assert bodies(made.say(fault_ended(fault("cpu", 0)))) == []
    assert len(bodies(made.say(fault_ended(fault("cpu", 1))))) == 2


# --- what commands and what sees ----------------------------------------------------------------------------


@pytest.mark.parametrize("part", [*CONTROLLERS, *EYES])
def test_circuits_remain_and_none_can_be_made_until_the_part_is_back(made: Bench, part: str) -> None:
    assert bodies(made.say(fault(part))) == [OcsPartDown(part=f"{OCS}/{part}"), OcsHeld(ocs=17)]
    assert made_on_17(made) == [4, 7]
    document = made.documents["ocs", OCS]
    assert (document.state, document.parts_down) == ("held", (part,))
    assert made.documents["summaries", "pod-0/ocs"].ocs_held == 1
    assert bodies(made.say(connect((1, 0, 0), "slice-1"))) == []
    (connected,) = after(made)
    assert isinstance(connected, CircuitsConnected)
    assert (connected.missing_ocs, connected.missing_ports) == ((17,), ())
    up = made.say(fault_ended(fault(part)))
    assert bodies(up) == [OcsPartUp(part=f"{OCS}/{part}"), OcsFreed(ocs=17)]
    tick, restored = made.run(made.now_us + SWITCHING_US)
    assert restored.body == CircuitsRestored(ocs=17, circuits=((0, 1), (1, 0)))
    assert restored.cause == up[0].cause, "the end of the fault is the cause"
    assert restored.at_us == tick.at_us == up[0].at_us + SWITCHING_US
    assert made_on_17(made) == [0, 1, 4, 7]


@pytest.mark.parametrize("part", CONTROLLERS)
def test_released_circuits_stay_on_the_mirrors_of_an_unreachable_ocs(made: Bench, part: str) -> None:
    made.say(fault(part))
    assert bodies(made.say(disconnect(JOIN))) == [CircuitsDisconnected(slice="pod-0/slice-0", joins=(JOIN,))]
    assert made_on_17(made) == [], "they are nobody's"
    document = made.documents["ocs", OCS]
    assert (document.circuits_wanted, document.circuits_made, document.circuits_stale) == (0, 0, 2)
    assert made.documents["ocs", "pod-0/ocs-18"].circuits_stale == 0
    assert bodies(made.say(connect(OTHER, "slice-1"))) == [], "the ports are free for others"
    (connected,) = after(made)
    assert isinstance(connected, CircuitsConnected)
    assert connected.missing_ocs == (17,)
    parked = CircuitsParked(ocs=17, circuits=((4, 7), (7, 4)))
    assert bodies(made.say(fault_ended(fault(part)))) == [
        *(OcsPartUp(part=f"{OCS}/{part}"), parked, OcsFreed(ocs=17))
    ]
    assert made.documents["ocs", OCS].circuits_stale == 0
    assert after(made) == [CircuitsRestored(ocs=17, circuits=((3, 4), (4, 3)))]


def test_without_a_camera_mirrors_can_still_be_parked(made: Bench) -> None:
    made.say(fault("camera-S"))
    made.say(disconnect(JOIN))
    assert made.documents["ocs", OCS].circuits_stale == 0
    assert len(bodies(made.say(fault_ended(fault("camera-S"))))) == 2
    assert after(made) == []


def test_a_slice_that_needs_exactly_the_leftover_circuits_gets_them(made: Bench) -> None:
    made.say(fault("cpu"))
    made.say(disconnect(JOIN))
    before = made.state("ocs").cross_connects
    made.say(connect(JOIN, "slice-1"))
    (connected,) = after(made)
    assert isinstance(connected, CircuitsConnected)
    assert (connected.missing_ocs, connected.missing_ports) == ((), ())
    assert made_on_17(made) == [4, 7]
    assert made.state("ocs").stale == {}
    assert made.state("ocs").cross_connects == before + 30, "two of the 32 stood"
    assert [type(body) for body in bodies(made.say(fault_ended(fault("cpu"))))] == [OcsPartUp, OcsFreed]
    assert after(made) == []


def test_partly_kept_circuits_are_reported_by_port(made: Bench) -> None:
    made.say(fault_began("pod-0/fault-5", "port", f"{OCS}/N4"))
    made.say(fault("cpu"))
    made.say(disconnect(JOIN))
    made.say(connect(JOIN, "slice-1"))
    (connected,) = after(made)
    assert isinstance(connected, CircuitsConnected)
    assert (connected.missing_ocs, connected.missing_ports) == ((), ((17, 4),))


def test_leftover_circuits_are_taken_over_while_the_ocs_is_held(made: Bench) -> None:
    made.say(LeaveCircuits(slice="pod-0/slice-0", joins=(JOIN,)))
    made.say(fault("fpga"))
    made.say(connect(JOIN, "slice-1"))
    (connected,) = after(made)
    assert isinstance(connected, CircuitsConnected)
    assert connected.missing_ocs == ()
    assert made_on_17(made) == [4, 7]


@pytest.mark.parametrize("loss", ["supplies", "port", "board"])
def test_stale_circuits_are_lost_with_their_ocs(made: Bench, loss: str) -> None:
    made.say(fault("cpu"))
    made.say(disconnect(JOIN))
    if loss == "supplies":
        made.say(fault("supply-0", 1))
        made.say(fault("supply-1", 2))
    elif loss == "port":
        made.say(fault_began("pod-0/fault-1", "port", f"{OCS}/S7"))
    else:
        made.say(fault(f"driver-{board_of((17, 'N', 4))}", 1))
    stale = made.state("ocs").stale
    assert (17 * 136 + 4) not in stale
    left = made.documents["ocs", OCS].circuits_stale
    assert left == len(stale) == (0 if loss == "supplies" else left)
    parked = [
        body for body in bodies(made.say(fault_ended(fault("cpu")))) if isinstance(body, CircuitsParked)
    ]
    assert sum(len(body.circuits) for body in parked) == left


def test_a_chassis_that_returns_without_its_controller_makes_nothing(made: Bench) -> None:
    chassis = fault_began("pod-0/fault-9", "ocs", OCS)
    for one in (chassis, fault("cpu")):
        made.say(one)
    made.say(fault_ended(chassis))
    assert after(made) == []
    assert made_on_17(made) == []
    made.say(fault_ended(fault("cpu")))
    assert after(made) == [CircuitsRestored(ocs=17, circuits=((4, 7), (7, 4)))]


def test_an_ocs_held_for_several_reasons_is_released_by_the_last(made: Bench) -> None:
    for number, part in enumerate(("cpu", "camera-N", "fpga")):
        emitted = bodies(made.say(fault(part, number)))
        assert len(emitted) == (2 if number == 0 else 1)
    made.say(disconnect(JOIN))
    assert [type(b) for b in bodies(made.say(fault_ended(fault("cpu", 0))))] == [OcsPartUp]
    back = bodies(made.say(fault_ended(fault("fpga", 2))))
    assert [type(body) for body in back] == [OcsPartUp, CircuitsParked], (
        "it receives commands, but cannot align"
    )
    assert [type(b) for b in bodies(made.say(fault_ended(fault("camera-N", 1))))] == [OcsPartUp, OcsFreed]


# --- driver boards ------------------------------------------------------------------------------------------


def test_boards_divide_the_ports_of_every_side() -> None:
    state = Bench([SERVICE], CONFIG).state("ocs")
    for ocs in (0, 17, 47):
        boards = [ports_of_board(state, ocs, board) for board in range(8)]
        assert [side for side, _ in boards] == [0] * 4 + [1] * 4
        for side in (0, 1):
            dealt = Counter(port for at, ports in boards if at == side for port in ports)
            assert dealt == Counter(range(136))
    mirrors = manufactured_ocses(CONFIG.seed, "pod-0").north_mirror
    assert {int(mirrors[17, port]) // 44 for port in ports_of_board(state, 17, 2)[1]} == {2}


def test_a_failed_board_takes_its_circuits_down_and_a_swap_programs_them_again(made: Bench) -> None:
    board = board_of((17, "N", 4))
    side, ports = ports_of_board(made.state("ocs"), 17, board)
    assert side == 0
    answer = {"part": f"{OCS}/driver-{board}", "ocs": 17, "side": "N", "ports": ports}
    lost = sorted({4, 7} & set(ports))
    assert bodies(made.say(fault(f"driver-{board}"))) == [PortsDown.model_validate(answer)]
    assert made_on_17(made) == sorted({4, 7} - set(ports))
    document = made.documents["ocs", OCS]
    assert (document.state, document.parts_down) == ("up", (f"driver-{board}",))
    assert document.ports_down == tuple(f"N{port}" for port in ports)
    assert after(made) == []
    assert bodies(made.say(fault_ended(fault(f"driver-{board}")))) == [PortsUp.model_validate(answer)]
    wanted = {4: 7, 7: 4}
    assert after(made) == [CircuitsRestored(ocs=17, circuits=tuple((n, wanted[n]) for n in lost))]
    assert made_on_17(made) == [4, 7]


def test_a_south_board_takes_down_the_circuits_that_end_there(made: Bench) -> None:
    board = board_of((17, "S", 7))
    assert board >= 4
    (down,) = bodies(made.say(fault(f"driver-{board}")))
    assert isinstance(down, PortsDown)
    assert (down.side, 7 in down.ports) == ("S", True)
    assert 4 not in made_on_17(made)


def test_a_port_is_reported_separately_from_its_board(made: Bench) -> None:
    board, port = fault(f"driver-{board_of((17, 'N', 4))}"), fault_began("pod-0/fault-1", "port", f"{OCS}/N4")
    made.say(board)
    assert bodies(made.say(port)) == [PortDown(ocs=17, side="N", port=4)]
    made.say(fault_ended(board))
    after(made)
    assert 4 not in made_on_17(made)
    assert bodies(made.say(fault_ended(port))) == [PortUp(ocs=17, side="N", port=4)]
    assert after(made) == [CircuitsRestored(ocs=17, circuits=((4, 7),))]


def test_a_board_that_returns_while_the_ocs_is_held_waits_for_the_ocs(made: Bench) -> None:
    board = fault(f"driver-{board_of((17, 'N', 4))}")
    made.say(board)
    made.say(fault("injector-S", 1))
    made.say(fault_ended(board))
    assert after(made) == []
    made.say(fault_ended(fault("injector-S", 1)))
    after(made)
    assert made_on_17(made) == [4, 7]


def test_states_with_broken_parts_can_be_stored_and_documents_are_consistent(made: Bench) -> None:
    for number, part in enumerate(("cpu", "supply-1", "driver-0", "camera-N")):
        made.say(fault(part, number))
    made.say(disconnect(JOIN))
    made.reload()
    made.assert_documents_hold()
    assert made.documents["ocs", OCS].parts_down == ("camera-N", "cpu", "driver-0", "supply-1")
