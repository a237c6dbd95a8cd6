"""Manual cross-connects of operators."""

from typing import Any

import numpy as np
import pytest

from ops.invariants.circuits import CircuitChecker, PatchChecker
from schemas.body import Body
from schemas.config.pods import PodOcsConfig
from schemas.messages.ocs import (
    CircuitsConnected,
    CircuitsParked,
    CrossConnectsDropped,
    CrossConnectsMade,
    CrossConnectsRefused,
    CrossConnectsRemoved,
    CrossConnectsTaken,
    LinkTestRefused,
    OcsDown,
)
from schemas.messages.operator import CreateCrossConnects, RemoveCrossConnects, RestartOcs, TestLink
from schemas.messages.repairs import PatchPort
from schemas.messages.scheduler import ConnectCircuits, DisconnectCircuits, LeaveCircuits
from schemas.names import Join
from services.ocs.service import SERVICE
from shared.basics.units import US_PER_S
from tests.support.ocs_model import CONFIG, SWITCHING_US, fault_began, fault_ended
from tests.support.rig import Bench, bodies

OCS = "pod-0/ocs-17"
JOIN: Join = (1, 2, 3)
"""N4 to S7 and N7 to S4 of the OCS."""
HELD = "it is held: without its controller it executes no commands"


def bench_with(**answer: Any) -> Bench:
    answer = {"switching_time_ms": SWITCHING_US / 1_000} | answer
    return Bench([SERVICE], CONFIG.model_copy(update={"ocs": PodOcsConfig.model_validate(answer)}))


def create(*keys: str, mode: Any = "stop-on-error", ocs: str = OCS) -> CreateCrossConnects:
    return CreateCrossConnects(ocs=ocs, cross_connects=keys, error_mode=mode)


def remove(*keys: str, mode: Any = "stop-on-error") -> RemoveCrossConnects:
    return RemoveCrossConnects(ocs=OCS, cross_connects=keys, error_mode=mode)


def taken(*circuits: tuple[int, int], **more: Any) -> CrossConnectsTaken:
    answer = {"ocs": 17, "circuits": circuits, "refused": (), "not_tried": ()}
    return CrossConnectsTaken.model_validate(answer | more)


def removed(*circuits: tuple[int, int], **more: Any) -> CrossConnectsRemoved:
    return CrossConnectsRemoved.model_validate(dict(taken(*circuits, **more)))


def made(*circuits: tuple[int, int]) -> CrossConnectsMade:
    return CrossConnectsMade(ocs=17, circuits=circuits)


def refused(reason: str) -> list[Body]:
    return [CrossConnectsRefused(ocs=OCS, reason=reason)]


def connect(*joins: Join) -> ConnectCircuits:
    return ConnectCircuits(slice="pod-0/slice-0", joins=joins)


def later(bench: Bench, wait_us: int = US_PER_S) -> list[Body]:
    return bodies([message for message in bench.run(bench.now_us + wait_us) if message.type != "Tick"])


def clean(bench: Bench) -> bool:
    """Whether no invariant is violated and everything is as before the first circuit."""
    checkers = CircuitChecker(), PatchChecker()
    problems = [problem for message in bench.log for checker in checkers for problem in checker.see(message)]
    return problems == []


def document(bench: Bench) -> Any:
    return bench.documents["ocs", OCS]


def test_it_is_made_after_a_switching_time_shown_and_removed_at_once() -> None:
    bench = bench_with()
    request = bench.say(create("1A-5B", "2A-6B"))
    assert bodies(request) == [taken((0, 4), (1, 5))]
    assert later(bench, SWITCHING_US - 1) == []
    bench.reload()
    assert later(bench, SWITCHING_US) == [made((0, 4), (1, 5))]
    shown = document(bench)
    assert [row.north for row in shown.manual_circuits] == [0, 1]
    assert {row.request for row in shown.manual_circuits} == {bench.log[-1].cause}
    assert (shown.circuits_wanted, shown.circuits_made, max(shown.slices)) == (2, 2, -1)
    assert min(shown.slices) == -1
    assert bodies(bench.say(remove("1A-5B"))) == [removed((0, 4))]
    assert [row.north for row in document(bench).manual_circuits] == [1]
    assert document(bench).circuits_made == 1
    assert bodies(bench.say(create("1A-7B"))) == [taken((0, 6))]
    assert later(bench) == [made((0, 6))]
    assert bench.due_us() is None
    assert clean(bench)


