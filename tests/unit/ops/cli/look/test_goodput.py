"""`lightwave goodput`: its output for a real gateway's answers, and invalid queries."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import click
import httpx
import pytest
from click.testing import CliRunner, Result

from ops.cli.main import root
from shared.basics.errors import NotFound
from tests.support.fake_twin import answering, as_json
from tests.support.gateway_twin import QUIET, DrivenTwin

pytestmark = pytest.mark.integration

Answers = dict[str, httpx.Response]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Answers]:
    """Return answers by query about a pod of four cubes, where a slice has used one for the last 2 of 4
    hours."""
    driven = DrivenTwin(tmp_path_factory.mktemp("twin"), ["pod.cubes=4", *QUIET])
    client = driven.client()
    driven.advance(2)
    assert client.post("/v1/slices", json={"shape": "4x4x4"}, params={"wait": 20}).status_code == 200
    driven.advance(2)
    queries = ("by=pod", "by=slice&since=-1h", "by=owner", "by=tier&fabric=pod-9", "by=tier&spans=120")
    yield {query: client.get(f"/v1/goodput?{query}") for query in queries}
    driven.close()


def output_of(answers: Answers, query: str, *words: str) -> str:
    """Return the command's output for the answer to this query."""
    result = run_command(answers[query], *words)
    assert result.exit_code == 0, result.output
    return result.output


def run_command(answer: httpx.Response, *words: str) -> Result:
    replies = {
        "/v1/goodput": [as_json(answer.json(), answer.status_code)],
        "/v1/fabrics": [as_json([{"name": "pod-0"}])],
    }
    with answering(replies) as twin:
        return CliRunner(env={"LIGHTWAVE_URL": twin.url}).invoke(root, ["goodput", *words])


def test_a_pod_is_reported_as_shares_of_its_chip_hours(answers: Answers) -> None:
    lines = output_of(answers, "by=pod").splitlines()
    assert lines[0] == "0d00:00:00 to 0d04:00:00: 1,024.0 chip-hours"
    assert lines[1].startswith("utilisation 12.50 % of the chips in order (production ")
    assert re.search(r"\), productive \d+\.\d\d %$", lines[1])
    assert lines[2].startswith("scheduling goodput 12.50 %, runtime goodput ")
    assert lines[4].split()[:3] == ["POD", "CHIP-HOURS", "PRODUCTIVE"]
    assert lines[5].split()[:2] == ["pod-0", "1,024.0"]


def test_rows_name_owner_and_tier(answers: Answers) -> None:
    rows = [line.split() for line in output_of(answers, "by=owner", "--by", "owner").splitlines()[4:]]
    assert rows[0][:3] == ["OWNER", "TIER", "CHIP-HOURS"]
    assert rows[1][0::2][:2] == ["operator", "128.0"]
    assert rows[2][:4] == ["(no", "slice)", "-", "896.0"]
    rows = [
        line.split()
        for line in output_of(answers, "by=slice&since=-1h", "--by", "slice", "--since", "-1h").splitlines()[
            4:
        ]
    ]
    assert rows[0][:4] == ["SLICE", "OWNER", "TIER", "CHIP-HOURS"]
    assert rows[1][:2] == ["pod-0/slice-0", "operator"]


def test_json_sums_exactly(answers: Answers) -> None:
    report = json.loads(output_of(answers, "by=pod", "-o", "json"))
    assert sum(report["chip_us"].values()) == report["total_chip_us"] == 4 * 64 * 4 * 3_600_000_000


def test_a_page_is_drawn(answers: Answers, tmp_path: Path) -> None:
    page = tmp_path / "goodput.html"
    output_of(answers, "by=tier&spans=120", "--fabric", "pod-0", "-o", "html", "--out", str(page))
    assert "<h2>pod-0</h2>" in page.read_text(encoding="utf-8")


def test_a_missing_object_is_reported(answers: Answers) -> None:
    result = run_command(answers["by=tier&fabric=pod-9"], "--by", "tier", "--fabric", "pod-9")
    assert isinstance(result.exception, NotFound)
    assert str(result.exception) == "fabric 'pod-9': no such fabric; must be one of pod-0"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--by", "rack"], "no grouping 'rack'; must be one of pod, owner, slice, tier"),
        (["--since", "soon"], "'soon' is not a valid time; must be a duration before now"),
        (
            ["--by", "owner", "-o", "html"],
            "--by owner cannot be combined with -o html, which draws pods over time",
        ),
        (["--out", "x.html"], "--out x.html: ends in .html; use -o html to write a page"),
    ],
)
def test_an_impossible_query_is_an_error_in_one_sentence(words: list[str], sentence: str) -> None:
    result = CliRunner().invoke(root, ["goodput", *words], standalone_mode=False)
    assert isinstance(result.exception, click.UsageError)
    assert sentence in result.exception.format_message()
