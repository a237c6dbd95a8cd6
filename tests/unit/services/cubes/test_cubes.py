"""The monitoring of cubes: when faults show, verdicts, drains and requests for repair, against brute
force."""

from collections import Counter
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.body import Body
from schemas.config.cubes import CubesConfig
from schemas.config.pods import PodConfig, SuperpodConfig
from schemas.messages.cubes import (
    CubeDrained,
    CubeHealthy,
    CubeUndrained,
    CubeUnhealthy,
    DrainRefused,
    HostDown,
    HostUp,
    RepairRequested,
    RepairWithdrawn,
)
from schemas.messages.failures import FaultBegan, FaultEnded
from schemas.messages.operator import DrainCube, UndrainCube
from schemas.messages.transceivers import ModuleReported
from schemas.names import FaultKind
from services.cubes.heartbeat_times import next_heartbeat_us
from services.cubes.service import SERVICE
from shared.basics.units import US_PER_S
from shared.models.superpod.cables import cable_hosts
from shared.models.superpod.wiring import link_end
from tests.support.rig import Bench, bodies

HEARTBEAT_US = 30 * US_PER_S
CUBES = 4
HOST = "pod-0/cube-2/host-3"
NUMBER = 2 * 16 + 3
Condition = Literal["ok", "failed"]


def monitored(seed: int = 0) -> Bench:
    return Bench([SERVICE], SuperpodConfig(seed=seed, pod=PodConfig(cubes=CUBES)))


def kind_of(target: str) -> FaultKind:
    """The kind of fault that this part can have; for whole cubes, a power fault."""
    part_kind = target.rpartition("/")[2].partition("-")[0]
    kinds: dict[str, FaultKind] = {"chip": "chip", "host": "host", "cable": "cable", "cube": "cube-power"}
    return kinds[part_kind]


def began(target: str, number: int = 0, kind: FaultKind | None = None) -> FaultBegan:
    return FaultBegan(
        fault=f"pod-0/fault-{number}",
        kind=kind or kind_of(target),
        target=target,
        injected=True,
        severity=None,
        expires_us=None,
    )


def ended(target: str, number: int = 0, kind: FaultKind | None = None) -> FaultEnded:
    fault = f"pod-0/fault-{number}"
    return FaultEnded(fault=fault, kind=kind or kind_of(target), target=target, how="cleared")


def test_a_host_fault_and_its_end_show_at_the_next_heartbeat() -> None:
    bench = monitored()
    assert bench.say(began(HOST), US_PER_S) == []
    fault = bench.log[-1]
    seen_us = bench.due_us()
    assert seen_us is not None
    assert US_PER_S < seen_us <= US_PER_S + HEARTBEAT_US
    emitted = bench.step()
    assert bodies(emitted) == [
        HostDown(cube=2, host=3, reason="host"),
        CubeUnhealthy(cube=2, reasons=(HOST,)),
    ]
    assert {message.cause for message in emitted} == {fault.id}
    reports = [next_heartbeat_us(bench.state("cubes"), n) for n in range(32, 48) if n != NUMBER]
    assert bench.due_us() == min(reports), "when the next host of the cube reports"
    emitted = bench.step()
    assert bodies(emitted) == [RepairRequested(kind="host", target=HOST)]
    assert {message.cause for message in emitted} == {fault.id}
    assert bench.due_us() is None
    document = bench.documents["cubes", "pod-0/cube-2"]
    assert (document.health, document.reasons, document.changed_us) == ("unhealthy", (HOST,), seen_us)
    assert [(h.host, h.reason) for h in document.hosts if h.state == "down"] == [(3, "host")]

    bench.say(ended(HOST), min(reports))
    end = bench.log[-1]
    assert bench.due_us() == seen_us + HEARTBEAT_US
    emitted = bench.step()
    assert bodies(emitted) == [HostUp(cube=2, host=3), CubeHealthy(cube=2), RepairWithdrawn(target=HOST)]
    assert {message.cause for message in emitted} == {end.id}
    assert bench.state("cubes").hosts == {}
    assert bench.state("cubes").repairs_open == {}
    bench.assert_documents_hold()


def test_a_fault_at_the_time_of_a_heartbeat_shows_at_the_next_one() -> None:
    bench = monitored()
    first_us = next_heartbeat_us(bench.state("cubes"), NUMBER)
    bench.say(began(HOST), first_us)
    assert bench.due_us() == first_us + HEARTBEAT_US


