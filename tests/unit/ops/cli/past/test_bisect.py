"""`lightwave bisect` as people read it: parts put together, others waited for, exit codes."""

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
    transitions = [{"holds": one, "message": MESSAGE} for one in holds]
    return SPAN | {
        "held_at_start": held_at_start,
        "transitions": transitions,
        "messages": 5,
        "cursor": cursor,
    }


def bisected(*parts: dict[str, object], words: tuple[str, ...] = ()) -> tuple[int, str, FakeTwin]:
    answers = {"/v1/bisect": [as_json(one) for one in parts], "/v1/why/ocs@pod-0/20": [as_json([MESSAGE])]}
    with answering(answers=answers) as twin:
        done = lightwave("bisect", "ocs.ocs-1.state == down", *words, url=twin.url)
    return done.returncode, done.stdout + done.stderr, twin


def test_parts_are_put_together() -> None:
    code, told, twin = bisected(
        part(cursor="pod-0:5:9:0:0:0"), part(True, cursor="c"), part(False), words=("--all", "-o", "json")
    )
    found = json.loads(told)
    assert (code, found["messages"], [one["holds"] for one in found["transitions"]]) == (0, 15, [True, False])
    assert [("cursor" in asked.query, "all=true" in asked.query) for asked in twin.requests] == [
        (False, True),
        (True, True),
        (True, True),
    ]


def test_the_first_is_reported_with_its_causes_and_nothing_is_requested_beyond() -> None:
    code, told, twin = bisected(part(cursor="pod-0:5:9:0:0:0"), part(True))
    assert code == 0
    assert told.splitlines() == [
        "true since 0d02:00:00.000",
        "OcsDown ocs=pod-0/ocs-1  [ocs@pod-0/20, 0d02:00:00.000]",
    ]
    assert [asked.path for asked in twin.requests] == ["/v1/bisect", "/v1/bisect", "/v1/why/ocs@pod-0/20"]


def test_never_is_code_1() -> None:
    code, told, _ = bisected(part())
    assert (code, told) == (1, "never true from 0d00:00:00 to 0d02:30:00 (5 messages)\n")


def test_a_search_waits_while_another_client_runs_the_same() -> None:
    busy = as_json(
        {"error": "such a question is being worked out, and no more may be at once; ask again"}, 429
    )
    with answering(answers={"/v1/bisect": [busy, as_json(part(held_at_start=True))]}) as twin:
        done = lightwave("bisect", "ocs.ocs-1.state == down", url=twin.url)
    assert done.returncode == 0
    assert done.stdout.startswith("true already at 0d00:00:00")
    assert len(twin.requests) == 2
