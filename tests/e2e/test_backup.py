"""Backups of a running twin under load, and twins restored from them."""

import http.client
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import uuid
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from shared.basics.units import US_PER_HOUR
from shared.runtimes.embedded.valkey_server import EmbeddedValkey
from shared.runtimes.poll import poll_until
from tests.support.living import READY_S_MAX, LivingTwin, cli, living
from tests.support.log_checks import read_lines

pytestmark = pytest.mark.slow("starts and restores a twin a dozen times under load")

REQUESTERS = 4
FAULTY = """
import os, signal, sys
how, at = sys.argv[1], int(sys.argv[2])
real, calls = os.fsync, 0
def fsync(number):
    global calls
    calls += 1
    if calls == at and how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if calls == at:
        raise OSError(28, "No space left on device")
    real(number)
os.fsync = fsync
sys.argv[1:3] = []
from ops.cli.main import main
main()
"""
"""The command line, which is killed or gets a disk error at one of its fsync calls."""
SPAN_S = 120.0


@dataclass
class Requester(threading.Thread):
    """Sends one request after another, each under its own key, without waiting for outcomes."""

    twin: LivingTwin
    pod: str
    ids: dict[str, str] = field(default_factory=dict)
    """Key → id, in order, of the answered requests."""
    sent: list[str] = field(default_factory=list)
    stop_event: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        super().__init__(daemon=True)

    def __hash__(self) -> int:
        return id(self)

    def run(self) -> None:
        for number in itertools.count():
            if self.stop_event.wait(0.005):
                return
            key = str(uuid.uuid4())
            self.sent.append(key)
            path = f"/v1/cubes/{self.pod}/cube-{number % 4}/{'undrain' if number % 8 > 3 else 'drain'}"
            try:
                self.ids[key] = send_request(self.twin, path, key)
            except (OSError, http.client.HTTPException):
                continue


def send_request(twin: LivingTwin, path: str, key: str) -> str:
    """Send a request and return its id. It may be refused, because two clients request the same cube."""
    try:
        return str(twin.post(path, key=key)["id"])
    except urllib.error.HTTPError as error:
        if error.code != 409:
            raise
        return str(json.load(error)["id"])


def logged(data: Path) -> Counter[str]:
    """Return the number of occurrences of each key on the logs."""
    bodies = (json.loads(line)["body"] for log in (data / "log").glob("*.jsonl") for line in read_lines(log))
    return Counter(body["key"] for body in bodies if body.get("key"))


def check_audit(data: Path) -> None:
    done = cli("audit", "--data", str(data), timeout_s=SPAN_S)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_backup_under_load_contains_every_accepted_request_once(tmp_path: Path) -> None:
    for twin in living(tmp_path / "data", "--pods", "2", "--speed", "3000", "--set", "pod.cubes=4"):
        requesters = [Requester(twin, f"pod-{number % 2}") for number in range(REQUESTERS)]
        for requester in requesters:
            requester.start()
        taken: list[tuple[Path, set[str], set[str]]] = []
        for number in range(3):
            time.sleep(0.5)
            before = {key for requester in requesters for key in [*requester.ids]}
            place = tmp_path / f"backup-{number}"
            done = cli("backup", str(place), "--data", str(twin.data), timeout_s=SPAN_S)
            assert done.returncode == 0, done.stderr
            assert "tokens and passwords are not in it" in done.stdout
            taken.append((place, before, {key for requester in requesters for key in [*requester.sent]}))
        assert poll_until(partial(_have_answers, requesters), SPAN_S)
        for requester in requesters:
            requester.stop_event.set()
            requester.join()
        assert twin.stop() == 0
        check_audit(twin.data)
        for place, before, after in taken:
            assert cli("backup", "--verify", str(place), timeout_s=SPAN_S).returncode == 0
            data = tmp_path / f"{place.name}-data"
            done = cli("restore", str(place), "--data", str(data), timeout_s=SPAN_S)
            assert done.returncode == 0, done.stderr
            check_audit(data)
            _check_restored(place, data, before, after, requesters)


def _have_answers(requesters: list[Requester]) -> bool:
    return all(len(requester.ids) > 20 for requester in requesters)


