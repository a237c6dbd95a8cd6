"""Commands about a pod that has retired end, and say that it has retired."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from typing import cast

import pytest

import lightwave
from ops.cli.operate.drain_waiting import wait_until_drained
from ops.client.answers import JsonRecord
from ops.client.http_client import Client, RequestFailed
from schemas.api.requests import RequestReceipt
from tests.support.gateway_twin import QUIET, DrivenTwin
from tests.support.served import served

pytestmark = pytest.mark.integration

ENDED = "pod-1: retired at 0d04:00:00; no messages follow"
UNCHANGED = "pod-1: retired at 0d04:00:00; nothing there changes any more"

DRAINS: dict[str, dict[str, int]] = {
    "pod-1/cube-1": {"after_s": 10_800, "duration_s": 14_400},
    "pod-1/cube-0": {},
    "pod-1/cube-3": {"duration_s": 600},
}
"""Drains that were requested an hour before pod-1 retired: one that had not begun, one of a cube in use, and
one that was over."""
RECEIPTS: dict[str, JsonRecord] = {}
"""Cube → the answer to its drain."""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of two pods, of which the second retired at 0d04:00:00, with slices in its queue."""
    twin = DrivenTwin(tmp_path_factory.mktemp("twin"), ["pod.cubes=4", *QUIET], pods=2)
    client = twin.client()
    for _ in range(3):
        body = {"shape": "4x4x8", "tier": "production", "fabric": "pod-1"}
        assert client.post("/v1/slices", json=body, params={"wait": 20}).status_code == 200
    twin.advance(3)
    for cube, drain in DRAINS.items():
        answer = client.post(f"/v1/cubes/{cube}/drain", json=drain, params={"wait": 20})
        assert answer.status_code == 200, answer.text
        RECEIPTS[cube] = JsonRecord(answer.json())
    twin.advance(1)
    assert client.post("/v1/fabrics/pod-1/retire", params={"wait": 20}).status_code == 200
    twin.advance(1)
    with served(twin) as address:
        yield address
    twin.close()


def run(url: str, line: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ops.cli", *shlex.split(line)],
        env=os.environ | {"LIGHTWAVE_URL": url},
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize(
    ("options", "messages"),
    [
        ("--fabric pod-1", 0),
        ("--for pod-1/ocs-3", 0),
        ("--for pod-1/ocs-3 --since -90m", 0),
        ("--fabric pod-1 --since -90m --type FabricRetired", 1),
        ("--fabric pod-1 --type SliceAdmitted", 0),
        ("--fabric pod-1 --since 0s --type SliceRequested", 3),
        ("--for pod-1 --since 0s --type FabricRetired --type SliceRequested -o json", 4),
    ],
)
def test_follow_ends_after_the_last_message(url: str, options: str, messages: int) -> None:
    more = "" if "json" in options else " --no-headers"
    done = run(url, f"events --follow {options}{more}")
    assert (done.returncode, done.stderr) == (1, f"lightwave: {ENDED}\n")
    assert len(done.stdout.splitlines()) == messages


@pytest.mark.parametrize(
    "line",
    [
        "get slices --watch --fabric pod-1",
        "get cubes pod-1/cube-1 -w",
        "get fabrics pod-1 -w -o json",
        "describe pod-1/ocs-3 --watch",
        "status --fabric pod-1 --watch",
    ],
)
def test_a_watch_shows_the_last_state_once(url: str, line: str) -> None:
    done = run(url, line)
    assert (done.returncode, done.stderr) == (1, f"lightwave: {UNCHANGED}\n")
    assert done.stdout == run(url, line.replace("--watch", "").replace("-w", "")).stdout != ""


@pytest.mark.parametrize(
    ("cube", "sentence"),
    [
        ("pod-1/cube-1", "pod-1/cube-1: pod-1 retired at 0d04:00:00, before it was drained"),
        ("pod-1/cube-0", "pod-1/cube-0: cannot be drained any more: pod-1 retired at 0d04:00:00; .*"),
        ("pod-1/cube-3", "pod-1/cube-3: its drain from 0d03:00:00 to 0d03:10:00 ended before .*"),
    ],
)
def test_a_wait_for_a_drain_reports_that_the_pod_retired(url: str, cube: str, sentence: str) -> None:
    client = Client(url)
    with pytest.raises(RequestFailed, match=f"^{sentence}$"):
        wait_until_drained(client, cube, cast("RequestReceipt", RECEIPTS[cube]), 0)


@pytest.mark.parametrize(
    "line",
    [
        "get slices --fabric pod-1",
        "get pod-1/slice-0",
        "get cubes --fabric pod-1",
        "describe pod-1/slice-0",
        "trace pod-1/cube-1/+x/0",
        "impact pod-1/ocs-3",
    ],
)
def test_lists_of_a_retired_pod_say_so(url: str, line: str) -> None:
    done = run(url, line)
    assert done.returncode == 0
    assert done.stderr == "lightwave: pod-1: retired at 0d04:00:00; this is its last state\n"
    assert run(url, f"{line} -o json").stderr == ""
    assert run(url, line.replace("pod-1", "pod-0").replace("slice-0", "cube-0")).stderr == ""


@pytest.mark.parametrize("options", ["--fabric pod-1", "--for pod-1/ocs-3"])
def test_no_messages_of_a_retired_pod_name_its_end(url: str, options: str) -> None:
    done = run(url, f"events {options} --since -5m")
    about = options.split()[1]
    assert (done.returncode, done.stdout) == (0, f"no events of {about}; pod-1 retired at 0d04:00:00\n")


@pytest.mark.parametrize("target", ["pod-1", "pod-1/cube-1"])
def test_faults_of_a_retired_pod_cannot_be_cleared(url: str, target: str) -> None:
    done = run(url, f"clear --all {target}")
    sentence = "lightwave: pod-1: retired at 0d04:00:00; its faults cannot end any more\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", sentence)


