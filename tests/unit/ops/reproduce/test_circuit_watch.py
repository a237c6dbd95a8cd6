"""Circuits of slices, watched in the state of the OCSes."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import cast

import pytest

from ops.reproduce import lab_runs
from ops.reproduce.circuit_watch import CircuitWatch
from schemas.body import Body
from schemas.config.pods import SuperpodConfig
from schemas.envelope import Envelope, enclose
from schemas.messages.ocs import OcsDown, PortDown, PortsDown
from schemas.messages.scheduler import ConnectCircuits, DisconnectCircuits, LeaveCircuits
from schemas.names import Join
from services.ocs.state import NO_OWNER, OcsState, commission
from shared.engine.site import Site
from shared.models.network.wiring import NO_PORT
from shared.models.superpod.wiring import join_ports

MINE, OTHERS = ((0, 1, 2),), ((0, 3, 4),)
PER_JOIN = 32


def watched() -> tuple[CircuitWatch, OcsState]:
    """Return OCSes with one link bundle of slice-1 and one of slice-2."""
    state = commission("pod-0", SuperpodConfig(), 0)
    for joins, owner in ((MINE, 1), (OTHERS, 2)):
        ocs, north, south = join_ports(joins)
        state.made[ocs, north] = True
        state.wanted[ocs, north] = south
        state.owner[ocs, north] = owner
    instance = SimpleNamespace(fabric="pod-0", name="ocs", state=state)
    watch = CircuitWatch("pod-0")
    watch.attach(cast("Site", SimpleNamespace(instances=[instance], instance=lambda *_: instance)))
    return watch, state


def cascade(*bodies: Body) -> Sequence[Envelope]:
    return [
        enclose(body, fabric="pod-0", at_us=0, cause=None, source=f"{body.writer}@pod-0", seq=n)
        for n, body in enumerate(bodies)
    ]


def cut(state: OcsState, joins: tuple[Join, ...]) -> None:
    ocs, north, _ = join_ports(joins)
    state.made[ocs, north] = False
    state.wanted[ocs, north] = NO_PORT
    state.owner[ocs, north] = NO_OWNER


@pytest.mark.parametrize("command", [ConnectCircuits, DisconnectCircuits])
def test_a_circuit_removed_by_a_command_for_another_slice_is_cut(
    command: type[ConnectCircuits | DisconnectCircuits],
) -> None:
    watch, state = watched()
    cut(state, OTHERS)
    watch.see(cascade(command(slice="pod-0/slice-1", joins=MINE)))
    assert watch.cut == {"pod-0/slice-2": PER_JOIN}


def test_a_command_that_names_circuits_of_another_slice_does_not_explain_their_loss() -> None:
    watch, state = watched()
    cut(state, OTHERS)
    watch.see(cascade(DisconnectCircuits(slice="pod-0/slice-1", joins=OTHERS)))
    assert watch.cut == {"pod-0/slice-2": PER_JOIN}


def test_a_circuit_moved_to_another_port_is_cut_and_a_new_one_is_counted() -> None:
    watch, state = watched()
    ocs, north, south = (ports[:1] for ports in join_ports(OTHERS))
    state.wanted[ocs, north] = south + 1
    watch.see(cascade())
    assert watch.cut == {"pod-0/slice-2": 1}
    ocs, north, south = join_ports(((1, 5, 6),))
    state.made[ocs, north], state.wanted[ocs, north], state.owner[ocs, north] = True, south, 3
    watch.see(cascade())
    assert (watch.made, sum(watch.cut.values())) == (PER_JOIN, 1)


@pytest.mark.parametrize("command", [LeaveCircuits, DisconnectCircuits])
def test_a_slice_may_give_up_its_own_circuits(command: type[LeaveCircuits | DisconnectCircuits]) -> None:
    watch, state = watched()
    cut(state, OTHERS)
    watch.see(cascade(command(slice="pod-0/slice-2", joins=OTHERS)))
    assert watch.cut == {}


def test_a_circuit_without_an_owner_may_be_removed() -> None:
    watch, state = watched()
    ocs, north, _ = join_ports(OTHERS)
    state.owner[ocs, north] = NO_OWNER
    watch.see(cascade(LeaveCircuits(slice="pod-0/slice-2", joins=OTHERS)))
    cut(state, OTHERS)
    watch.see(cascade(DisconnectCircuits(slice="pod-0/slice-1", joins=OTHERS)))
    assert watch.cut == {}


def test_faults_explain_what_they_darken_and_nothing_else() -> None:
    ocs, north, south = (int(ports[0]) for ports in join_ports(OTHERS))
    part = f"pod-0/ocs-{ocs}/driver-0"
    for body in (
        OcsDown(ocs=ocs),
        PortDown(ocs=ocs, side="N", port=north),
        PortDown(ocs=ocs, side="S", port=south),
        PortsDown(part=part, ocs=ocs, side="N", ports=(north,)),
        PortsDown(part=part, ocs=ocs, side="S", ports=(south,)),
    ):
        watch, state = watched()
        state.made[ocs, north] = False
        watch.see(cascade(body))
        assert watch.cut == {}, body
        state.made[ocs + 1, north] = False
        watch.see(cascade(body))
        assert watch.cut == {"pod-0/slice-2": 1}, body


def test_faults_of_a_lab_run_are_no_cuts_and_runs_without_ocses_are_not_watched() -> None:
    often = (lab_runs.NO_TELEMETRY, "failures.ocs_per_day=0.5", "failures.host_per_day=0.02")
    run = lab_runs.lab_run(lab_runs.ClaimRunPlan(1.0, 3, often))
    assert {"OcsDown", "PortsDown", "CubeSwapped"} <= {message.type for message in run.messages}
    assert (dict(run.cut), run.circuits_made > 1_000) == ({}, True)
    bare = lab_runs.lab_run(lab_runs.ClaimRunPlan(0.1, 3, services=("cubes", "failures", "repairs")))
    assert (dict(bare.cut), bare.circuits_made) == ({}, 0)
