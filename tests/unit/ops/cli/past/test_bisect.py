"""`lightwave bisect`: combined parts, waiting for other searches, exit codes."""

import json

import pytest

from tests.support.fake_twin import FakeTwin, answering, as_json, lightwave

pytestmark = pytest.mark.integration

MESSAGE = {
    "id": "ocs@pod-0/20",
    "type": "OcsDown",
    "at_us": 7_200_000_000,
    "cause": None,
    "text": "ocs=pod-0/ocs-1",
}
SPAN = {"condition": "x", "site": "pod-0", "from_us": 0, "to_us": 9_000_000_000, "reached_us": 9_000_000_000}


def part(*holds: bool, cursor: str | None = None, held_at_start: bool = False) -> dict[str, object]:
    transitions = [{"holds": value, "message": MESSAGE} for value in holds]
    return SPAN | {
        "held_at_start": held_at_start,
        "transitions": transitions,
        "messages": 5,
        "cursor": cursor,
    }


def bisected(*parts: dict[str, object], words: tuple[str, ...] = ()) -> tuple[int, str, FakeTwin]:
    answers = {
        "/v1/bisect": [as_json(content) for content in parts],
        "/v1/why/ocs@pod-0/20": [as_json([MESSAGE])],
    }
    with answering(answers=answers) as twin:
        done = lightwave("bisect", "ocs.ocs-1.state == down", *words, url=twin.url)
    return done.returncode, done.stdout + done.stderr, twin


def test_parts_are_combined() -> None:
    code, output, twin = bisected(
        part(cursor="pod-0:5:9:0:0:0"), part(True, cursor="c"), part(False), words=("--all", "-o", "json")
    )
    result = json.loads(output)
    assert (code, result["messages"], [transition["holds"] for transition in result["transitions"]]) == (
        0,
        15,
        [True, False],
    )
    assert [("cursor" in request.query, "all=true" in request.query) for request in twin.requests] == [
        (False, True),
        (True, True),
        (True, True),
    ]


def test_the_first_transition_is_reported_with_its_causes_and_the_search_stops() -> None:
    code, output, twin = bisected(part(cursor="pod-0:5:9:0:0:0"), part(True))
    assert code == 0
    assert output.splitlines() == [
        "true since 0d02:00:00.000",
        "OcsDown ocs=pod-0/ocs-1  [ocs@pod-0/20, 0d02:00:00.000]",
    ]
    assert [request.path for request in twin.requests] == ["/v1/bisect", "/v1/bisect", "/v1/why/ocs@pod-0/20"]


def test_never_is_code_1() -> None:
    code, output, _ = bisected(part())
    assert (code, output) == (1, "never true from 0d00:00:00 to 0d02:30:00 (5 messages)\n")


def test_a_search_waits_while_another_client_runs_the_same() -> None:
    busy = as_json(
        {"error": "such a question is being worked out, and no more may be at once; ask again"}, 429
    )
    with answering(answers={"/v1/bisect": [busy, as_json(part(held_at_start=True))]}) as twin:
        done = lightwave("bisect", "ocs.ocs-1.state == down", url=twin.url)
    assert done.returncode == 0
    assert done.stdout.startswith("true already at 0d00:00:00")
    assert len(twin.requests) == 2
