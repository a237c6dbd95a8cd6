"""A site of several fabrics: which service reads which messages, the order of answers, and how time
advances."""

from collections.abc import Iterator

import pytest

from schemas.config.pods import SuperpodConfig
from schemas.envelope import Envelope, enclose
from schemas.registry import decode, encode
from shared.basics.units import US_PER_DAY
from shared.engine.message_order import Request, request_message
from shared.engine.replay import Replay, ReplayMismatch
from shared.engine.site import Site
from shared.engine.site_driver import LabRequest
from shared.engine.state_codec import encode_instance
from shared.runtimes.lab import Lab
from tests.support.pods import commissioned, first_message, next_tick, request_to
from tests.support.rig import state_of
from tests.support.toy_services import PERIOD_US, ToyState
from tests.support.toy_sites import (
    ANNOUNCED_EVERY_US,
    FABRICS,
    FOR_ALL,
    NET,
    NOTED_LATER_US,
    POD_2,
    POD_10,
    SITE,
    ToyAnnounced,
    ToyAnswered,
    ToyAsked,
    ToynetConfig,
    ToyOffered,
    services_of,
    toys_registered,
)

ASKED = "operator@campus/1"


@pytest.fixture(autouse=True, scope="module")
def _toys() -> Iterator[None]:
    with toys_registered():
        yield


@pytest.fixture
def site() -> Site:
    found = Site(SITE, services_of)
    for fabric, config in FABRICS.items():
        found.cascade(first_message(config, fabric, site=SITE))
    return found


def asking(site: Site, to: str = FOR_ALL, number: int = 1, clock_us: int = 1) -> list[Envelope]:
    """The consequences of a request to the network, itself included."""
    return site.cascade(request_to(site, ToyAsked(to=to), number, clock_us, fabric=NET))


def toy_state(site: Site, fabric: str, service: str) -> ToyState:
    state = site.instance(fabric, service).state
    assert isinstance(state, ToyState)
    return state


# --- who reads ----------------------------------------------------------------------------------------------


def test_readers_are_ordered_by_fabric_and_service_whenever_their_fabric_joined(site: Site) -> None:
    assert site.fabrics == [NET, POD_2, POD_10]
    assert [instance.source for instance in site.instances] == [
        "clerk@dcn-0",
        "router@dcn-0",
        "agent@pod-2",
        "clerk@pod-2",
        "agent@pod-10",
        "clerk@pod-10",
    ]
    again = Site(SITE, services_of, [*reversed(site.instances)])
    assert [i.source for i in again.instances] == [i.source for i in site.instances]


def test_a_fabric_has_the_services_of_its_kind_and_its_own_configuration(site: Site) -> None:
    seeds = {instance.source: state_of(instance).seed for instance in site.instances}
    assert seeds == {
        "clerk@dcn-0": 2,
        "router@dcn-0": 2,
        "agent@pod-2": 3,
        "clerk@pod-2": 3,
        "agent@pod-10": 1,
        "clerk@pod-10": 1,
    }


def test_every_reading_of_a_cascade_is_in_order(site: Site) -> None:
    read: list[tuple[str, str]] = []
    site.cascade(
        request_to(site, ToyAsked(to=FOR_ALL), fabric=NET),
        lambda instance, message: read.append((message.id, instance.source)),
    )
    assert read == [
        (ASKED, "router@dcn-0"),
        ("router@dcn-0/1", "agent@pod-2"),
        ("router@dcn-0/1", "agent@pod-10"),
        # The whole network reads the answer of an agent, and so does the clerk of its own pod.
        ("agent@pod-2/1", "clerk@dcn-0"),
        ("agent@pod-2/1", "clerk@pod-2"),
        ("agent@pod-2/2", "clerk@dcn-0"),
        ("agent@pod-2/2", "clerk@pod-2"),
        ("agent@pod-10/1", "clerk@dcn-0"),
        ("agent@pod-10/1", "clerk@pod-10"),
        ("agent@pod-10/2", "clerk@dcn-0"),
        ("agent@pod-10/2", "clerk@pod-10"),
    ]


@pytest.mark.parametrize("pod", [POD_2, POD_10])
def test_a_message_that_names_a_fabric_is_read_only_there(site: Site, pod: str) -> None:
    """The message speaks of the network, its body names the pod."""
    log = asking(site, to=pod)
    assert [(m.id, m.fabric) for m in log] == [
        (ASKED, NET),
        ("router@dcn-0/1", NET),
        (f"agent@{pod}/1", pod),
    ]


