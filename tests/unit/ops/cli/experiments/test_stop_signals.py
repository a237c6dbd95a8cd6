"""Signals to real long-running commands: the exit code is 128 + the number of the signal."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration

WAIT_S = 60.0
RUN = "from ops.cli.main import main; main()"
LAB = ["lab", "run", "--days", "3650", "--set", "pod.cubes=8", "--log", "year.jsonl"]
EXPERIMENT = ["experiment", "run", "hazards", "--out", "found"]


@pytest.mark.usefixtures("hangup_by_default")
@pytest.mark.parametrize(
    ("words", "written", "number", "sentence"),
    [
        (LAB, "year.partial.jsonl", signal.SIGTERM, "the run was interrupted; its log"),
        (LAB, "year.partial.jsonl", signal.SIGHUP, "the run was interrupted; its log"),
        (LAB, "year.partial.jsonl", signal.SIGINT, "the run was interrupted; its log"),
        (EXPERIMENT, "found/*", signal.SIGTERM, "interrupted; 0 runs are kept in found"),
        (EXPERIMENT, "found/*", signal.SIGINT, "interrupted; 0 runs are kept in found"),
    ],
)
def test_the_exit_code_names_the_signal(
    tmp_path: Path, words: list[str], written: str, number: signal.Signals, sentence: str
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(Path.cwd())},
    )
    until_s = time.monotonic() + WAIT_S
    while not any(path.stat().st_size for path in tmp_path.glob(written)) and time.monotonic() < until_s:
        time.sleep(0.05)
    time.sleep(1.0)  # the simulation itself is then interrupted
    process.send_signal(number)
    _, errors = process.communicate(timeout=WAIT_S)
    assert process.returncode == 128 + number, errors
    assert sentence in errors.decode()
