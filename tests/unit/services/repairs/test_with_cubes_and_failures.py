"""The life cycle of host faults: a fault begins, shows, is repaired, ends, and is seen to have ended."""

import random

import pytest

from schemas.config.cubes import CubesConfig
from schemas.config.failures import FailuresConfig
from schemas.config.pods import PodConfig, StaticPodConfig, SuperpodConfig
from schemas.config.repairs import RepairsConfig
from schemas.messages.cubes import CubeHealthy, CubeUnhealthy, RepairRequested, RepairWithdrawn
from schemas.messages.failures import FaultBegan, FaultEnded
from schemas.messages.operator import InjectFault
from schemas.messages.repairs import RepairCompleted, RepairOpened
from schemas.names import FaultKind
from services.cubes.service import SERVICE as CUBES
from services.failures.service import SERVICE as FAILURES
from services.repairs.service import SERVICE as REPAIRS
from shared.basics.units import US_PER_DAY, US_PER_HOUR, US_PER_S
from shared.engine.service import AnyService
from tests.support.rig import Bench, bodies

SERVICES: list[AnyService] = [CUBES, FAILURES, REPAIRS]


def config(seed: int, failures: FailuresConfig, heartbeat_s: int = 30) -> SuperpodConfig:
    """Of all natural faults, only those of hosts are left."""
    return SuperpodConfig(
        seed=seed,
        pod=PodConfig(cubes=8),
        failures=failures.model_copy(update={"link_per_day": 0.0, "ocs_per_day": 0.0}),
        repairs=RepairsConfig(host_repair_h=1.0),
        cubes=CubesConfig(heartbeat_s=heartbeat_s),
    )


def test_the_chain_of_causes_goes_from_the_healthy_cube_to_the_injection() -> None:
    bench = Bench(SERVICES, config(1, FailuresConfig(enabled=False)))
    bench.say(InjectFault(kind="host", target="pod-0/cube-1/host-1"), 5)
    bench.run(30 * US_PER_DAY)
    by_id = {message.id: message for message in bench.log}
    message = next(m for m in bench.log if isinstance(m.body, CubeHealthy))
    chain = [message.type]
    while message.cause is not None:
        message = by_id[message.cause]
        chain.append(message.type)
    assert chain == [
        "CubeHealthy",
        "FaultEnded",
        "RepairCompleted",
        "RepairRequested",
        "FaultBegan",
        "InjectFault",
    ]


@pytest.mark.parametrize(
    ("kind", "target"),
    [
        ("cable", "pod-0/cube-1/cable-77"),
        ("cube-power", "pod-0/cube-1"),
        ("cooling", "pod-0/cube-1"),
    ],
)
@pytest.mark.parametrize("pod", [SuperpodConfig, StaticPodConfig])
def test_a_fault_in_a_cube_is_detected_requested_and_repaired(
    kind: FaultKind, target: str, pod: type[SuperpodConfig | StaticPodConfig]
) -> None:
    bench = Bench(SERVICES, pod.model_validate({"seed": 3, "failures": {"enabled": False}}))
    bench.say(InjectFault(kind=kind, target=target), 5)
    bench.run(30 * US_PER_DAY)
    (request,) = [body for body in bodies(bench.log, RepairRequested) if body.target == target]
    assert request.kind == kind
    (opened,) = [body for body in bodies(bench.log, RepairOpened) if body.target == target]
    assert opened.kind == kind
    (done,) = bodies(bench.log, RepairCompleted)
    assert done.target == target, "a technician comes for nothing else"
    assert bench.due_us() is None
    document = bench.documents["cubes", "pod-0/cube-1"]
    assert (document.health, document.powered, document.throttled) == ("healthy", True, False)
    assert bench.state("failures").active == {}
    assert bench.state("cubes").repairs_open == {}
    assert bench.state("repairs").open_targets == {}


