"""Damage to Kafka and Redis under a live twin. After each, log and states equal those of the lab.

The twin runs at full speed; `test_live_faults` runs at a finite speed.
"""

import asyncio
import contextlib
import random
import signal
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest
from kafka.admin import KafkaAdminClient

from ops.servers.local_servers import LocalKafka
from schemas.envelope import enclose
from schemas.messages.cubes import CubeHealthy
from schemas.registry import Unreadable, decode, encode
from schemas.request_metadata import idempotency_key
from shared.runtimes.live.kafka.layout import EXPECTED_OFFSET, LEVEL_AT, Endpoints
from shared.runtimes.live.kafka.log_mirror import LogMirror
from shared.runtimes.live.kafka.topic_admin import create_topics, topic_id
from shared.runtimes.live.twin_record import read_twin
from tests.e2e import raising_worker
from tests.e2e.raising_worker import CUBE
from tests.soak.clients import http_post
from tests.soak.faults.servers import cut_short, refuse_writes
from tests.soak.final_state import is_quiet
from tests.soak.log_facts import read_log
from tests.soak.malformed_records import MalformedRecord, malformed_records, send, transaction
from tests.soak.whole_twin import TwinOptions
from tests.support.kafka_damage import lose_tail
from tests.support.live_twin import BUSY, LiveTwin, live_twin

PREFIX = "damage"
FINITE, FULL = 2_000.0, 1e9
OPTIONS = TwinOptions(
    pods=2, seed=7, speed=FINITE, settings=BUSY, partitions=2, prefix=PREFIX, doubled=("scheduler",)
)


RAISING = "cubes-a"


class FailingTwin(LiveTwin):
    """A twin whose `cubes` worker raises an error on a request that only one test sends."""

    def start_worker(self, name: str) -> None:
        if name == RAISING:
            self.supervisor.keep(name, [sys.executable, raising_worker.__file__, name])
        else:
            super().start_worker(name)


@pytest.fixture(scope="module")
def module_twin(tmp_path_factory: pytest.TempPathFactory, kafka: LocalKafka) -> Iterator[LiveTwin]:
    with live_twin(tmp_path_factory.mktemp("live"), kafka, OPTIONS, FailingTwin) as twin:
        yield twin


@pytest.fixture
def fast_twin(module_twin: LiveTwin) -> LiveTwin:
    """Return the shared twin, at full speed."""
    return at_speed(module_twin, FULL)


def at_speed(twin: LiveTwin, speed: float) -> LiveTwin:
    twin.set_speed(speed)
    twin.wait_advance()
    return twin


@pytest.mark.slow("kills Redis, and audits the whole log")
def test_redis_is_rolled_back(fast_twin: LiveTwin) -> None:
    twin = fast_twin
    drained = twin.post("/v1/cubes/pod-1/cube-3/drain")
    twin.redis.kill()
    assert cut_short(twin.redis.folder, 60_000) > 0
    twin.redis.start()
    twin.wait_advance()
    assert twin.post("/v1/cubes/pod-1/cube-3/undrain")["id"] != drained["id"]
    assert twin.audit()["clean"] is True


def test_redis_is_emptied_and_rebuilt_to_the_identical_states(module_twin: LiveTwin) -> None:
    twin = at_speed(module_twin, FINITE)
    speed = twin.clock.show().speed
    with twin.paused():
        before = twin.digest()
        twin.store.flush()
        report = twin.json("live", "rebuild")
        assert report["fabrics"] == twin.fabrics
        assert report["state_sha256"] == before
        twin.wait_for("all services have read everything", lambda: is_quiet(twin))
        assert twin.digest() == before
        assert twin.json("audit", "--live")["clean"] is True
    assert twin.clock.show().speed == speed, "the operations log has the speed"
    twin.wait_advance()


