"""The operations log as `lightwave operations` prints it."""

from typing import Any

import pytest

from tests.support.fake_twin import answering, as_json, lightwave

pytestmark = pytest.mark.integration

US = 1_000_000
AT_US = ((2 * 24 + 15) * 3_600 + 17 * 60 + 31) * US


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (
            {"paused": True, "anchor_us": AT_US, "until_us": AT_US + 600 * US, "run_speed": None},
            "let it run to 2d15:27:31 as fast as possible",
        ),
        (
            {"paused": True, "anchor_us": AT_US, "until_us": AT_US + 600 * US, "run_speed": 60.0},
            "let it run to 2d15:27:31 at × 60",
        ),
        ({"paused": False, "anchor_us": 0, "until_us": None, "speed": 600.0}, "let it run at × 600"),
        ({"paused": True, "anchor_us": AT_US, "until_us": None}, "paused it at 2d15:17:31"),
    ],
)
def test_times_are_reported_to_the_second(body: dict[str, Any], sentence: str) -> None:
    row = {"number": 3, "wall_us": 0, "who": "mia", "type": "ClockChanged", "body": body}
    with answering({"/v1/operations": [as_json([row])]}) as twin:
        done = lightwave("operations", url=twin.url)
    assert done.stdout.splitlines()[1].split("ClockChanged")[1].strip() == sentence


def _request(name: str, at_us: int, **body: Any) -> dict[str, Any]:
    text = "cube=pod-0/cube-3 key=5c0e" + (f" asked_by={body['asked_by']}" if "asked_by" in body else "")
    return {"id": f"operator@{name}", "type": "DrainCube", "at_us": at_us, "text": text, "body": body}


def test_requests_of_all_fabrics_are_listed_in_order_of_time() -> None:
    rows = [
        [_request("pod-0/1", 5 * US, asked_by="mia"), _request("pod-0/4", 9 * US)],
        [_request("pod-1/1", 7 * US)],
    ]
    answers = {
        "/v1/fabrics": [as_json([{"name": "pod-0"}, {"name": "pod-1"}])],
        "/v1/events": [as_json(one) for one in rows],
    }
    with answering(answers) as twin:
        done = lightwave("operations", "--requests", url=twin.url)
    assert [line.split() for line in done.stdout.splitlines()] == [
        ["TIME", "WHO", "WHAT", "DETAILS", "ID"],
        ["0d00:00:05", "mia", "DrainCube", "cube=pod-0/cube-3", "operator@pod-0/1"],
        ["0d00:00:07", "anonymous", "DrainCube", "cube=pod-0/cube-3", "operator@pod-1/1"],
        ["0d00:00:09", "anonymous", "DrainCube", "cube=pod-0/cube-3", "operator@pod-0/4"],
    ]
    assert all("type=DrainCube" in each.query for each in twin.requests if each.path == "/v1/events")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--requests", "--from", "3"), "--from cannot be combined with --requests"),
        (("--fabric", "pod-0"), "--fabric requires --requests"),
    ],
)
def test_options_that_do_not_go_together_are_refused(words: tuple[str, ...], sentence: str) -> None:
    done = lightwave("operations", *words)
    assert (done.returncode, sentence in done.stderr) == (2, True)