def test_heartbeats_of_different_hosts_are_spread_over_the_interval() -> None:
    state = monitored().state("cubes")
    times = [next_heartbeat_us(state, number) for number in range(CUBES * 16)]
    assert all(0 < time <= HEARTBEAT_US for time in times)
    quarters = Counter(4 * (time - 1) // HEARTBEAT_US for time in times)
    assert all(quarters[quarter] >= 5 for quarter in range(4))


def test_a_fault_that_ends_before_the_heartbeat_never_shows() -> None:
    bench = monitored()
    bench.say(began(HOST), 1)
    bench.say(ended(HOST), 2)
    bench.run(10 * HEARTBEAT_US)
    assert [m.type for m in bench.log if m.source == "cubes@pod-0"] == []
    assert bench.state("cubes").hosts == {}


def test_a_host_is_healthy_again_when_its_last_fault_has_ended() -> None:
    bench = monitored()
    bench.say(began(HOST, 0), 1)
    bench.say(began(HOST, 1), 2)
    bench.run(HEARTBEAT_US)
    bench.say(ended(HOST, 0), 2 * HEARTBEAT_US)
    bench.run(4 * HEARTBEAT_US)
    assert bodies(bench.log, HostUp) == []
    bench.say(ended(HOST, 1), 5 * HEARTBEAT_US)
    bench.run(7 * HEARTBEAT_US)
    assert bodies(bench.log, HostUp) == [HostUp(cube=2, host=3)]
    assert len(bodies(bench.log, RepairRequested)) == 1


def test_a_part_that_fails_again_between_two_heartbeats_is_requested_again() -> None:
    """Its repair may just have completed. Without a second request, it would stay broken for ever."""
    bench = monitored()
    bench.say(began(HOST, 0), 1)
    bench.run(HEARTBEAT_US)
    bench.say(ended(HOST, 0), 2 * HEARTBEAT_US)
    bench.say(began(HOST, 1), 2 * HEARTBEAT_US + 1)
    second_fault = bench.log[-1]
    (emitted,) = bench.step()
    assert emitted.body == RepairRequested(kind="host", target=HOST)
    assert emitted.cause == second_fault.id


def test_a_dead_chip_is_reported_by_its_host_and_repaired_by_its_own_name() -> None:
    bench = monitored()
    chip = f"{HOST}/chip-1"
    bench.say(began(chip), 1)
    assert bodies(bench.step()) == [
        HostDown(cube=2, host=3, reason="chip"),
        CubeUnhealthy(cube=2, reasons=(chip,)),
        RepairRequested(kind="chip", target=chip),
    ]
    bench.say(began(f"{HOST}/chip-3", 1))
    assert bodies(bench.step()) == [RepairRequested(kind="chip", target=f"{HOST}/chip-3")]
    assert bench.documents["cubes", "pod-0/cube-2"].reasons == (chip, f"{HOST}/chip-3")
    bench.assert_documents_hold()


def test_a_silent_host_reports_nothing_of_its_chips() -> None:
    bench = monitored()
    chip = f"{HOST}/chip-0"
    bench.say(began(HOST, 0), 1)
    bench.say(began(chip, 1), 2)
    assert [type(body) for body in bodies(bench.step())] == [HostDown, CubeUnhealthy]
    assert bodies(bench.step()) == [RepairRequested(kind="host", target=HOST)]
    assert bench.documents["cubes", "pod-0/cube-2"].reasons == (HOST,)
    bench.say(ended(HOST, 0))
    assert bodies(bench.step()) == [
        HostDown(cube=2, host=3, reason="chip"),
        RepairWithdrawn(target=HOST),
        RepairRequested(kind="chip", target=chip),
    ]
    bench.say(ended(chip, 1))
    assert bodies(bench.step()) == [HostUp(cube=2, host=3), CubeHealthy(cube=2), RepairWithdrawn(target=chip)]


def test_a_dead_module_is_reported_at_once_and_makes_its_cube_unhealthy() -> None:
    bench = monitored()
    end = link_end(1 * 96 + 2 * 16 + 7)
    name = end.name("pod-0")

    def report(condition: Condition) -> list[Body]:
        return bodies(bench.say(ModuleReported(end=end.number, condition=condition), bench.now_us + 1))

    assert report("failed") == [
        CubeUnhealthy(cube=1, reasons=(name,)),
        RepairRequested(kind="link", target=name),
    ]
    assert report("failed") == []
    assert report("ok") == [CubeHealthy(cube=1), RepairWithdrawn(target=name)]
    assert report("failed") == [
        CubeUnhealthy(cube=1, reasons=(name,)),
        RepairRequested(kind="link", target=name),
    ]
    assert bench.documents["cubes", "pod-0/cube-1"].reasons == (name,)
    assert report("ok") == [CubeHealthy(cube=1), RepairWithdrawn(target=name)]
    assert bench.state("cubes").modules == {}
    bench.assert_documents_hold()


def test_drain_and_undrain_do_not_change_the_health() -> None:
    bench = monitored()
    assert bodies(bench.say(DrainCube(cube="pod-0/cube-3"), 1)) == [CubeDrained(cube=3)]
    document = bench.documents["cubes", "pod-0/cube-3"]
    assert (document.health, document.drained, document.changed_us) == ("healthy", True, 1)
    summary = bench.documents["summaries", "pod-0/cubes"]
    assert (summary.healthy, summary.drained) == (CUBES, 1)
    assert bodies(bench.say(UndrainCube(cube="pod-0/cube-3"), 2)) == [CubeUndrained(cube=3)]
    assert not bench.documents["cubes", "pod-0/cube-3"].drained
    bench.assert_documents_hold()


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (DrainCube(cube="pod-0/cube-4"), ["cube 4 does not exist", "between 0 and 3"]),
        (UndrainCube(cube="pod-0/cube-99999999999"), ["does not exist", "between 0 and 3"]),
        (DrainCube(cube="pod-7/cube-1"), ["pod-7/cube-1", "must be a cube of pod-0"]),
        (DrainCube(cube="pod-0/cube-0", from_us=5), ["is drained already, without an end"]),
        (UndrainCube(cube="pod-0/cube-1"), ["is not drained"]),
    ],
)
def test_a_drain_that_changes_nothing_is_refused_with_its_reason(
    body: DrainCube | UndrainCube, words: list[str]
) -> None:
    bench = monitored()
    bench.say(DrainCube(cube="pod-0/cube-0"), 1)
    (refused,) = bodies(bench.say(body, 2))
    assert isinstance(refused, DrainRefused)
    assert refused.target == body.cube
    for part in [body.cube, *words]:
        assert part in refused.reason


