"""Processes of the benchmarks: start a twin as a user does, and query it."""

import json
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

from ops.twin.data_folder import DataFolder
from schemas.registry import decode, encode
from shared.basics.errors import OperationFailed
from shared.storage.log.log_lines import raw_lines

READY_S_MAX = 30.0


def lightwave_command() -> str:
    """The `lightwave` of this installation."""
    beside = Path(sys.executable).with_name("lightwave")
    found = str(beside) if beside.exists() else shutil.which("lightwave")
    if found is None:
        raise OperationFailed("the lightwave command is not installed next to this Python")
    return found


def floor_of(path: Path, clock: Callable[[], float] = time.perf_counter) -> tuple[float, int]:
    """Return (seconds of a clock to only decode, encode and hash a log, number of its messages)."""
    lines = [line.rstrip(b"\n") for line in raw_lines(path)]
    started = clock()
    digest = sha256()
    for line in lines:
        digest.update(encode(decode(line)))
    return clock() - started, len(lines)


@contextmanager
def running_twin(data: Path, *options: str) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Start a twin on a free port, and stop it afterwards."""
    process = start(data, *options)
    try:
        yield process, wait_ready(data, process)
    finally:
        process.terminate()
        process.wait(timeout=30)


def start(data: Path, *options: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 -- own command
        [lightwave_command(), "up", "--port", "0", "--data", str(data), *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def wait_ready(data: Path, process: subprocess.Popen[bytes]) -> str:
    """Return the twin's URL as soon as it reports that it is healthy."""
    until = time.monotonic() + READY_S_MAX
    while time.monotonic() < until and process.poll() is None:
        running = DataFolder(data).running()
        if running is not None and running.pid == process.pid:
            try:
                fetch(running.url, "/healthz")
            except OSError:
                pass
            else:
                return running.url
        time.sleep(0.005)
    raise OperationFailed(f"the twin in {data} did not start within {READY_S_MAX:g} s")


def fetch(url: str, path: str) -> Any:
    with urllib.request.urlopen(url + path, timeout=10) as answer:  # noqa: S310 -- our own twin's URL
        return json.load(answer)


def fetch_post(url: str, path: str) -> None:
    request = urllib.request.Request(url + path, data=b"", method="POST")  # noqa: S310 -- as in fetch
    with urllib.request.urlopen(request, timeout=10):  # noqa: S310 -- as in fetch
        pass
