"""What something else changed in the Redis of a live twin is refused, reported and rebuilt from the log, and
no service uses it. On a real Kafka and Redis."""

import json
import urllib.error
from collections.abc import Iterator
from typing import Any

import pytest
import redis

from ops.servers.local_servers import LocalKafka
from shared.storage.store import redis_layout as layout
from tests.soak.final_state import is_quiet
from tests.soak.log_facts import read_log
from tests.soak.whole_twin import TwinOptions
from tests.support.live_twin import BUSY, LiveTwin, live_twin

pytestmark = pytest.mark.slow("starts a live twin and rebuilds it three times")

OPTIONS = TwinOptions(
    pods=1, seed=11, speed=2_000.0, settings=BUSY, partitions=1, prefix="changed", doubled=()
)
CUBE = "pod-0/cube-1"
REBUILT_S_MAX = 180.0
CHANGED_FIELDS = {
    "cubes of pod-0: its state in Redis": ("state:cubes@pod-0", "draw_seed", b"17"),
    f"cubes of pod-0: the document {CUBE} of kind cubes": (
        "docs:pod-0:cubes",
        CUBE,
        b'{"name":"pod-0/cube-1"}',
    ),
}
"""Start of the sentence → key, field and its new value."""


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory, kafka: LocalKafka) -> Iterator[LiveTwin]:
    with live_twin(tmp_path_factory.mktemp("live"), kafka, OPTIONS) as twin:
        twin.wait_advance()
        yield twin


def stored(twin: LiveTwin) -> dict[bytes, dict[bytes, bytes]]:
    """All states and documents, as Redis has them, without the twin's own readers."""
    with redis.Redis.from_url(twin.redis.url) as client:
        keys = [key for part in ("state:*", "docs:*") for key in client.keys(layout.key(0, part))]
        return {key: client.hgetall(key) for key in sorted(keys)}


def put(twin: LiveTwin, part: str, field: bytes | str, value: bytes) -> bytes:
    """Change a field behind the twin's back; return its value before."""
    with redis.Redis.from_url(twin.redis.url) as client:
        before: Any = client.hget(layout.key(0, part), field)
        assert before is not None, client.hkeys(layout.key(0, part))
        assert before != value
        client.hset(layout.key(0, part), field, value)
    return bytes(before)


def records(twin: LiveTwin) -> list[bytes]:
    return [line.value for line in read_log(twin.kafka.brokers, twin.topics.log)]


def health_notes(twin: LiveTwin) -> list[str]:
    try:
        answer = twin.get("/healthz")
    except urllib.error.HTTPError as error:
        answer = json.loads(error.read())
    notes: list[str] = answer["notes"]
    return notes


def problems_with(twin: LiveTwin, sentence: str) -> list[str]:
    problems: list[str] = twin.status()["problems"]
    return [problem for problem in problems if problem.startswith(sentence)]


def wait_rebuilt(twin: LiveTwin, sentence: str) -> None:
    """Wait until /healthz reports the refusal and its rebuild; the operations log has both, too."""

    def is_noted() -> bool:
        return any(
            note.startswith(sentence) and "rebuilt from the log" in note for note in health_notes(twin)
        )

    twin.wait_for(f"{sentence}: rebuilt", is_noted, REBUILT_S_MAX)
    rows = twin.get("/v1/operations?limit=100")
    text = [json.dumps(row) for row in rows]
    assert [row for row in text if "RebuildBegun" in row and sentence in row], text
    twin.wait_for("no problem is left", lambda: not problems_with(twin, sentence), REBUILT_S_MAX)


@pytest.mark.parametrize("sentence", CHANGED_FIELDS)
def test_a_changed_value_is_never_used(twin: LiveTwin, sentence: str) -> None:
    """The worker that loads it refuses it. The rebuilt values are those from before."""
    part, field, value = CHANGED_FIELDS[sentence]
    with twin.paused():
        before, log_before = stored(twin), records(twin)
        twin.supervisor.drop("cubes-a")
        put(twin, part, field, value)
        assert stored(twin) != before
        twin.start_process("cubes-a")
        wait_rebuilt(twin, sentence)
        assert sentence in twin.process_log("cubes-a")
        assert stored(twin) == before
        assert records(twin) == log_before
        report = twin.json("audit", "--live")
        assert report["clean"] is True, report
    twin.wait_advance()


def test_a_changed_outbox_entry_is_never_appended(twin: LiveTwin) -> None:
    """The sequencer that finds it appends the message that the service emitted."""
    sentence = "partition 0: an outbox entry (cubes of pod-0)"
    with twin.paused():
        twin.supervisor.drop("cubes-a")
        twin.post(f"/v1/cubes/{CUBE}/drain")
        twin.supervisor.drop("sequencer")
        twin.start_process("cubes-a")
        field = twin.wait_for("cubes answers the request", lambda: emitted(twin, "cubes"))
        with redis.Redis.from_url(twin.redis.url) as client:
            head, _, line = bytes(client.hget(layout.key(0, "outbox"), field)).partition(b"\n")
        forged = line.replace(b"cube", b"CUBE", 1)
        put(twin, "outbox", field, head + b"\n" + forged)
        twin.start_process("sequencer")
        wait_rebuilt(twin, sentence)
        twin.wait_for("all services have read everything", lambda: is_quiet(twin))
        assert (records(twin).count(forged), records(twin).count(line)) == (0, 1)
        assert twin.get(f"/v1/cubes/{CUBE}")["drained"] is True
        report = twin.json("audit", "--live")
        assert report["clean"] is True, report
    twin.wait_advance()


def emitted(twin: LiveTwin, service: str) -> bytes | None:
    """The field of a service's first entry in the outbox."""
    with redis.Redis.from_url(twin.redis.url) as client:
        fields: Any = client.hkeys(layout.key(0, "outbox"))
    return next((bytes(name) for name in sorted(fields) if name.split(b" ")[2] == service.encode()), None)
