"""The log as the gateway shows it, against brute force over all its messages."""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace

import pytest

from schemas.api.rows import TwinInfo
from schemas.body import Body
from schemas.config.pods import SuperpodConfig
from schemas.envelope import Envelope, enclose
from schemas.messages.ocs import OcsDown, OcsUp
from schemas.messages.scheduler import SliceRestored
from schemas.messages.sequencer import Tick
from schemas.registry import TYPES as TYPES_OF_MESSAGES
from schemas.registry import encode
from services.fabric_kinds import fabric_views, services_of
from services.gateway.http import event_stream
from services.gateway.log import history
from services.gateway.log.history import STATE_MESSAGES, LogFilter, LogPage
from services.gateway.log.subjects import SiteSubjects
from services.gateway.log.tail import LogTail
from services.gateway.runtime_ports import TwinPorts
from services.what_if.queries import WhatIfQueries
from shared.basics.errors import InvalidInput, NotFound
from shared.models.superpod.superpod_plant import superpod_plant
from shared.runtimes.simulated_clock import Clock, ClockChange, ClockState, Epoch
from shared.storage.log.indexed_log import IndexedLogs
from shared.storage.store.memory_store import MemoryStore
from shared.storage.store.state_copies import StateCopies
from tests.support.memory_operations import MemoryOperations
from tests.support.pods import pod_place

pytestmark = pytest.mark.integration

FABRIC = "pod-0"
COUNT = 3_000


class StoppedClock(Clock):
    """A clock that always shows the same time."""

    def __init__(self, now_us: int) -> None:
        self.now_us = now_us

    def show(self) -> ClockState:
        return ClockState(now_us=self.now_us, speed=1.0, paused=True, achieved_speed=0.0, lag_us=0)

    def change(self, request: ClockChange, who: str) -> Epoch:
        raise AssertionError((request, who))


def drawn_log(seed: int) -> list[Envelope]:
    """A log in which every message except the roots has an earlier message as its cause."""
    draw = random.Random(seed)
    messages: list[Envelope] = []
    seqs: dict[str, int] = {}
    at_us = 0
    for _ in range(COUNT):
        is_root = not messages or draw.random() < 0.3
        at_us += draw.choice([0, 0, 1, 1_000_000])
        body: Body = draw.choice(
            [
                OcsDown(ocs=1),
                OcsUp(ocs=1),
                SliceRestored(slice="pod-0/slice-1"),
                SliceRestored(slice="pod-0/slice-2"),
            ]
        )
        if is_root:
            body = Tick(service="ocs", due_us=at_us, count=len(messages) + 1)
        source = "tick.ocs@pod-0" if is_root else f"{body.writer}@{FABRIC}"
        seqs[source] = seqs.get(source, 0) + 1
        cause = None if is_root else draw.choice(messages[-40:]).id
        messages.append(
            enclose(body, fabric=FABRIC, at_us=at_us, cause=cause, source=source, seq=seqs[source])
        )
    return messages


@pytest.fixture(scope="module")
def messages() -> list[Envelope]:
    return drawn_log(seed=1)


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory, messages: list[Envelope]) -> Iterator[IndexedLogs]:
    logs = IndexedLogs(tmp_path_factory.mktemp("logs"))
    logs.index(lambda _, recall: SiteSubjects(lambda _: SuperpodConfig(), recall))
    logs.open(FABRIC).append(messages, [encode(message) for message in messages])
    yield logs
    logs.close()


@pytest.fixture(scope="module")
def twin(logs: IndexedLogs, messages: list[Envelope]) -> TwinPorts:
    store = MemoryStore()
    store.place(FABRIC, pod_place(0, FABRIC))
    return TwinPorts(
        about=TwinInfo(runtime="embedded", version="1.0", place="/twin"),
        documents=store,
        inbox=store,
        log=logs,
        clock=StoppedClock(messages[-1].at_us),
        config={FABRIC: SuperpodConfig()}.__getitem__,
        site={FABRIC: FABRIC}.__getitem__,
        operations=MemoryOperations(),
        health=list,
        unready=list,
        runtime_metrics=dict,
        telemetry=lambda _: None,
        dead_letters=list,
        claim=lambda _fabric, site: site,
        is_quiet=lambda _fabric: True,
        queries=WhatIfQueries(StateCopies(store, services_of)),
        views=fabric_views(),
    )


TYPES = [(), ("Tick",), ("OcsDown",), ("OcsDown", "OcsUp"), ("SliceRestored",), ("SliceEvicted",)]


def of_types(messages: list[Envelope], types: tuple[str, ...]) -> list[tuple[int, Envelope]]:
    return [(n, m) for n, m in enumerate(messages) if not types or m.type in types]


