"""A twin that one version runs and the next version takes over. Both versions are real, each with its own
sources."""

import json
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from shared.engine.code_version import RULES
from shared.runtimes.poll import poll_until
from tests.support.living import TAKEN_S_MAX, LivingTwin, cli
from tests.support.next_version import command, environment, next_version

pytestmark = pytest.mark.slow("starts two versions of the software, four twins in all")

SPAN_S = 90.0
KILLED = """
import os, signal, sys
from shared.storage.log.indexed_log import IndexedLog
from shared.storage.store.redis_store import RedisStore
kind, name = {"line": (IndexedLog, "append"), "states": (RedisStore, "promote_staged")}[sys.argv[1]]
real = getattr(kind, name)
def and_die(*args, **named):
    real(*args, **named)
    os.kill(os.getpid(), signal.SIGKILL)
setattr(kind, name, and_die)
sys.argv[1:2] = []
from ops.cli.main import main
main()
"""
"""The command line, which is killed after the message of the upgrade, or after its states."""


@pytest.fixture(scope="module")
def version(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return next_version(tmp_path_factory.mktemp("next"))


class NextTwin(LivingTwin):
    """A twin that the next version runs."""

    version: Path

    def start(self, *more: str) -> None:
        self.command = ("env", f"PYTHONPATH={self.version}", *command())
        super().start(*more)


def new(version: Path, *words: str, program: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*(program or command()), *words],
        env=environment(version),
        text=True,
        capture_output=True,
        timeout=SPAN_S,
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.parametrize("killed_after", ["line", "states"])
def test_the_next_version_takes_over_and_reports_what_would_differ(
    version: Path, tmp_path: Path, killed_after: str
) -> None:
    options = ("--speed", "20000", "--set", "pod.cubes=8", "--seed", "5")
    twin = LivingTwin(tmp_path / "data", options)
    twin.start()
    try:
        assert twin.cli("drain", "pod-0/cube-1").returncode == 0
        if killed_after == "line":
            twin.cli("undrain", "pod-0/cube-2")  # refused, with another sentence than in the next version
    finally:
        assert twin.stop() == 0
    data = ("--data", str(twin.data))
    log = twin.data / "log" / "pod-0.jsonl"
    log_before = log.read_bytes()

    refused = new(version, "up", *data, "--port", str(twin.port))
    assert refused.returncode == 1
    assert f"of rules {RULES + 1}: run `lightwave upgrade` to convert them" in refused.stderr
    checked = new(version, "upgrade", "--check", *data, "-o", "json")
    assert checked.returncode == 5
    (row,) = json.loads(checked.stdout)
    assert (row["migrated"], row["position"]) == (["cubes"], len(log_before.splitlines()))
    if killed_after == "line":
        assert "cube: 'pod-0/cube-2' is in use" in row["first_difference"]
    else:
        assert (row["first_difference"], row["differing_states"]) == (None, ["cubes@pod-0: drains"])
    assert log.read_bytes() == log_before

    program = (sys.executable, "-P", "-c", KILLED, killed_after)
    assert new(version, "upgrade", *data, program=program).returncode == -signal.SIGKILL
    before = cli("up", *data, "--port", str(twin.port), timeout_s=SPAN_S)
    assert before.returncode == 1
    sentence = "records an unfinished upgrade" if killed_after == "line" else "older: start it with that"
    assert sentence in before.stderr
    again = new(version, "upgrade", *data)
    assert again.returncode == 0
    assert ("nothing to upgrade" in again.stdout) == (killed_after == "states")
    *unchanged, last = log.read_bytes().splitlines(keepends=True)
    assert b"".join(unchanged) == log_before
    assert json.loads(last)["type"] == "Upgraded"
    assert cli("upgrade", *data, timeout_s=SPAN_S).returncode == 1

    later = NextTwin(twin.data)
    later.version = version
    later.start()
    try:
        for _ in range(2):
            drain_with_retries(later, "pod-0/cube-2")
        assert later.get("/v1/cubes/pod-0/cube-2")["drained"]
    finally:
        assert later.stop() == 0
    audited = new(version, "audit", *data, "-o", "json")
    assert audited.returncode == 0, audited.stdout + audited.stderr
    (site,) = json.loads(audited.stdout)["sites"]
    assert (site["since"]["position"], site["since"]["before"]["rules"]) == (len(unchanged) + 1, RULES)
    assert site["messages"] > len(unchanged) + 1


def drain_with_retries(twin: NextTwin, cube: str) -> None:
    """Drain a cube with the next version's command, and retry until the log shows the outcome."""
    key = str(uuid.uuid4())

    def is_complete() -> bool:
        words = command("drain", cube, "--key", key, "-o", "json")
        env = environment(twin.version) | {"LIGHTWAVE_URL": twin.url}
        done = subprocess.run(
            words, env=env, text=True, capture_output=True, timeout=SPAN_S, stdin=subprocess.DEVNULL
        )
        answer = json.loads(done.stdout)
        return bool(answer["complete"]) and answer["status"] in ("accepted", "refused")

    assert poll_until(is_complete, TAKEN_S_MAX), f"{cube} is not drained"
