"""An embedded twin is killed at the beginning of each phase of a drill."""

import contextlib
import http.client
import json
import signal
import sys
from pathlib import Path

import pytest

from schemas.drill_plan import PHASES
from schemas.messages.drills import DrillPhaseBegun
from schemas.registry import decode
from shared.basics.units import US_PER_MIN
from shared.runtimes.poll import poll_until
from tests.support.drill_runs import SETTINGS, check_counts, check_drill, check_lab, lasting_drill
from tests.support.living import LivingTwin, cli

pytestmark = pytest.mark.slow("starts a twin six times for each way to die")

KILLED = """
import os, signal, sys
from shared.storage.log.indexed_log import IndexedLog
from shared.storage.store.redis_store import RedisStore
begun = []
def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)
def append(self, messages, lines, real=IndexedLog.append):
    real(self, messages, lines)
    if any(b'"DrillPhaseBegun"' in line for line in lines):
        begun.append(True)
        if kind == "log":
            die()
def commit(self, *args, real=RedisStore.commit, **named):
    found = real(self, *args, **named)
    if begun:
        die()
    return found
kind = sys.argv.pop(1)
import ops.twin.up
ops.twin.up.ROOTS_PER_COMMIT = 1
IndexedLog.append = append
RedisStore.commit = commit
from ops.cli.main import main
main()
"""
"""The command line, which is killed after the message that begins a phase is on the log, or after the commit
of the states that have read it. After a restart the next such message is that of the next phase, because each
root has its own commit."""
DRILL = "pod-0/drill-0"
END_S_MAX = 120.0


def _phases(log: Path) -> list[str]:
    """The phases that have begun."""
    messages = (decode(line) for line in log.read_bytes().splitlines())
    return [one.body.phase for one in messages if isinstance(one.body, DrillPhaseBegun)]


@pytest.mark.parametrize("kind", ["log", "states"])
def test_a_drill_goes_on_after_a_kill_in_every_phase(tmp_path: Path, kind: str) -> None:
    options = ("--speed", "5000", "--seed", "5", *(word for pair in SETTINGS for word in ("--set", pair)))
    twin = LivingTwin(tmp_path / "data", options, command=(sys.executable, "-P", "-c", KILLED, kind))
    log = twin.data / "log" / "pod-0.jsonl"
    try:
        twin.start()
        twin.wait_clock(1.0)
        twin.post("/v1/clock/pause")
        plan = json.loads(lasting_drill(20 * US_PER_MIN).model_dump_json())
        with contextlib.suppress(OSError, http.client.HTTPException):  # killed before it answers
            twin.post("/v1/drills", {"plan": plan})
        for number in range(1, len(PHASES) + 1):
            assert twin.process is not None
            assert twin.process.wait(END_S_MAX) == -signal.SIGKILL
            assert _phases(log) == list(PHASES[:number])
            twin.launch()
            if number == 1:
                twin.wait_ready()
                twin.post("/v1/clock/resume")
        twin.wait_ready()
        assert poll_until(lambda: twin.get(f"/v1/drills/{DRILL}")["status"] is not None, END_S_MAX)
        messages = [decode(line) for line in log.read_bytes().splitlines()]
        rows = "/v1/ocs?fabric=pod-0&where=state!=up"
        assert check_counts(messages, DRILL, twin.get, rows) >= len(PHASES)
    finally:
        assert twin.stop() == 0
    lines = log.read_bytes().splitlines()
    check_drill([decode(line) for line in lines], DRILL)
    check_lab(lines, [DRILL])
    audited = cli("audit", "--data", str(twin.data), "-o", "json")
    assert audited.returncode == 0, audited.stdout + audited.stderr