@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize("limit", [1, 7, 700, 10_000])
def test_without_a_position_the_newest_messages_are_read(
    twin: TwinPorts, messages: list[Envelope], types: tuple[str, ...], limit: int
) -> None:
    expected = of_types(messages, types)
    site, query = history.log_query(twin, LogFilter(FABRIC, types))
    assert history.last_page(twin, site, query, limit) == LogPage(expected[-limit:], len(expected) > limit)
    assert twin.log.count(site, query) == len(expected)


@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize(
    ("start", "end"), [(0, COUNT), (1, 400), (511, 2_900), (2_000, COUNT), (COUNT, COUNT)]
)
def test_from_a_position_the_oldest_messages_are_read(
    twin: TwinPorts, messages: list[Envelope], types: tuple[str, ...], start: int, end: int
) -> None:
    expected = [(n, m) for n, m in of_types(messages, types) if start <= n < end]
    site, query = history.log_query(twin, LogFilter(FABRIC, types))
    page = history.first_page(twin, site, replace(query, start=start, end=end), 25)
    assert page == LogPage(expected[:25], len(expected) > 25)


@pytest.mark.parametrize(
    ("name", "types"),
    [("pod-0/slice-1", {"SliceRestored"}), ("pod-0/ocs-1", {"OcsDown", "OcsUp"}), ("pod-0/ocs-2", set())],
)
def test_a_name_finds_all_its_messages_however_old(
    twin: TwinPorts, messages: list[Envelope], name: str, types: set[str]
) -> None:
    expected = [
        (n, m) for n, m in enumerate(messages) if m.type in types and name in str(m.body) + "pod-0/ocs-1"
    ]
    site, query = history.log_query(twin, LogFilter(FABRIC, name=name))
    assert history.first_page(twin, site, query, COUNT).found == expected
    assert history.log_query(twin, LogFilter(FABRIC, name=FABRIC))[1].about == ()


def test_ticks_can_be_left_out(twin: TwinPorts, messages: list[Envelope]) -> None:
    site, query = history.log_query(twin, LogFilter(FABRIC, ticks=False))
    assert twin.log.count(site, query) == sum(m.type != "Tick" for m in messages)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("pod-0/slice-99", "no such object in pod-0, and no message on its log is about it"),
        ("pod-0/ocs-99", "no such object in pod-0, and no message on its log is about it"),
        ("pod-7/ocs-1", "no such fabric"),
    ],
)
def test_an_unknown_name_is_refused(twin: TwinPorts, name: str, sentence: str) -> None:
    with pytest.raises(NotFound, match=sentence):
        history.log_query(twin, LogFilter(FABRIC, name=name))
    with pytest.raises(NotFound, match=sentence):
        history.cause_chain(twin, name)


def followers(messages: list[Envelope], first: str) -> list[Envelope]:
    """Every message whose chain of causes contains `first`, found by walking every chain."""
    causes = {m.id: m.cause for m in messages}

    def follows(cause: str | None) -> bool:
        while cause is not None and cause != first:
            cause = causes[cause]
        return cause == first

    return [m for m in messages if follows(m.cause)]


def consequences(twin: TwinPorts, message_id: str, *types: str) -> list[Envelope]:
    site, query = history.log_query(twin, LogFilter(FABRIC, types, cause=message_id))
    return [message for _, message in history.first_page(twin, site, query, COUNT).found]


def test_the_consequences_of_a_message_are_complete(twin: TwinPorts, messages: list[Envelope]) -> None:
    for message in random.Random(2).sample(messages, 40):
        expected = followers(messages, message.id)
        assert consequences(twin, message.id) == expected
        assert consequences(twin, message.id, "OcsUp") == [m for m in expected if m.type == "OcsUp"]
        site, query = history.log_query(twin, LogFilter(FABRIC, name="pod-0/slice-1", cause=message.id))
        about = [m for m in expected if isinstance(m.body, SliceRestored) and m.body.slice == "pod-0/slice-1"]
        assert twin.log.count(site, query) == len(about)


def test_why_of_a_resource_starts_at_its_last_reported_state(
    twin: TwinPorts, messages: list[Envelope]
) -> None:
    for name, types in (("pod-0/ocs-1", ("OcsDown", "OcsUp")), ("pod-0/slice-2", ("SliceRestored",))):
        reports = [m for m in messages if m.type in types and getattr(m.body, "slice", name) == name]
        assert history.cause_chain(twin, name) == history.cause_chain(twin, reports[-1].id)


def test_every_kind_of_part_has_messages_that_report_its_state() -> None:
    assert {kind.word for kind in superpod_plant(64).kinds} < STATE_MESSAGES.keys()
    assert {kind for types in STATE_MESSAGES.values() for kind in types} <= TYPES_OF_MESSAGES.keys()