def test_healthy_cube_time_is_the_integral_of_healthy_cubes() -> None:
    bench = monitored()
    report = ModuleReported(end=0, condition="failed")
    bench.say(report, 1_000)
    bench.say(ModuleReported(end=100, condition="failed"), 3_000)
    bench.say(ModuleReported(end=0, condition="ok"), 10_000)
    summary = bench.documents["summaries", "pod-0/cubes"]
    assert summary.at_us == 10_000
    assert summary.healthy_cube_us == CUBES * 1_000 + (CUBES - 1) * 2_000 + (CUBES - 2) * 7_000
    assert summary.healthy == CUBES - 1


PARTS = [
    "pod-0/cube-0/host-0",
    "pod-0/cube-0/host-0/chip-0",
    "pod-0/cube-0/host-0/chip-3",
    "pod-0/cube-0/host-9",
    "pod-0/cube-0/cable-0",
    "pod-0/cube-0/cable-77",
    "pod-0/cube-0",
    "pod-0/cube-1/host-15/chip-2",
]
ENDS = [0, 95, 96, 200]
Step = (
    tuple[Literal["fault"], str]
    | tuple[Literal["end"], int]
    | tuple[Literal["module"], tuple[int, Condition]]
    | tuple[Literal["wait"], int]
    | tuple[Literal["reload"], None]
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("fault"), st.sampled_from(PARTS)),
        st.tuples(st.just("end"), st.integers(0, 40)),
        st.tuples(
            st.just("module"),
            st.tuples(st.sampled_from(ENDS), st.sampled_from(["ok", "failed"])),
        ),
        st.tuples(st.just("wait"), st.integers(1, 2 * HEARTBEAT_US)),
        st.tuples(st.just("reload"), st.none()),
    ),
    max_size=60,
)


