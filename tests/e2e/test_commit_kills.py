"""An embedded twin is killed between the root messages of one commit, and between log and states of one."""

import signal
import sys
from pathlib import Path

import pytest

from schemas.envelope import Envelope
from schemas.messages.sequencer import FabricCommissioned
from schemas.registry import decode
from services.fabric_kinds import services_of
from shared.engine.site_driver import LabRequest
from shared.runtimes.lab import Lab
from shared.runtimes.poll import poll_until
from tests.support.living import READY_S_MAX, LivingTwin, cli

KILLED = """
import os, signal, sys
from shared.runtimes.embedded.site_runner import SiteRunner
from shared.storage.log.indexed_log import IndexedLog
def die_after(n):
    if n >= 5:
        os.kill(os.getpid(), signal.SIGKILL)
def process(self, root, real=SiteRunner._process):
    messages = real(self, root)
    die_after(len(self._uncommitted.roots))
    return messages
def append(self, messages, lines, real=IndexedLog.append):
    roots = sum(message.cause is None for message in messages)
    if point == "torn":
        keep = len(lines) // 2
        if roots >= 5:
            self._file.write(b"\\n".join([*lines[:keep], lines[keep][:20]]))
            die_after(roots)
    real(self, messages, lines)
    if point == "log":
        die_after(roots)
point = sys.argv.pop(1)
if point == "roots":
    SiteRunner._process = process
else:
    IndexedLog.append = append
from ops.cli.main import main
main()
"""
"""The command line, which is killed when it has processed five roots that are not committed, or while it
writes that many to the log, or after that."""
POINTS = ("roots", "torn", "log")


def lab_lines(log: list[Envelope]) -> list[bytes]:
    """The log of a lab with the same requests at the same times."""
    body, written = log[0].body, list[bytes]()
    assert isinstance(body, FabricCommissioned)
    sent = [one for one in log if one.source.startswith("operator@")]
    requests = [LabRequest(one.at_us, one.fabric, one.body, one.seq) for one in sent]
    lab = Lab(
        body.site, {log[0].fabric: body.config}, services_of, lambda data: written.extend(data.splitlines())
    )
    lab.run(log[-1].at_us, requests)
    return written


@pytest.mark.parametrize("rounds", [1, pytest.param(4, marks=pytest.mark.slow("kills a twin 12 times"))])
def test_a_twin_that_is_killed_within_a_commit_repeats_what_is_missing(tmp_path: Path, rounds: int) -> None:
    options = ("--speed", "1e8", "--seed", "5", "--set", "pod.cubes=8")
    twin = LivingTwin(tmp_path / "data", options)
    log = twin.data / "log" / "pod-0.jsonl"
    try:
        for point in POINTS * rounds:
            before = log.read_bytes() if log.exists() else b""
            twin.command = (sys.executable, "-P", "-c", KILLED, point)
            twin.launch()
            assert twin.process is not None
            assert twin.process.wait(60) == -signal.SIGKILL
            assert log.read_bytes().startswith(before)
            twin.options = ()
            twin.command = LivingTwin.command
            twin.start()
            twin.wait_clock(twin.get("/v1/clock")["now_us"])
            twin.post("/v1/cubes/pod-0/cube-1/drain", key=f"{point} {len(before)}")
            assert poll_until(lambda: twin.get("/v1/requests") == [], READY_S_MAX)
            assert twin.stop() == 0
    finally:
        twin.stop()
    lines = log.read_bytes().splitlines()
    assert sum(b'"type":"DrainCube"' in line for line in lines) == len(POINTS) * rounds
    assert lab_lines([decode(line) for line in lines])[: len(lines)] == lines
    audited = cli("audit", "--data", str(twin.data), "-o", "json")
    assert audited.returncode == 0, audited.stdout + audited.stderr
