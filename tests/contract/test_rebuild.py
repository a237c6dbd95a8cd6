"""`lightwave live rebuild` on a real Kafka and a real Redis, over a log that a twin in memory wrote."""

import os
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import redis
from kafka import KafkaProducer

from ops.live import rebuild
from ops.live.parallel_fold import FoldTask, fold_partition
from ops.live.rebuild import rebuild_twin
from ops.live.settings import LiveSettings
from ops.local.software_version import software_version
from ops.servers.local_servers import LocalKafka
from schemas.files.operations_log import ClockChanged, RebuildBegun, RebuildEnded
from schemas.messages.operator import DrainCube
from shared.basics.errors import InvalidInput
from shared.basics.units import US_PER_HOUR
from shared.runtimes.live.kafka.operations_topic import KafkaOperations
from shared.runtimes.live.kafka.records import Record, output_headers
from shared.runtimes.live.kafka.topic_admin import create_topics
from shared.runtimes.live.live_clock import read_epoch
from shared.runtimes.live.partition_replay import OutputMismatch
from shared.runtimes.live.process.process_registry import processes
from shared.runtimes.operations_log import new_operation
from shared.runtimes.poll import poll_until as wait_until
from shared.storage.store.redis_store import RedisStore
from tests.simulation.test_live_swarm import PODS, SITES
from tests.support.live_swarm import PARTITIONS, TWIN, LiveSwarm
from tests.support.swarm_snapshots import keep_snapshots


def write(settings: LiveSettings, records: list[Record]) -> None:
    """Append records to the log."""
    producer = KafkaProducer(bootstrap_servers=settings.kafka)
    log = settings.endpoints.topics.log
    for record in records:
        headers = list(record.headers.items())
        producer.send(log, value=record.value, headers=headers, partition=record.partition)
    producer.flush()
    producer.close()


@pytest.fixture
def swarm() -> LiveSwarm:
    """Return three pods on two partitions after two simulated hours."""
    swarm = LiveSwarm(4, SITES)
    for hour in (1, 2):
        swarm.now_us = hour * US_PER_HOUR
        for fabric in PODS:
            swarm.request(fabric, DrainCube(cube=f"{fabric}/cube-{hour}"))
        swarm.run_out()
    return swarm


@pytest.fixture
def settings(kafka: LocalKafka, redis_url: str, swarm: LiveSwarm, tmp_path: Path) -> LiveSettings:
    prefix = f"t{uuid.uuid4().hex[:8]}"
    settings = LiveSettings(kafka=kafka.bootstrap, redis=redis_url, prefix=prefix, data=tmp_path)
    create_topics(settings.endpoints.kafka, settings.endpoints.topics, PARTITIONS, 1)
    for partition in range(PARTITIONS):
        write(settings, swarm.log.records[partition])
    return settings


@pytest.fixture
def store(settings: LiveSettings) -> Iterator[RedisStore]:
    store = settings.store()
    yield store
    store.close()


def check_same(store: RedisStore, swarm: LiveSwarm) -> None:
    """Check that the store has the same content as the twin in memory."""
    for partition in range(PARTITIONS):
        image = swarm.store.image(partition)
        for state in image.states:
            assert store.load(partition, state.service, state.fabric) == state.written
        assert store.progress(partition) == swarm.store.progress(partition)
        assert set(store.positions(partition).values()) == {len(swarm.log.records[partition])}
    assert set(store.fabrics()) == set(PODS)


def content(settings: LiveSettings) -> dict[bytes, bytes | None]:
    """Return the whole content of the Redis."""
    with redis.Redis.from_url(settings.redis) as client:
        return {key: client.dump(key) for key in client.scan_iter()}


def test_a_rebuild_fills_an_empty_redis_and_the_clock_continues(
    settings: LiveSettings, store: RedisStore, swarm: LiveSwarm
) -> None:
    operations = KafkaOperations(settings.endpoints)
    operations.append(new_operation(ClockChanged(speed=60.0, paused=False, anchor_us=5), "mia"))
    lines: list[str] = []
    report = rebuild_twin(settings, lines.append, jobs=2)
    check_same(store, swarm)
    records = sum(len(rows) for rows in swarm.log.records.values())
    assert (report["twin"], report["messages"], report["fabrics"]) == (TWIN, records, list(PODS))
    epoch = read_epoch(store)
    assert epoch is not None
    assert (epoch.speed, epoch.paused) == (60.0, False)
    assert "the clock resumes as it was last set: × 60" in lines
    begun, ended = [row.body for _, row in operations.read(1)]
    assert isinstance(begun, RebuildBegun)
    assert ended == RebuildEnded(result="done", messages=records, state_sha256=report["state_sha256"])
    assert not [key for key in content(settings) if b"stage" in key]
    again = rebuild_twin(settings, lines.append, jobs=1)
    assert again["state_sha256"] == report["state_sha256"]
    check_same(store, swarm)


