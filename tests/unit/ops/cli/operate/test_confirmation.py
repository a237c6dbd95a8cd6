"""Commands that cannot be undone ask for confirmation on a terminal, and nowhere else."""

import os
import pty
import subprocess
import sys

import pytest

from tests.support.fake_twin import Answer, answering, as_json, environment, lightwave

pytestmark = pytest.mark.integration

ID = "sequencer@pod-0/2"
RETIRED = {"id": ID, "status": "accepted", "repeated": False, "complete": True, "outcome": [], "at_us": 0}
ANSWERS: dict[str, list[Answer]] = {
    "/v1/fabrics": [as_json([{"name": "pod-0", "retired_us": None}, {"name": "pod-1", "retired_us": 5}])],
    "/v1/slices": [as_json([{"name": "pod-0/slice-0"}])],
    "/v1/fabrics/pod-0/retire": [as_json(RETIRED)],
}
QUESTION = "pod-0 is the only fabric of this twin, with 1 slice that has not ended. Retire it for good?"


def on_terminal(url: str, typed: str, *words: str) -> tuple[int, str]:
    """Run a command on a terminal; return (exit code, all output)."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "ops.cli", *words],
        env=environment(url),
        stdin=follower,
        stdout=follower,
        stderr=follower,
    )
    os.close(follower)
    os.write(leader, typed.encode())
    output = b""
    try:
        while part := os.read(leader, 4096):
            output += part
    except OSError:
        pass  # the other side has closed
    os.close(leader)
    return process.wait(), output.decode()


@pytest.mark.parametrize(("typed", "words", "code"), [("n\n", [], 1), ("y\n", [], 0), ("", ["--yes"], 0)])
def test_retiring_is_confirmed_on_a_terminal(typed: str, words: list[str], code: int) -> None:
    with answering({**ANSWERS}) as twin:
        result = on_terminal(twin.url, typed, "retire", "pod-0", *words)
        assert result[0] == code, result
        assert (QUESTION in result[1]) == (not words)
        assert [request.path for request in twin.requests if request.method == "POST"] == (
            [] if code else ["/v1/fabrics/pod-0/retire"]
        )


def test_scripts_are_not_asked() -> None:
    with answering({**ANSWERS}) as twin:
        done = lightwave("retire", "pod-0", url=twin.url)
        assert (done.returncode, done.stderr) == (0, "")
        assert [request.method for request in twin.requests] == ["POST"]
