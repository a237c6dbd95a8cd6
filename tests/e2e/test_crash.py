"""The twin and its server survive SIGKILL at random times, while operators keep sending requests."""

import http.client
import json
import random
import shutil
import threading
import time
import urllib.error
import uuid
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from shared.runtimes.poll import poll_until
from tests.soak.fabric_joins import POLICIES
from tests.support.child_processes import kill
from tests.support.living import READY_S_MAX, LivingTwin, cli

KILLS = [
    (5, 2),
    pytest.param(16, 6, marks=pytest.mark.slow("kills a twin 16 times and its server six times")),
]
"""Number of kills of the twin, and of its server."""
REQUESTS_MIN = 100
SEED = 20
CAMPUS = f"""
site: campus
fabrics:
  - name: pod-0
    kind: superpod
    config: {{pod: {{cubes: 16}}, failures: {{host_per_day: 0.05}}, scheduler: {json.dumps(POLICIES)}}}
  - name: pod-1
    kind: static-pod
    config: {{failures: {{host_per_day: 0.01}}, scheduler: {json.dumps(POLICIES)}}}
  - name: dcn-0
    kind: dcn
    config:
      network:
        racks: 4
        racks_full: 4
        switches: 2
        blocks:
          - {{generation: 100, uplinks: 256, pod: pod-0}}
          - {{generation: 400, uplinks: 256, pod: pod-1}}
          - {{generation: 200, uplinks: 256, count: 4}}
      topology:
        {{drain_s: 600, qualify_s: 900, use_above: 100, served_below: 0, transit_above: 1, gain_min: 0}}
"""
"""Three kinds of fabrics on one log, with every policy; another pod joins between the kills.

The stages of a rewiring take so long that many kills occur during one.
"""


PODS = ("pod-0", "pod-1")


@dataclass
class Operator(threading.Thread):
    """Sends one request after another, each under its own key, and repeats it until it is answered."""

    twin: LivingTwin
    seed: int
    received: dict[str, str] = field(default_factory=dict)
    """Idempotency key → id of the request's message, from the answer."""
    done: threading.Event = field(default_factory=threading.Event)
    unexpected_answer: str | None = None
    """An answer that operators must not get."""

    def __post_init__(self) -> None:
        super().__init__(daemon=True)

    def __hash__(self) -> int:
        return id(self)

    def run(self) -> None:
        draw = random.Random(self.seed)
        while not self.done.is_set():
            key = str(uuid.UUID(int=draw.getrandbits(128)))
            path, body = self.choose(draw)
            while not self.done.is_set():
                try:
                    answer = self.twin.post(path, body, key)
                except urllib.error.HTTPError as error:
                    text = error.read().decode()
                    if error.code == 409:  # on the log, and refused there
                        self.received[key] = json.loads(text)["id"]
                        break
                    if error.code not in (429, 503):  # too many requests wait, or the twin is starting
                        self.unexpected_answer = f"{path} {body}: {error.code} {text}"
                        return
                    time.sleep(0.02)
                except (OSError, ValueError, http.client.HTTPException):
                    time.sleep(0.02)  # killed in the middle of its answer
                else:
                    self.received[key] = answer["id"]
                    break
            time.sleep(draw.uniform(0.0, 0.05))

    def policy(self, draw: random.Random) -> dict[str, object]:
        """Return owner, tier and recovery policy of a requested slice."""
        return {
            "owner": draw.choice(["operator", "team-1", "team-2"]),
            "tier": draw.choice(["production", "research", "filler"]),
            "recovery": draw.choice([None, "spare,swap", "route:2%,wait", "evict"]),
            "duration_s": 3600,
        }

    def choose(self, draw: random.Random) -> tuple[str, dict[str, object]]:
        cube, ocs = f"{draw.choice(PODS)}/cube-{draw.randrange(16)}", f"pod-0/ocs-{draw.randrange(48)}"
        part = draw.choice(["rack", "control", "power"])
        job = {"fabric": "pod-0", "pods": "pod-0,pod-1", "shape": "4x4x4", **self.policy(draw)}
        choices: list[tuple[str, dict[str, object]]] = [
            ("/v1/slices", {"fabric": "pod-0", "shape": "4x4x8", "twisted": True, **self.policy(draw)}),
            ("/v1/slices", {"fabric": "pod-1", "shape": "8x8x8", **self.policy(draw)}),
            ("/v1/slices", job),
            ("/v1/rewirings", {"dcn": "dcn-0"}),
            (
                "/v1/faults",
                {"kind": part, "target": f"dcn-0/{part}-{draw.randrange(4)}", "duration_s": 600},
            ),
            ("/v1/faults", {"kind": "ocs", "target": ocs, "duration_s": 600}),
            ("/v1/faults", {"kind": "host", "target": f"{cube}/host-2", "duration_s": 900}),
            (f"/v1/cubes/{cube}/drain", {}),
            (f"/v1/cubes/{cube}/undrain", {}),
        ]
        return draw.choice(choices)


def kill_server(twin: LivingTwin) -> None:
    """Kill the twin's server, and wait until the twin has started another one."""
    killed = twin.server_pid()
    kill(killed)
    assert poll_until(lambda: started_since(twin, killed), READY_S_MAX), (
        "the twin has started no other server"
    )
    twin.wait_ready()


