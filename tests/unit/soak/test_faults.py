"""Faults report the problems they detect, and restore the processes they hit, however they end."""

import io
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
from collections.abc import Iterator
from email.message import Message
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from shared.runtimes.live.kafka.layout import Topics
from tests.soak.fault_plan import FaultAction, PlannedFault
from tests.soak.faults import context as scenes
from tests.soak.faults import processes, rebuilds, requests, servers
from tests.soak.faults.context import CommandResult, FaultContext, SoakEnded, TwinDeviated
from tests.soak.log_facts import LogRecord
from tests.soak.whole_twin import FaultTarget, TargetKind

pytestmark = pytest.mark.integration


class Supervised:
    """Processes that are signalled, dropped and started."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []
        self.down: set[str] = set()
        self._names = ["ocs-a", "ocs-b", "sequencer", "gateway", "gateway-b"]

    @property
    def names(self) -> list[str]:
        return [*self._names]

    def send_signal(self, name: str, sign: Any) -> int | None:
        if name in self.down:
            return None
        self.told.append((sign.name, name))
        return self.names.index(name)

    def resume(self, pid: int) -> None:
        self.told.append(("SIGCONT", self.names[pid]))

    def drop(self, name: str, sign: Any = signal.SIGTERM) -> None:
        self.told.append((f"drop {sign.name}", name))


class Server:
    def __init__(self, name: str, told: list[tuple[str, str]]) -> None:
        self.brokers = None
        self.url = "redis://127.0.0.1:1/0"
        self._name = name
        self._told = told

    def __getattr__(self, verb: str) -> Any:
        return lambda **_: self._told.append((verb, self._name))


class Clock:
    """Two gateways over one clock; one that loses forgets a pause when the speed changes."""

    def __init__(self, *, loses: bool) -> None:
        self.state: dict[str, Any] = {"paused": False, "speed": 60.0}
        self._loses = loses
        self._lock = threading.Lock()

    def send(self, method: str, path: str, body: Any = None, *, gateway: str) -> dict[str, Any]:
        assert gateway in ("gateway", "gateway-b")
        with self._lock:
            if method == "PUT":
                self.state |= body
                if self._loses and path.endswith("/speed"):
                    self.state["paused"] = False
            elif method == "POST":
                self.state["paused"] = path.endswith("/pause")
            return dict(self.state)


@pytest.fixture
def twin() -> Any:
    supervisor = Supervised()
    return SimpleNamespace(
        supervisor=supervisor,
        kafka=Server("kafka", supervisor.told),
        redis=Server("redis", supervisor.told),
        topics=Topics("soak"),
        workers={"ocs-a": "ocs", "ocs-b": "ocs"},
        sequencers=("sequencer",),
        gateways={"gateway": 1, "gateway-b": 2},
        options=SimpleNamespace(
            services=("ocs",), speed=60.0, words=["--pods", "4"], prefix="soak", program=[sys.executable]
        ),
        environment={},
        words_of=lambda name: ["live", name],
        start_process=lambda name: supervisor.told.append(("start", name)),
    )


@pytest.fixture
def context(twin: Any) -> FaultContext:
    return FaultContext(twin)


def fault_at(
    name: str, kind: TargetKind = "worker", duration_s: float = 0.0, number: int = 0
) -> PlannedFault:
    return PlannedFault(
        number, 0, 0.0, FaultAction(kind, "it", lambda *_: None), FaultTarget(name, kind), duration_s, 1
    )


def answers(context: FaultContext, *found: CommandResult) -> list[tuple[str, ...]]:
    """Let commands end with these results, one after the other; the arguments of each."""
    asked: list[tuple[str, ...]] = []
    ends = iter(found)

    def command(*words: str, **_: Any) -> CommandResult:
        asked.append(words)
        return next(ends)

    context.command = command  # type: ignore[method-assign]  # instead of processes
    return asked


def done(code: int = 0, told: str = "", stderr: str = "why") -> CommandResult:
    return CommandResult(("live", "it"), code, told, stderr)


# --- what a fault finds -------------------------------------------------------------------------------------


TAKEN = "lightwave: --replica ocs-a: another live process has this name (pid 7 on here)"


@pytest.mark.parametrize(
    ("code", "stderr", "found"),
    [(2, TAKEN, 0), (0, "", 1), (-9, TAKEN, 1), (2, "lightwave: --replicas: No such option", 1)],
)
def test_a_name_that_two_have_is_found(context: FaultContext, code: int, stderr: str, found: int) -> None:
    answers(context, done(code, stderr=stderr))
    processes.namesake(context, fault_at("ocs-a"))
    assert len(context.problems) == found
    assert all(problem.startswith("a second ocs-a was not refused: ") for problem in context.problems)


@pytest.mark.parametrize(
    ("sentence", "found"), [("twin x: is there already, pod-0", 0), ("twin y: pod-0", 1)]
)
def test_an_init_that_makes_a_living_twin_again_is_found(
    context: FaultContext, sentence: str, found: int
) -> None:
    asked = answers(context, done(-9), done(0, sentence))
    rebuilds.init_again(context, fault_at("twin", "twin"))
    assert len(context.problems) == found
    assert asked == [("live", "init", "--keep", "--pods", "4")] * 2


def begun(*fabrics: str) -> Iterator[LogRecord]:
    for offset, fabric in enumerate(fabrics):
        message = {
            "id": f"sequencer@{fabric}/{offset}",
            "type": "FabricCommissioned",
            "fabric": fabric,
            "at_us": 0,
            "cause": None,
            "source": f"sequencer@{fabric}",
            "seq": offset,
            "body": {"site": fabric, "config": {"kind": "superpod"}},
        }
        yield LogRecord(0, offset, {}, json.dumps(message).encode())


PODS = tuple(f"pod-{number}" for number in range(rebuilds.FRESH["pods"]))


@pytest.mark.parametrize(("fabrics", "found"), [(PODS, 0), (PODS[:-1], 1), ((*PODS, PODS[2]), 1)])
def test_a_half_made_twin_is_found(
    context: FaultContext, monkeypatch: pytest.MonkeyPatch, fabrics: tuple[str, ...], found: int
) -> None:
    context.twin.kafka = SimpleNamespace(brokers=None)  # type: ignore[assignment]  # as a fake
    monkeypatch.setattr(rebuilds, "read_log", lambda *_: begun(*fabrics))
    cleared: list[str] = []
    monkeypatch.setattr(rebuilds, "_clear", lambda _scene, topics, url: cleared.append(f"{topics.log} {url}"))
    answers(context, done(-9), done())
    rebuilds.kill_init(context, fault_at("twin", "twin", number=7))
    assert len(context.problems) == found
    assert cleared == ["soak-fresh-7-0.log redis://127.0.0.1:1/1"]


def test_a_kill_that_came_too_late_is_retried_and_reported(
    context: FaultContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rebuilds, "_clear", lambda *_: None)
    asked = answers(context, *[done(0)] * rebuilds.TRIES * 2, done(0, "is there already"))
    rebuilds.kill_init(context, fault_at("twin", "twin", duration_s=1.0, number=7))
    rebuilds.init_again(context, fault_at("twin", "twin", duration_s=0.5))
    assert len(asked) == 2 * rebuilds.TRIES + 1
    assert context.missed == ["`lightwave live it` exited with code 0: why before it was killed, 4 times"] * 2
    assert context.problems == []


def test_a_connection_to_a_port_is_seen() -> None:
    pid = os.getpid()
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert not rebuilds.is_connected(pid, port), "to listen is not to be connected"
        with socket.create_connection(("127.0.0.1", port)):
            assert rebuilds.is_connected(pid, port)
    assert not rebuilds.is_connected(2**22 + 1, port), "no such process"


@pytest.mark.parametrize("loses", [False, True])
def test_a_clock_change_that_is_lost_is_found(context: FaultContext, loses: bool) -> None:
    clock = Clock(loses=loses)
    context.twin = cast(Any, SimpleNamespace(**vars(context.twin), send=clock.send))
    requests.change_clock(context, fault_at("requests", "requests"))
    assert bool(context.problems) is loses
    assert clock.state == {"paused": False, "speed": 60.0}, "it is left as it was"


@pytest.mark.parametrize(("code", "expected"), [(500, 4), (503, 0)])
def test_a_clock_that_never_answers_is_found(context: FaultContext, code: int, expected: int) -> None:
    """Each request reports its problems once, and reports that no pair was compared."""

    def send(method: str, path: str, body: Any = None, *, gateway: str) -> dict[str, Any]:
        if (method, path) == ("PUT", "/v1/clock"):
            return {"paused": False, "speed": 60.0}
        raise urllib.error.HTTPError("", code, "", Message(), io.BytesIO())

    context.twin = cast(Any, SimpleNamespace(**vars(context.twin), send=send))
    requests.change_clock(context, fault_at("requests", "requests"))
    assert sum(f"was answered with {code}" in problem for problem in context.problems) == expected
    assert context.problems[-1].startswith("of 8 pairs of clock changes none was answered")


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that does not run now does not start."""
    monkeypatch.setattr(FaultContext.wait_until, "__defaults__", (0.0,))