def test_a_circuit_removed_while_its_mirrors_turn_is_never_made() -> None:
    bench = bench_with()
    bench.say(create("1A-5B", "2A-6B"))
    bench.say(remove("2A-6B"))
    assert later(bench) == [made((0, 4))]
    bench.say(create("3A-3B"))
    bench.say(remove("3A-3B"))
    assert later(bench) == []
    assert bench.due_us() is None
    assert clean(bench)


@pytest.mark.parametrize(
    ("mode", "circuits", "not_tried"),
    [("stop-on-error", ((0, 4),), ("2A-6B",)), ("ignore-error", ((0, 4), (1, 5)), ())],
)
def test_the_first_error_of_many_stops_or_is_ignored(mode: str, circuits: Any, not_tried: Any) -> None:
    """SAI_BULK_OP_ERROR_MODE_STOP_ON_ERROR and SAI_BULK_OP_ERROR_MODE_IGNORE_ERROR."""
    bench = bench_with()
    errors = (("1A-6B", "1A is taken by manual cross-connect 1A-5B"),)
    emitted = bodies(bench.say(create("1A-5B", "1A-6B", "2A-6B", mode=mode)))
    assert emitted == [taken(*circuits, refused=errors, not_tried=not_tried)]
    bench.say(create("2A-6B"))
    emitted = bodies(bench.say(remove("1A-5B", "1A-6B", "2A-6B", mode=mode)))
    assert emitted == [removed(*circuits, refused=(("1A-6B", "no such cross-connect"),), not_tried=not_tried)]
    assert clean(bench)


def test_a_request_whose_first_error_stops_everything_is_refused() -> None:
    bench = bench_with()
    emitted = bodies(bench.say(create("300A-1B", "1A-5B", "2A-6B")))
    assert emitted == refused("300A-1B: no port 300A; must be 1A to 136A and 1B to 136B; 2 more not tried")
    emitted = bodies(bench.say(remove("1A-5B", "2A-6B", mode="ignore-error")))
    assert emitted == refused("1A-5B: no such cross-connect; 2A-6B: no such cross-connect")
    assert document(bench).circuits_wanted == 0


def test_of_many_refused_ones_a_few_report_their_reasons() -> None:
    bench = bench_with()
    keys = [f"{number}A-{number}B" for number in range(200, 260)]
    (message,) = bodies(bench.say(create(*keys, mode="ignore-error")))
    assert isinstance(message, CrossConnectsRefused)
    assert message.reason.count("no port") == 8
    assert message.reason.endswith("; 52 more refused")


def test_ports_that_slices_use_or_may_use_next_are_taken() -> None:
    bench = bench_with()
    bench.say(connect(JOIN))
    later(bench)
    assert bodies(bench.say(create("5A-5B"))) == refused("5A-5B: 5A is taken by a circuit of pod-0/slice-0")
    assert bodies(bench.say(create("1A-5B"))) == refused("1A-5B: 5B is taken by a circuit of pod-0/slice-0")
    assert bodies(bench.say(remove("5A-8B"))) == refused(
        "5A-8B: it is a circuit of pod-0/slice-0, not a manual cross-connect"
    )
    bench.say(LeaveCircuits(slice="pod-0/slice-0", joins=(JOIN,)))
    assert bodies(bench.say(create("5A-5B"))) == refused(
        "5A-5B: 5A is taken by an unowned circuit that is kept for reuse"
    )
    assert clean(bench)


