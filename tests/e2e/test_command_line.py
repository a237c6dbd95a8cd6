"""The command line against a running twin, as operators use it."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from queue import Queue
from threading import Thread

import pytest
import yaml

from tests.support.fake_twin import lightwave
from tests.support.living import LIGHTWAVE, LivingTwin, cli, living

pytestmark = pytest.mark.slow(
    "a Python start a command; the same commands run in integration tests and in the tour"
)


class ForkedCommands(LivingTwin):
    """A twin whose commands are forked from a process that has imported everything.

    The program takes longer to start than to answer. Tests that watch or interrupt it start it directly.
    """

    def cli(self, *words: str) -> subprocess.CompletedProcess[str]:
        return lightwave(*words, url=self.url)


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LivingTwin]:
    data = tmp_path_factory.mktemp("cli") / "data"
    yield from living(data, "--speed", "600", "--seed", "7", "--pods", "2", kind=ForkedCommands)


def settle(twin: LivingTwin, kind: str, name: str, state: str) -> dict[str, object]:
    """Return the object once it has this state."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        row: dict[str, object] = twin.json("get", kind, name)
        if row["state"] == state:
            return row
        time.sleep(0.2)
    raise AssertionError(f"{name} is not {state}: {row}")


@pytest.mark.parametrize(
    ("kind", "count"),
    [
        ("fabrics", 2),
        ("ocs", 96),
        ("cubes", 128),
        ("hosts", 2048),
        ("links", 12288),
        ("faults", 0),
        ("verdicts", 0),
        ("repairs", 0),
    ],
)
def test_lists_are_lists_of_named_objects(twin: LivingTwin, kind: str, count: int) -> None:
    rows = twin.json("get", kind)
    assert len(rows) == count or kind in ("faults", "verdicts", "repairs")
    assert len({row["name"] for row in rows}) == len(rows)
    if rows:
        row = twin.json("get", kind, rows[-1]["name"])
        assert row["name"] == rows[-1]["name"]
        assert set(row) == set(rows[-1])
    only = twin.json("get", kind, "--fabric", "pod-1")
    assert all(row["name"].startswith("pod-1") for row in only)
    table = twin.cli("get", kind)
    assert table.returncode == 0
    if rows:
        assert table.stdout.splitlines()[0].startswith("NAME ")


def test_a_slice_from_request_to_release(twin: LivingTwin) -> None:
    request = twin.json("request", "4x4x8", "--twisted", "--priority", "100", "--fabric", "pod-1")
    assert request["status"] == "accepted"
    assert request["id"].startswith("operator@pod-1/")
    requested = next(m for m in request["outcome"] if m["type"] == "SliceRequested")
    name = requested["body"]["slice"]
    row = settle(twin, "slices", name, "running")
    assert (row["shape"], row["twisted"], row["chips"]) == ("4x4x8", True, 128)
    cube = row["cubes"][0]  # type: ignore[index]  # a JSON list
    path = twin.json("trace", f"{cube}/+z/3")
    assert set(path) >= {"end", "far_end", "state", "strands"}
    assert path["state"] == "up"
    assert path["slice"] == name
    back = twin.json("trace", path["far_end"])
    assert back["far_end"] == path["end"]
    for forward, backward in zip(path["strands"], back["strands"], strict=True):
        assert set(forward) == {"strand", "ocs", "north", "south"}
        assert forward == backward
    chain = twin.json("why", request["outcome"][-1]["id"])
    assert chain[-1]["id"] == request["id"]
    done = twin.cli("release", name)
    assert done.returncode == 0
    assert done.stdout.startswith(f"{name} released (operator@pod-1/")
    settle(twin, "slices", name, "completed")
    again = twin.cli("release", name)
    assert again.returncode == 1
    assert name in again.stderr


def test_a_repeated_key_is_the_same_request(twin: LivingTwin) -> None:
    first = twin.json("inject", "link", "pod-0/cube-3/-x/1", "--for", "1h", "--key", "once")
    second = twin.json("inject", "link", "pod-0/cube-3/-x/1", "--for", "1h", "--key", "once")
    assert first["id"] == second["id"]
    assert second["repeated"] is True
    fault = first["outcome"][0]["body"]["fault"]
    assert [m["body"]["fault"] for m in second["outcome"] if m["type"] == "FaultBegan"] == [fault]
    link = twin.json("get", "link", "pod-0/cube-3/-x/1")
    assert link["condition"] == "failed"
    assert twin.json("get", "cube", "pod-0/cube-3")["health"] == "unhealthy"
    cleared = twin.cli("clear", fault)
    assert cleared.returncode == 0
    assert "cleared" in cleared.stdout
    assert twin.json("get", "fault", fault)["how"] == "cleared"
    assert twin.cli("clear", fault).returncode == 1


