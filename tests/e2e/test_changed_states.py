"""What something else changed in a twin's Redis is refused at its next start, and rebuilt from its log."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from shared.storage.store import redis_layout as layout
from tests.support.child_processes import kill
from tests.support.living import LivingTwin, cli

pytestmark = pytest.mark.integration

POD = ("--pods", "1", "--seed", "3", "--set", "pod.cubes=8")
Change = Callable[[Any], None]


def hset(part: str, field: str, value: str) -> Change:
    return lambda client: client.hset(layout.key(0, part), field, value)


CHANGES = {
    "workload of pod-0: its state in Redis": hset("state:workload@pod-0", "seed", "1"),
    "cubes of pod-0: the document pod-0/cube-1 of kind cubes": hset(
        "docs:pod-0:cubes", "pod-0/cube-1", '{"a":1}'
    ),
    "partition 0: Redis has a field in its progress": hset("progress", "at:cubes", "what"),
    "partition 0: an outbox entry": hset("outbox", "7 pod-0 cubes 0", "CubeUnhealthy cubes@pod-0\n{}"),
}


@pytest.fixture
def twin(tmp_path: Path) -> Iterator[LivingTwin]:
    twin = LivingTwin(tmp_path / "twin", POD)
    yield twin
    end(twin)


def end(twin: LivingTwin) -> None:
    """Kill its process, if it runs."""
    if twin.process is not None:
        kill(twin.process.pid)
        twin.process.wait()


def redis_of(twin: LivingTwin) -> Any:
    running = json.loads((twin.data / "running.json").read_text())
    return redis.Redis.from_url(running["redis"])


def test_every_change_is_refused_and_rebuilt(twin: LivingTwin) -> None:
    twin.start("--speed", "20000")
    twin.wait_clock(3_600e6)
    twin.post("/v1/clock/pause")
    for sentence, change in CHANGES.items():
        with redis_of(twin) as client:
            change(client)
        end(twin)
        twin.start()
        notes = twin.get("/healthz")["notes"]
        assert [note for note in notes if sentence in note and "rebuilt from the log" in note], (
            sentence,
            notes,
        )
        assert twin.log.read_text().count(sentence) == 1
    done = cli("audit", "--data", str(twin.data), "-o", "json", timeout_s=300)
    report = json.loads(done.stdout)
    assert (done.returncode, report["clean"]) == (0, True), done.stdout
    assert len(report["refused"]) == len(CHANGES)
    for sentence, found in zip(CHANGES, report["refused"], strict=True):
        assert sentence in found


def test_an_audit_finds_a_document_that_is_changed_while_the_twin_runs(twin: LivingTwin) -> None:
    twin.start("--speed", "20000")
    twin.wait_clock(600e6)
    twin.post("/v1/clock/pause")
    with redis_of(twin) as client:
        client.hset(layout.key(0, "docs:pod-0:cubes"), "pod-0/cube-1", '{"a":1}')
        client.hset(layout.key(0, "docs:pod-0:cubes"), "pod-0/cube-99", '{"a":1}')
    done = cli("audit", "--data", str(twin.data), "-o", "json", timeout_s=300)
    (row,) = json.loads(done.stdout)["sites"]
    assert done.returncode == 1
    assert row["differing_states"] == [
        "cubes@pod-0: document pod-0/cube-1 of kind cubes",
        "no service@pod-0: document pod-0/cube-99 of kind cubes",
    ]
    end(twin)
    twin.start()
    assert cli("audit", "--data", str(twin.data), timeout_s=300).returncode == 0