def test_why_leads_to_the_root(twin: TwinPorts, messages: list[Envelope]) -> None:
    by_id = {m.id: m for m in messages}
    for message in random.Random(3).sample(messages, 40):
        chain = history.cause_chain(twin, message.id)
        assert chain[0] == message
        assert chain[-1].cause is None
        assert all(by_id[cause.id] == cause for cause in chain)
        assert [m.cause for m in chain[:-1]] == [m.id for m in chain[1:]]


@pytest.mark.parametrize("message_id", ["", "x", "ocs@pod-0/", "ocs@pod-0/-1", "ocs@pod-0/999999"])
def test_an_unknown_message_is_not_found(twin: TwinPorts, message_id: str) -> None:
    with pytest.raises(NotFound, match="not on any log"):
        history.cause_chain(twin, message_id)
    with pytest.raises(NotFound, match="not on any log"):
        history.log_query(twin, LogFilter(FABRIC, cause=message_id))


def test_an_unknown_type_is_refused_with_the_known_types(twin: TwinPorts) -> None:
    with pytest.raises(InvalidInput, match=r"type 'OcsDwon': no such message type; did you mean OcsDown"):
        history.log_query(twin, LogFilter(FABRIC, ("OcsUp", "OcsDwon")))


@pytest.mark.parametrize("word", ["Verdict", "OcsDwon", "x", "\u00e9"])
def test_an_unknown_type_names_at_most_three(twin: TwinPorts, word: str) -> None:
    """Of 135 types, the nearest ones, and how to list all."""
    with pytest.raises(InvalidInput, match="`lightwave events --list-types` lists all") as found:
        history.log_query(twin, LogFilter(FABRIC, (word,)))
    named = {word.strip(",?") for word in str(found.value).split()} & TYPES_OF_MESSAGES.keys()
    assert 1 <= len(named) <= 3


@pytest.mark.parametrize(
    ("text", "back_s"),
    [("-30s", 30), ("2m ago", 120), ("-0s", 0), ("now", 0), ("now-1m30s", 90), ("-999d", None)],
)
def test_since_counts_back_from_now_but_not_beyond_the_start(
    twin: TwinPorts, text: str, back_s: int | None
) -> None:
    now_us = twin.clock.show().now_us
    at_us = 0 if back_s is None else now_us - back_s * 1_000_000
    assert history.parse_time(twin, "since", text) == (at_us, at_us)


@pytest.mark.parametrize("text", ["", "2", "h", "2x", "1.5h", "yesterday", "٣h"])
def test_since_must_be_a_time(twin: TwinPorts, text: str) -> None:
    with pytest.raises(InvalidInput, match=r"since '.*': must be a duration before now like -2h .* 3d02"):
        history.parse_time(twin, "since", text)


async def _take(stream: AsyncIterator[dict[str, str]], count: int) -> list[dict[str, str]]:
    return [await anext(stream) for _ in range(count)]


def test_a_stream_continues_where_its_reader_stopped(twin: TwinPorts, messages: list[Envelope]) -> None:
    ids: list[str] = []
    start = COUNT - 1_200
    expected = [m.id for m in messages[start:] if m.type == "SliceRestored"]
    site, query = history.log_query(twin, LogFilter(FABRIC, ("SliceRestored",)))
    while len(ids) < len(expected):
        reading = event_stream.events(LogTail(twin), FABRIC, site, replace(query, start=start))
        took = asyncio.run(_take(reading, 1 + min(100, len(expected) - len(ids))))
        assert took[0] == {"id": f"{FABRIC}:{start - 1}"}
        ids += [json.loads(event["data"])["id"] for event in took[1:]]
        start = event_stream.parse_place(twin, "Last-Event-ID", took[-1]["id"], FABRIC) + 1
    assert ids == expected


@pytest.mark.parametrize(("text", "place"), [("pod-0:-1", -1), ("pod-0:7", 7), ("pod-0:999999", 999_999)])
def test_an_event_id_contains_its_position(twin: TwinPorts, text: str, place: int) -> None:
    assert event_stream.parse_place(twin, "cursor", text, FABRIC) == place


@pytest.mark.parametrize("text", ["pod-0:-2", "pod-0:x", "", "xx", ":", ":7", "pod-0:" + "9" * 5_000])
def test_an_event_id_without_a_position_is_refused(twin: TwinPorts, text: str) -> None:
    with pytest.raises(InvalidInput, match="must be a log position like pod-0:4207"):
        event_stream.parse_place(twin, "Last-Event-ID", text, FABRIC)