def test_a_message_that_names_the_next_fabric_is_read_there(site: Site) -> None:
    """The list of readers is cached for each addressee."""
    logs = [asking(site, to=pod, number=number) for number, pod in enumerate((POD_2, POD_10, POD_2), start=1)]
    assert [log[2].source for log in logs] == ["agent@pod-2", "agent@pod-10", "agent@pod-2"]


def test_a_message_that_one_fabric_skips_is_read_by_its_neighbour(site: Site) -> None:
    """Both have an agent, and both read the same message."""
    site.skips = {(POD_2, "agent", "router@dcn-0/1")}
    assert [m.source for m in asking(site)[2:]] == ["agent@pod-10"] * 2
    assert [toy_state(site, pod, "agent").handled for pod in (POD_2, POD_10)] == [{}, {"ToyAnnounced": 1}]
    assert [site.instance(pod, "agent").seen["router@dcn-0"] for pod in (POD_2, POD_10)] == [1, 1]


def test_a_fabric_does_not_read_its_own_messages_to_another(site: Site) -> None:
    body = ToyOffered(to=POD_10, number=1)
    offered = enclose(body, fabric=POD_2, at_us=1, cause="x", source="router@pod-2", seq=1)
    assert [i.source for i in site.instances if i.reads(offered)] == ["agent@pod-10"]


def test_a_message_to_a_missing_fabric_is_ignored(site: Site) -> None:
    assert [m.id for m in asking(site, to="pod-3")] == [ASKED, "router@dcn-0/1"]


def test_own_messages_are_read_in_their_own_fabric_only(site: Site) -> None:
    asking(site, to=POD_2)
    handled = {fabric: toy_state(site, fabric, "clerk").handled for fabric in site.fabrics}
    assert handled == {NET: {"ToyAnswered": 1}, POD_2: {"ToyAnswered": 1}, POD_10: {}}


def test_a_request_is_read_in_the_fabric_that_it_speaks_of(site: Site) -> None:
    root = request_to(site, ToyAsked(to=FOR_ALL), fabric=POD_2)
    assert site.cascade(root) == [root]


def test_a_tick_is_read_only_by_its_addressee(site: Site) -> None:
    """Two pods have a clerk, and each clerk has its own due time."""
    asking(site, clock_us=5)
    ticks = [site.cascade(next_tick(site)) for _ in range(2)]
    due_us = 5 + NOTED_LATER_US
    assert [(log[0].id, log[0].at_us) for log in ticks] == [
        ("tick.clerk@pod-2/1", due_us),
        ("tick.clerk@pod-10/1", due_us),
    ]
    assert [[m.id for m in log[1:]] for log in ticks] == [
        ["clerk@pod-2/1", "clerk@pod-2/2"],
        ["clerk@pod-10/1", "clerk@pod-10/2"],
    ]
    assert [m.cause for log in ticks for m in log[1:]] == [
        *("agent@pod-2/1", "agent@pod-2/2", "agent@pod-10/1", "agent@pod-10/2")
    ]


# --- the order of what is said ------------------------------------------------------------------------------


def test_same_named_services_of_two_pods_answer_in_order_of_pod_then_of_saying(site: Site) -> None:
    log = asking(site)
    assert [m.id for m in log] == [
        ASKED,
        "router@dcn-0/1",
        *("agent@pod-2/1", "agent@pod-2/2", "agent@pod-10/1", "agent@pod-10/2"),
        "clerk@dcn-0/1",  # confirms the third answer
    ]
    assert [m.cause for m in log] == [None, ASKED, *["router@dcn-0/1"] * 4, "agent@pod-10/1"]
    assert [m.fabric for m in log] == [NET, NET, POD_2, POD_2, POD_10, POD_10, NET]
    assert {m.at_us for m in log} == {1}


# --- time ---------------------------------------------------------------------------------------------------


def test_a_root_comes_after_all_that_happened_anywhere_in_the_site(site: Site) -> None:
    first = asking(site, clock_us=50)[0]
    second = asking(site, to=POD_2, number=2, clock_us=50)[0]
    third = request_to(site, ToyAsked(to=FOR_ALL), 3, clock_us=PERIOD_US + 9, fabric=POD_10)
    assert (first.at_us, second.at_us) == (50, 51)
    # It does not follow due messages: a clerk is due since the first request.
    assert third.at_us == 50 + NOTED_LATER_US
    assert site.now_us == 51


