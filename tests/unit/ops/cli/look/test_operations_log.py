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
