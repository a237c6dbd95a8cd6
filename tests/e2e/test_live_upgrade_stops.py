"""A live twin on a real Kafka and Redis is upgraded while processes of it are stopped (SIGSTOP).

A stopped process counts as dead, so the upgrade does not wait for it. When it runs again (SIGCONT), it still
has states, positions and requests of its own version in memory, and must commit none of them.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import pytest

from ops.servers.local_servers import LocalKafka
from shared.engine.code_version import RULES
from shared.runtimes.live.process.process_registry import processes
from tests.soak.whole_twin import TwinOptions
from tests.support.live_twin import BUSY, LiveTwin, live_twin
from tests.support.next_version import command, next_version

pytestmark = pytest.mark.slow("upgrades a live twin twice while processes of it are stopped")

OPTIONS = TwinOptions(
    seed=3,
    speed=2_000.0,
    settings=(*BUSY, "transceivers.telemetry_interval_s=300"),
    partitions=1,
    prefix="stops",
    doubled=(),
    historian=True,
)
FIRST = ("jobs-a", "gateway", "historian")
"""Processes that continue after the first upgrade."""
SECOND = ("cubes-a", "sequencer", "upgrade")
"""Processes that continue after the second upgrade. Others have their names by now."""
REFUSED = {1, 2, 75}
"""Exit codes of a process that may not continue: a person must act, its name is taken, or it is to be started
again, which is then refused."""
REPLACED = ("cubes-a", "jobs-a", "sequencer")
"""Those without which the twin does not come to rest: others take over from them."""
GO_ON_S_MAX = 60.0
STOPS_ITSELF = """
import os, signal
from shared.storage.store.redis_store import RedisStore
def stage(self, *args, real=RedisStore.stage, **named):
    real(self, *args, **named)
    os.kill(os.getpid(), signal.SIGSTOP)
RedisStore.stage = stage
from ops.cli.main import main
main()
"""
"""The command line, which stops itself (SIGSTOP) after an upgrade has staged states. Its messages are on the
log then, and the states are not replaced yet."""


@dataclass
class StoppableTwin(LiveTwin):
    """A twin whose sleepers have no supervisor, which would start them again."""

    sleepers: dict[str, "subprocess.Popen[bytes]"] = field(default_factory=dict, init=False)

    def start_process(self, name: str) -> None:
        if self.options.program == OPTIONS.program and name in (*FIRST, *SECOND):
            self.sleepers[name] = self.start_unsupervised(name, self._command(name))
        else:
            super().start_process(name)

    def start_unsupervised(self, name: str, program: Sequence[str]) -> "subprocess.Popen[bytes]":
        """Start a process whose output is in NAME.log, and which `stop` kills."""
        environment = os.environ | self.environment | {"LIGHTWAVE_DATA": str(self.folder / f"data-{name}")}
        with (self.folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                program, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self.unsupervised.append(process)
        return process

    @cached_property
    def unsupervised(self) -> list["subprocess.Popen[bytes]"]:
        return []

    def stop(self) -> None:
        for process in self.unsupervised:
            process.kill()
            process.wait()
        super().stop()


def in_version(twin: LiveTwin, folder: Path) -> LiveTwin:
    """The same twin, with the processes and commands of another version."""
    program = ("env", f"PYTHONPATH={folder}", *command())
    later = LiveTwin(twin.folder, twin.kafka, twin.redis, replace(twin.options, program=program))
    later.gateways = twin.gateways
    return later


def version_after(version: Path, folder: Path) -> Path:
    """The version that follows `version`: the same code under the next number of rules."""
    shutil.copytree(version, folder)
    path = folder / "shared/engine/code_version.py"
    text = path.read_text()
    assert text.count(f"RULES = {RULES + 1}\n") == 1
    path.write_text(text.replace(f"RULES = {RULES + 1}\n", f"RULES = {RULES + 2}\n"))
    return folder


def settle(twin: LiveTwin) -> None:
    """Bring the twin to rest as an operator does before an upgrade: other processes take over from those that
    are stopped, the clock is paused, the log is audited, and all other processes stop. The clock goes on
    then: a process that continues has something to do."""
    for name in REPLACED:
        words = twin.words_of(name)
        words[words.index("--replica") + 1] = f"{name}-2"
        twin.supervisor.keep(f"{name}-2", [*twin.options.program, *words])
    with twin.paused():
        report = twin.json("audit", "--live")
        assert report["clean"], report
        twin.supervisor.stop()
    twin.wait_for(
        "no process counts as running", lambda: not [row for row in processes(twin.store) if row["alive"]]
    )


def stopping_command(version: Path) -> list[str]:
    return ["env", f"PYTHONPATH={version}", sys.executable, "-P", "-c", STOPS_ITSELF]


def upgrade(later: LiveTwin) -> None:
    done = later.run("live", "upgrade", "-o", "json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [row["site"] for row in json.loads(done.stdout)] == ["pod-0"]


def continued(sleepers: "Mapping[str, subprocess.Popen[bytes]]", names: Iterable[str]) -> dict[str, int]:
    """Exit code of each of these processes, which continue at once."""
    for name in names:
        sleepers[name].send_signal(signal.SIGCONT)
    return {name: sleepers[name].wait(GO_ON_S_MAX) for name in names}


def committed(twin: LiveTwin) -> dict[str, object]:
    """What processes commit: states, positions, the values and the outbox of the partition, and requests of
    operators. Not the records on Kafka: a sequencer that continues may append void ones."""
    snapshot = twin.store.snapshot(0, [])
    return {
        "states": twin.digest(),
        "outbox": snapshot.outbox_size,
        "generation": snapshot.generation,
        "requests": twin.store.size(0),
        **snapshot.positions,
        **snapshot.values,
    }


def waiting_request(port: int) -> socket.socket:
    """A connection to a stopped gateway that has a request for it: it reads it when it continues."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=GO_ON_S_MAX)
    connection.sendall(
        f"POST /v1/cubes/pod-0/cube-3/drain HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
        "Idempotency-Key: sent-while-stopped\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"
        "Connection: close\r\n\r\n{}".encode()
    )
    return connection


