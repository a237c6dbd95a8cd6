"""The OCSes against a simple model of their ports, under any sequence of commands and faults."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.body import Body
from schemas.config.pods import SuperpodConfig
from schemas.messages.failures import FaultBegan
from schemas.messages.ocs import (
    CircuitsConnected,
    CircuitsDisconnected,
    CircuitsRefused,
    CircuitsRestored,
    OcsDown,
    PortDown,
    PortsDown,
)
from schemas.messages.scheduler import ConnectCircuits, DisconnectCircuits
from schemas.names import Join, number_of
from services.ocs.service import SERVICE
from shared.engine.service import AnyService
from tests.support.ocs_model import (
    COMMANDS,
    CONFIG,
    CUBES,
    ENDS_OF_FAULTS,
    OCS_FAULTS,
    SWITCHING_US,
    WAITS,
    Port,
    PortModel,
    fault_began,
    fault_ended,
)
from tests.support.rig import Bench, bodies


class Follower:
    """The circuits that a reader of the log alone considers made: North port → South port."""

    def __init__(self) -> None:
        self.made: dict[Port, Port] = {}

    def read(self, body: Body) -> None:
        if isinstance(body, CircuitsConnected):
            for north, south in PortModel.circuits(body.joins):
                if north[0] not in body.missing_ocs and (north[0], north[2]) not in body.missing_ports:
                    self.make(north, south)
        elif isinstance(body, CircuitsRestored):
            assert body.circuits
            for n, s in body.circuits:
                self.make((body.ocs, "N", n), (body.ocs, "S", s))
        elif isinstance(body, CircuitsDisconnected):
            for north, _ in PortModel.circuits(body.joins):
                self.made.pop(north, None)
        elif isinstance(body, OcsDown):
            self.made = {n: s for n, s in self.made.items() if n[0] != body.ocs}
        elif isinstance(body, PortDown | PortsDown):
            numbers = body.ports if isinstance(body, PortsDown) else (body.port,)
            lost = {(body.ocs, body.side, number) for number in numbers}
            self.made = {n: s for n, s in self.made.items() if lost.isdisjoint((n, s))}

    def make(self, north: Port, south: Port) -> None:
        assert north not in self.made
        assert south not in self.made.values()
        self.made[north] = south


class Run:
    """The service, the model and a reader side by side."""

    def __init__(self, services: Sequence[AnyService] = (SERVICE,), config: SuperpodConfig = CONFIG) -> None:
        self.bench = Bench(services, config)
        self.model = PortModel()
        self.follower = Follower()
        self.joins: dict[str, list[Join]] = {}
        self.active: list[Any] = []
        self.begun = 0

    def wait(self, wait_us: int) -> None:
        self.model.now_us += wait_us
        self.bench.run(self.model.now_us - 1)

    def say(self, body: Body) -> list[Body]:
        return bodies(self.bench.say(body, self.model.now_us))

    def do(self, act: tuple[Any, Any, Any]) -> None:
        kind, subject, detail = act
        if kind in ("connect", "disconnect"):
            self.command(kind, subject, detail)
        elif kind == "leave":
            joins = tuple(self.joins.get(subject, ())[detail:])
            if joins:
                self.command("disconnect", subject, joins)
        elif kind == "mend":
            if self.active:
                began = self.active.pop(subject % len(self.active))
                self.mend(began)
                self.say(fault_ended(began))
        else:
            self.begun += 1
            began = fault_began(f"pod-0/fault-{self.begun}", kind, subject, detail)
            self.active.append(began)
            self.strike(began)
            self.say(began)

    def strike(self, began: FaultBegan) -> None:
        self.model.begin_fault(began.fault, began.target.removeprefix("pod-0/"))

    def mend(self, began: FaultBegan) -> None:
        self.model.end_fault(began.fault)

    def command(self, kind: str, slice_: str, joins: tuple[Join, ...]) -> None:
        model = self.model
        before = self.bench.state("ocs").wanted.copy(), self.bench.state("ocs").made.copy()
        if kind == "connect":
            allowed = model.may_connect(joins)
            emitted = self.say(ConnectCircuits(slice=slice_, joins=joins))
            refused = bool(bodies_of(emitted, CircuitsRefused))
        else:
            allowed = model.may_disconnect(slice_, joins)
            emitted = self.say(DisconnectCircuits(slice=slice_, joins=joins))
            refused = bool(bodies_of(emitted, CircuitsRefused))
            assert bool(bodies_of(emitted, CircuitsDisconnected)) == allowed
        assert refused != allowed
        if refused:
            assert (self.bench.state("ocs").wanted == before[0]).all()
            assert (self.bench.state("ocs").made == before[1]).all()
            self.check_refusal(bodies_of(emitted, CircuitsRefused)[0], kind, joins)
        elif kind == "connect":
            model.connect(slice_, joins)
            self.joins.setdefault(slice_, []).extend(joins)
        else:
            model.disconnect(joins)
            self.joins[slice_] = [join for join in self.joins[slice_] if join not in joins]

    def check_refusal(self, refused: CircuitsRefused, kind: str, joins: tuple[Join, ...]) -> None:
        """The named port belongs to the command, and is the real obstacle."""
        port = (refused.ocs, refused.port[0], int(refused.port[1:]))
        named = [place for circuit in self.model.circuits(joins) for place in circuit]
        assert port in named
        if kind == "connect":
            assert self.model.is_blocked(port) or named.count(port) > 1
        else:
            far = [s for n, s in self.model.circuits(joins) if n == port]
            own = [self.model.owns(refused.slice, port, south) for south in far]
            assert named.count(port) > 1 or port[2] >= 2 * CUBES or not all(own)

    def check(self) -> None:
        self.bench.run(self.model.now_us)
        made = self.model.all_made()
        for message in self.bench.log:
            self.follower.read(message.body)
        self.bench.log.clear()
        assert self.follower.made == made
        state = self.bench.state("ocs")
        wanted = {p: far for p, (far, _, _) in self.model.wanted.items() if p[1] == "N"}
        for ocs in range(48):
            row = {n: s for (o, _, n), (_, _, s) in wanted.items() if o == ocs}
            assert {n: s for n, s in enumerate(state.wanted[ocs].tolist()) if s >= 0} == row
            assert {n: s for s, n in enumerate(state.wanted_from[ocs].tolist()) if n >= 0} == row
        owners = {(int(o), "N", int(n)): int(state.owner[o, n]) for o, n in np.argwhere(state.owner >= 0)}
        assert owners == {port: number_of(self.model.wanted[port][1]) for port in wanted}
        assert {(int(o), "N", int(n)) for o, n in zip(*state.made.nonzero(), strict=True)} == set(made)
        stale = {(at // state.radix, "N", at % state.radix): south for at, south in state.stale.items()}
        assert stale == {north: south[2] for north, south in self.model.stale.items()}


def bodies_of(messages: list[Body], kind: type[Any]) -> list[Any]:
    return [body for body in messages if type(body) is kind]


ACTS = st.one_of(COMMANDS, OCS_FAULTS, ENDS_OF_FAULTS, ENDS_OF_FAULTS)
SETTLED_US = 10 * SWITCHING_US


def play(run: Run, acts: list[tuple[int, tuple[Any, Any, Any]]]) -> None:
    """Play the actions; compare with the model after every step, until everything has settled."""
    for number, (wait_us, act) in enumerate(acts):
        run.wait(wait_us)
        run.do(act)
        if number % 3 == 0:
            run.bench.reload()
        run.check()
    run.bench.assert_documents_hold()
    run.wait(SETTLED_US)
    run.check()
    assert run.bench.due_us() is None


FIRST = ("connect", "pod-0/slice-0", ((0, 0, 1), (0, 1, 0)))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(WAITS, ACTS), min_size=6, max_size=24))
def test_every_port_matches_the_model(acts: list[tuple[int, tuple[Any, Any, Any]]]) -> None:
    play(Run(), [(0, FIRST), *acts])


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(WAITS, ACTS), min_size=2, max_size=16))
def test_every_port_matches_the_model_if_an_ocs_could_not_be_told_to_drop_circuits(
    acts: list[tuple[int, tuple[Any, Any, Any]]],
) -> None:
    before = [(SWITCHING_US + 1, ("cpu", "pod-0/ocs-0/cpu", None)), (1, ("leave", "pod-0/slice-0", 0))]
    play(Run(), [(0, FIRST), *before, *acts])