@pytest.mark.parametrize(
    ("now_us", "clock_us", "due_us"), [(4, 9, 7), (4, 6, 7), (7, 9, 7), (4, 3, 7), (8, 9, 7)]
)
def test_a_roots_time_is_after_now_and_within_clock_and_the_earliest_due(
    site: Site, now_us: int, clock_us: int, due_us: int
) -> None:
    site.now_us = site.ticked_us = now_us
    site.instance(POD_10, "clerk").due_us = due_us
    root = site.next_root(Request(1, POD_2, ToyAsked(to=POD_10)), clock_us=clock_us)
    assert root is not None
    assert root.at_us == max(now_us + 1, min(clock_us, due_us))


def test_a_message_without_readers_does_not_advance_time(site: Site) -> None:
    asking(site, clock_us=20)
    unread = request_to(site, ToyAsked(to=FOR_ALL), 2, clock_us=30, fabric=POD_2)
    assert unread.at_us == 30
    site.cascade(unread)
    assert site.now_us == 20
    assert asking(site, number=3, clock_us=25)[0].at_us == 25


# --- a fabric that joins ------------------------------------------------------------------------------------

JOINS_US = 10 * US_PER_DAY


def joined(site: Site) -> list[Envelope]:
    body = commissioned(ToynetConfig(seed=9), SITE)
    return site.cascade(request_message(SITE, Request(7, "dcn-1", body), JOINS_US))


def test_a_fabric_that_joins_late_bursts_nothing(site: Site) -> None:
    log = joined(site)
    assert [(m.id, m.at_us) for m in log] == [("sequencer@dcn-1/1", JOINS_US)]
    router = site.instance("dcn-1", "router")
    assert router.due_us == JOINS_US + PERIOD_US
    assert state_of(router).now_us == site.now_us == JOINS_US
    assert site.fabrics == [NET, "dcn-1", POD_2, POD_10]


def test_a_fabric_that_joined_is_read_by_all_and_reads_all(site: Site) -> None:
    asking(site)  # the readers are cached by now, and must be computed again
    joined(site)
    site.cascade(first_message(SuperpodConfig(), "pod-3", site=SITE, at_us=JOINS_US))
    log = asking(site, number=2, clock_us=JOINS_US + 1)
    assert [m.source for m in log if type(m.body) is ToyAnswered] == [
        *("agent@pod-2", "agent@pod-2", "agent@pod-3", "agent@pod-3", "agent@pod-10", "agent@pod-10")
    ]
    assert toy_state(site, "dcn-1", "clerk").handled == {"ToyAnswered": 6}


def test_a_fabric_is_commissioned_once(site: Site) -> None:
    before = [encode_instance(instance) for instance in site.instances]
    again = first_message(ToynetConfig(seed=77), NET, site=SITE, at_us=5).model_copy(
        update={"id": "sequencer@dcn-0/2", "seq": 2}
    )
    assert site.cascade(again) == [again]
    assert [encode_instance(instance) for instance in site.instances] == before
    assert site.now_us == 0


def test_the_lab_lets_a_fabric_join_when_it_is_requested_to() -> None:
    lines: list[bytes] = []
    lab = Lab(SITE, FABRICS, services_of, lambda data: lines.extend(data.splitlines()))
    join = LabRequest(PERIOD_US + 3, "dcn-1", commissioned(ToynetConfig(), SITE), 4)
    lab.run(PERIOD_US + 500, [join])
    log = [decode(line) for line in lines]
    assert [(m.id, m.at_us) for m in log[:3]] == [(f"sequencer@{f}/1", 0) for f in (NET, POD_2, POD_10)]
    assert [m.at_us for m in log if m.id == "sequencer@dcn-1/1"] == [PERIOD_US + 3]
    assert lab.site.instance("dcn-1", "router").due_us == 2 * PERIOD_US + 3