def answer_of(connection: socket.socket) -> str:
    """The answer; empty if the gateway closed the connection without one."""
    with connection:
        try:
            return b"".join(iter(lambda: connection.recv(65_536), b"")).decode()
        except ConnectionResetError:
            return ""


def test_processes_that_sleep_through_upgrades_commit_nothing_afterwards(
    tmp_path: Path, kafka: LocalKafka
) -> None:
    """Some processes continue after the first upgrade, while nothing else runs, and some after the second,
    next to those of the newest version. The first upgrade is stopped, too, before it replaces the states: the
    same version upgrades the twin instead."""
    version = next_version(tmp_path / "version")
    newest = version_after(version, tmp_path / "newest")
    with live_twin(tmp_path / "live", kafka, OPTIONS, StoppableTwin) as twin:
        assert isinstance(twin, StoppableTwin)
        later, last = in_version(twin, version), in_version(twin, newest)
        sleepers = twin.sleepers
        try:
            twin.wait_advance()
            for process in sleepers.values():
                process.send_signal(signal.SIGSTOP)
            connection = waiting_request(twin.port)
            settle(twin)
            slow = twin.start_unsupervised("upgrade", [*stopping_command(version), "live", "upgrade"])
            later.wait_for("the first upgrade is stopped", lambda: is_stopped(slow.pid))
            refused = last.run("live", "upgrade")
            assert refused.returncode == 1
            assert f"an upgrade to rules {RULES + 1} by" in refused.stderr
            upgrade(later)
            before = committed(later)
            assert REFUSED.issuperset(continued(sleepers, FIRST).values())
            assert committed(later) == before
            answer = answer_of(connection)
            assert answer.startswith("HTTP/1.1 503 ")
            assert "pod-0 was upgraded while this gateway was stopped" in answer
            upgrade(last)
            last.start_processes()
            last.wait_ready()
            assert REFUSED.issuperset(continued({**sleepers, "upgrade": slow}, SECOND).values())
            assert "another process replaced its states" in twin.process_log("upgrade")
            lives_on(last)
        finally:
            later.store.close()
            last.stop()


def is_stopped(pid: int) -> bool:
    """Whether a process is stopped by SIGSTOP."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def lives_on(twin: LiveTwin) -> None:
    """The twin advances in its version. Its log and its states are those of the lab."""
    twin.post("/v1/cubes/pod-0/cube-2/drain")
    twin.wait_advance()
    report = twin.audit()
    assert report["clean"], report