def test_drain_and_undrain(twin: LivingTwin) -> None:
    assert twin.cli("drain", "pod-0/cube-40").stdout.startswith("pod-0/cube-40 takes nothing new")
    drained = twin.json("get", "cubes", "pod-0/cube-40")
    assert drained["drained"] is not drained["draining"]  # draining while slices are still leaving the cube
    repeated = twin.cli("drain", "pod-0/cube-40")
    assert (repeated.returncode, repeated.stdout.count("already")) == (0, 1)
    assert twin.cli("undrain", "pod-0/cube-40").returncode == 0
    undrained = twin.json("get", "cubes", "pod-0/cube-40")
    assert (undrained["drained"], undrained["draining"]) == (False, False)


def test_the_clock(twin: LivingTwin) -> None:
    shown = twin.json("clock", "pause")
    assert shown["paused"] is True
    assert twin.json("clock", "show")["now_us"] == shown["now_us"]
    # Requests are processed while time stands still.
    assert twin.json("drain", "pod-1/cube-1")["status"] == "accepted"
    assert twin.json("clock", "speed", "1200")["speed"] == 1200
    start_s = time.monotonic()
    resumed = twin.json("clock", "resume")
    elapsed_us = 0
    # A busy twin falls behind, and never runs ahead.
    while elapsed_us < 600e6 and time.monotonic() < start_s + 60:
        later = twin.json("clock", "show")
        assert later["paused"] is False
        elapsed_us = later["now_us"] - resumed["now_us"]
    assert 600e6 <= elapsed_us <= 1200e6 * (time.monotonic() - start_s)
    twin.json("clock", "speed", "600")


def test_output_formats(twin: LivingTwin) -> None:
    twin.json("clock", "pause")
    as_json = twin.json("get", "cubes")
    assert yaml.safe_load(twin.cli("get", "cubes", "-o", "yaml").stdout) == as_json
    described = twin.json("describe", "cube", "pod-0/cube-3")
    assert set(described) == {"object", "related", "events", "events_in_all"}
    assert "Last events" in twin.cli("describe", "cube", "pod-0/cube-3").stdout
    twin.json("clock", "resume")


def test_events_by_time_type_and_cause(twin: LivingTwin) -> None:
    recent = twin.json("events", "--since", "-1h")
    now_us = twin.json("clock", "show")["now_us"]
    assert recent
    assert all(m["at_us"] >= now_us - 2 * 3600e6 for m in recent)
    assert [m["at_us"] for m in recent] == sorted(m["at_us"] for m in recent)
    requests = twin.json("events", "--since", "-10d", "--type", "SliceRequested")
    assert {m["type"] for m in requests} == {"SliceRequested"}
    followed = twin.json("events", "--cause", requests[0]["id"])
    assert {"SliceAdmitted"} <= {m["type"] for m in followed}
    assert len(twin.json("events", "--limit", "3")) == 3