def started_since(twin: LivingTwin, killed: int) -> bool:
    try:
        return twin.server_pid() != killed
    except (OSError, ValueError):  # its pid file is being written
        return False


def messages(data: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (data / "log" / "campus.jsonl").read_text().splitlines()]


def stages_undrained(data: Path) -> int:
    """Return the number of rewiring stages that the log shows as completed."""
    return (data / "log" / "campus.jsonl").read_bytes().count(b'"type":"StageUndrained"')


def join(twin: LivingTwin) -> None:
    """Let a third pod join. The request is repeated under one key, so it takes effect once."""
    settings = {"pod": {"cubes": 8}, "scheduler": POLICIES}
    body = {"name": "pod-2", "site": "campus", "kind": "superpod", "settings": settings}
    for _ in range(100):
        try:
            twin.post("/v1/fabrics", body, "join")
        except (OSError, ValueError, http.client.HTTPException):
            time.sleep(0.02)
        else:
            return
    raise AssertionError("pod-2 could not join")


@pytest.mark.parametrize(("twin_kills", "server_kills"), KILLS)
def test_every_request_is_applied_exactly_once(tmp_path: Path, twin_kills: int, server_kills: int) -> None:
    draw = random.Random(SEED)
    site = tmp_path / "campus.yaml"
    site.write_text(CAMPUS)
    twin = LivingTwin(tmp_path / "data", ("--site", str(site)))
    twin.start("--speed", "5000", "--seed", "3")
    twin.options = ()  # the twin keeps its parameters
    operator = Operator(twin, SEED)
    operator.start()
    faults = ["twin"] * twin_kills + ["server"] * server_kills
    draw.shuffle(faults)
    try:
        for n, fault in enumerate(faults):
            if n == len(faults) // 2:
                join(twin)
            time.sleep(draw.uniform(0.0, 0.4))
            if fault == "twin":
                twin.kill()
                twin.start()
            else:
                kill_server(twin)
        # A slow machine processes fewer requests and less simulated time between the kills. The rest follows
        # after the last kill.
        poll_until(lambda: len(operator.received) > REQUESTS_MIN or operator.unexpected_answer, 120.0)
        poll_until(lambda: stages_undrained(twin.data) > 1 or operator.unexpected_answer, 120.0)
        assert operator.unexpected_answer is None
        assert operator.is_alive()
        operator.done.set()
        operator.join(timeout=60)
        # Requests that are received but not yet accepted would reach the log only after the next start.
        assert poll_until(lambda: twin.get("/v1/requests") == [], READY_S_MAX)
    finally:
        operator.done.set()
        operator.join(timeout=60)
        code = twin.stop()
    assert code == 0
    report = audit(twin.data)
    assert (report["clean"], report["refused"]) == (True, []), json.dumps(report)
    assert [row["fabrics"] for row in report["sites"]] == [["dcn-0", "pod-0", "pod-1", "pod-2"]]
    log = messages(twin.data)
    assert {message["fabric"] for message in log if message["type"] == "Tick"} == {"dcn-0", *PODS, "pod-2"}
    counts = Counter(message["type"] for message in log)
    assert min(counts["PodsJoined"], counts["JobBandwidthSet"], counts["OcsesDown"]) > 0
    assert counts["StageUndrained"] > 1, "more stages than at the beginning"
    ids = [message["id"] for message in log]
    assert len(ids) == len(set(ids))
    request_ids = [str(m["id"]) for m in log if str(m["source"]).startswith("operator@")]
    assert len(operator.received) > REQUESTS_MIN
    assert len(set(operator.received.values())) == len(operator.received)
    # Every answered request is on the log once. One more may be there whose answer was lost.
    assert set(operator.received.values()) <= set(request_ids)
    assert len(request_ids) <= len(operator.received) + 1


@pytest.mark.slow("starts a twin three times and audits it twice; contract tests rebuild, too")
def test_rebuild_restores_the_identical_states_from_the_log_alone(tmp_path: Path) -> None:
    twin = LivingTwin(tmp_path / "data", ("--set", "pod.cubes=8", "--set", "failures.host_per_day=0.2"))
    twin.start("--speed", "50000", "--seed", "5")
    assert poll_until(lambda: messages_on(twin.data) > 150, READY_S_MAX)
    twin.post("/v1/clock/pause")
    assert twin.stop() == 0
    before = audit(twin.data)
    shutil.rmtree(twin.data / "redis")
    twin.options = ()
    twin.start("--rebuild")
    assert twin.get("/v1/clock")["paused"] is True
    assert twin.stop() == 0
    after = audit(twin.data)
    assert before["clean"] is True
    assert before["sites"][0]["position"] > 100
    assert after == before


def messages_on(data: Path) -> int:
    """Return the number of messages on the log of pod-0."""
    log = data / "log" / "pod-0.jsonl"
    return log.read_bytes().count(b"\n") if log.exists() else 0


def audit(data: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(cli("audit", "--data", str(data), "-o", "json").stdout)
    return report
