"""How a command ends where what it prints cannot be written: one sentence at most, never a traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration

LIGHTWAVE = Path(sys.executable).with_name("lightwave")


def ended(line: str) -> tuple[int, str]:
    """(exit code, stderr) of a shell's line, in which `lightwave` is the command."""
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
