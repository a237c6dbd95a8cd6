"""The order of messages in a site of one pod: the consequences of a root, and how the lab advances time."""

from itertools import permutations

import pytest

from schemas.body import Body
from schemas.envelope import Envelope
from schemas.messages.cubes import CubeHealthy
from schemas.messages.ocs import OcsUp
from schemas.messages.operator import DrainCube
from schemas.messages.repairs import RepairOpened
from schemas.registry import decode
from shared.basics.errors import ServiceFailed
from shared.engine import site as site_module
from shared.engine.dispatch import ServiceInstance
from shared.engine.message_order import is_root, tick_message
from shared.engine.service import AnyService, RuleRow, on
from shared.engine.site import Site
from shared.engine.site_driver import LabRequest
from shared.engine.state_codec import encode_instance
from tests.support.pods import POD, fleet_of, next_tick, pod_lab, pod_site, request_to
from tests.support.rig import state_of
from tests.support.toy_services import ANSWER_US, CUBES_TOY, PERIOD_US, TOYS, ToyState, toy

DRAIN = DrainCube(cube="pod-0/cube-1")
SAYS: dict[str, Body] = {
    "cubes": CubeHealthy(cube=1),
    "ocs": OcsUp(ocs=1),
    "repairs": RepairOpened(repair="pod-0/repair-1", kind="ocs", target="pod-0/ocs-1"),
}


def step(site: Site) -> list[Envelope]:
    """The next Tick and its consequences."""
    return site.cascade(next_tick(site))


def commissioned(services: tuple[AnyService, ...] = TOYS) -> Site:
    return pod_site(services)


def request(site: Site, number: int = 1, clock_us: int | None = 1) -> Envelope:
    return request_to(site, DRAIN, number, clock_us)


def idle(due_us: int | None, name: str = "cubes") -> AnyService:
    """A service that only waits for `due_us`."""
    return toy(name, (), due=lambda state: due_us)


# --- the order of a cascade ---------------------------------------------------------------------------------


def test_outputs_are_in_order_of_their_causes() -> None:
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
def test_answers_to_one_message_are_ordered_by_service_name_then_by_emission(order: tuple[str, ...]) -> None:
    """However the services are listed; and all answers to one message come before answers to the next."""

    def answers(name: str) -> tuple[RuleRow[ToyState], ...]:
        own, others = SAYS[name], [body for other, body in SAYS.items() if other != name]

        def once(state: ToyState, body: Body, message: Envelope) -> list[Body]:
            state.handled[message.type] = state.handled.get(message.type, 0) + 1
            return [own] if state.handled[message.type] == 1 else []

        twice: RuleRow[ToyState] = on(DrainCube, lambda state, body, message: [own, own])
        return (twice, *(on(type(body), once) for body in others))

    site = commissioned(tuple(toy(name, answers(name), due=lambda state: None) for name in order))
    log = site.cascade(request(site))
    ids = ["operator@pod-0/1"]
    ids += [f"{name}@pod-0/{n}" for name in ("cubes", "ocs", "repairs") for n in (1, 2)]
    # The first of each service is answered by the two others, once.
    ids += [f"{name}@pod-0/{n}" for name, n in [("ocs", 3), ("repairs", 3)]]  # to cubes/1
    ids += [f"{name}@pod-0/{n}" for name, n in [("cubes", 3), ("repairs", 4)]]  # to ocs/1
    ids += [f"{name}@pod-0/{n}" for name, n in [("cubes", 4), ("ocs", 4)]]  # to repairs/1
    assert [m.id for m in log] == ids
    assert [m.cause for m in log[7:]] == [f"{name}@pod-0/1" for name in SAYS for _ in range(2)]


def test_every_reading_is_reported_in_order() -> None:
    site = commissioned()
    on_delivery: list[tuple[str, str]] = []
    site.cascade(
        next_tick(site), lambda instance, message: on_delivery.append((instance.service.name, message.id))
    )
    assert on_delivery == [
        ("cubes", "tick.cubes@pod-0/1"),
        ("ocs", "cubes@pod-0/1"),
        ("ocs", "cubes@pod-0/2"),
        ("repairs", "ocs@pod-0/1"),
    ]


def test_an_unread_root_is_the_whole_cascade() -> None:
    site = commissioned((idle(None),))
    root = request(site)
    assert site.cascade(root) == [root]


def test_a_tick_of_an_unknown_service_is_ignored() -> None:
    site = commissioned()
    tick = tick_message(site.instance(POD, "cubes"), 0)
    stray = tick.model_copy(update={"body": tick.body.model_copy(update={"service": "nobody"})})
    before = [encode_instance(h) for h in site.instances]
    assert site.cascade(stray) == [stray]
    assert [encode_instance(h) for h in site.instances] == before