@pytest.mark.usefixtures("_impatient")
def test_a_kill_that_meets_nothing_is_found(context: FaultContext, twin: Any) -> None:
    twin.supervisor.down |= {"ocs-a", "ocs-b"}
    twin.supervisor.pids = lambda: dict.fromkeys(twin.supervisor.names)
    processes.kill(context, fault_at("ocs-a"))
    processes.kill_workers(context, fault_at("processes", "processes"))
    processes.exhaust_files(context, fault_at("ocs-a"))
    assert context.problems == [
        "SIGKILL had no target: for 60 s none of ocs-a ran",
        "SIGKILL had no target: for 60 s none of ocs-a, ocs-b ran",
        "no files to exhaust: for 60 s ocs-a did not run",
    ]
    assert twin.supervisor.told == []
    assert not any(context.sent.values())


def test_a_kill_waits_for_a_process_that_is_starting(context: FaultContext, twin: Any) -> None:
    twin.supervisor.down.add("ocs-a")
    threading.Timer(0.3, twin.supervisor.down.clear).start()
    processes.kill(context, fault_at("ocs-a"))
    assert twin.supervisor.told == [("SIGKILL", "ocs-a")]
    assert context.sent == {("ocs-a", signal.SIGKILL): 1}
    assert context.problems == []


