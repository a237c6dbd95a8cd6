"""`lightwave impact` and `lightwave what-if`: their output for the answers of a real gateway."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from click.testing import CliRunner, Result

from ops.cli.main import root
from tests.support.fake_twin import answering, as_json
from tests.support.gateway_twin import QUIET, DrivenTwin

pytestmark = pytest.mark.integration

Answers = dict[str, httpx.Response]
HOST, CUBE = "pod-0/cube-0/host-1", "pod-0/cube-0"


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Answers]:
    """Return answers about a pod of four cubes, where one slice has two of them."""
    driven = DrivenTwin(tmp_path_factory.mktemp("twin"), ["pod.cubes=4", *QUIET])
    client = driven.client()
    client.post("/v1/slices", json={"shape": "4x4x8"}, params={"wait": 20})
    driven.advance(1)
    paths = (
        f"what-if/inject?kind=host&target={HOST}",
        f"what-if/drain?target={CUBE}",
        f"what-if/repair?target={CUBE}",
        f"what-if/inject?kind=ocs&target={CUBE}",
        "what-if/drain?target=pod-0/cube-0&within_s=100000",
        f"impact/{CUBE}",
        "clock",
    )
    yield {path: client.get(f"/v1/{path}") for path in paths}
    driven.close()


def run_command(answers: Answers, path: str, *words: str) -> Result:
    answer = answers[path]
    with answering({"/v1/clock": [as_json(answers["clock"].json())]}) as twin:
        twin.default = as_json(answer.json(), answer.status_code)
        return CliRunner(env={"LIGHTWAVE_URL": twin.url}).invoke(root, [*words])


def test_a_fault_is_reported_with_its_choice_and_the_costs_of_the_others(answers: Answers) -> None:
    result = run_command(
        answers, f"what-if/inject?kind=host&target={HOST}", "what-if", "inject", "host", HOST
    )
    lines = result.output.splitlines()
    assert lines[0].startswith(f"inject host {HOST} at 0d01:00:00, predicted until 0d02:00:00: ")
    assert lines[0].endswith("1 slice, 128 circuits to make")
    assert f"{CUBE}: CubeUnhealthy" in lines
    rows = [line.split() for line in lines]
    assert ["pod-0/slice-0", "production", "4x4x8", "hit", "swap", "running", "-"] in [
        row[:7] for row in rows
    ]
    assert {row[1] for row in rows if row[:1] == ["pod-0/slice-0"]} >= {"production", "swap", "wait"}
    assert ["pod-0/slice-0", CUBE, "pod-0/cube-2", "failed"] in rows


def test_a_drain_is_reported_with_its_swaps(answers: Answers) -> None:
    lines = run_command(answers, f"what-if/drain?target={CUBE}", "what-if", "drain", CUBE).output.splitlines()
    assert f"{CUBE}: CubeDrained" in lines
    assert ["pod-0/slice-0", CUBE, "pod-0/cube-2", "drained"] in [line.split() for line in lines]


@pytest.mark.parametrize("words", [(CUBE,), ("-o", "table", CUBE), (CUBE, "-o", "table")])
def test_impact_names_the_parts_that_go_out_of_use(answers: Answers, words: tuple[str, ...]) -> None:
    lines = run_command(answers, f"impact/{CUBE}", "impact", *words).output.splitlines()
    assert lines[0] == f"{CUBE} goes out of service"


@pytest.mark.parametrize(
    ("path", "words", "sentence"),
    [
        (
            f"what-if/repair?target={CUBE}",
            ("what-if", "repair", CUBE),
            "target 'pod-0/cube-0': has no active faults; `lightwave get faults` lists them",
        ),
        (
            f"what-if/inject?kind=ocs&target={CUBE}",
            ("what-if", "inject", "ocs", CUBE),
            f"target: {CUBE!r} cannot have a fault of kind 'ocs'",
        ),
        (
            "what-if/drain?target=pod-0/cube-0&within_s=100000",
            ("what-if", "drain", CUBE),
            "must be at most 86400",
        ),
    ],
)
def test_an_impossible_change_is_refused_in_one_sentence(
    answers: Answers, path: str, words: tuple[str, ...], sentence: str
) -> None:
    result = run_command(answers, path, *words)
    assert result.exit_code != 0
    assert sentence in f"{result.output} {result.exception}"


def test_a_multi_pod_job_is_reported_before_and_after() -> None:
    """A fault is reported with the traffic of its network meanwhile, a loss without a time."""
    carried = {"bound": 0.7, "transit": 0.1, "path": 1.1, "cut_off": 0}
    before, after = carried | {"use": 0.781, "served": 1.0}, carried | {"use": 1.032, "served": 0.753}
    job = {
        "job": "pod-0/slice-753",
        "slices": ["pod-0/slice-753", "pod-1/slice-745"],
        "becomes": "stopped",
        "before": {"speed": 0.972, "gbps": 23_075.4},
        "after": {"speed": 0.0, "gbps": 0.0},
        "from_us": 3_600_000_000,
        "until_us": 7_200_000_000,
    }
    target = "dcn-0/block-0"
    foreseen = {
        "requested": f"inject block {target}",
        "at_us": 3_600_000_000,
        "until_us": 7_200_000_000,
        "refused": None,
        "parts": [],
        "slices": [],
        "circuits_made": 0,
        "events": [],
        "jobs": [job],
        "traffic": [{"fabric": "dcn-0", "at_us": 3_600_000_000, "before": before, "after": after}],
    }
    lost = {
        "target": target,
        "kind": "block",
        "links": 9,
        "links_lost": 3,
        "lost": 0.1,
        "blocks": [],
        "pods_cut_off": ["pod-0"],
        "down_by": [],
        "circuits_fixed": 0,
        "new_weights": None,
        "weights_reason": None,
        "before": before,
        "at_once": after,
        "after": after,
        "jobs": [job],
        "rewiring": None,
    }
    row = ["pod-0/slice-753", "stopped", "97.2%", "to", "0.0%", "23,075", "to", "0"]
    row += ["pod-0/slice-753,", "pod-1/slice-745"]
    for words, answer, span in (
        (("what-if", "inject", "block", target), foreseen, ["0d01:00:00", "0d02:00:00"]),
        (("impact", target), lost, []),
    ):
        with answering({}) as twin:
            twin.default = as_json(answer)
            result = CliRunner(env={"LIGHTWAVE_URL": twin.url}).invoke(root, [*words])
        lines = result.output.splitlines()
        assert "largest use 78.1% to 103.2%, served 100.0% to 75.3%" in result.output
        assert [*row, *span] in [line.split() for line in lines]
        if span:
            assert lines[0].endswith(": 0 messages, 0 slices, 1 job over several pods, 0 circuits to make")


NO_LINKS = "0 of 9 links lost, 0.00% of all capacity, at 0 blocks"


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"circuits_fixed": 1_830}, "1,830 circuits cannot be changed until the fault ends"),
        ({"circuits_fixed": 1}, "1 circuit cannot be changed until the fault ends"),
        ({}, f"dcn-0/control-1 breaks (control): {NO_LINKS}"),
        (
            {"down_by": ["dcn-0/fault-0"]},
            f"dcn-0/control-1 is down already by dcn-0/fault-0; with one more fault: {NO_LINKS}",
        ),
    ],
)
def test_a_loss_without_links_is_described(more: dict[str, Any], sentence: str) -> None:
    carried = {"use": 0.7, "served": 1.0, "bound": 0.7, "transit": 0.1, "path": 1.1, "cut_off": 0}
    lost = {
        "target": "dcn-0/control-1",
        "kind": "control",
        "down_by": [],
        "links": 9,
        "links_lost": 0,
        "lost": 0.0,
        "blocks": [],
        "pods_cut_off": [],
        "before": carried,
        "at_once": carried,
        "after": carried,
        "jobs": [],
        "circuits_fixed": 0,
        "new_weights": None,
        "weights_reason": None,
        "rewiring": None,
    }
    with answering({}) as twin:
        twin.default = as_json(lost | more)
        result = CliRunner(env={"LIGHTWAVE_URL": twin.url}).invoke(root, ["impact", "dcn-0/control-1"])
    lines = result.output.splitlines()
    assert sentence in lines
    assert "traffic does not change" in lines
