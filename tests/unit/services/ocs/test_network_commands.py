"""The answers of a network's OCSes to commands by port, and to failures of racks and domains, by example."""

import pytest

from schemas.body import Body
from schemas.config.dcn import DcnConfig
from schemas.config.network_hardware import BlockGroupConfig, NetworkConfig
from schemas.config.pods import OcsConfig
from schemas.messages.failures import FaultBegan
from schemas.messages.ocs import (
    CircuitsRestored,
    CircuitsRewired,
    ControlLost,
    ControlRegained,
    OcsDown,
    OcsesDown,
    OcsesUp,
    OcsPartDown,
    OcsUp,
    RewiringRefused,
)
from schemas.messages.operator import InjectFault
from schemas.messages.repairs import RepairCancelled, RepairCompleted, RepairOpened
from schemas.messages.topology import RewireCircuits
from schemas.names import FaultKind, OcsCircuit
from services.failures.service import SERVICE as FAILURES
from services.ocs.service import SERVICE
from services.repairs.service import SERVICE as REPAIRS
from shared.basics.units import US_PER_DAY, US_PER_HOUR, US_PER_MS
from shared.engine.service import AnyService
from tests.support.ocs_model import fault_began, fault_ended
from tests.support.pods import POD
from tests.support.rig import Bench, bodies

SWITCHING_US = 10_000
HARDWARE = NetworkConfig(blocks=(BlockGroupConfig(count=4, uplinks=256),), racks=8, racks_full=8, switches=1)
"""OCS 2 and 3 are racks 2 and 3, and domain 1. A block has 16 ports on each side; 64 are wired."""
REWIRING = f"{POD}/rewiring-0"
ONE, TWO, ELSEWHERE = (2, 0, 16), (2, 1, 17), (7, 5, 40)


def network(technology: str = "palomar", with_repairs: bool = False) -> Bench:
    hardware = HARDWARE.model_copy(update={"technology": technology})
    ocs = OcsConfig(switching_time_ms=SWITCHING_US / US_PER_MS)
    config = DcnConfig(network=hardware, ocs=ocs).model_copy(update={"seed": 3})
    quiet = config.failures.model_copy(update={"enabled": False})
    services: list[AnyService] = [FAILURES, SERVICE, REPAIRS] if with_repairs else [SERVICE]
    return Bench(services, config.model_copy(update={"failures": quiet}))


def command(
    made: tuple[OcsCircuit, ...] = (), removed: tuple[OcsCircuit, ...] = (), stage: int = 0
) -> RewireCircuits:
    return RewireCircuits(rewiring=REWIRING, stage=stage, removed=removed, made=made)


def after(bench: Bench, wait_us: int = SWITCHING_US) -> list[Body]:
    log = bench.run(bench.now_us + wait_us)
    return bodies([message for message in log if message.type != "Tick"])


def fault(number: int, kind: FaultKind, part: str) -> FaultBegan:
    return fault_began(f"{POD}/fault-{number}", kind, f"{POD}/{part}")


@pytest.fixture
def made() -> Bench:
    bench = network()
    assert bench.say(command((ONE, TWO, ELSEWHERE)), 100) == []
    assert after(bench) == [
        CircuitsRewired(rewiring=REWIRING, stage=0, removed=(), made=(ONE, TWO, ELSEWHERE), missing=())
    ]
    return bench


def test_removed_circuits_go_at_once_and_new_ones_take_a_switching_time(made: Bench) -> None:
    other_circuit = (2, 0, 17)
    assert made.say(command((other_circuit,), (ONE, TWO), 1)) == []
    assert made.state("ocs").made[2].sum() == 0
    assert made.due_us() == made.now_us + SWITCHING_US
    (emitted,) = after(made)
    assert emitted == CircuitsRewired(
        rewiring=REWIRING, stage=1, removed=(ONE, TWO), made=(other_circuit,), missing=()
    )
    assert made.state("ocs").wanted[2, 0] == 17
    assert made.state("ocs").wanted_from[2, 16] == -1


@pytest.mark.parametrize(
    ("requested", "ocs", "reason"),
    [
        (command(((2, 3, 20), ELSEWHERE)), 7, "N5 is busy with another circuit"),
        (command(((2, 3, 64),)), 2, "N3 or S64 has no fibre; must be between 0 and 63"),
        (command(((8, 3, 3),)), 8, "N3 or S3 has no fibre; must be between 0 and 63"),
        (command(((2, 3, 16),)), 2, "S16 is busy with another circuit"),
        (command(((2, 3, 20), (2, 3, 21))), 2, "N3 is named twice in one command"),
        (command(((2, 3, 20), (2, 4, 20))), 2, "S20 is named twice in one command"),
        (command(((2, 9, 20),), (ONE, (2, 1, 18))), 2, "no circuit N1 to S18 to remove"),
    ],
)
def test_a_command_that_cannot_be_carried_out_changes_nothing(
    made: Bench, requested: RewireCircuits, ocs: int, reason: str
) -> None:
    before = [made.state("ocs").wanted.copy(), made.state("ocs").made.copy()]
    (emitted,) = bodies(made.say(requested))
    assert isinstance(emitted, RewiringRefused)
    assert (emitted.ocs, emitted.stage) == (ocs, 0)
    assert emitted.reason == reason
    assert (made.state("ocs").wanted == before[0]).all()
    assert (made.state("ocs").made == before[1]).all()
    assert made.due_us() is None


def test_a_serial_ocs_makes_one_circuit_after_another() -> None:
    bench = network("robotic")
    bench.say(command((ONE, TWO, (2, 2, 18), ELSEWHERE)), 100)
    assert bench.due_us() == 100 + 3 * SWITCHING_US


