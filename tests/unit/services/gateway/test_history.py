"""The log as the gateway shows it, against brute force over all its messages."""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Iterator

import pytest

from schemas.body import Body
from schemas.config import SuperpodConfig
from schemas.envelope import Envelope, enclose
from schemas.ocs import OcsDown, OcsUp
from schemas.registry import encode
from schemas.scheduler import SliceRestored
from schemas.sequencer import Tick
from services.gateway import history
from services.gateway.http import stream
from services.gateway.ports import TwinPorts
from shared.basics.errors import InvalidInput, NotFound
from shared.runtimes.clock import Clock, ClockChange, ClockState
from shared.runtimes.operations import MemoryOperations
from shared.storage.log.indexed import IndexedLogs
from shared.storage.memory import MemoryStore
from tests.support.pods import pod_place

FABRIC = "pod-0"
COUNT = 3_000


class StandingClock(Clock):
    """A clock that shows one moment for ever."""

    def __init__(self, now_us: int) -> None:
        self.now_us = now_us

    def show(self) -> ClockState:
        return ClockState(now_us=self.now_us, speed=1.0, paused=True, achieved_speed=0.0, lag_us=0)

    def change(self, asked: ClockChange, who: str) -> None: ...


def drawn(seed: int) -> list[Envelope]:
    """A log in which every message but the roots has some earlier one as its cause."""
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
    return drawn(seed=1)


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory, messages: list[Envelope]) -> Iterator[IndexedLogs]:
    logs = IndexedLogs(tmp_path_factory.mktemp("logs"))
    logs.open(FABRIC).append(messages, [encode(message) for message in messages])
    yield logs
    logs.close()


@pytest.fixture(scope="module")
def twin(logs: IndexedLogs, messages: list[Envelope]) -> TwinPorts:
    store = MemoryStore()
    store.place(FABRIC, pod_place(0, FABRIC))
    return TwinPorts(
        documents=store,
        inbox=store,
        log=logs,
        clock=StandingClock(messages[-1].at_us),
        config={FABRIC: SuperpodConfig()}.__getitem__,
        site={FABRIC: FABRIC}.__getitem__,
        operations=MemoryOperations(),
        health=list,
        runtime_metrics=dict,
        telemetry=lambda _: None,
        claim=lambda _fabric, site: site,
        is_quiet=lambda _fabric: True,
    )


TYPES = [(), ("Tick",), ("OcsDown",), ("OcsDown", "OcsUp"), ("SliceRestored",), ("SliceEvicted",)]


@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize("limit", [1, 7, 700, 10_000])
def test_without_a_place_the_last_ones(
    twin: TwinPorts, messages: list[Envelope], types: history.Types, limit: int
) -> None:
    of_type = [m for m in messages if not types or m.type in types]
    assert history.events(twin, FABRIC, start=None, types=types, limit=limit) == of_type[-limit:]


@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize("start", [0, 1, 511, 2_000, COUNT])
def test_from_a_place_the_first_ones(
    twin: TwinPorts, messages: list[Envelope], types: history.Types, start: int
) -> None:
    of_type = [m for m in messages[start:] if not types or m.type in types]
    assert history.events(twin, FABRIC, start=start, types=types, limit=25) == of_type[:25]


def test_the_last_ones_are_sought_so_far_back_and_no_further(
    twin: TwinPorts, messages: list[Envelope]
) -> None:
    found = history.last(twin, FABRIC, lambda m: m.type == "OcsDown", 10_000, look_back=1_000)
    assert found == [m for m in messages[-1_000:] if m.type == "OcsDown"]


def followers(messages: list[Envelope], first: str) -> list[Envelope]:
    """Everything whose chain of causes holds `first`, by walking every chain."""
    causes = {m.id: m.cause for m in messages}

    def follows(cause: str | None) -> bool:
        while cause is not None and cause != first:
            cause = causes[cause]
        return cause == first

    return [m for m in messages if follows(m.cause)]


