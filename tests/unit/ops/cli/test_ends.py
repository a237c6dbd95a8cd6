"""Commands whose output cannot be written: one sentence at most, never a traceback."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.fake_twin import answering, as_json, condition_report

pytestmark = pytest.mark.integration

LIGHTWAVE = Path(sys.executable).with_name("lightwave")


def ended(line: str) -> tuple[int, str]:
    """Run a shell line in which `lightwave` is the command; return (exit code, stderr)."""
    env = os.environ | {
        "PATH": f"{LIGHTWAVE.parent}:{os.environ['PATH']}",
        "LIGHTWAVE_URL": "http://127.0.0.1:9",
    }
    done = subprocess.run(["/bin/bash", "-c", line], env=env, stderr=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("line", "code", "sentence"),
    [
        ("lightwave lab config >&-", 0, ""),
        ("lightwave lab config > /dev/full", 1, "lightwave: No space left on device\n"),
        ("lightwave get nonsense >&- 2>&-", 2, ""),
        ("lightwave get ocs 2> /dev/full", 4, ""),
        ("lightwave lab config | head -n 0", 0, ""),
    ],
)
def test_output_that_cannot_be_written(line: str, code: int, sentence: str) -> None:
    assert ended(line) == (code, sentence)


CLOCK = {"now_us": 0, "speed": 1.0, "paused": False, "achieved_speed": 1.0, "lag_us": 0, "until_us": None}
MESSAGE = {
    "id": "a/1",
    "type": "Tick",
    "at_us": 0,
    "cause": None,
    "text": "x" * 1000,
    "about": [],
    "fabric": "pod-0",
}
STREAM = "".join(f"id: pod-0:{n}\ndata: {json.dumps(MESSAGE)}\n\n" for n in range(300))
LONG = [{"name": f"pod-0/cube-{n}", "text": "y" * 200} for n in range(2_000)]
ANSWERS = {
    "/v1/clock": [as_json(CLOCK)],
    "/v1/fabrics": [as_json([{"name": "pod-0", "kind": "superpod", "retired_us": None}])],
    "/v1/fabrics/pod-0": [as_json({"position": 5})],
    "/v1/events/stream": [(200, "text/event-stream", STREAM.encode())],
    "/v1/cubes": [as_json(LONG)],
    "/v1/conditions": [condition_report("1")],
}


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("events --follow", 0),
        ("events --follow -o json", 0),
        ("clock show --watch", 0),
        ("clock show --watch -o json", 0),
        ("get cubes -o json", 0),
        ("get cubes -o json --watch", 0),
        ("get cubes -o yaml", 0),
        (
            "wait 'count(cubes) == 2' --timeout 0s",
            1,
        ),  # the condition is not reached, whatever reads the output
    ],
)
def test_a_closed_reader_is_not_a_failure(words: str, code: int) -> None:
    """One rule for all: a stream ends with 0, and any other command with its own code."""
    with answering({**ANSWERS}) as twin:
        line = f"LIGHTWAVE_URL={twin.url} lightwave {words} 2>/dev/null | head -n 1 > /dev/null; "
        assert ended(line + "exit ${PIPESTATUS[0]}") == (code, "")
