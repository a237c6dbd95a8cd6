"""`lightwave explain` and `lightwave what-if request`: their output for a real gateway's answers."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner, Result

from ops.cli.explain.slice_state import SPARE_LINKS_TEXT, _history_text
from ops.cli.main import root
from tests.support.fake_twin import answering, as_json
from tests.support.gateway_twin import QUIET, DrivenTwin
from tests.support.records import as_record

pytestmark = pytest.mark.integration

EXPLAIN = ("explain", "slice", "pod-0/slice-2")
Answers = dict[str, httpx.Response]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Answers]:
    """Return answers about a pod of four cubes: filler uses one, production three, and a slice waits for
    two."""
    driven = DrivenTwin(tmp_path_factory.mktemp("twin"), ["pod.cubes=4", *QUIET])
    client = driven.client()
    for shape, tier, duration_s in (
        ("4x4x12", "production", 7_200),
        ("4x4x4", "filler", None),
        ("4x4x8", "research", 600),
    ):
        request = {"shape": shape, "tier": tier, "duration_s": duration_s}
        assert client.post("/v1/slices", json=request, params={"wait": 20}).status_code == 200
    driven.advance(0.1)
    paths = ("explain/slices/pod-0/slice-2", "plan/slices?shape=4x4x4", "plan/slices?shape=4x4x4&tier=filler")
    yield {path: client.get(f"/v1/{path}") for path in paths}
    driven.close()


def run_command(answer: httpx.Response, *words: str) -> Result:
    with answering({}) as twin:
        twin.default = as_json(answer.json(), answer.status_code)
        return CliRunner(env={"LIGHTWAVE_URL": twin.url}).invoke(root, list(words))


@pytest.mark.parametrize("word", ["slice", "request"])
def test_the_reason_for_waiting_is_reported_in_lines(answers: Answers, word: str) -> None:
    result = run_command(answers["explain/slices/pod-0/slice-2"], "explain", word, "pod-0/slice-2")
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[0].startswith("pod-0/slice-2 (4x4x8, research of operator, priority 0): queued since 0d00:")
    assert lines[1].startswith(
        "why: first in line; needs 2 healthy idle cubes: of 4 cubes, 0 idle, 1 used by"
    )
    assert lines[2] == "queue: 1 of 1"
    assert lines[3].startswith("expected to start: 0d02:0")
    assert lines[3].endswith("(promise)")
    assert lines[4].startswith(
        "confidence: promised, if nothing fails and the estimates of 1 slice are right; slices that"
    )
    assert lines[5] == "largest shape that would fit now: 4x4x4"
    assert [line.split()[:2] for line in lines[7:9]] == [["KIND", "IN-THE-WAY"], ["slice", "pod-0/slice-0"]]
    assert "SliceRequested" in lines[-1]


def test_only_the_newest_part_of_a_long_history_is_shown(answers: Answers) -> None:
    answer = answers["explain/slices/pod-0/slice-2"].json()
    (request,) = answer["history"]
    tries = [request | {"type": "PodHeld", "text": f"try={number}"} for number in range(300)]
    lines = run_command(
        httpx.Response(200, json=answer | {"history": [request, *tries]}), *EXPLAIN
    ).output.splitlines()
    assert [line.split()[-1] for line in lines[-21:-1]] == [f"try={number}" for number in range(280, 300)]
    assert lines[-1] == "... and 281 before (-o json has all)"


def test_a_plan_is_reported_in_lines(answers: Answers) -> None:
    lines = run_command(answers["plan/slices?shape=4x4x4"], "what-if", "request", "4x4x4").output.splitlines()
    assert lines[0].startswith("4x4x4 for operator (production) at 0d00:")
    assert lines[0].endswith(": would be placed as soon as other slices have left")
    assert "cubes: pod-0/cube-3" in lines
    assert "circuits: 0 to make, 96 exist already, 0 unused ones to remove" in lines
    assert ["pod-0/slice-1", "operator", "filler", "0.0", "queue"] in [line.split() for line in lines]
    assert "... and 76 more (-o json has all)" in lines
    assert lines[-1].startswith(
        "in short: would be placed as soon as other slices have left; 1 slice leaves, "
    )


def test_a_slice_that_would_wait_gets_the_reason(answers: Answers) -> None:
    words = ("what-if", "request", "4x4x4", "--tier", "filler")
    lines = run_command(answers["plan/slices?shape=4x4x4&tier=filler"], *words).output.splitlines()
    assert lines[0].endswith(": would wait")
    assert lines[1].startswith(
        "why: needs 1 healthy idle cube that no other slice wants: of 4 cubes, 0 idle, 1 used by"
    )
    assert lines[3] == "expected to start: unknown"


def test_json_output_is_complete(answers: Answers) -> None:
    answer = answers["plan/slices?shape=4x4x4"]
    assert (
        json.loads(run_command(answer, "what-if", "request", "4x4x4", "-o", "json").output) == answer.json()
    )


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["what-if", "request", "4x4"], "'4x4' is not a valid shape; must be three sides"),
        (["what-if", "request", "4x4x4", "--tier", "urgent"], "tier 'urgent'"),
        (["what-if", "slice", "4x4x4"], "no command 'slice'; must be one of drain, inject, repair, request"),
        (["explain", "cube", "3"], "no command 'cube'; must be one of request, slice"),
        (["explain", "slice"], "Missing argument 'SLICE'"),
    ],
)
def test_an_impossible_request_is_reported_in_one_sentence(words: list[str], sentence: str) -> None:
    result = CliRunner().invoke(root, words)
    assert result.exit_code != 0
    assert sentence in f"{result.output} {result.exception}"


def test_a_past_choice_is_reported_with_the_costs_of_the_others(tmp_path: Path) -> None:
    driven = DrivenTwin(tmp_path, ["pod.cubes=4", *QUIET])
    client = driven.client()
    client.post("/v1/slices", json={"shape": "4x4x8"}, params={"wait": 20})
    driven.advance(1)
    client.post("/v1/faults", json={"kind": "host", "target": "pod-0/cube-0/host-1"}, params={"wait": 20})
    driven.advance(1)
    answer = client.get("/v1/explain/slices/pod-0/slice-0")
    driven.close()
    lines = run_command(answer, "explain", "slice", "pod-0/slice-0").output.splitlines()
    (line,) = [line for line in lines if "chip-hours" in line]
    assert "SliceRecovering   swap (costs in chip-hours: swap " in line
    assert ", wait " in line


@pytest.mark.parametrize(
    ("text", "is_explained"),
    [
        ("links_down=12 links_degraded=0 speed=100%", True),
        ("links_down=0 links_degraded=2 speed=100%", False),
        ("links_down=12 links_degraded=0 speed=96.2%", False),
    ],
)
def test_a_slice_that_links_down_cost_nothing_is_reported_with_the_reason(
    text: str, is_explained: bool
) -> None:
    row = {"type": "SliceDegraded", "text": text, "costs_chip_us": None, "lost_chip_us": None}
    assert _history_text(as_record(row)) == (f"{text} ({SPARE_LINKS_TEXT})" if is_explained else text)