def test_what_followed_from_a_message(twin: TwinPorts, messages: list[Envelope]) -> None:
    for message in random.Random(2).sample(messages, 40):
        expected = followers(messages, message.id)
        found = history.consequences(twin, message.id, limit=COUNT)
        assert found == expected
        assert history.consequences(twin, message.id, limit=1) == expected[:1]
        later = history.consequences(
            twin, message.id, start_us=message.at_us + 1_000_000, types=("OcsUp",), limit=COUNT
        )
        assert later == [m for m in expected if m.at_us >= message.at_us + 1_000_000 and m.type == "OcsUp"]


def test_why_leads_back_to_the_root(twin: TwinPorts, messages: list[Envelope]) -> None:
    by_id = {m.id: m for m in messages}
    for message in random.Random(3).sample(messages, 40):
        chain = history.why(twin, message.id)
        assert chain[0] == message
        assert chain[-1].cause is None
        assert all(by_id[cause.id] == cause for cause in chain)
        assert [m.cause for m in chain[:-1]] == [m.id for m in chain[1:]]


@pytest.mark.parametrize("message_id", ["", "x", "ocs@pod-0/", "ocs@pod-0/-1", "ocs@pod-0/999999", "a/b/c"])
def test_an_unknown_message_is_not_found(twin: TwinPorts, message_id: str) -> None:
    with pytest.raises(NotFound, match="not in any log"):
        history.why(twin, message_id)
    with pytest.raises(NotFound, match="not in any log"):
        history.consequences(twin, message_id, limit=1)


def test_an_unknown_type_names_those_that_there_are(twin: TwinPorts) -> None:
    with pytest.raises(InvalidInput, match=r"type 'OcsDwon': no message type; allowed are .*OcsDown"):
        history.events(twin, FABRIC, start=None, types=("OcsUp", "OcsDwon"), limit=1)


@pytest.mark.parametrize(
    ("text", "back_s"), [("30s", 30), ("2m", 120), ("0s", 0), ("1m30s", 90), ("999d", None)]
)
def test_since_counts_back_from_now_and_not_beyond_the_beginning(
    twin: TwinPorts, text: str, back_s: int | None
) -> None:
    now_us = twin.clock.show().now_us
    assert history.since_us(twin, text) == (0 if back_s is None else now_us - back_s * 1_000_000)


@pytest.mark.parametrize("text", ["", "2", "h", "-2h", "2x", "1.5h", "2h ago", "٣h"])
def test_since_must_be_a_duration(twin: TwinPorts, text: str) -> None:
    with pytest.raises(InvalidInput, match="not a duration; allowed are 30s"):
        history.since_us(twin, text)


async def _take(stream: AsyncIterator[dict[str, str]], count: int) -> list[dict[str, str]]:
    return [await anext(stream) for _ in range(count)]


def test_a_stream_goes_on_where_a_reader_stopped(twin: TwinPorts, messages: list[Envelope]) -> None:
    seen: list[Envelope] = []
    by_id = {message.id: message for message in messages}
    place: int | None = COUNT - 1_200
    expected = [m for m in messages[place:] if m.type == "SliceRestored"]
    while len(seen) < len(expected):
        assert place is not None
        reading = stream.events(twin, FABRIC, place, ("SliceRestored",))
        took = asyncio.run(_take(reading, 1 + min(100, len(expected) - len(seen))))
        assert took[0] == {"id": f"{FABRIC}:{place - 1}"}
        seen += [by_id[json.loads(event["data"])["id"]] for event in took[1:]]
        place = stream.resume_at(took[-1]["id"], FABRIC, COUNT)
    assert seen == expected


@pytest.mark.parametrize(
    ("last_event_id", "place"),
    [
        ("pod-0:-1", 0),
        ("pod-0:7", 8),
        ("pod-0:999999", COUNT),
        ("pod-1:7", None),
        ("pod-0:-2", None),
        ("pod-0:x", None),
        ("", None),
        (None, None),
    ],
)
def test_where_a_reader_takes_up_a_stream(last_event_id: str | None, place: int | None) -> None:
    assert stream.resume_at(last_event_id, FABRIC, COUNT) == place