def _check_restored(
    place: Path, data: Path, before: set[str], after: set[str], requesters: list[Requester]
) -> None:
    waiting = json.loads((place / "inbox.json").read_text())["waiting"]
    waiting_keys = {json.loads(row["body"])["key"] for row in waiting}
    known = logged(data).keys() | waiting_keys
    assert before <= known <= after
    for (
        requester
    ) in requesters:  # a requester sends one request after another, so a backup has a prefix of them
        answered = [key in known for key in requester.sent if key in requester.ids]
        assert answered == sorted(answered, reverse=True)
    clock_us = json.loads((place / "clock.json").read_text())["now_us"]
    restored = LivingTwin(data)
    restored.start()
    try:
        assert poll_until(lambda: not restored.get("/v1/requests"), READY_S_MAX), "requests still wait"
        assert restored.get("/v1/clock")["now_us"] >= clock_us
        for requester in requesters[:2]:
            key, first_id = next(iter(requester.ids.items()))
            number = requester.sent.index(key)
            path = f"/v1/cubes/{requester.pod}/cube-{number % 4}/{'undrain' if number % 8 > 3 else 'drain'}"
            assert send_request(restored, path, key) == first_id
        assert {row["type"] for row in restored.get("/v1/operations")} >= {"TwinPlanned", "TwinRestored"}
    finally:
        assert restored.stop() == 0
    check_audit(data)
    counts = logged(data)
    assert counts.keys() == known
    assert set(counts.values()) == {1}


@pytest.fixture(scope="module")
def stopped_twin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a data folder whose twin was killed, next to a backup of it."""
    data = tmp_path_factory.mktemp("stopped") / "data"
    for twin in living(data, "--speed", "3000", "--set", "pod.cubes=4"):
        twin.wait_clock(US_PER_HOUR)
        twin.kill()
    done = cli("backup", str(data.with_name("backup")), "--data", str(data), timeout_s=SPAN_S)
    assert done.returncode == 0, done.stderr
    return data


def test_a_twin_whose_redis_is_elsewhere_is_restored_there(stopped_twin: Path, tmp_path: Path) -> None:
    server = EmbeddedValkey(tmp_path / "elsewhere")
    server.ensure()
    try:
        words = ("restore", str(stopped_twin.with_name("backup")), "--redis", server.url, "--data")
        full = cli(*words, "/proc/nowhere", timeout_s=SPAN_S)
        assert full.returncode == 1
        data = tmp_path / "made"
        done = cli(*words, str(data), timeout_s=SPAN_S)
        assert done.returncode == 0, done.stderr
        assert not (data / "redis").exists()
        again = cli(*words, str(tmp_path / "again"), timeout_s=SPAN_S)
        assert (again.returncode, again.stderr.count("\n")) == (1, 1)
        assert "is not empty; give an empty database" in again.stderr
        assert not (tmp_path / "again").exists()
        audit = cli("audit", "--data", str(data), "--redis", server.url, timeout_s=SPAN_S)
        assert audit.returncode == 0, audit.stdout + audit.stderr
        for twin in living(data, "--redis", server.url):
            assert twin.stop() == 0
    finally:
        server.stop()


def faulty(how: str, at: int, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", FAULTY, how, str(at), *words],
        text=True,
        capture_output=True,
        timeout=SPAN_S,
        env={name: value for name, value in os.environ.items() if not name.startswith("LIGHTWAVE_")},
    )


@pytest.mark.parametrize("command", ["backup", "restore"])
@pytest.mark.parametrize("at", [4, -1])
def test_a_backup_that_is_killed_or_has_no_disk_space_leaves_nothing_incomplete(
    stopped_twin: Path, tmp_path: Path, command: str, at: int
) -> None:
    made = tmp_path / "made"
    words = ("backup", str(made), "--data", str(stopped_twin))
    if command == "restore":
        words = ("restore", str(stopped_twin.with_name("backup")), "--data", str(made))
    if at < 0:  # the last fsync: the folder already has its final name
        at = 2 + len(json.loads((stopped_twin.with_name("backup") / "manifest.json").read_text())["files"])
    full = faulty("full", at, *words)
    assert (full.returncode, full.stdout) == (1, "")
    assert full.stderr.count("\n") == 1
    assert "No space left on device" in full.stderr
    assert [*tmp_path.iterdir()] == []
    killed = faulty("kill", at, *words)
    assert killed.returncode == -signal.SIGKILL
    assert {path.name for path in tmp_path.iterdir()} == {"made.partial"}
    done = cli(*words, timeout_s=SPAN_S)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["made"]
    if command == "backup":
        assert cli("backup", "--verify", str(made)).returncode == 0
        check_audit(stopped_twin)
    else:
        check_audit(made)
    again = cli(*words, timeout_s=SPAN_S)
    assert (again.returncode, again.stdout) == (1, "")
    assert "is not empty; give a folder that is new or empty" in again.stderr


def test_a_damaged_backup_is_refused_by_name(stopped_twin: Path, tmp_path: Path) -> None:
    bad = shutil.copytree(stopped_twin.with_name("backup"), tmp_path / "bad")
    data = bytearray((bad / "inbox.json").read_bytes())
    data[len(data) // 2] ^= 1
    (bad / "inbox.json").write_bytes(data)
    done = cli("restore", str(bad), "--data", str(tmp_path / "data"))
    assert (done.returncode, done.stderr) == (
        1,
        f"lightwave: backup {bad}: inbox.json was changed: its digest differs\n",
    )
    assert not (tmp_path / "data").exists()
