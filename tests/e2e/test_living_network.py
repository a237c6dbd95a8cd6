"""A running network as operators use it: the command line against `lightwave up`, at high speed."""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.living import LIGHTWAVE, LivingTwin, cli, living
from tests.support.network_twin import written_site

pytestmark = pytest.mark.slow("waits for rewirings of a running network")

REFUSED, USAGE, NOT_FOUND = 1, 2, 3
QUIET = {"use_above": 100.0, "served_below": 0.0, "transit_above": 1.0, "approval": "operator"}
HOT = {"load": 0.2, "hot_pairs": 2, "hot_share": 0.5}


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LivingTwin]:
    folder = tmp_path_factory.mktemp("network")
    site = written_site(folder, topology=QUIET, demand=HOT)
    yield from living(folder / "twin", "--site", str(site), "--speed", "1000")


def answer(twin: LivingTwin, *words: str) -> Any:
    done = cli(*words, "-o", "json", url=twin.url)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def plan_rewiring(twin: LivingTwin) -> dict[str, Any]:
    (message,) = answer(twin, "dcn", "plan", "--live")["outcome"]
    assert message["type"] == "RewiringPlanned"
    body: dict[str, Any] = message["body"]
    return body


def plan_and_wait(twin: LivingTwin, before: str) -> str:
    """Plan a rewiring, wait, and approve it meanwhile as another operator; return the rewiring."""
    words = [LIGHTWAVE, "dcn", "plan", "--live", "--wait", "--timeout", "60s"]
    env = os.environ | {"LIGHTWAVE_URL": twin.url}
    with subprocess.Popen(
        words, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as waiting:
        name, until_s = before, time.monotonic() + 60.0
        while name == before and time.monotonic() < until_s:
            rows = answer(twin, "events", "--fabric", "dcn-0", "--type", "RewiringPlanned")
            name = rows[-1]["body"]["rewiring"]
        approved = cli("dcn", "approve", name, url=twin.url)
        assert approved.stdout.startswith(f"{name} approved"), approved.stderr
        out, err = waiting.communicate(timeout=60.0)
    assert (waiting.returncode, err) == (0, "")
    assert out.splitlines()[-1] == f"{name}: completed: all stages are complete"
    return name


def test_operators_plan_abort_approve_query_and_inject(twin: LivingTwin) -> None:
    assert cli("clock", "advance", "2h", url=twin.url).returncode == 0
    first = plan_rewiring(twin)["rewiring"]
    busy = cli("dcn", "plan", "--live", "dcn-0", url=twin.url)
    assert (busy.returncode, f"{first} is planned or under way" in busy.stderr) == (REFUSED, True)
    dropped = cli("dcn", "abort", first, url=twin.url)
    assert (dropped.returncode, dropped.stdout.startswith(f"{first} aborted (")) == (0, True), dropped.stderr

    assert cli("clock", "resume", url=twin.url).returncode == 0
    second = plan_and_wait(twin, first)
    assert second != first
    unknown = cli("dcn", "approve", "dcn-0/rewiring-99", url=twin.url)
    assert (unknown.returncode, "no such rewiring" in unknown.stderr) == (NOT_FOUND, True)

    assert cli("clock", "pause", url=twin.url).returncode == 0
    response = answer(twin, "impact", "dcn-0/rack-5")
    injected = cli("inject", "rack", "dcn-0/rack-5", "--for", "2h", url=twin.url)
    assert (injected.returncode, injected.stderr) == (0, "")
    other = answer(twin, "impact", "dcn-0/rack-6")
    assert response["links_lost"] > 0
    assert other["links"] == response["links"] - response["links_lost"]
    assert cli("clear", "--all", "dcn-0/rack-5", url=twin.url).returncode == 0
    assert cli("clock", "advance", "1m", url=twin.url).returncode == 0
    assert answer(twin, "impact", "dcn-0/rack-5")["links"] == response["links"]


def test_a_plan_for_a_pod_is_refused(twin: LivingTwin) -> None:
    done = cli("dcn", "plan", "--live", "pod-0", url=twin.url)
    assert (done.returncode, done.stdout) == (USAGE, "")
    assert "dcn pod-0: is a superpod; must be a datacenter network (dcn-0)" in done.stderr
