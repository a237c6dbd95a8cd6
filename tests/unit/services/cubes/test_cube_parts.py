"""Cables, power and cooling of cubes, as the heartbeats of their hosts show them."""

import pytest

from schemas.messages.cubes import (
    CubeCooled,
    CubeHealthy,
    CubeOverheated,
    CubePowerLost,
    CubePowerRegained,
    CubeUnhealthy,
    HostDown,
    HostUp,
    RepairRequested,
    RepairWithdrawn,
)
from schemas.messages.failures import FaultBegan
from schemas.names import FaultKind
from shared.models.superpod.cables import cable_hosts
from tests.support.rig import Bench, bodies
from tests.unit.services.cubes.test_cubes import HEARTBEAT_US, HOST, began, ended, monitored

CUBE = "pod-0/cube-2"
CABLE = f"{CUBE}/cable-77"


def open_requests(bench: Bench) -> set[tuple[str, str]]:
    """(kind, target) of the repairs that are requested and not withdrawn."""
    requests: dict[str, str] = {}
    for body in bodies(bench.log):
        if isinstance(body, RepairRequested):
            requests[body.target] = body.kind
        elif isinstance(body, RepairWithdrawn):
            del requests[body.target]
    return {(kind, target) for target, kind in requests.items()}


def test_a_cable_is_requested_when_the_hosts_at_both_ends_miss_it() -> None:
    bench = monitored()
    bench.say(began(CABLE), 1)
    fault = bench.log[-1]
    first, second = bench.step(), bench.step()
    assert {message.cause for message in [*first, *second]} == {fault.id}
    down = [body for body in bodies([*first, *second]) if isinstance(body, HostDown)]
    assert sorted(body.host for body in down) == sorted(cable_hosts(77))
    assert {body.reason for body in down} == {"cable"}
    assert bodies(first)[1:] == [CubeUnhealthy(cube=2, reasons=(CABLE,))]
    assert bodies(second)[1:] == [RepairRequested(kind="cable", target=CABLE)]
    assert bench.documents["cubes", CUBE].reasons == (CABLE,)

    bench.say(ended(CABLE), bench.now_us + 1)
    emitted = bodies([*bench.step(), *bench.step()])
    assert emitted.count(RepairWithdrawn(target=CABLE)) == 1
    assert emitted[-1] == CubeHealthy(cube=2)
    assert bench.state("cubes").hosts == {}
    assert bench.state("cubes").repairs_open == {}
    bench.assert_documents_hold()


def test_a_cube_without_power_is_one_repair_and_not_sixteen() -> None:
    bench = monitored()
    bench.say(began(CUBE), 1)
    bench.run(1 + HEARTBEAT_US)
    emitted = bodies(bench.log)
    assert sum(isinstance(body, HostDown) for body in emitted) == 16
    assert [body for body in emitted if isinstance(body, CubePowerLost)] == [CubePowerLost(cube=2)]
    assert open_requests(bench) == {("cube-power", CUBE)}
    of_hosts = [body for body in emitted if isinstance(body, RepairRequested) and body.kind == "host"]
    assert of_hosts == [], "no host reported after the first went silent"
    document = bench.documents["cubes", CUBE]
    assert (document.powered, document.health, document.reasons) == (False, "unhealthy", (CUBE,))
    bench.assert_documents_hold()

    bench.say(ended(CUBE), 5 * HEARTBEAT_US)
    emitted = bodies(bench.step())
    assert isinstance(emitted[0], HostUp)
    assert emitted[1:] == [CubePowerRegained(cube=2), RepairWithdrawn(target=CUBE)]
    bench.run(7 * HEARTBEAT_US)
    assert bodies(bench.log, CubeHealthy) == [CubeHealthy(cube=2)]
    assert open_requests(bench) == set()
    state = bench.state("cubes")
    assert (state.hosts, state.silences, state.cube_faults) == ({}, {}, {})
    assert bench.due_us() is None
    bench.assert_documents_hold()


def test_a_host_that_stays_silent_after_the_outage_is_requested() -> None:
    bench = monitored()
    bench.say(began(CUBE, 0), 1)
    bench.say(began(HOST, 1), 2)
    bench.run(2 * HEARTBEAT_US)
    assert open_requests(bench) == {("cube-power", CUBE)}
    bench.say(ended(CUBE, 0), 3 * HEARTBEAT_US)
    bench.run(6 * HEARTBEAT_US)
    assert open_requests(bench) == {("host", HOST)}
    assert bench.documents["cubes", CUBE].reasons == (HOST,)


def test_two_hosts_that_fall_silent_together_are_both_requested_within_two_heartbeats() -> None:
    bench = monitored()
    second_host = f"{CUBE}/host-4"
    bench.say(began(HOST, 0), 1)
    bench.say(began(second_host, 1), 2)
    causes = {m.body.target: m.id for m in bench.log if isinstance(m.body, FaultBegan)}
    bench.run(2 + 2 * HEARTBEAT_US)
    requests = {m.body.target: m.cause for m in bench.log if isinstance(m.body, RepairRequested)}
    assert requests == causes
    assert bodies(bench.log, CubePowerLost) == []