def test_ports_that_are_down_dead_or_patched_are_refused() -> None:
    bench = bench_with()
    bench.say(fault_began("pod-0/fault-0", "port", f"{OCS}/N4"))
    assert bodies(bench.say(create("5A-5B"))) == refused("5A-5B: 5A is down")
    (patched,) = bodies(bench.say(PatchPort(repair="pod-0/repair-0", ocs=17, side="N", port=4)))
    spare = f"{patched.spare + 1}A"  # type: ignore[attr-defined]  # it is a PortPatched
    assert bodies(bench.say(create("5A-5B"))) == refused(f"5A-5B: 5A is dead: its fibre was moved to {spare}")
    assert bodies(bench.say(create(f"{spare}-5B"))) == refused(
        f"{spare}-5B: {spare} is the spare port that now carries the fibre of N4"
    )


def test_a_patched_fibre_moves_its_cross_connect() -> None:
    bench = bench_with()
    bench.say(create("5A-1B", "9A-2B"))  # 9A is the first spare of a pod of four cubes
    later(bench)
    broken = fault_began("pod-0/fault-0", "port", f"{OCS}/N4")
    bench.say(broken)
    assert document(bench).circuits_made == 1
    (patched,) = bodies(bench.say(PatchPort(repair="pod-0/repair-0", ocs=17, side="N", port=4)))
    assert patched.spare == 9, "a spare that is cross-connected is not free"  # type: ignore[attr-defined]  # it is a PortPatched
    assert later(bench) == [made((4, 0))]
    bench.say(fault_ended(broken))
    assert bodies(bench.say(remove("5A-1B"))) == refused("5A-1B: no such cross-connect")
    assert bodies(bench.say(remove("10A-1B"))) == [removed((4, 0))]
    assert clean(bench)


@pytest.mark.parametrize(
    ("part", "kind", "creating", "removing"),
    [
        ("/cpu", "cpu", HELD, HELD),
        (
            "/camera-N",
            "camera",
            "it is held: without a camera or an injection module it makes no circuits",
            None,
        ),
        ("", "ocs", "it is down", "it is down"),
    ],
)
def test_an_unreachable_ocs_refuses(part: str, kind: Any, creating: str, removing: str | None) -> None:
    bench = bench_with()
    bench.say(create("1A-5B"))
    later(bench)
    fault = fault_began("pod-0/fault-0", kind, f"{OCS}{part}")
    bench.say(fault)
    assert bodies(bench.say(create("2A-6B"))) == refused(creating)
    emitted = bodies(bench.say(remove("1A-5B")))
    assert emitted == (refused(removing) if removing else [removed((0, 4))])
    bench.say(fault_ended(fault))
    later(bench)
    assert clean(bench)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("pod-0/ocs-48", "no such OCS; must be between pod-0/ocs-0 and pod-0/ocs-47"),
        ("pod-1/ocs-1", "not an OCS of superpod pod-0; a name is like pod-0/ocs-17"),
        ("pod-0/cube-1", "not an OCS of superpod pod-0; a name is like pod-0/ocs-17"),
        ("pod-0/ocs-1/cpu", "not an OCS of superpod pod-0; a name is like pod-0/ocs-17"),
    ],
)
def test_a_name_that_is_no_ocs_is_refused(name: str, reason: str) -> None:
    emitted = bodies(bench_with().say(create("1A-5B", ocs=name)))
    assert emitted == [CrossConnectsRefused(ocs=name, reason=reason)]


@pytest.mark.parametrize("key", ["5A-1B", "1A-8B", "5A-8B"])
@pytest.mark.parametrize("wait_us", [0, US_PER_S])
def test_a_slice_that_needs_a_port_gets_it(key: str, wait_us: int) -> None:
    """The last key is exactly the circuit that the slice needs."""
    bench = bench_with()
    bench.say(create("2A-2B", key))
    later(bench, wait_us) if wait_us else None
    emitted = bodies(bench.say(connect(JOIN)))
    north, south = int(key[0]) - 1, int(key[3]) - 1
    assert emitted == [
        CrossConnectsDropped(ocs=17, circuits=((north, south),), reason="pod-0/slice-0 needs their ports")
    ]
    bench.reload()
    connected = [body for body in later(bench) if isinstance(body, CircuitsConnected)]
    assert [(body.missing_ocs, body.missing_ports) for body in connected] == [((), ())]
    assert [row.north for row in document(bench).manual_circuits] == [1]
    assert document(bench).circuits_made == 3
    bench.say(DisconnectCircuits(slice="pod-0/slice-0", joins=(JOIN,)))
    assert document(bench).circuits_made == 1
    assert clean(bench)