def test_follow_prints_messages_as_they_arrive_and_exits_cleanly(twin: LivingTwin) -> None:
    output: Queue[str] = Queue()
    with subprocess.Popen(
        [LIGHTWAVE, "events", "--follow", "--type", "CubeDrained", "--fabric", "pod-1", "-o", "json"],
        env=os.environ | {"LIGHTWAVE_URL": twin.url, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        text=True,
    ) as follower:
        assert follower.stdout is not None
        reader = Thread(target=lambda lines: [*map(output.put, lines)], args=(follower.stdout,))
        reader.start()
        drained: set[int] = set()
        while (
            output.empty() and len(drained) < 30
        ):  # messages from before the command's subscription are not shown
            cube = 60 - len(drained)
            assert twin.cli("drain", f"pod-1/cube-{cube}").returncode == 0
            drained.add(cube)
            time.sleep(1.0)
        follower.send_signal(signal.SIGINT)
        assert follower.wait(timeout=60) == 130
        reader.join()
    assert json.loads(output.get_nowait())["body"]["cube"] in drained


def test_watch_refreshes_until_interrupted(twin: LivingTwin) -> None:
    watcher = subprocess.Popen(
        [LIGHTWAVE, "clock", "show", "--watch"],
        env=os.environ | {"LIGHTWAVE_URL": twin.url, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert watcher.stdout is not None
    refreshes = (line for line in watcher.stdout if "SPEED" in line)
    assert next(refreshes)
    assert next(refreshes)
    watcher.send_signal(signal.SIGINT)
    watcher.communicate(timeout=60)
    assert watcher.returncode == 130


def test_a_closed_pipe_causes_no_traceback(twin: LivingTwin) -> None:
    done = subprocess.run(
        ["/bin/bash", "-c", f"{LIGHTWAVE} get links | head -1"],
        env=os.environ | {"LIGHTWAVE_URL": twin.url},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.startswith("NAME")
    assert done.stderr == ""


def test_metrics_and_api_description(twin: LivingTwin) -> None:
    import urllib.request

    with urllib.request.urlopen(twin.url + "/metrics", timeout=10) as answer:
        text = answer.read().decode()
    assert 'lightwave_cubes_healthy{fabric="pod-1"}' in text
    assert "/v1/trace/{end}" in twin.get("/openapi.json")["paths"]


def test_a_twin_resumes_where_it_stopped_and_ctrl_c_stops_it_cleanly(tmp_path: Path) -> None:
    twin = LivingTwin(tmp_path / "data", ("--set", "pod.cubes=8"))
    twin.start("--speed", "3600", "--seed", "2")
    time.sleep(1.0)
    assert twin.process is not None
    before = twin.json("clock", "show")["now_us"]
    pid = twin.server_pid()
    twin.process.send_signal(signal.SIGINT)
    assert twin.process.wait(timeout=30) == 0
    assert not Path(f"/proc/{pid}").exists()
    twin.options = ()
    twin.start()
    after = twin.json("clock", "show")
    assert after["speed"] == 3600
    assert before <= after["now_us"] < before + 120 * 3600e6
    assert twin.json("get", "fabrics")[0]["cubes"] == 8
    assert twin.stop() == 0
    twin.start("--fresh")
    assert twin.json("get", "fabrics")[0]["cubes"] == 64
    assert twin.stop() == 0


def test_a_token_guards_the_twin(tmp_path: Path) -> None:
    for twin in living(tmp_path / "data", "--token", "a-secret-of-ours-alone", "--set", "pod.cubes=4"):
        refused = twin.cli("get", "ocs")
        assert refused.returncode == 1
        assert "LIGHTWAVE_TOKEN" in refused.stderr
        allowed = subprocess.run(
            [LIGHTWAVE, "get", "ocs", "-o", "json"],
            env=os.environ | {"LIGHTWAVE_URL": twin.url, "LIGHTWAVE_TOKEN": "a-secret-of-ours-alone"},
            capture_output=True,
            text=True,
            timeout=30,
        )
        assert len(json.loads(allowed.stdout)) == 48


def test_small_commands() -> None:
    assert cli("--version").stdout.startswith("lightwave ")
    assert "trace" in cli("--help").stdout
    for shell in ("bash", "zsh", "fish"):
        assert "_LIGHTWAVE_COMPLETE" in cli("completion", shell).stdout
    completed = subprocess.run(
        [LIGHTWAVE],
        env=os.environ
        | {"_LIGHTWAVE_COMPLETE": "bash_complete", "COMP_WORDS": "lightwave\nget\ncu", "COMP_CWORD": "2"},
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert completed.stdout.strip() == "plain,cubes"
    config = json.loads(cli("lab", "config", "-o", "json").stdout)
    assert {"name", "default", "unit", "source"} <= set(config[0])
    assert {"workload.offered_load", "workload.slices_per_day", "failures.enabled"} <= {
        p["name"] for p in config
    }


def test_the_lab_prints_one_object_with_all_documented_fields(tmp_path: Path) -> None:
    log = tmp_path / "log.zst"
    words = ["lab", "run", "--pods", "2", "--days", "2", "--seed", "7", "--set", "workload.offered_load=0.5"]
    done = cli(*words, "--log", str(log), "-o", "json")
    assert done.stderr == ""
    result = json.loads(done.stdout)
    promised = (
        "fabric_days wall_s messages messages_per_s log_sha256 state_sha256 seed version repeat fabrics"
    )
    assert set(promised.split()) <= set(result)
    assert result["fabric_days"] == 4
    for pod in result["fabrics"]:
        slices = pod["slices"]
        ends = ("completed", "evicted", "refused", "active", "queued")
        assert slices["requested"] == sum(slices[end] for end in ends)
        assert 0 < pod["utilisation"] < 1
        assert 0.9 < pod["cube_availability"] <= 1
        assert {"host", "stray"} <= set(pod["faults"])
    again = json.loads(cli(*result["repeat"].split()[1:]).stdout)
    assert again["log_sha256"] == result["log_sha256"]
    assert again["state_sha256"] == result["state_sha256"]
    replay = json.loads(cli("lab", "replay", str(log), "-o", "json").stdout)
    assert replay["clean"] is True
    assert replay["messages"] == result["messages"]
    assert replay["state_sha256"] == result["state_sha256"]