@pytest.mark.slow("kills and rebuilds Redis")
def test_a_key_is_known_after_redis_lost_data(fast_twin: LiveTwin) -> None:
    """Redis is rolled back to before the request, or emptied and rebuilt. A retry under the same key is the
    same request."""
    twin = fast_twin
    cubes = {"flushed": 7, "cut": 6}

    def send(key: str, pod: int = 0) -> dict[str, Any]:
        path = f"/v1/cubes/pod-{pod}/cube-{cubes[key]}/drain"
        answer: dict[str, Any] = twin.wait_for(path, lambda: http_post(twin.url)(path, {}, key))
        return answer

    first = {"cut": send("cut")}
    twin.redis.kill()
    assert cut_short(twin.redis.folder, 60_000) > 0
    twin.redis.start()
    twin.wait_advance()
    first["flushed"] = send("flushed")
    with twin.paused():
        twin.store.flush()
        twin.json("live", "rebuild")
    twin.wait_advance()
    for key, first_answer in first.items():
        again = send(key)
        assert (again["id"], again["repeated"]) == (first_answer["id"], True)
        with pytest.raises(HTTPError, match="422"):
            http_post(twin.url)(f"/v1/cubes/pod-1/cube-{cubes[key]}/drain", {}, key)
    ids: dict[str, set[str]] = {key: set() for key in cubes}
    for line in read_log(twin.kafka.brokers, twin.topics.log):
        with contextlib.suppress(Unreadable):
            message = decode(line.value)
            ids.setdefault(idempotency_key(message.body) or "", set()).add(message.id)
    assert {key: ids[key] for key in cubes} == {key: {row["id"]} for key, row in first.items()}
    assert twin.audit()["clean"] is True


@pytest.mark.slow("stands still for 6 s")
def test_kafka_refuses_writes_for_a_while(fast_twin: LiveTwin) -> None:
    twin = fast_twin
    refuse_writes(twin.kafka.brokers, twin.topics.log, refuse=True)
    try:
        assert twin.stands_still(5.0)
    finally:
        refuse_writes(twin.kafka.brokers, twin.topics.log, refuse=False)
    twin.wait_advance()
    assert twin.audit()["clean"] is True


@pytest.mark.slow("starts Kafka again")
def test_kafka_is_killed_in_the_middle_of_commits(fast_twin: LiveTwin) -> None:
    twin = fast_twin
    twin.kafka.kill()
    twin.kafka.start()
    twin.wait_advance()
    assert twin.audit()["clean"] is True


@pytest.mark.slow("audits the whole log")
def test_foreign_records_on_the_log_are_skipped(module_twin: LiveTwin) -> None:
    twin = at_speed(module_twin, FINITE)
    known = next(line for line in read_log(twin.kafka.brokers, twin.topics.log) if line.partition == 0)
    headers = {name: value.encode() for name, value in known.headers.items()}
    unmarked = {name: value for name, value in headers.items() if name not in (EXPECTED_OFFSET, LEVEL_AT)}
    unknown = known.value.replace(b"FabricCommissioned", b"MoonCommissioned")
    foreign = enclose(
        CubeHealthy(cube=1), fabric="pod-9", at_us=1, cause="cubes@pod-9/1", source="cubes@pod-9", seq=2
    )
    rows = [
        (b"no JSON at all", {}),
        (b"\xff\xfe", {"type": b"Tick", "source": b"tick.ocs@pod-0"}),
        (unknown, unmarked | {"type": b"MoonCommissioned"}),
        (known.value, headers),
        (known.value, unmarked),
        (known.value, unmarked | {"twin": b"another"}),
        (encode(foreign), unmarked | {"type": b"CubeHealthy", "source": b"cubes@pod-9"}),
    ]
    ends = twin.supervisor.exits()
    offsets = twin.write(0, rows)
    twin.wait_advance()
    expected = {f"0:{offset}" for offset in offsets} - {f"0:{offsets[3]}"}
    twin.wait_for("dead letters", lambda: expected <= {row["origin"] for row in twin.dead_letters()})
    errors = {row["origin"]: row["error"] for row in twin.dead_letters()}
    assert "not JSON" in errors[f"0:{offsets[0]}"]
    assert "not JSON" in errors[f"0:{offsets[1]}"]
    assert "unknown message type 'MoonCommissioned'" in errors[f"0:{offsets[2]}"]
    assert f"0:{offsets[3]}" not in errors, (
        "a copy of a root message misses its expected offset, so it is void"
    )
    assert "must have expected-offset and level-at headers" in errors[f"0:{offsets[4]}"]
    assert "not written by this twin" in errors[f"0:{offsets[5]}"]
    assert "pod-9 was never commissioned" in errors[f"0:{offsets[6]}"]
    assert twin.supervisor.exits() == ends, "no process exited"
    assert twin.audit()["clean"] is True


