"""Spare ports: fibres moved off dead mirrors, by example and under random faults."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.config.pods import PodOcsConfig
from schemas.documents.pods import PatchStatus
from schemas.messages.failures import FaultEnded
from schemas.messages.ocs import CircuitsRestored, PortDown, PortNotPatched, PortPatched, PortUp
from schemas.messages.operator import ClearFault, InjectFault
from schemas.messages.repairs import PatchPort, RepairCompleted, RepairFailed
from schemas.messages.scheduler import ConnectCircuits, DisconnectCircuits
from schemas.names import FaultKind, Join
from services.failures.service import SERVICE as FAILURES
from services.ocs.ports import ports_of_board
from services.ocs.service import SERVICE as OCS
from services.ocs.state import OcsState
from services.repairs.service import SERVICE as REPAIRS
from services.transceivers.service import SERVICE as TRANSCEIVERS
from shared.basics.units import US_PER_DAY
from shared.models.ocs.patched_fibres import port_at, port_place
from shared.models.optics.palomar import insertion_loss_db
from tests.support.log_checks import check_all
from tests.support.ocs_model import CONFIG, SWITCHING_US, fault_began, fault_ended
from tests.support.rig import Bench, bodies

NAME = "pod-0/ocs-17"
JOIN: Join = (1, 2, 3)
"""On OCSes 16 to 31: N4 to S7 and N7 to S4."""
SPARES = range(8, 136)
"""In a pod of 4 cubes."""
ALL = (FAILURES, OCS, REPAIRS, TRANSCEIVERS)


def patch(port: int = 4, side: Any = "N", ocs: int = 17) -> PatchPort:
    return PatchPort(repair="pod-0/repair-0", ocs=ocs, side=side, port=port)


def dead(label: str, number: int = 0) -> Any:
    return fault_began(f"pod-0/fault-{number}", "port", f"{NAME}/{label}")


def state_of(bench: Bench) -> OcsState:
    found: OcsState = bench.state("ocs")
    return found


@pytest.fixture
def made() -> Bench:
    """A bench with one join of one slice made."""
    bench = Bench([OCS], CONFIG)
    bench.say(ConnectCircuits(slice="pod-0/slice-0", joins=(JOIN,)), 100)
    bench.run(bench.now_us + SWITCHING_US)
    return bench


def test_a_patched_fibre_is_at_the_first_spare_and_its_circuit_is_made_again(made: Bench) -> None:
    assert bodies(made.say(dead("N4"))) == [PortDown(ocs=17, side="N", port=4)]
    assert bodies(made.say(patch())) == [PortPatched(ocs=17, side="N", port=4, spare=8)]
    log = made.run(made.now_us + SWITCHING_US)
    assert CircuitsRestored(ocs=17, circuits=((4, 7),)) in bodies(log)
    document = made.documents["ocs", NAME]
    assert document.patches == (PatchStatus(port="N4", spare="N8"),)
    assert (document.ports_down, document.ports_dead) == ((), ("N4",))
    assert document.spares_left == (len(SPARES) - 1, len(SPARES))
    assert document.circuits_made == 2
    fibre = np.array(17)
    loss_db = insertion_loss_db(CONFIG.seed, "pod-0", fibre, np.array(8), np.array(7))
    assert document.losses_db[4] == pytest.approx(float(loss_db))


def test_a_dead_mirror_stays_dead_whatever_happens_to_its_fault(made: Bench) -> None:
    made.say(dead("N4"))
    made.say(patch())
    assert bodies(made.say(fault_ended(dead("N4")))) == []
    assert bodies(made.say(dead("N4", 1))) == []
    assert bodies(made.say(fault_ended(dead("N4", 1)))) == []
    assert made.documents["ocs", NAME].ports_dead == ("N4",)


def test_a_spare_that_took_a_fibre_fails_under_its_own_name_and_is_patched_on(made: Bench) -> None:
    made.say(dead("N4"))
    made.say(patch())
    made.run(made.now_us + SWITCHING_US)
    assert bodies(made.say(dead("N8", 1))) == [PortDown(ocs=17, side="N", port=4, spare=8)]
    assert made.documents["ocs", NAME].ports_down == ("N8",)
    assert bodies(made.say(fault_ended(dead("N8", 1)))) == [PortUp(ocs=17, side="N", port=4, spare=8)]
    made.say(dead("N8", 2))
    assert bodies(made.say(patch(8))) == [PortPatched(ocs=17, side="N", port=4, spare=9, left=8)]
    document = made.documents["ocs", NAME]
    assert document.patches == (PatchStatus(port="N4", spare="N9"),)
    assert document.ports_dead == ("N4", "N8")


def test_a_driver_board_takes_the_fibres_now_at_its_mirrors(made: Bench) -> None:
    made.say(dead("N4"))
    made.say(patch())
    boards = [{b for b in range(4) if port in ports_of_board(state_of(made), 17, b)[1]} for port in (4, 8)]
    fresh = state_of(Bench([OCS], CONFIG))
    wired = [{b for b in range(4) if port in ports_of_board(fresh, 17, b)[1]} for port in (4, 8)]
    assert boards == wired[::-1]


@pytest.mark.parametrize(
    ("label", "port", "reason"),
    [
        (None, 4, "N4 works"),
        ("N20", 20, "N20 is a spare: it has no fibre, and mirrors cannot be repaired in the field"),
    ],
)
def test_a_failed_patch_is_reported_with_the_reason(
    made: Bench, label: str | None, port: int, reason: str
) -> None:
    if label:
        made.say(dead(label))
    emitted = bodies(made.say(patch(port)))
    assert emitted == [PortNotPatched(repair="pod-0/repair-0", ocs=17, side="N", port=port, reason=reason)]


@pytest.mark.slow("days of a pod until a repair fails")
def test_without_a_spare_the_repair_is_without_effect_and_clearing_the_fault_is_not() -> None:
    config = CONFIG.model_copy(update={"ocs": PodOcsConfig(technology="guided-wave")})
    bench = Bench(ALL, config)
    for number in range(9):
        fibre = "N4" if number == 0 else f"N{7 + number}"
        bench.say(InjectFault(kind="port", target=f"{NAME}/{fibre}"))
        bench.run(bench.now_us + 90 * US_PER_DAY)
    emitted = bodies(bench.log)
    assert sum(isinstance(body, PortPatched) for body in emitted) == 8
    (failed,) = [body for body in emitted if isinstance(body, RepairFailed)]
    assert failed.target == f"{NAME}/N15"
    assert failed.reason == "none of the 8 spare ports on side N of ocs-17 is free and sound"
    document = bench.documents["ocs", NAME]
    assert (document.radix, document.spares_left, document.ports_down) == (16, (0, 8), ("N15",))
    repair = bench.documents["repairs", failed.repair]
    assert (repair.state, repair.reason) == ("failed", failed.reason)
    bench.say(ClearFault(fault="pod-0/fault-8"))
    assert bodies(bench.log)[-1] == PortUp(ocs=17, side="N", port=4, spare=15)
    assert check_all(bench.log) == []


def test_a_repair_of_a_port_is_complete_when_its_fibre_is_moved() -> None:
    bench = Bench(ALL, CONFIG)
    bench.say(InjectFault(kind="port", target=f"{NAME}/S7"))
    bench.run(bench.now_us + 90 * US_PER_DAY)
    emitted = [body for body in bodies(bench.log) if not isinstance(body, InjectFault)]
    kinds = [type(body) for body in emitted]
    order = [PatchPort, PortPatched, RepairCompleted, FaultEnded]
    assert [kind for kind in kinds if kind in order] == order
    assert PortUp not in kinds


# --- whatever breaks ----------------------------------------------------------------------------------------

KINDS: tuple[FaultKind, ...] = ("port", "port", "port", "driver", "cpu", "ocs")
PORTS = st.sampled_from((0, 1, 2, 3, 8, 9, 10, 11))
ACTS = st.one_of(
    st.tuples(st.just("port"), st.sampled_from("NS"), PORTS),
    st.tuples(st.just("driver"), st.just(""), st.integers(0, 7)),
    st.tuples(st.just("mend"), st.just(""), st.integers(0, 5)),
    st.tuples(st.just("patch"), st.sampled_from("NS"), PORTS),
    st.tuples(st.just("join"), st.just(""), st.integers(0, 1)),
)
JOINS: tuple[Join, ...] = ((0, 0, 1), (0, 1, 0))


class Board:
    """A simple model of one OCS: by side and port, the place of each fibre, the dead mirrors, and the failed
    parts."""

    def __init__(self) -> None:
        self.at = {(side, port): port for side in "NS" for port in range(8)}
        self.dead: set[tuple[str, int]] = set()
        self.faults: list[tuple[str, str, int]] = []

    def out(self, bench: Bench, side: str, port: int) -> bool:
        """Whether the mirror at a physical port cannot be used."""
        own = (side, port) in self.dead or ("port", side, port) in self.faults
        fresh = state_of(Bench([OCS], CONFIG))
        boards = [number for kind, _, number in self.faults if kind == "driver"]
        return own or any(
            "NS"[at] == side and port in ports for at, ports in (ports_of_board(fresh, 0, b) for b in boards)
        )


def do(bench: Bench, board: Board, act: tuple[str, str, int], joined: set[int]) -> None:
    kind, side, number = act
    if kind in ("port", "driver"):
        if act not in board.faults:
            board.faults.append(act)
            bench.say(_fault(act))
    elif kind == "mend" and board.faults:
        fault = board.faults.pop(number % len(board.faults))
        bench.say(fault_ended(_fault(fault)))
    elif kind == "patch":
        emitted = bodies(bench.say(patch(number, side, 0)))
        for body in emitted:
            if isinstance(body, PortPatched):
                left = board.at[side, body.port]
                assert left == number == (body.port if body.left is None else body.left)
                assert ("port", side, number) in board.faults
                assert not board.out(bench, side, body.spare)
                board.at[side, body.port] = body.spare
                board.dead.add((side, number))
    elif kind == "join":
        (joined.discard if number in joined else joined.add)(number)
        command = ConnectCircuits if number in joined else DisconnectCircuits
        bench.say(command(slice=f"pod-0/slice-{number}", joins=(JOINS[number],)))


def _fault(fault: tuple[str, str, int]) -> Any:
    kind, side, number = fault
    part = f"{side}{number}" if kind == "port" else f"driver-{number}"
    return fault_began(f"pod-0/fault-{kind}-{side}{number}", kind, f"pod-0/ocs-0/{part}")


@settings(max_examples=60, deadline=None)
@given(st.lists(ACTS, min_size=6, max_size=30))
def test_no_two_fibres_share_a_port_and_those_at_healthy_ports_have_light(
    acts: list[tuple[str, str, int]],
) -> None:
    bench, board = Bench([OCS], CONFIG), Board()
    joined: set[int] = set()
    for number, act in enumerate(acts):
        do(bench, board, act, joined)
        if number % 5 == 0:
            bench.reload()
    bench.run(bench.now_us + 10 * SWITCHING_US)
    bench.assert_documents_hold()
    state = state_of(bench)
    now = {("NS"[s], port): at for s, ocs, port, at in _patched(state) if ocs == 0 and port < 8}
    assert now == {fibre: at for fibre, at in board.at.items() if at != fibre[1]}
    assert len(set(board.at.items())) == len({(side, at) for (side, _), at in board.at.items()})
    for plus, minus in [(JOINS[n][1], JOINS[n][2]) for n in joined]:
        for north, south in ((2 * plus, 2 * minus + 1), (2 * minus + 1, 2 * plus)):
            lost = [board.out(bench, s, board.at[s, p]) for s, p in (("N", north), ("S", south))]
            assert bool(state.made[0, north]) != any(lost)


def _patched(state: OcsState) -> list[tuple[int, int, int, int]]:
    return [(*port_at(place), at) for place, at in state.patched.items()]


@given(st.integers(0, 1), st.integers(0, 16_383), st.integers(0, 767))
def test_a_place_shows_its_port(side: int, ocs: int, port: int) -> None:
    assert port_at(port_place(side, ocs, port)) == (side, ocs, port)