def test_a_rebuild_changes_nothing_if_a_service_disagrees_with_the_log(
    settings: LiveSettings, store: RedisStore
) -> None:
    rebuild_twin(settings, lambda _: None, jobs=1)
    before = content(settings)
    unexpected = foreign_output(1)
    write(settings, [unexpected])
    with pytest.raises(
        OutputMismatch, match=r"^partition 1, offset \d+: the log has CubeDrained cubes@pod-1/9"
    ):
        rebuild_twin(settings, lambda _: None, jobs=1)
    assert content(settings) == before
    last = KafkaOperations(settings.endpoints).read()[-1][1].body
    assert isinstance(last, RebuildEnded)
    assert last.result == "refused"


def foreign_output(partition: int) -> Record:
    """Return a message that no service of pod-1 emits."""
    line = (
        b'{"id":"cubes@pod-1/999","type":"CubeDrained","fabric":"pod-1","at_us":1,"cause":"operator@pod-1/1",'
        b'"source":"cubes@pod-1","seq":999,"v":1,"body":{"cube":1}}'
    )
    return Record(partition, 0, line, output_headers("CubeDrained", "cubes@pod-1", TWIN))


def test_a_killed_rebuild_continues_although_the_log_has_grown(
    settings: LiveSettings, store: RedisStore, swarm: LiveSwarm, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = {partition: len(rows) for partition, rows in swarm.log.records.items()}
    fold_partition(
        FoldTask(settings.endpoints, TWIN, 0, None, settings.upgrades_in(TWIN))
    )  # and then it is killed
    assert store.fabrics() == {}
    swarm.now_us = 3 * US_PER_HOUR
    swarm.run_out()
    for partition in range(PARTITIONS):
        write(settings, swarm.log.records[partition][ends[partition] :])
    lines: list[str] = []
    rebuild_twin(settings, lines.append, jobs=1)
    assert lines[0] == f"partition 0: {ends[0]:,} messages folded before, by an unfinished rebuild"
    check_same(store, swarm)
    # The rebuild is killed when all images are staged, before the second is promoted:
    promoted: list[int] = []

    def dies(self: RedisStore, partition: int, generation: int | None = None) -> bool:
        if promoted:
            raise KeyboardInterrupt
        promoted.append(partition)
        return RedisStore.promote_staged(self, partition, generation)

    class Dying(RedisStore):
        promote_staged = dies

    monkeypatch.setattr(LiveSettings, "store", lambda self: Dying(self.redis))
    with pytest.raises(KeyboardInterrupt):
        rebuild.rebuild_twin(settings, lambda _: None, jobs=1)
    monkeypatch.undo()
    lines.clear()
    rebuild_twin(settings, lines.append, jobs=1)
    assert [line.split(": ")[0] for line in lines if "folded before" in line] == [
        "partition 0",
        "partition 1",
    ]
    check_same(store, swarm)


def keep_all(settings: LiveSettings, swarm: LiveSwarm) -> dict[str, list[int]]:
    """Store snapshots of all sites in the historian's folder; return their positions."""
    folder = settings.snapshots_in(TWIN)
    return {site: keep_snapshots(swarm, site, folder, 20, software_version()) for site in swarm.sites}


def test_a_rebuild_from_snapshots_equals_a_rebuild_from_the_whole_log(
    settings: LiveSettings, store: RedisStore, swarm: LiveSwarm
) -> None:
    unreadable = [Record(partition, 0, b"no message", {}) for partition in range(PARTITIONS)]
    write(settings, unreadable)  # after the snapshots, so no longer in the order of the swarm's log
    positions = keep_all(settings, swarm)
    assert all(len(kept) > 1 for kept in positions.values())
    lines: list[str] = []
    whole = rebuild_twin(settings, lines.append, jobs=1, by_snapshots=False)
    assert "snapshots" not in "".join(lines)
    expected = content_from_log(settings)
    store.flush()
    lines.clear()
    result = rebuild_twin(settings, lines.append, jobs=1)
    assert result == whole
    for site, (*_, last) in positions.items():
        assert any(f"{site} (position {last:,})" in line for line in lines if "from the snapshots of" in line)
    assert content_from_log(settings) == expected


def content_from_log(settings: LiveSettings) -> dict[bytes, Any]:
    """Return the content of the Redis that comes from the log, without processes and wall-clock time."""
    with redis.Redis.from_url(settings.redis) as client:
        read = {b"hash": client.hgetall, b"string": client.get, b"set": client.smembers}
        read |= {b"zset": lambda key: client.zrange(key, 0, -1, withscores=True)}
        keys = [key for key in client.scan_iter() if not re.search(b":(clock|process.*|twin)$", key)]
        return {key: read[client.type(key)](key) for key in keys}


def test_a_killed_rebuild_from_snapshots_continues_unless_all_is_requested(
    settings: LiveSettings, store: RedisStore, swarm: LiveSwarm
) -> None:
    keep_all(settings, swarm)
    for by_snapshots in (True, False):
        begun = fold_partition(
            FoldTask(settings.endpoints, TWIN, 0, settings.snapshots_in(TWIN), settings.upgrades_in(TWIN))
        ).mark.begun
        assert begun  # and then it is killed
        first = next(iter(begun))
        lines: list[str] = []
        rebuild_twin(settings, lines.append, jobs=1, by_snapshots=by_snapshots)
        behind = f"folded before, by an unfinished rebuild, from the snapshots of {first}"
        assert (behind in lines[0]) == by_snapshots
        check_same(store, swarm)


def test_snapshots_that_contradict_the_log_are_reported_and_the_whole_log_is_folded(
    settings: LiveSettings, store: RedisStore, swarm: LiveSwarm, caplog: pytest.LogCaptureFixture
) -> None:
    """The snapshots are consistent with their digests, but their content is wrong."""
    for site, (*_, before, last) in keep_all(settings, swarm).items():
        folder = settings.snapshots_folder(TWIN, site)
        (folder.folder / f"{last:012d}.snapshot").unlink()
        snapshot = folder.read(before)
        states = {key: dict(stored) for key, stored in snapshot.states.items()}
        counters = states["cubes", site]["_counters"]
        states["cubes", site]["_counters"] = counters.replace(b'"ticks":', b'"ticks":1')
        folder.put(replace(snapshot, states=states))
    rebuild_twin(settings, lambda _: None, jobs=1)
    check_same(store, swarm)
    logged = [record.getMessage() for record in caplog.records if record.name == "lightwave.live"]
    assert [line.split(" ", 3)[:2] for line in logged] == [["partition", "0:"], ["partition", "1:"]]
    assert all("are skipped, and the log is folded from its start: partition" in line for line in logged)


def command(settings: LiveSettings) -> dict[str, Any]:
    """Return the arguments of a rebuild in a process."""
    places = {name: str(getattr(settings, name)) for name in ("kafka", "redis", "prefix", "data")}
    named = {f"LIGHTWAVE_{name.upper()}": place for name, place in places.items()}
    words = [sys.executable, "-m", "ops.cli", "live", "rebuild", "--jobs", "2"]
    return {"args": words, "env": os.environ | named, "stderr": subprocess.PIPE, "text": True}


def test_only_one_rebuild_runs_at_a_time(settings: LiveSettings, store: RedisStore) -> None:
    before = content(settings)
    with rebuild.exclusive_rebuild(store):
        assert wait_until(lambda: processes(store), 10)
        second = subprocess.run(**command(settings), check=False)
    assert second.returncode == InvalidInput.exit_code
    assert second.stderr.startswith("lightwave: another rebuild is running (pid ")
    assert content(settings) == before


def runs(pid: str) -> bool:
    """Whether a process is running; a process that has exited has no command line."""
    try:
        return bool(Path("/proc", pid, "cmdline").read_bytes())
    except OSError:
        return False


def test_a_killed_rebuild_leaves_no_process_behind_and_can_continue(
    settings: LiveSettings, store: RedisStore, swarm: LiveSwarm
) -> None:
    with subprocess.Popen(**command(settings)) as process:
        assert process.stderr is not None
        assert any(line.startswith("partition 0: ") for line in process.stderr)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        process.kill()
    assert children
    assert wait_until(lambda: not any(map(runs, children)), 10)
    rebuild_twin(settings, lambda _: None, jobs=1)
    check_same(store, swarm)
