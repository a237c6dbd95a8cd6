"""The switch model alone: any number of OCSes of any radix, with circuits outside any superpod."""

import re
from pathlib import Path

import numpy as np
import pytest

from schemas.config.pods import OcsConfig
from schemas.documents.pods import OcsDocument
from schemas.envelope import Envelope, enclose
from schemas.messages.failures import FaultBegan, FaultEnded
from schemas.messages.ocs import CircuitsRestored, OcsDown, OcsPartDown, OcsUp, PortDown, PortUp
from schemas.messages.sequencer import Tick
from services.ocs import documents, ocs_faults, timers
from services.ocs.settling_time import start_alignment
from services.ocs.state import NO_OWNER, Circuits, OcsState, as_circuits
from services.ocs.switch import (
    Port,
    busy_port,
    disconnect,
    foreign_circuit,
    make_circuits,
    mark_wanted,
    north_of,
)
from shared.engine.service import CausedBy
from shared.models.network.wiring import NO_PORT
from tests.support.ocs_model import SWITCHING_US, fault_began, fault_ended

OCS_COUNT, RADIX, WIRED = 5, 6, 4
OWNER = 3


def circuits(*rows: tuple[int, int, int]) -> Circuits:
    ocs, north, south = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return as_circuits(ocs, north, south, RADIX)


TWO = circuits((1, 0, 3), (4, 2, 2))


@pytest.fixture
def state() -> OcsState:
    shape = (OCS_COUNT, RADIX)
    return OcsState(
        fabric="pod-0",
        seed=0,
        now_us=100,
        config=OcsConfig(switching_time_ms=SWITCHING_US / 1000),
        ports_wired=WIRED,
        wanted=np.full(shape, NO_PORT, dtype=np.int16),
        wanted_from=np.full(shape, NO_PORT, dtype=np.int16),
        owner=np.full(shape, NO_OWNER, dtype=np.int32),
        made=np.zeros(shape, dtype=np.bool_),
        turning=np.zeros(shape, dtype=np.bool_),
        chassis_faults=np.zeros(OCS_COUNT, dtype=np.int16),
        port_faults=np.zeros((2, *shape), dtype=np.int16),
        housing_faults=np.zeros(OCS_COUNT, dtype=np.int16),
        control_faults=np.zeros(OCS_COUNT, dtype=np.int16),
        frozen_faults=np.zeros(OCS_COUNT, dtype=np.int16),
        blind_faults=np.zeros(OCS_COUNT, dtype=np.int16),
        changed_us=np.zeros(OCS_COUNT, dtype=np.int64),
        alignment_rounds=np.zeros(OCS_COUNT, dtype=np.int64),
        tried=np.zeros((2, OCS_COUNT), dtype=np.int64),
        missed=np.zeros((2, OCS_COUNT), dtype=np.int64),
        busy_us=np.zeros(OCS_COUNT, dtype=np.int64),
    )


def places(array: np.ndarray) -> list[tuple[int, int]]:
    """The (OCS, North port) positions at which an array is true."""
    return [(int(ocs), int(north)) for ocs, north in np.argwhere(array)]


def about(body: FaultBegan | FaultEnded | Tick) -> Envelope:
    return enclose(body, fabric="pod-0", at_us=0, cause=None, source="failures@pod-0", seq=1)


def began(state: OcsState, fault: FaultBegan) -> list[object]:
    return [*ocs_faults.on_fault_began(state, fault, about(fault))]


def ended(state: OcsState, fault: FaultBegan) -> list[object]:
    body = fault_ended(fault)
    return [*ocs_faults.on_fault_ended(state, body, about(body))]


def tick(state: OcsState) -> list[object]:
    """The messages emitted when the next mirrors have settled."""
    due_us = timers.due(state)
    assert due_us is not None
    state.now_us = due_us
    body = Tick(service="ocs", due_us=due_us, count=1)
    return [*timers.on_tick(state, body, about(body))]


def test_circuits_are_wanted_then_made_then_dropped(state: OcsState) -> None:
    turning = mark_wanted(state, TWO, OWNER)
    assert turning.all()
    assert places(state.turning) == places(state.wanted != NO_PORT) == [(1, 0), (4, 2)]
    assert places(state.owner == OWNER) == [(1, 0), (4, 2)]
    assert not state.made.any()
    assert start_alignment(state, TWO, turning) == (100 + SWITCHING_US, ())
    up, sound = make_circuits(state, TWO)
    assert up.all()
    assert sound.all()
    assert places(state.made) == [(1, 0), (4, 2)]
    assert not state.turning.any()
    assert state.cross_connects == 2
    disconnect(state, circuits((4, 2, 2)))
    assert places(state.made) == places(state.wanted != NO_PORT) == [(1, 0)]
    assert places(state.wanted_from != NO_PORT) == [(1, 3)]
    assert state.changed_us.tolist() == [0, 100, 0, 0, 100]
    assert state.changed_documents == {
        ("ocs", "pod-0/ocs-1"),
        ("ocs", "pod-0/ocs-4"),
        ("summaries", "pod-0/ocs"),
    }