def test_a_broken_host_keeps_its_request_when_its_cube_loses_power_later() -> None:
    bench = monitored()
    bench.say(began(HOST, 0), 1)
    bench.run(2 * HEARTBEAT_US)
    bench.say(began(CUBE, 1), 3 * HEARTBEAT_US)
    bench.run(5 * HEARTBEAT_US)
    assert open_requests(bench) == {("host", HOST), ("cube-power", CUBE)}
    assert bodies(bench.log, RepairWithdrawn) == []


def test_a_host_that_breaks_while_its_cube_loses_power_is_requested_only_after_the_outage() -> None:
    bench = monitored()
    bench.say(began(HOST, 0), 1)
    assert isinstance(bodies(bench.step())[0], HostDown)
    bench.say(began(CUBE, 1), bench.now_us + 1)
    bench.run(bench.now_us + HEARTBEAT_US)
    assert open_requests(bench) == {("cube-power", CUBE)}
    bench.say(ended(CUBE, 1), 5 * HEARTBEAT_US)
    bench.run(8 * HEARTBEAT_US)
    assert open_requests(bench) == {("host", HOST)}
    bench.assert_documents_hold()


def test_an_overheated_cube_stays_in_use_and_is_requested_at_the_first_heartbeat() -> None:
    bench = monitored()
    bench.say(began(CUBE, kind="cooling"), 1)
    assert bodies(bench.step()) == [CubeOverheated(cube=2), RepairRequested(kind="cooling", target=CUBE)]
    bench.run(2 * HEARTBEAT_US)
    document = bench.documents["cubes", CUBE]
    assert (document.health, document.throttled) == ("healthy", True)
    assert open_requests(bench) == {("cooling", CUBE)}
    bench.say(ended(CUBE, kind="cooling"), 3 * HEARTBEAT_US)
    emitted = bodies(bench.run(5 * HEARTBEAT_US))
    assert emitted[-2:] == [CubeCooled(cube=2), RepairWithdrawn(target=CUBE)]
    assert bench.state("cubes").hosts == {}
    bench.assert_documents_hold()


def test_failed_cooling_in_a_cube_without_power_shows_when_the_power_is_back() -> None:
    bench = monitored()
    bench.say(began(CUBE, 0), 1)
    bench.run(2 * HEARTBEAT_US)
    bench.say(began(CUBE, 1, "cooling"), 3 * HEARTBEAT_US)
    bench.run(5 * HEARTBEAT_US)
    assert open_requests(bench) == {("cube-power", CUBE)}
    bench.say(ended(CUBE, 0), 6 * HEARTBEAT_US)
    bench.run(8 * HEARTBEAT_US)
    assert open_requests(bench) == {("cooling", CUBE)}
    bench.assert_documents_hold()


def domain_fault(number: int, kind: FaultKind = "cooling") -> FaultBegan:
    """A domain of the cube has failed. The building restores it by itself."""
    began_alone = began(CUBE, number, kind)
    return began_alone.model_copy(update={"injected": False, "expires_us": 9 * HEARTBEAT_US})


@pytest.mark.parametrize("kind", ["cooling", "cube-power"])
def test_no_repair_is_requested_for_power_that_the_building_restores(kind: FaultKind) -> None:
    bench = monitored()
    bench.say(domain_fault(0, kind), 1)
    bench.run(3 * HEARTBEAT_US)
    emitted = bodies(bench.log)
    assert CubePowerLost(cube=2) in emitted or CubeOverheated(cube=2) in emitted
    assert open_requests(bench) == set()
    bench.say(ended(CUBE, 0, kind), 9 * HEARTBEAT_US)
    bench.run(12 * HEARTBEAT_US)
    state = bench.state("cubes")
    assert (state.hosts, state.repairs_open, state.outages) == ({}, {}, {})
    bench.assert_documents_hold()


def test_a_cube_that_fails_during_an_outage_is_repaired_each_time() -> None:
    """It fails once in the outage, once at its end, and once more. Earlier technicians do not count."""
    bench = monitored()
    bench.say(domain_fault(0), 1)
    bench.run(2 * HEARTBEAT_US)
    bench.say(began(CUBE, 1), 3 * HEARTBEAT_US)
    bench.run(5 * HEARTBEAT_US)
    assert open_requests(bench) == {("cube-power", CUBE)}
    bench.say(ended(CUBE, 1), 6 * HEARTBEAT_US)
    bench.run(8 * HEARTBEAT_US)
    assert open_requests(bench) == set()
    bench.say(began(CUBE, 2), 8 * HEARTBEAT_US + 1)
    bench.say(ended(CUBE, 0, "cooling"), 9 * HEARTBEAT_US)
    bench.run(12 * HEARTBEAT_US)
    assert open_requests(bench) == {("cube-power", CUBE)}
    bench.say(ended(CUBE, 2), 13 * HEARTBEAT_US)
    bench.run(16 * HEARTBEAT_US)
    assert open_requests(bench) == set()
    state = bench.state("cubes")
    assert (state.hosts, state.cube_faults, state.outages) == ({}, {}, {})