@pytest.mark.slow("writes thousands of records, audits and rebuilds")
def test_records_of_every_form_are_skipped(module_twin: LiveTwin, tmp_path: Path) -> None:
    """On all topics, while the twin runs. The last record of each partition is a transaction."""
    twin = at_speed(module_twin, FINITE)
    exits = twin.supervisor.exits()
    chance, topics = random.Random(11), twin.topics
    known = [line for line in read_log(twin.kafka.brokers, topics.log) if "twin" in line.headers]
    records = malformed_records(chance, known, known[0].headers["twin"])
    places = {topics.log: 2, topics.telemetry: 2, topics.dead_letters: 1, topics.operations: 1}
    send(twin.kafka.brokers, places, chance, records)
    twin.wait_advance()
    twin.post("/v1/cubes/pod-0/cube-2/drain")
    with twin.paused():
        for partition in range(2):
            place = (twin.kafka.brokers, topics.log, partition)
            asyncio.run(transaction(*place, [MalformedRecord(b"the last")], "commit"))
        twin.wait_for("everything is read", lambda: is_quiet(twin))
        report = twin.json("audit", "--live")
        assert report["clean"] is True
        assert sum(row["dead_letters"] for row in report["sites"]) > len(records) / 2
        assert twin.supervisor.exits() == exits, "no process exited"
        before = twin.digest()
        assert twin.json("live", "rebuild")["state_sha256"] == before
        assert messages_by_site(twin, tmp_path) == {row["site"]: row["messages"] for row in report["sites"]}
    twin.wait_advance()


def messages_by_site(twin: LiveTwin, folder: Path) -> dict[str, int]:
    """Return site → messages, as a new gateway with an empty folder reads them."""
    mirror = LogMirror(
        folder / "mirror", Endpoints(twin.kafka.brokers, twin.redis.url, twin.topics), read_twin(twin.store)
    )
    mirror.start()
    try:
        twin.wait_for("a new copy of the log", lambda: mirror.problem is None and not mirror.lag_records())
        return {site: mirror.logs.end(site) for site in mirror.logs.sites()}
    finally:
        mirror.stop()


@pytest.mark.slow("starts Kafka again and rebuilds")
def test_a_log_that_lost_its_end_stops_the_twin_until_it_is_accepted(fast_twin: LiveTwin) -> None:
    """This cannot be repaired without a loss. The twin stops and reports it until an operator accepts the
    shorter log."""
    twin = fast_twin
    end = twin.positions()["pod-0"]
    twin.kafka.kill()
    assert lose_tail(twin.kafka.folder, twin.topics.log, 0, 5) < end
    twin.kafka.start()
    sentence = twin.wait_for(
        "the sequencer reports the problem",
        lambda: next((p for p in problems(twin) if "Kafka lost its end" in p), None),
    )
    assert sentence.startswith("partition 0: ")
    assert sentence in twin.json("live", "status")["problems"]
    assert "`lightwave live rebuild` accepts the log as it is" in sentence
    ticks = twin.ticks()["pod-0"]
    time.sleep(2.0)
    assert twin.ticks()["pod-0"] == ticks
    twin.json("live", "rebuild")
    twin.wait_advance()
    assert twin.audit()["clean"] is True


def problems(twin: LiveTwin) -> list[str]:
    """Return the problems that `live status` shows."""
    found: list[str] = twin.status()["problems"]
    return found