def test_services_that_answer_each_other_for_ever_are_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site_module, "CASCADE_MAX", 500)
    ping = toy(
        "cubes",
        (
            on(DrainCube, lambda state, body, message: [CubeHealthy(cube=1)]),
            on(OcsUp, lambda state, body, message: [CubeHealthy(cube=1)]),
        ),
    )
    pong = toy("ocs", (on(CubeHealthy, lambda state, body, message: [OcsUp(ocs=1)]),))
    site = commissioned((ping, pong))
    with pytest.raises(
        ServiceFailed,
        match="message loop between services of pod-0: more than 500 messages follow from",
    ):
        site.cascade(request(site))


def test_a_service_that_waits_for_its_own_tick_ends_the_cascade() -> None:
    site = commissioned()
    step(site)
    due = site.earliest()
    assert due is not None
    assert (due.service.name, due.due_us) == ("ocs", PERIOD_US + ANSWER_US)
    log = step(site)
    assert [(m.id, m.at_us) for m in log] == [
        ("tick.ocs@pod-0/1", PERIOD_US + ANSWER_US),
        ("ocs@pod-0/2", PERIOD_US + ANSWER_US),
    ]
    assert log[1].cause == "cubes@pod-0/2"


# --- who is due, and when -----------------------------------------------------------------------------------


def test_the_earliest_is_due_first_and_ties_go_by_name() -> None:
    def waiting(**dues_us: int | None) -> str | None:
        services = [idle(due_us, name) for name, due_us in dues_us.items()]
        instance = commissioned(tuple(services)).earliest()
        return None if instance is None else instance.service.name

    assert waiting(ocs=5, cubes=6) == "ocs"
    assert waiting(ocs=5, cubes=5, repairs=5) == "cubes"
    assert waiting(ocs=None, cubes=None, repairs=7) == "repairs"
    assert waiting(ocs=0, cubes=None) == "ocs"
    assert waiting(ocs=None) is None


def test_a_site_of_stored_states_continues_at_its_time() -> None:
    site = commissioned()
    step(site)
    again = Site(POD, fleet_of(TOYS), [*reversed(site.instances)])
    assert again.now_us == PERIOD_US
    assert again.fabrics == [POD]
    assert [i.service.name for i in again.instances] == ["cubes", "ocs", "repairs"]
    assert Site(POD, fleet_of(TOYS), [ServiceInstance(s, POD) for s in TOYS]).now_us == 0


def test_requests_never_share_a_time_and_keep_their_order() -> None:
    site = commissioned((CUBES_TOY,))
    log = [site.cascade(request(site, number=n, clock_us=100))[0] for n in (1, 2, 3)]
    assert [m.at_us for m in log] == [100, 101, 102]


def test_the_lab_takes_a_request_before_the_ticks_of_its_time() -> None:
    lines: list[bytes] = []
    lab = pod_lab(services=TOYS, sink=lambda data: lines.extend(data.splitlines()))
    lab.run(PERIOD_US, [LabRequest(PERIOD_US, POD, DRAIN, 1)])
    types = [line.split(b'"type":"')[1].split(b'"')[0].decode() for line in lines]
    assert types[:4] == ["FabricCommissioned", "DrainCube", "CubeDrained", "Tick"]
    assert lab.messages == len(lines)


def test_the_lab_lets_the_ticks_of_a_time_and_further_requests_of_it_take_turns() -> None:
    lines: list[bytes] = []
    lab = pod_lab(services=(CUBES_TOY,), sink=lambda data: lines.extend(data.splitlines()))
    lab.run(PERIOD_US + 9, [LabRequest(PERIOD_US, POD, DRAIN, n) for n in (1, 2, 3)])
    roots = [message for message in map(decode, lines[1:]) if is_root(message)]
    assert [(m.type, m.at_us - PERIOD_US) for m in roots] == [
        ("DrainCube", 0),
        ("Tick", 0),
        ("DrainCube", 1),
        ("DrainCube", 2),
    ]


def test_a_request_for_a_time_that_has_passed_comes_just_after_now() -> None:
    lab = pod_lab(services=TOYS)
    lab.run(3 * PERIOD_US)
    now_us = lab.site.now_us
    lab.run(3 * PERIOD_US + 100, [LabRequest(5, POD, DRAIN, 1)])
    assert state_of(lab.site.instance(POD, "cubes")).now_us == now_us + 1


def test_the_lab_stops_at_its_end_and_continues_from_there() -> None:
    whole, parts = (pod_lab(services=TOYS) for _ in range(2))
    whole.run(10 * PERIOD_US)
    for n in range(1, 101):
        parts.run(n * PERIOD_US // 10)
    assert parts.log_sha256 == whole.log_sha256
    assert parts.messages == whole.messages > 40