@pytest.mark.usefixtures("_impatient")
def test_workers_that_do_not_come_back_are_found_and_kafka_is_left(
    context: FaultContext, twin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "processes", lambda _: [])
    twin.store = None
    processes.stop_kafka_at_join(context, fault_at("processes", "processes"))
    assert context.problems == ["all workers were killed, and none held a partition after 60 s"]
    assert ("pause", "kafka") not in twin.supervisor.told


def test_a_rebuild_that_never_ends_well_is_the_twin_s(
    context: FaultContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scenes, "COMMAND_S_MAX", -1.0)
    answers(context, done(1))
    with pytest.raises(TwinDeviated, match=r"^`lightwave live it` exited with code 1: why, again and again"):
        rebuilds.rebuild(context, fault_at("twin", "twin"))


# --- what they do -------------------------------------------------------------------------------------------


def test_paused_or_stopped_processes_continue_even_if_the_soak_ends(context: FaultContext, twin: Any) -> None:
    context.ended.set()
    for fault_action, fault in (
        (processes.pause, fault_at("ocs-a", duration_s=9.0)),
        (processes.hold_down, fault_at("ocs-b", duration_s=9.0)),
        (servers.pause_server, fault_at("kafka", "kafka", 9.0)),
        (servers.kill_server, fault_at("redis", "redis", 9.0)),
    ):
        with pytest.raises(SoakEnded):
            fault_action(context, fault)
    assert twin.supervisor.told == [
        ("SIGSTOP", "ocs-a"),
        ("SIGCONT", "ocs-a"),
        ("drop SIGKILL", "ocs-b"),
        ("start", "ocs-b"),
        ("pause", "kafka"),
        ("resume", "kafka"),
        ("kill", "redis"),
        ("start", "redis"),
    ]


FULL = """
import os
try:
    while True:
        held = os.open(os.devnull, os.O_RDONLY)
        os.close(held)
        print("opens", flush=True)
        input()
except OSError as error:
    print(error.strerror, flush=True)
    input()
    os.close(os.open(os.devnull, os.O_RDONLY))
    print("opens again")
"""


