"""A live twin on a real Kafka and Redis: one version runs it, and the next version takes over. Both versions
are real."""

import json
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ops.servers.local_servers import LocalKafka
from shared.engine.code_version import RULES
from shared.storage.snapshots.site_snapshot import from_bytes, to_bytes
from tests.soak.whole_twin import TwinOptions
from tests.support.live_twin import BUSY, LiveTwin, live_twin
from tests.support.next_version import command, next_version

pytestmark = pytest.mark.slow("starts a live twin in two versions of the software")

OPTIONS = TwinOptions(
    pods=2, seed=3, speed=2_000.0, settings=BUSY, partitions=1, prefix="upgrade", doubled=(), historian=True
)
KILLED = """
import os, signal, sys
from shared.runtimes.live.kafka.appender import KafkaAppender
from shared.storage.store.redis_store import RedisStore
def and_die(real):
    def dies(*args, **named):
        real(*args, **named)
        os.kill(os.getpid(), signal.SIGKILL)
    return dies
async def append(self, partition, entries, real=KafkaAppender.append):
    await real(self, partition, entries)
    os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[1] == "line":
    KafkaAppender.append = append
else:
    RedisStore.stage = and_die(RedisStore.stage)
sys.argv[1:2] = []
from ops.cli.main import main
main()
"""
"""The command line, which is killed after the first message of an upgrade, or after staging its states."""


def in_words(done: "subprocess.CompletedProcess[str]") -> str:
    return done.stdout + done.stderr


@pytest.fixture
def version(tmp_path: Path) -> Path:
    return next_version(tmp_path / "next")


def test_the_next_version_takes_over_and_never_runs_next_to_the_previous_one(
    version: Path, tmp_path: Path, kafka: LocalKafka
) -> None:
    environment = ("env", f"PYTHONPATH={version}")
    with live_twin(tmp_path / "live", kafka, OPTIONS) as twin:
        twin.wait_advance()
        twin.post("/v1/cubes/pod-0/cube-1/drain")
        later = LiveTwin(twin.folder, kafka, twin.redis, replace(OPTIONS, program=(*environment, *command())))
        later.gateways = twin.gateways
        stranger = later.run("live", "worker", "cubes", "--replica", "stranger", "--metrics-port", "0")
        assert stranger.returncode == 1
        assert f"of rules {RULES + 1}: run `lightwave live upgrade` to convert them" in stranger.stderr
        running = later.run("live", "upgrade")
        assert running.returncode == 1
        assert "still running; pause the clock" in running.stderr
        twin.wait_advance()
        with twin.paused():
            twin.supervisor.stop()
            before = {site: twin.positions()[site] for site in ("pod-0", "pod-1")}
        _upgrade(later, twin, environment)
        try:
            _lives_on(later, twin, before)
        finally:
            later.stop()


def _checked(later: LiveTwin) -> None:
    """The check changes nothing; it reports what would be done and what would differ."""
    checked = later.run("live", "upgrade", "--check", "-o", "json")
    assert checked.returncode == 5, in_words(checked)
    rows = json.loads(checked.stdout)
    assert [(row["site"], row["migrated"]) for row in rows] == [("pod-0", ["cubes"]), ("pod-1", ["cubes"])]
    assert {row["first_difference"] for row in rows} == {None}
    assert rows[0]["differing_states"] == ["cubes@pod-0: drains"]


def _upgrade(later: LiveTwin, twin: LiveTwin, environment: tuple[str, ...]) -> None:
    """The upgrade is killed twice, and no process runs meanwhile. Both pods are in one partition of the
    log."""
    _checked(later)
    for step in ("line", "states"):
        program = (*environment, sys.executable, "-P", "-c", KILLED, step)
        killed = replace(later.options, program=program)
        again = LiveTwin(later.folder, later.kafka, later.redis, killed)
        assert again.run("live", "upgrade").returncode == -signal.SIGKILL
        again.store.close()
        for one in (twin, later):
            for kind in (("worker", "cubes"), ("sequencer",)):
                refused = one.run("live", *kind, "--replica", "early", "--metrics-port", "0")
                assert refused.returncode == 1, in_words(refused)
                assert f"an upgrade to rules {RULES + 1} by" in refused.stderr
                assert "is not finished: `lightwave live upgrade` of that version" in refused.stderr
        rebuilt = later.run("live", "rebuild")
        assert (rebuilt.returncode, "is not finished" in rebuilt.stderr) == (1, True)
        older = twin.run("live", "rebuild")
        assert older.returncode == 1
        assert ": use that version; nothing was changed" in older.stderr
    done = later.run("live", "upgrade", "-o", "json")
    assert done.returncode == 0, in_words(done)
    rows = json.loads(done.stdout)
    assert [(row["site"], row["migrated"]) for row in rows] == [("pod-0", ["cubes"]), ("pod-1", ["cubes"])]
    for words in ((), ("--check",)):
        nothing = later.run("live", "upgrade", *words)
        assert (nothing.returncode, nothing.stdout.strip()) == (0, "nothing to upgrade")


def _lives_on(later: LiveTwin, twin: LiveTwin, before: dict[str, int]) -> None:
    late = twin.run("live", "worker", "cubes", "--replica", "late", "--metrics-port", "0")
    assert late.returncode == 1
    assert f"of rules {RULES}, which are older: start it with that version" in late.stderr
    later.start_processes()
    later.wait_ready()
    later.wait_advance()
    for _ in range(2):
        later.post("/v1/cubes/pod-0/cube-2/drain")
    report = later.audit()
    assert report["clean"], report
    for row in report["sites"]:
        assert row["since"]["before"]["rules"] == RULES
        assert row["position"] > before[row["site"]] + 2
    for words in ((), ("--all",)):
        rebuilt = later.run("live", "rebuild", *words)
        assert rebuilt.returncode == 0, in_words(rebuilt)
    later.wait_advance()
    assert later.audit()["clean"]
    refused = later.run("get", "cubes", "--at", "0d00:00:01")
    assert f"wrote its log by rules {RULES}; only" in refused.stderr
    upgrades = later.folder / "snapshots" / "upgrades"
    path, _ = sorted(upgrades.rglob("*.snapshot"))
    kept = path.read_bytes()
    found = from_bytes(kept)
    states = {key: dict(stored) for key, stored in found.states.items()}
    states.popitem()
    path.write_bytes(to_bytes(replace(found, states=states)))
    for words in ((), ("--all",)):
        forged = later.run("live", "rebuild", *words)
        assert forged.returncode == 1, in_words(forged)
        assert "is missing or differs from the log" in forged.stderr
    path.write_bytes(kept)