def test_a_slice_of_a_retired_pod_never_starts(url: str) -> None:
    states = {}
    for n in range(3):
        done = run(url, f"explain pod-1/slice-{n} -o json")
        found = json.loads(done.stdout)
        states[found["state"]] = found
        assert found["reason"].startswith("pod-1 retired at 0d04:00:00, so the slice remains ")
        assert (found["start"], found["queue_position"], found["largest_now"]) == (None, None, None)
    assert "queued" in states
    shown = run(url, f"explain slice {states['queued']['name']}").stdout
    assert "pod-1 retired at 0d04:00:00" in shown
    assert "expected to start" not in shown


@pytest.mark.parametrize(
    "line", ["get slices --where reason=foo -o name", "get cubes --where slices=slice-9 -o name"]
)
def test_names_of_no_objects_are_reported_on_stderr(url: str, line: str) -> None:
    done = run(url, line)
    assert done.stdout == ""
    assert done.stderr.startswith("lightwave: ")


def test_numbers_that_no_row_can_have_are_refused(url: str) -> None:
    for field, allowed in (("chips", "between 0 and 256"), ("priority", "at most 9,223,372,036,854,775,807")):
        done = run(url, f"get slices --where '{field}>1e99'")
        assert (done.returncode, done.stdout) == (2, "")
        assert f"'1e99' is not allowed; must be {allowed}" in done.stderr


def test_subscriptions_end(url: str) -> None:
    twin = lightwave.connect(url)
    assert [event.type for event in twin.subscribe("pod-1", since="-90m")][-1] == "FabricRetired"
    assert [*twin.subscribe(about="pod-1/ocs-3")] == []


def test_goodput_since_a_pod_retired_is_refused_and_leaves_it_out_of_the_others(url: str) -> None:
    sentence = "pod-1 retired at 0d04:00:00; must be a time before that"
    done = run(url, "goodput --fabric pod-1 --since 0d04:30")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"lightwave: --since '0d04:30': {sentence}\n"
    for since, pods in (("0d03:30", ["pod-0", "pod-1"]), ("0d04:30", ["pod-0"])):
        done = run(url, f"goodput --since {since} -o json")
        assert [row["name"] for row in json.loads(done.stdout)["rows"]] == pods
        page = run(url, f"goodput --since {since} -o html")
        assert page.returncode == 0, page.stderr
        assert [name for name in ("pod-0", "pod-1") if f"chip-time of {name} went" in page.stdout] == pods