def test_a_refused_slice_takes_no_port() -> None:
    bench = bench_with()
    bench.say(connect(JOIN))
    bench.say(create("1A-1B"))
    bench.say(ConnectCircuits(slice="pod-0/slice-1", joins=((1, 0, 1), JOIN)))
    assert [row.north for row in document(bench).manual_circuits] == [0]


def test_a_removed_circuit_stays_on_the_mirrors_until_the_controller_is_back() -> None:
    bench = bench_with()
    bench.say(create("5A-1B"))
    later(bench)
    cpu = fault_began("pod-0/fault-0", "cpu", f"{OCS}/cpu")
    bench.say(cpu)
    bench.say(connect(JOIN))
    assert document(bench).circuits_stale == 1
    later(bench)
    assert CircuitsParked(ocs=17, circuits=((4, 0),)) in bodies(bench.say(fault_ended(cpu)))
    later(bench)
    assert document(bench).circuits_made == 2
    assert clean(bench)


def test_it_is_lost_with_the_power_of_the_chassis() -> None:
    bench = bench_with()
    bench.say(create("1A-5B", "2A-6B"))
    later(bench)
    power = fault_began("pod-0/fault-0", "ocs", OCS)
    emitted = bodies(bench.say(power))
    assert emitted[1:] == [
        OcsDown(ocs=17),
        CrossConnectsDropped(ocs=17, circuits=((0, 4), (1, 5)), reason="the chassis has no power or cooling"),
    ]
    assert document(bench).manual_circuits == ()
    bench.say(fault_ended(power))
    assert later(bench) == []
    assert not np.any(bench.state("ocs").made)
    assert clean(bench)


@pytest.mark.parametrize("keeps", [True, False])
def test_a_software_restart_treats_it_like_any_circuit(keeps: bool) -> None:
    bench = bench_with(restart_keeps=keeps)
    bench.say(create("1A-5B"))
    later(bench)
    bench.say(RestartOcs(ocs=OCS))
    assert document(bench).circuits_made == int(keeps)
    emitted = later(bench, 60 * US_PER_S)
    assert (made((0, 4)) in emitted) is not keeps
    assert document(bench).circuits_made == 1
    assert clean(bench)


def test_a_failed_board_darkens_it_until_the_board_is_swapped() -> None:
    bench = bench_with()
    bench.say(create("1A-5B"))
    later(bench)
    boards = [fault_began(f"pod-0/fault-{n}", "driver", f"{OCS}/driver-{n}") for n in range(4)]
    for fault in boards:
        bench.say(fault)
    assert (document(bench).circuits_made, len(document(bench).manual_circuits)) == (0, 1)
    for fault in boards:
        bench.say(fault_ended(fault))
    assert later(bench) == [made((0, 4))]
    assert clean(bench)


def test_a_link_end_whose_port_it_uses_is_not_tested() -> None:
    bench = bench_with()
    bench.say(create("1A-5B"))
    (message,) = bodies(bench.say(TestLink(end="pod-0/cube-0/+y/1")))
    assert isinstance(message, LinkTestRefused)
    assert message.reason == (
        "in use: the circuit at N0 of pod-0/ocs-17 is a manual cross-connect; "
        "must be an end without a circuit: drain the cube or release the slice"
    )


def test_a_robot_makes_one_after_another() -> None:
    bench = bench_with(technology="robotic", switching_time_ms=None)
    bench.say(create("1A-5B", "2A-6B"))
    assert later(bench, 119 * US_PER_S) == []
    assert later(bench, 120 * US_PER_S) == [made((0, 4), (1, 5))]