def test_positions_of_ports_match_a_flat_array(state: OcsState) -> None:
    array = circuits((4, 2, 2), (1, 0, 3), (4, 3, 0))
    assert array.ocses == (1, 4)
    numbers = np.arange(state.wanted.size).reshape(state.wanted.shape)
    assert array.north_at.tolist() == numbers[array.ocs, array.north].tolist()
    assert array.south_at.tolist() == numbers[array.ocs, array.south].tolist()


def test_a_port_in_the_way_and_a_foreign_circuit_are_found(state: OcsState) -> None:
    assert busy_port(state, TWO) is None
    mark_wanted(state, TWO, OWNER)
    assert busy_port(state, circuits((0, 0, 3), (1, 1, 3))) == Port(1, 1, 3)
    assert busy_port(state, circuits((1, 1, 3), (4, 2, 0))) == Port(4, 0, 2), "North ports come first"
    assert busy_port(state, circuits((1, 1, 2), (4, 3, 3))) is None
    assert Port(4, 0, 2).label == "N2"
    assert [north_of(state, Port(1, 1, port)) for port in range(WIRED)] == [NO_PORT, NO_PORT, NO_PORT, 0]
    assert [north_of(state, Port(1, 0, port)) for port in range(WIRED)] == [0, NO_PORT, NO_PORT, NO_PORT]
    assert foreign_circuit(state, TWO, (OWNER,)) is None
    assert foreign_circuit(state, TWO, (OWNER + 1,)) == 0
    assert foreign_circuit(state, circuits((1, 0, 3), (4, 2, 1)), (OWNER,)) == 1


def test_a_circuit_whose_part_fails_during_switching_is_not_made(state: OcsState) -> None:
    mark_wanted(state, TWO, OWNER)
    assert began(state, fault_began("pod-0/fault-0", "ocs", "pod-0/ocs-1")) == [
        OcsPartDown(part="pod-0/ocs-1"),
        OcsDown(ocs=1),
    ]
    port = fault_began("pod-0/fault-1", "port", "pod-0/ocs-4/S2")
    assert began(state, port) == [PortDown(ocs=4, side="S", port=2)]
    up, sound = make_circuits(state, TWO)
    assert (up.tolist(), sound.tolist()) == ([False, True], [True, False])
    assert not state.made.any()
    assert state.cross_connects == 0


def test_a_returning_circuit_is_made_again_unless_a_command_is_switching_there(state: OcsState) -> None:
    mark_wanted(state, circuits((4, 2, 2)), OWNER)
    make_circuits(state, circuits((4, 2, 2)))
    chassis = fault_began("pod-0/fault-0", "ocs", "pod-0/ocs-4")
    assert began(state, chassis)[1:] == [OcsDown(ocs=4)]
    assert ended(state, chassis)[1:] == [OcsUp(ocs=4)]
    mark_wanted(state, circuits((4, 0, 1)), OWNER)
    assert tick(state) == [CausedBy("failures@pod-0/1", CircuitsRestored(ocs=4, circuits=((2, 2),)))]
    assert places(state.turning) == [(4, 0)]
    assert places(state.made) == [(4, 2)]
    port = fault_began("pod-0/fault-1", "port", "pod-0/ocs-4/N2")
    assert began(state, port) == [PortDown(ocs=4, side="N", port=2)]
    assert ended(state, port) == [PortUp(ocs=4, side="N", port=2)]
    assert tick(state) == [CausedBy("failures@pod-0/1", CircuitsRestored(ocs=4, circuits=((2, 2),)))]


def test_every_ocs_has_a_document_of_its_size(state: OcsState) -> None:
    *ocses, summary = documents.document_keys(state)
    assert ocses == [("ocs", f"pod-0/ocs-{ocs}") for ocs in range(OCS_COUNT)]
    assert summary == ("summaries", "pod-0/ocs")
    mark_wanted(state, TWO, OWNER)
    document = documents.document(state, ("ocs", "pod-0/ocs-4"))
    assert isinstance(document, OcsDocument)
    assert document.radix == RADIX
    assert document.wanted == (-1, -1, 2, -1, -1, -1)


def test_only_the_commissioning_and_the_commands_know_a_superpod() -> None:
    modules = Path(ocs_faults.__file__).parent.glob("*.py")
    knowing = {path.name for path in modules if re.search(r"models\.superpod", path.read_text())}
    assert knowing == {"state.py", "superpod_commands.py", "loopbacks.py"}