@pytest.mark.parametrize("ends", [False, True])
def test_a_process_may_open_no_more_files_for_a_while(context: FaultContext, twin: Any, ends: bool) -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", FULL], stdin=pipe, stdout=pipe, text=True) as process:
        said: Any = process.stdout
        told = [said.readline()]
        twin.supervisor.pids = lambda: {"ocs-a": process.pid}

        def hold(seconds: float) -> None:
            assert seconds == 9.0
            if ends:
                process.kill()
                process.wait()
                return
            print(file=process.stdin, flush=True)
            told.append(said.readline())

        context.hold = hold  # type: ignore[method-assign]  # what happens meanwhile
        processes.exhaust_files(context, fault_at("ocs-a", duration_s=9.0))
        told += [] if ends else process.communicate("\n")[0].splitlines()
    wanted = ["opens"] if ends else ["opens", "Too many open files", "opens again"]
    assert [line.strip() for line in told] == wanted
    processes.exhaust_files(context, fault_at("ocs-a"))
    assert (context.problems, context.missed) == ([], ["ocs-a ended before its files were exhausted"])


@pytest.mark.parametrize(
    ("deleted", "missed"), [(True, []), (False, ["Kafka did not let its group soak.ocs go"])]
)
@pytest.mark.usefixtures("_impatient")
def test_a_group_is_deleted_while_no_worker_of_its_service_runs(
    context: FaultContext, twin: Any, monkeypatch: pytest.MonkeyPatch, deleted: bool, missed: list[str]
) -> None:
    told = twin.supervisor.told

    def delete(_brokers: Any, group: str) -> bool:
        told.append(("delete", group))
        return deleted

    monkeypatch.setattr(servers, "_deleted", delete)
    servers.forget_group(context, fault_at("kafka", "kafka"))
    workers = ("ocs-a", "ocs-b")
    assert told[:2] == [("drop SIGTERM", name) for name in workers]
    assert {*told[2:-2]} == {("delete", "soak.ocs")}
    assert told[-2:] == [("start", name) for name in workers]
    assert [sentence.partition(" within")[0] for sentence in context.missed] == missed


@pytest.mark.parametrize("number", range(8))
def test_a_burst_kills_several(context: FaultContext, twin: Any, number: int) -> None:
    processes.kill_some(context, fault_at("processes", "processes", number=number))
    killed = [name for sign, name in twin.supervisor.told if sign == "SIGKILL"]
    assert 2 <= len(killed) == len(set(killed)) == len(twin.supervisor.told)


def test_all_of_a_kind_are_paused_together(context: FaultContext, twin: Any) -> None:
    seen = set()
    for number in range(20):
        twin.supervisor.told.clear()
        processes.pause_kind(context, fault_at("processes", "processes", number=number))
        seen.add(tuple(name for sign, name in twin.supervisor.told if sign == "SIGSTOP"))
    assert seen == {("ocs-a", "ocs-b"), ("sequencer",), ("gateway", "gateway-b")}


def test_a_command_is_killed_on_its_way_and_done_again(context: FaultContext) -> None:
    killed = context.command(
        "-c", "import time; print('begun', flush=True); time.sleep(60)", kill_after_s=2.0
    )
    assert killed.code == -9
    assert context.command("-c", "print('whole')") == CommandResult(
        ("-c", "print('whole')"), 0, "whole\n", ""
    )


def test_a_command_is_killed_once_it_has_begun(context: FaultContext, tmp_path: Path) -> None:
    sign = tmp_path / "begun"
    program = f"import time, pathlib; time.sleep(0.5); pathlib.Path({str(sign)!r}).touch(); time.sleep(60)"
    killed = context.command("-c", program, kill_after_s=0.0, begun=lambda _: sign.exists())
    assert (killed.code, sign.exists()) == (-9, True)
    assert context.command("-c", "print('early')", kill_after_s=9.0, begun=lambda _: False).code == 0


def test_a_command_that_fails_is_tried_until_it_is_done(
    context: FaultContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.soak.faults.context.RETRY_S", 0.01)
    asked = answers(context, done(1), done(1), done(0))
    assert context.command_until_done("live", "rebuild").code == 0
    assert len(asked) == 3