@settings(max_examples=150, deadline=None)
@given(STEPS, st.integers(0, 99), st.integers(1, 90))
def test_verdicts_match_brute_force_after_all_heartbeats(
    steps: list[Step], seed: int, heartbeat_s: int
) -> None:
    config = SuperpodConfig(seed=seed, pod=PodConfig(cubes=CUBES), cubes=CubesConfig(heartbeat_s=heartbeat_s))
    bench = Bench([SERVICE], config)
    active: list[tuple[int, str]] = []
    faults = 0
    modules: dict[int, Condition] = {}
    wait_us = 1
    for step in steps:
        at_us = bench.now_us + wait_us
        wait_us = 1
        match step:
            case "wait", long_us:
                wait_us = long_us
            case "fault", target:
                bench.say(began(target, faults), at_us)
                active.append((faults, target))
                faults += 1
            case "end", place if active:
                number, target = active.pop(place % len(active))
                bench.say(ended(target, number), at_us)
            case "module", (end, condition):
                modules[end] = condition
                bench.say(ModuleReported(end=end, condition=condition), at_us)
            case "reload", _:
                bench.reload()
    bench.run(bench.now_us + 2 * heartbeat_s * US_PER_S)
    assert bench.due_us() is None

    broken = {target for _, target in active}
    dark = broken & {"pod-0/cube-0"}
    silent = {part for part in broken if "/host-" in part and "/chip-" not in part}
    dead = {part for part in broken if "/chip-" in part}
    visible = {chip for chip in dead if chip.rpartition("/")[0] not in silent}
    cut = {part for part in broken if "/cable-" in part}
    visible |= {cable for cable in cut if not all(host in silent for host in hosts_at(cable))}
    if dark:
        visible = {part for part in visible if not part.startswith("pod-0/cube-0/")}
        silent -= {part for part in silent if part.startswith("pod-0/cube-0/")}
    failed = {link_end(end).name("pod-0") for end, condition in modules.items() if condition == "failed"}
    for cube in range(CUBES):
        document = bench.documents["cubes", f"pod-0/cube-{cube}"]
        name = f"pod-0/cube-{cube}"
        at_fault = {p for p in dark | silent | visible | failed if p == name or p.startswith(f"{name}/")}
        assert set(document.reasons) == at_fault
        assert document.health == ("unhealthy" if at_fault else "healthy")
    assert_broken_parts_are_requested(bench, broken, dark, modules)
    assert_verdicts_and_integral(bench)
    bench.assert_documents_hold()


def hosts_at(cable: str) -> list[str]:
    """The names of the hosts at both ends of a cable."""
    cube, _, number = cable.rpartition("/cable-")
    return [f"{cube}/host-{host}" for host in cable_hosts(int(number))]


def assert_broken_parts_are_requested(
    bench: Bench, broken: set[str], dark: set[str], modules: dict[int, Condition]
) -> None:
    """The parts requested and not withdrawn are the visibly broken ones. Parts behind a silent host, and all
    parts of a cube without power, may have been requested before, or not yet."""
    requested: set[str] = set()
    for body in bodies(bench.log):
        if isinstance(body, RepairRequested):
            requested.add(body.target)
        elif isinstance(body, RepairWithdrawn):
            requested.remove(body.target)
    silent = {part for part in broken if "/host-" in part and "/chip-" not in part}
    ends = {link_end(end).name("pod-0") for end, condition in modules.items() if condition != "ok"}
    unsure = {p for p in PARTS if "/chip-" in p and p.rpartition("/")[0] in silent}
    unsure |= {p for p in PARTS if "/cable-" in p and not silent.isdisjoint(hosts_at(p))}
    unsure |= {p for p in PARTS if dark and p.startswith("pod-0/cube-0/")}
    assert requested - unsure == (broken | ends) - unsure


def assert_verdicts_and_integral(bench: Bench) -> None:
    """Verdicts alternate, and the integral of the summary is that of the verdicts on the log."""
    unhealthy: set[int] = set()
    healthy_cube_us = since_us = 0
    for message in bench.log:
        if isinstance(message.body, CubeUnhealthy | CubeHealthy):
            healthy_cube_us += (CUBES - len(unhealthy)) * (message.at_us - since_us)
            since_us = message.at_us
            if isinstance(message.body, CubeUnhealthy):
                assert message.body.reasons
                assert message.body.cube not in unhealthy
                unhealthy.add(message.body.cube)
            else:
                unhealthy.remove(message.body.cube)
    summary = bench.documents["summaries", "pod-0/cubes"]
    assert (summary.at_us, summary.healthy_cube_us) == (since_us, healthy_cube_us)
    assert summary.healthy == CUBES - len(unhealthy)
    down = sum(
        h.state == "down" for c in range(CUBES) for h in bench.documents["cubes", f"pod-0/cube-{c}"].hosts
    )
    assert summary.hosts_down == down