@pytest.mark.slow("audits the whole log")
def test_a_service_that_raises_stops_its_fabric_until_an_operator_skips_the_message(
    module_twin: LiveTwin,
) -> None:
    twin = at_speed(module_twin, FINITE)
    request = twin.post(f"/v1/cubes/{CUBE}/drain")
    sentence = twin.wait_for(
        "the message is shown", lambda: next((p for p in problems(twin) if "bolts" in p), None)
    )
    assert request["id"] in sentence
    assert "cubes of pod-0 raised RuntimeError: the bolts are rusty" in sentence
    ticks = twin.ticks()
    twin.wait_for("the other fabric continues", lambda: twin.ticks()["pod-1"] > ticks["pod-1"])
    assert twin.ticks()["pod-0"] == ticks["pod-0"]
    skipped = twin.run("live", "skip", "pod-0")
    assert skipped.returncode == 0, skipped.stderr
    assert request["id"] in skipped.stdout
    twin.wait_advance()
    (letter,) = [row for row in twin.dead_letters() if row["error"] == "skipped by an operator"]
    assert request["id"] in letter["line"]
    assert letter["service"] == "cubes"
    types = [line.headers.get("type") for line in read_log(twin.kafka.brokers, twin.topics.log)]
    assert types.count("MessageSkipped") == 1
    assert twin.get(f"/v1/cubes/{CUBE}")["drained"] is False
    assert twin.audit()["clean"] is True


@pytest.mark.slow("waits until a worker's session has ended")
def test_two_workers_share_the_fabrics_and_one_that_dies_hands_over(module_twin: LiveTwin) -> None:
    twin = module_twin
    twin.set_speed(FINITE)

    def partitions() -> dict[str, list[int]]:
        rows = twin.status()["processes"]
        return {row["name"]: row["partitions"] for row in rows if row["service"] == "scheduler"}

    twin.wait_for("each worker has one partition", lambda: sorted(map(len, partitions().values())) == [1, 1])
    before = partitions()
    twin.supervisor.send_signal("scheduler-a", signal.SIGKILL)
    twin.wait_advance()
    twin.wait_for("the same replica has its partitions back", lambda: partitions() == before)
    twin.supervisor.drop("scheduler-a", signal.SIGKILL)
    # The other worker takes over when the session of the first has expired. Its status row may show that
    # later.
    twin.wait_for("the other worker takes over", lambda: partitions()["scheduler-b"] == [0, 1])
    twin.wait_advance()
    assert twin.audit()["clean"] is True


@pytest.mark.slow("waits until every worker refuses")
def test_recreated_topics_are_refused_by_running_workers(fast_twin: LiveTwin) -> None:
    """This test is the last, because it stops the twin."""
    twin = fast_twin
    workers = [name for name in twin.supervisor.names if name in twin.workers]
    before = {name: len(twin.process_log(name)) for name in workers}

    def refuses(name: str) -> bool:
        return "deleted" in twin.process_log(name)[before[name] :]

    recreate_topics(twin)
    for name in workers:
        # The worker's guard reports it, or its next start after it could not continue.
        twin.wait_for(f"{name} refuses", partial(refuses, name))
    assert twin.stands_still(1.0)
    refused = twin.run("live", "worker", "ocs", "--replica", "another")
    assert refused.returncode == 1
    assert f"topic {twin.topics.log}: is not the topic with which this twin was created" in refused.stderr


def recreate_topics(twin: LiveTwin) -> None:
    """Delete the topics and create them again under the same names. Kafka completes a deletion a little after
    its answer."""
    log, topics = twin.topics.log, twin.topics
    before = topic_id(twin.kafka.brokers, log)
    admin = KafkaAdminClient(**twin.kafka.brokers.arguments())
    try:
        admin.delete_topics([log, topics.telemetry, topics.dead_letters])
    finally:
        admin.close()

    def are_recreated() -> bool:
        create_topics(twin.kafka.brokers, topics, twin.options.partitions, 1)
        return topic_id(twin.kafka.brokers, log) != before

    twin.wait_for("the topics are recreated", are_recreated)
