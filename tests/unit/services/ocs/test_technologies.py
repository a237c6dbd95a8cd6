"""OCSes of other technologies in a superpod ([LF] Table C.1): the duration of commands."""

import pytest

from schemas.config.pods import PodOcsConfig
from schemas.documents.pods import OcsDocument
from schemas.messages.failures import FaultBegan
from schemas.messages.ocs import CircuitsConnected, CircuitsRestored, OcsDown, OcsFreed, OcsHeld
from schemas.messages.scheduler import ConnectCircuits, DisconnectCircuits
from schemas.names import Join
from services.ocs.service import SERVICE
from shared.basics.units import US_PER_S
from shared.models.ocs_technologies import TECHNOLOGIES
from shared.models.optics.palomar import manufactured_ocses
from tests.support.ocs_model import CONFIG, fault_began, fault_ended
from tests.support.rig import Bench, bodies

NAME = "pod-0/slice-0"
MINUTE_US = 60 * US_PER_S


def bench_of(technology: str, **others: object) -> Bench:
    ocs = PodOcsConfig.model_validate({"technology": technology, **others})
    return Bench([SERVICE], CONFIG.model_copy(update={"ocs": ocs}))


def connect(*joins: Join) -> ConnectCircuits:
    return ConnectCircuits(slice=NAME, joins=joins)


def due_in_us(bench: Bench) -> int:
    due_us = bench.due_us()
    assert due_us is not None
    return due_us - bench.now_us


@pytest.mark.parametrize(
    ("technology", "least_us", "most_us"),
    [
        ("palomar", 5_000, 30_000),
        ("mems", 5_000, 30_000),
        ("piezo", 10_000, 10_000),
        ("guided-wave", 1, 1),
        ("wavelength", 1, 1),
        ("robotic", 4 * MINUTE_US, 4 * MINUTE_US),
    ],
)
def test_a_command_takes_the_time_of_its_technology(technology: str, least_us: int, most_us: int) -> None:
    """Two joins of one dimension: four circuits on each of its OCSes."""
    bench = bench_of(technology)
    bench.say(connect((1, 0, 1), (1, 1, 0)), 100)
    assert least_us <= due_in_us(bench) <= most_us
    bench.run(100 + most_us)
    (connected,) = bodies(bench.log, CircuitsConnected)
    assert (connected.missing_ocs, connected.missing_ports) == ((), ())
    assert bench.state("ocs").made.sum() == 64


def test_a_configured_time_applies_to_one_connection() -> None:
    bench = bench_of("robotic", switching_time_ms=5.0)
    bench.say(connect((1, 0, 1)), 100)
    assert due_in_us(bench) == 2 * 5_000


def test_a_robot_executes_commands_serially_and_in_parallel_to_other_ocses() -> None:
    bench = bench_of("robotic")
    bench.say(connect((1, 0, 1)), 100)
    assert due_in_us(bench) == 2 * MINUTE_US
    bench.say(connect((1, 1, 2)), 100 + MINUTE_US)
    bench.say(connect((2, 1, 2)), 100 + MINUTE_US)
    dues = sorted(pending.due_us for pending in bench.state("ocs").connects.values())
    assert dues == [100 + 2 * MINUTE_US, 100 + 3 * MINUTE_US, 100 + 4 * MINUTE_US]


def test_a_robot_does_not_touch_existing_circuits() -> None:
    bench = bench_of("robotic")
    bench.say(connect((1, 0, 1)), 100)
    bench.run(10 * MINUTE_US)
    state = bench.state("ocs")
    state.owner[:] = -1
    bench.say(connect((1, 0, 1), (1, 1, 2)))
    assert due_in_us(bench) == 2 * MINUTE_US
    bench.say(DisconnectCircuits(slice=NAME, joins=((1, 0, 1),)))
    assert due_in_us(bench) == 2 * MINUTE_US


def test_a_port_that_returns_has_its_circuit_made_again() -> None:
    bench = bench_of("robotic")
    bench.say(connect((1, 0, 1)), 100)
    bench.run(10 * MINUTE_US)
    began = fault_began("pod-0/fault-0", "port", "pod-0/ocs-17/N0")
    bench.say(began)
    assert bench.state("ocs").made[17].sum() == 1
    bench.say(fault_ended(began))
    assert due_in_us(bench) == MINUTE_US
    bench.run(bench.now_us + MINUTE_US)
    assert bench.state("ocs").made[17].sum() == 2


@pytest.mark.parametrize("technology", ["mems", "robotic", "wavelength"])
def test_its_document_has_the_losses_of_the_technology(technology: str) -> None:
    bench = bench_of(technology)
    bench.say(connect((1, 0, 1)), 100)
    document = bench.documents["ocs", "pod-0/ocs-17"]
    assert isinstance(document, OcsDocument)
    made = manufactured_ocses(CONFIG.seed, "pod-0", technology=technology).insertion_loss_db()[17]
    found = [(n, s) for n, s in enumerate(document.wanted) if s >= 0]
    assert len(found) == 2
    assert [document.losses_db[n] for n, _ in found] == pytest.approx([made[n, s] for n, s in found])


def struck(*parts: str) -> list[FaultBegan]:
    """Faults of these parts of ocs-17, each with its kind; "" is the chassis itself."""
    return [
        fault_began(f"pod-0/fault-{n}", part.partition("-")[0] or "ocs", f"pod-0/ocs-17/{part}".rstrip("/"))
        for n, part in enumerate(parts)
    ]


@pytest.mark.parametrize("technology", list(TECHNOLOGIES))
@pytest.mark.parametrize("parts", [("",), ("supply-0", "supply-1"), ("fan-0", "fan-3"), ("driver-0",)])
def test_only_latching_technologies_keep_circuits_without_power(
    technology: str, parts: tuple[str, ...]
) -> None:
    """[LF] Table C.1. The circuits cannot be changed without power. Pending commands are carried out when the
    power is back."""
    bench, latches = bench_of(technology), technology in ("robotic", "wavelength")
    bench.say(connect((1, 0, 1)), 100)
    bench.run(10 * MINUTE_US)
    faults = struck(*parts)
    emitted = [body for fault in faults for body in bodies(bench.say(fault))]
    if parts == ("driver-0",) and not latches:
        return  # another test covers which ports are behind that board
    assert bench.state("ocs").made[17].sum() == (2 if latches else 0)
    assert emitted[-1] == (OcsHeld(ocs=17) if latches else OcsDown(ocs=17))
    bench.say(connect((1, 1, 2)))
    bench.run(bench.now_us + 10 * MINUTE_US)
    assert bodies(bench.log, CircuitsConnected)[-1].missing_ocs == (17,)
    back = [body for fault in faults for body in bodies(bench.say(fault_ended(fault)))]
    assert (OcsFreed(ocs=17) in back) == latches
    bench.run(bench.now_us + 10 * MINUTE_US)
    (restored,) = bodies(bench.log, CircuitsRestored)
    assert len(restored.circuits) == (2 if latches else 4)
    assert bench.state("ocs").made[17].sum() == 4
    bench.assert_documents_hold()