@pytest.mark.parametrize("seed", range(4))
def test_every_fault_injected_into_a_cube_is_repaired_in_the_end(seed: int) -> None:
    """Power, cooling, cables, hosts and chips of the same cube; some of the faults end by themselves."""
    draw = random.Random(seed)
    settings = config(seed, FailuresConfig(enabled=False), heartbeat_s=draw.choice([30, 1_800]))
    bench = Bench(SERVICES, settings)
    for _ in range(60):
        kind: FaultKind = draw.choice(["cable", "cube-power", "cooling", "host", "chip"])
        inner = {"cable": f"/cable-{draw.randrange(3)}", "host": f"/host-{draw.randrange(16)}"}
        inner["chip"] = f"/host-{draw.randrange(2)}/chip-{draw.randrange(2)}"
        expiry = draw.choice([None, US_PER_S, 600 * US_PER_S, 5 * US_PER_HOUR])
        at_us = bench.now_us + draw.choice([1, US_PER_S, 600 * US_PER_S, 7 * US_PER_HOUR])
        target = f"pod-0/cube-1{inner.get(kind, '')}"
        bench.say(InjectFault(kind=kind, target=target, duration_us=expiry), at_us)
        bench.reload()
    bench.run(bench.now_us + 400 * US_PER_DAY)
    assert bench.due_us() is None
    assert bench.state("failures").active == {}
    assert bench.documents["summaries", "pod-0/cubes"].healthy == 8
    assert bench.state("cubes").hosts == {}
    assert bench.state("cubes").repairs_open == {}
    assert bench.state("repairs").open_targets == {}
    bench.assert_documents_hold()


@pytest.mark.parametrize("seed", range(6))
def test_when_faults_stop_every_host_is_repaired(seed: int) -> None:
    """Rates so high and heartbeats so rare that technicians are short and hosts fail again before they are
    seen."""
    bench = Bench(
        SERVICES, config(seed, FailuresConfig(host_per_day=3.0, until_days=4), heartbeat_s=6 * 3600)
    )
    while bench.now_us < 4 * US_PER_DAY:
        bench.run(bench.now_us + 6 * US_PER_HOUR)
        bench.reload()
    bench.run(400 * US_PER_DAY)
    assert bench.due_us() is None
    assert bench.state("failures").active == {}
    assert bench.documents["summaries", "pod-0/cubes"].healthy == 8
    repairs = bench.documents["summaries", "pod-0/repairs"]
    assert (repairs.queued, repairs.begun) == (0, 0)
    withdrawn = len(bodies(bench.log, RepairWithdrawn))
    assert len(bodies(bench.log, RepairRequested)) > withdrawn, "no host broke again undetected"
    assert repairs.completed == len(bodies(bench.log, RepairCompleted)) > 100
    assert len(bodies(bench.log, FaultBegan)) == len(bodies(bench.log, FaultEnded))
    assert len(bodies(bench.log, CubeUnhealthy)) == len(bodies(bench.log, CubeHealthy)) >= 8
    bench.assert_documents_hold()


def test_a_host_that_breaks_right_after_its_repair_is_repaired_again() -> None:
    """It fails between the end of the repair and the next heartbeat, so no heartbeat saw it working."""
    bench = Bench(SERVICES, config(2, FailuresConfig(enabled=False)))
    target = "pod-0/cube-1/host-1"
    bench.say(InjectFault(kind="host", target=target), 5)
    while not bodies(bench.log, RepairCompleted):
        bench.step()
    heartbeat_us = bench.due_us()
    assert heartbeat_us is not None
    assert heartbeat_us - bench.now_us > 1
    bench.say(InjectFault(kind="host", target=target), bench.now_us + 1)
    bench.run(bench.now_us + 60 * US_PER_S)
    assert len(bodies(bench.log, RepairRequested)) == len(bodies(bench.log, RepairOpened)) == 2
    assert bodies(bench.log, CubeHealthy) == []
    bench.run(30 * US_PER_DAY)
    assert len(bodies(bench.log, CubeHealthy)) == 1
    assert bench.state("failures").active == {}


def test_a_reloaded_state_continues_exactly_as_the_original() -> None:
    logs = []
    for reloads in (0, 40):
        bench = Bench(SERVICES, config(9, FailuresConfig(host_per_day=2.0)))
        for n in range(40):
            bench.run(n * 2 * US_PER_HOUR)
            if reloads:
                bench.reload()
        logs.append(bench.log)
    assert logs[0] == logs[1]
    assert len(logs[0]) > 1000