def test_circuits_on_bad_ports_and_dark_switches_are_missing_until_those_return(made: Bench) -> None:
    bad = fault(0, "port", "ocs-2/S20")
    made.say(bad)
    made.say(fault(1, "ocs", "ocs-4"))
    stage = ((2, 3, 20), (2, 4, 21), (4, 0, 0))
    made.say(command(stage, (), 1))
    (emitted,) = after(made)
    assert isinstance(emitted, CircuitsRewired)
    assert (emitted.made, emitted.missing) == (((2, 4, 21),), ((2, 3, 20), (4, 0, 0)))
    made.say(fault_ended(bad))
    assert after(made) == [CircuitsRestored(ocs=2, circuits=((3, 20),))]


def test_without_control_all_stays_and_every_command_is_refused(made: Bench) -> None:
    lost = fault(0, "control", "control-1")
    assert bodies(made.say(lost)) == [ControlLost(part=f"{POD}/control-1")]
    assert made.state("ocs").made[2].sum() == 2
    (emitted,) = bodies(made.say(command(((7, 6, 41), (3, 0, 16)))))
    assert isinstance(emitted, RewiringRefused)
    assert (emitted.ocs, emitted.reason) == (3, "its domain is without control")
    assert bodies(made.say(command(((7, 6, 41),)))) == [], "another domain has control"
    assert ControlRegained(part=f"{POD}/control-1") in bodies(made.say(fault_ended(lost)))
    assert bodies(made.say(command(((3, 0, 16),)))) == []


REASONS: tuple[tuple[FaultKind, str], ...] = (
    ("ocs", "ocs-2"),
    ("rack", "rack-2"),
    ("power", "power-1"),
    ("rack", "rack-2"),
    ("ocs", "ocs-2"),
)


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (4, 3, 2, 1, 0), (2, 0, 4, 1, 3), (1, 4, 2, 0, 3)])
def test_circuits_return_only_when_the_last_fault_ends(made: Bench, order: tuple[int, ...]) -> None:
    faults = [fault(number, kind, part) for number, (kind, part) in enumerate(REASONS)]
    emitted = [body for fault_body in faults for body in bodies(made.say(fault_body))]
    assert [type(body) for body in emitted] == [OcsPartDown, OcsDown, OcsesDown, OcsesDown], (
        "each part breaks once"
    )
    for number in order[:-1]:
        emitted += bodies(made.say(fault_ended(faults[number])))
        after(made)
        assert made.state("ocs").made[2].sum() == 0
        assert made.state("ocs").chassis_faults[2] > 0
    made.say(fault_ended(faults[order[-1]]))
    assert CircuitsRestored(ocs=2, circuits=((0, 16), (1, 17))) in after(made)
    ends = [type(body) for body in bodies(made.log) if isinstance(body, OcsUp | OcsesUp)]
    assert sorted(kind.__name__ for kind in ends) == ["OcsUp", "OcsesUp", "OcsesUp"]
    state = made.state("ocs")
    assert not state.chassis_faults.any()
    assert not state.housing_faults.any()
    assert not state.control_faults.any()
    assert state.broken == {}


@pytest.mark.parametrize("technology", ["palomar", "robotic"])
def test_only_latching_switches_keep_circuits_without_power_and_none_changes(
    technology: str,
) -> None:
    bench = network(technology)
    bench.say(command((ONE, TWO)), 100)
    after(bench, 10 * SWITCHING_US)
    (emitted,) = bodies(bench.say(fault(0, "power", "power-1")))
    latches = technology == "robotic"
    assert emitted == OcsesDown(part=f"{POD}/power-1", kind="power", ocses=() if latches else (2, 3))
    assert bench.state("ocs").made[2].sum() == (2 if latches else 0)
    refused = bodies(bench.say(command(((2, 5, 40),))))
    assert [type(body) for body in refused] == ([RewiringRefused] if latches else [])


@pytest.mark.parametrize("kind", ["rack", "power", "control", "ocs", "port"])
def test_a_part_that_breaks_twice_is_repaired_once_and_nothing_stays_broken(kind: FaultKind) -> None:
    """The second fault expires by itself. That must not cancel the repair of the first."""
    bench = network(with_repairs=True)
    bench.say(command((ONE, TWO, ELSEWHERE)), 100)
    after(bench)
    part = {"rack": "rack-2", "power": "power-1", "control": "control-1", "ocs": "ocs-2", "port": "ocs-2/N0"}
    target = f"{POD}/{part[kind]}"
    bench.say(InjectFault(kind=kind, target=target))
    bench.say(InjectFault(kind=kind, target=target, duration_us=60_000_000))
    assert len(bodies(bench.log, RepairOpened)) == 1
    bench.run(bench.now_us + US_PER_HOUR // 30)
    assert bodies(bench.log, RepairCancelled) == []
    bench.run(bench.now_us + 3 * US_PER_DAY)
    assert len(bodies(bench.log, RepairCompleted)) == 1
    assert bench.state("failures").active == {}
    assert bench.state("ocs").made[2].sum() == 2


def test_each_fault_has_its_own_repair() -> None:
    bench = network(with_repairs=True)
    for kind, part in REASONS[:3]:
        bench.say(InjectFault(kind=kind, target=f"{POD}/{part}"))
    opened = bodies(bench.log, RepairOpened)
    assert {(body.kind, body.target) for body in opened} == {(k, f"{POD}/{p}") for k, p in REASONS[:3]}
    bench.run(bench.now_us + 10 * US_PER_DAY)
    assert bench.state("failures").active == {}
