"""The sequencer's order: what follows from a root, who is due next, and when a request has its moment."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.body import Body
from schemas.config import SuperpodConfig
from schemas.cubes import CubeHealthy
from schemas.envelope import Envelope
from schemas.ocs import OcsUp
from schemas.operator import DrainCube
from schemas.repairs import RepairOpened
from shared.basics.errors import ServiceFailed
from shared.engine import fabric as fabric_module
from shared.engine.codec import encode_instance
from shared.engine.dispatch import ServiceInstance
from shared.engine.fabric import Fabric
from shared.engine.service import AnyService, RuleRow, on
from shared.runtimes.lab import Lab, Request, commissioning
from tests.support.rig import state_of
from tests.support.toy_services import ANSWER_US, CUBES_TOY, PERIOD_US, TOYS, ToyState, toy

DRAIN = DrainCube(cube="pod-0/cube-1")
SAYS: dict[str, Body] = {
    "cubes": CubeHealthy(cube=1),
    "ocs": OcsUp(ocs=1),
    "repairs": RepairOpened(repair="pod-0/repair-1", kind="ocs", target="pod-0/ocs-1"),
}


def commissioned(services: tuple[AnyService, ...] = TOYS) -> Fabric:
    fabric = Fabric("pod-0", services)
    fabric.cascade(commissioning("pod-0", SuperpodConfig()))
    return fabric


def step(fabric: Fabric) -> list[Envelope]:
    """The next Tick and what follows from it."""
    instance = fabric.next_due()
    assert instance is not None
    return fabric.cascade(fabric.tick(instance))


def request(fabric: Fabric, seq: int = 1, clock_us: int | None = 1, body: Body = DRAIN) -> Envelope:
    return fabric.request(body, source="operator/0", seq=seq, clock_us=clock_us)


def idle(due_us: int | None, name: str = "cubes") -> AnyService:
    """A service that only waits for `due_us`."""
    return toy(name, (), due=lambda state: due_us)


# --- the order of a cascade ---------------------------------------------------------------------------------


def test_what_follows_stands_in_order_of_its_cause() -> None:
    log = step(commissioned())
    assert [(m.id, m.type) for m in log] == [
        ("tick.cubes@pod-0/1", "Tick"),
        ("cubes@pod-0/1", "CubeUnhealthy"),
        ("cubes@pod-0/2", "CubeHealthy"),
        ("ocs@pod-0/1", "OcsDown"),
        ("repairs@pod-0/1", "RepairOpened"),
    ]
    assert [m.cause for m in log] == [None, log[0].id, log[0].id, log[1].id, log[3].id]
    assert {m.at_us for m in log} == {PERIOD_US}


@pytest.mark.parametrize("order", [*permutations(SAYS)])
def test_answers_to_one_message_stand_in_order_of_service_name_then_of_saying(order: tuple[str, ...]) -> None:
    """However the services are listed; and all answers to one message come before answers to the next."""

    def answers(name: str) -> tuple[RuleRow[ToyState], ...]:
        own, others = SAYS[name], [body for other, body in SAYS.items() if other != name]

        def once(state: ToyState, body: Body, message: Envelope) -> list[Body]:
            state.handled[message.type] = state.handled.get(message.type, 0) + 1
            return [own] if state.handled[message.type] == 1 else []

        twice: RuleRow[ToyState] = on(DrainCube, lambda state, body, message: [own, own])
        return (twice, *(on(type(body), once) for body in others))

    fabric = commissioned(tuple(toy(name, answers(name), due=lambda state: None) for name in order))
    log = fabric.cascade(request(fabric))
    ids = ["operator/0/1"]
    ids += [f"{name}@pod-0/{n}" for name in ("cubes", "ocs", "repairs") for n in (1, 2)]
    # The first of each service is answered by the two others, once.
    ids += [f"{name}@pod-0/{n}" for name, n in [("ocs", 3), ("repairs", 3)]]  # to cubes/1
    ids += [f"{name}@pod-0/{n}" for name, n in [("cubes", 3), ("repairs", 4)]]  # to ocs/1
    ids += [f"{name}@pod-0/{n}" for name, n in [("cubes", 4), ("ocs", 4)]]  # to repairs/1
    assert [m.id for m in log] == ids
    assert [m.cause for m in log[7:]] == [f"{name}@pod-0/1" for name in SAYS for _ in range(2)]


def test_every_reading_is_told_in_order() -> None:
    fabric = commissioned()
    on_read: list[tuple[str, str]] = []
    instance = fabric.next_due()
    assert instance is not None
    fabric.cascade(
        fabric.tick(instance), lambda instance, message: on_read.append((instance.service.name, message.id))
    )
    assert on_read == [
        ("cubes", "tick.cubes@pod-0/1"),
        ("ocs", "cubes@pod-0/1"),
        ("ocs", "cubes@pod-0/2"),
        ("repairs", "ocs@pod-0/1"),
    ]


def test_a_root_that_nobody_reads_is_the_whole_cascade() -> None:
    fabric = commissioned((idle(None),))
    root = request(fabric)
    assert fabric.cascade(root) == [root]


def test_a_tick_of_an_unknown_service_is_read_by_nobody() -> None:
    fabric, other = commissioned(), commissioned()
    instance = other.holder("ocs")
    instance.due_us = 5
    stray = other.tick(instance).model_copy(
        update={"body": other.tick(instance).body.model_copy(update={"service": "nobody"})}
    )
    before = [encode_instance(h) for h in fabric.instances]
    assert fabric.cascade(stray) == [stray]
    assert [encode_instance(h) for h in fabric.instances] == before


def test_services_that_answer_each_other_for_ever_are_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fabric_module, "CASCADE_MAX", 500)
    ping = toy(
        "cubes",
        (
            on(DrainCube, lambda state, body, message: [CubeHealthy(cube=1)]),
            on(OcsUp, lambda state, body, message: [CubeHealthy(cube=1)]),
        ),
    )
    pong = toy("ocs", (on(CubeHealthy, lambda state, body, message: [OcsUp(ocs=1)]),))
    fabric = commissioned((ping, pong))
    with pytest.raises(
        ServiceFailed,
        match="services of pod-0 answer each other for ever: more than 500 messages follow from",
    ):
        fabric.cascade(request(fabric))


def test_a_service_that_waits_for_its_own_tick_ends_the_cascade() -> None:
    fabric = commissioned()
    step(fabric)
    due = fabric.next_due()
    assert due is not None
    assert (due.service.name, due.due_us) == ("ocs", PERIOD_US + ANSWER_US)
    log = step(fabric)
    assert [(m.id, m.at_us) for m in log] == [
        ("tick.ocs@pod-0/1", PERIOD_US + ANSWER_US),
        ("ocs@pod-0/2", PERIOD_US + ANSWER_US),
    ]
    assert log[1].cause == "cubes@pod-0/2"


# --- who is due ---------------------------------------------------------------------------------------------


def test_the_earliest_is_due_first_and_ties_go_by_name() -> None:
    def waiting(**dues_us: int | None) -> str | None:
        services = [idle(due_us, name) for name, due_us in dues_us.items()]
        instance = commissioned(tuple(services)).next_due()
        return None if instance is None else instance.service.name

    assert waiting(ocs=5, cubes=6) == "ocs"
    assert waiting(ocs=5, cubes=5, repairs=5) == "cubes"
    assert waiting(ocs=None, cubes=None, repairs=7) == "repairs"
    assert waiting(ocs=0, cubes=None) == "ocs"
    assert waiting(ocs=None) is None


def test_a_tick_names_due_and_count_and_never_comes_before_now() -> None:
    fabric = commissioned()
    instance = fabric.holder("cubes")
    tick = fabric.tick(instance)
    assert (tick.id, tick.at_us, tick.cause) == ("tick.cubes@pod-0/1", PERIOD_US, None)
    assert tick.body.model_dump() == {"service": "cubes", "due_us": PERIOD_US, "count": 1}
    fabric.cascade(request(fabric, clock_us=None))
    fabric.now_us = PERIOD_US + 5
    assert fabric.tick(instance).at_us == PERIOD_US + 5
    with pytest.raises(ValueError, match="repairs@pod-0 is not due"):
        fabric.tick(fabric.holder("repairs"))


def test_a_fabric_of_what_was_held_goes_on_at_its_time() -> None:
    fabric = commissioned()
    step(fabric)
    again = Fabric("pod-0", TOYS, [*reversed(fabric.instances)])
    assert again.now_us == PERIOD_US
    assert [h.service.name for h in again.instances] == ["cubes", "ocs", "repairs"]
    assert Fabric("pod-0", TOYS, [ServiceInstance(s, "pod-0") for s in TOYS]).now_us == 0


# --- when a request has its moment --------------------------------------------------------------------------


@given(
    now_us=st.integers(0, 30),
    clock_us=st.none() | st.integers(0, 30),
    due_us=st.none() | st.integers(0, 30),
)
def test_a_request_comes_after_all_that_has_happened_and_not_after_what_is_due(
    now_us: int, clock_us: int | None, due_us: int | None
) -> None:
    fabric = commissioned((idle(due_us),))
    fabric.now_us = now_us
    root = request(fabric, clock_us=clock_us)
    bounds = [t for t in (clock_us, due_us) if t is not None]
    assert root.at_us == max(now_us + 1, min(bounds, default=0))
    assert root.at_us > now_us
    # Only where the moment has passed already may it stand later than what is due.
    assert due_us is None or root.at_us <= max(due_us, now_us + 1)
    assert (root.id, root.cause, root.seq) == ("operator/0/1", None, 1)


def test_requests_never_share_a_moment_and_keep_their_order() -> None:
    fabric = commissioned((CUBES_TOY,))
    log = [fabric.cascade(request(fabric, seq=n, clock_us=100))[0] for n in (1, 2, 3)]
    assert [m.at_us for m in log] == [100, 101, 102]


def test_the_lab_takes_a_request_before_the_ticks_of_its_time() -> None:
    lines: list[bytes] = []
    lab = Lab("pod-0", SuperpodConfig(), TOYS, lambda data: lines.extend(data.splitlines()))
    lab.run(PERIOD_US, [Request(PERIOD_US, DRAIN, "operator/0", 1)])
    types = [line.split(b'"type":"')[1].split(b'"')[0].decode() for line in lines]
    assert types[:4] == ["FabricCommissioned", "DrainCube", "CubeDrained", "Tick"]
    assert lab.messages == len(lines)


def test_a_request_for_a_time_that_has_passed_comes_just_after_now() -> None:
    lab = Lab("pod-0", SuperpodConfig(), TOYS)
    lab.run(3 * PERIOD_US)
    now_us = lab.fabric.now_us
    lab.run(3 * PERIOD_US + 100, [Request(5, DRAIN, "operator/0", 1)])
    assert state_of(lab.fabric.holder("cubes")).now_us == now_us + 1


def test_the_lab_stops_at_its_end_and_goes_on_from_there() -> None:
    whole, parts = (Lab("pod-0", SuperpodConfig(), TOYS) for _ in range(2))
    whole.run(10 * PERIOD_US)
    for n in range(1, 101):
        parts.run(n * PERIOD_US // 10)
    assert parts.log_sha256 == whole.log_sha256
    assert parts.messages == whole.messages > 40