# --- the record ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def record(_toys: None) -> list[Envelope]:
    """Three announcements, requests to all and to one, and a pod that joins."""
    lines: list[bytes] = []
    lab = Lab(SITE, FABRICS, services_of, lambda data: lines.extend(data.splitlines()))
    requests = [
        LabRequest(40, NET, ToyAsked(to=POD_10), 3),
        LabRequest(PERIOD_US, NET, ToyAsked(to=FOR_ALL), 5),
        LabRequest(PERIOD_US + 70, "pod-3", commissioned(SuperpodConfig(seed=4), SITE), 6),
        LabRequest(PERIOD_US + 90, POD_2, ToyAsked(to=FOR_ALL), 9),
        LabRequest(PERIOD_US + 90, NET, ToyAsked(to="pod-3"), 10),
    ]
    lab.run(PERIOD_US + 2 * ANNOUNCED_EVERY_US, requests)
    return [decode(line) for line in lines]


def fold(record: list[Envelope]) -> tuple[ReplayMismatch | None, Replay]:
    """Feeds a record up to its first difference."""
    replay = Replay(Site(SITE, services_of))
    for position, message in enumerate(record):
        if difference := replay.feed(position, message):
            return difference, replay
    return None, replay


def test_a_sites_record_folds_without_a_difference(record: list[Envelope]) -> None:
    difference, replay = fold(record)
    assert difference is None
    assert not replay.pending
    assert len(record) > 60
    assert {m.fabric for m in record} == {NET, POD_2, "pod-3", POD_10}


def test_the_tail_of_a_sites_record_folds_from_any_quiet_time(record: list[Envelope]) -> None:
    _, whole = fold(record)
    for start in range(1, len(record)):
        _, before = fold(record[:start])
        if before.pending:
            continue
        replay = Replay(Site(SITE, services_of, before.site.instances))
        tail = [*enumerate(record)][start:]
        assert [replay.feed(position, message) for position, message in tail] == [None] * len(tail)
        assert replay.repeats == 0
        assert [encode_instance(i) for i in replay.site.instances] == [
            encode_instance(i) for i in whole.site.instances
        ]


@pytest.mark.parametrize("what", ["dropped", "swapped", "body", "fabric", "at_us"])
def test_a_manipulated_site_record_is_found_at_its_position(record: list[Envelope], what: str) -> None:
    for place in range(len(record) - 1):
        message, after = record[place], record[place + 1]
        planted = {
            "dropped": [],
            "swapped": [after, message],
            "body": [_with_another_number(message)],
            "fabric": [message.model_copy(update={"fabric": "pod-5"})],
            "at_us": [message.model_copy(update={"at_us": message.at_us + 10**7})],
        }[what]
        tampered = [*record[:place], *planted, *record[place + (2 if what == "swapped" else 1) :]]
        if tampered == record or _is_input(message, what):
            continue
        difference, _ = fold(tampered)
        assert difference is not None, (place, message)
        assert difference.position == place, (place, message)
        if message.cause is not None:
            assert difference.expected == encode(message).decode()


def _with_another_number(message: Envelope) -> Envelope:
    if not hasattr(message.body, "number"):
        return message
    return message.model_copy(update={"body": message.body.model_copy(update={"number": 77})})


def _is_unread(message: Envelope) -> bool:
    """No pod reads the requests to the network."""
    return isinstance(message.body, ToyAsked) and message.fabric == POD_2


def _is_input(message: Envelope, what: str) -> bool:
    """Only the log determines it: fabrics may join in any order, at any time or not at all, and messages
    without a reader may be left out."""
    is_first = message.type == "FabricCommissioned"
    return what in ("dropped", "swapped", "at_us") and (is_first or _is_unread(message))


def test_two_pods_that_swap_their_answers_are_found(record: list[Envelope]) -> None:
    """Same service, same body, same cause: only the order of fabrics distinguishes them."""
    heard = next(n for n, m in enumerate(record) if type(m.body) is ToyAnnounced)
    answers = record[heard + 1 : heard + 5]
    assert [m.source for m in answers] == ["agent@pod-2"] * 2 + ["agent@pod-10"] * 2
    difference, _ = fold([*record[: heard + 1], *answers[2:], *answers[:2], *record[heard + 5 :]])
    assert difference is not None
    assert difference.position == heard + 1


def test_a_fabric_of_another_site_is_a_difference(record: list[Envelope]) -> None:
    stranger = first_message(SuperpodConfig(), "pod-7", site="elsewhere")
    difference, _ = fold([*record[:3], stranger, *record[3:]])
    assert difference is not None
    assert (difference.position, difference.expected) == (3, "a message of site campus")
