"""A real Dask cluster on this machine: one process for the scheduler and one per worker, on loopback
ports."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

START_S_MAX = 60.0
LOOPBACK = ("--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0")
SCHEDULER = "from distributed.cli.dask_scheduler import main; main()"
WORKER = "from distributed.cli.dask_worker import main; main()"


class DaskCluster:
    """A scheduler that listens at `address`, and the workers that tests start."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self._folder = folder
        self._file = folder / "scheduler.json"
        self._environment = {**os.environ, **environment}
        self._started: list[subprocess.Popen[bytes]] = []
        self.scheduler = self._start(SCHEDULER, "--port", "0", "--scheduler-file", str(self._file))
        until = time.monotonic() + START_S_MAX
        while not self._is_written() and time.monotonic() < until:
            time.sleep(0.05)
        self.address: str = json.loads(self._file.read_text())["address"]

    def _is_written(self) -> bool:
        """Whether the scheduler file is complete. It exists before it has content."""
        try:
            json.loads(self._file.read_text())
        except (FileNotFoundError, ValueError):
            return False
        return True

    def worker(self, first: str = "") -> subprocess.Popen[bytes]:
        """Start a worker, which first runs the Python code `first`."""
        own = ("--nthreads", "1", "--no-nanny", "--local-directory", str(self._folder))
        return self._start(f"{first}\n{WORKER}", self.address, *own)

    def end(self) -> None:
        for process in reversed(self._started):
            process.kill()
            process.wait()

    def _start(self, code: str, *words: str) -> subprocess.Popen[bytes]:
        name = self._folder / f"process-{len(self._started)}.log"
        with name.open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-c", code, *words, *LOOPBACK],
                stdout=log,
                stderr=log,
                cwd=self._folder,
                env=self._environment,
            )
        self._started.append(process)
        return process


@contextmanager
def dask_cluster(folder: Path, *, workers: int, **environment: str) -> Iterator[DaskCluster]:
    """Run a cluster of N workers in these environment variables, and stop it at the end."""
    folder.mkdir()
    cluster = DaskCluster(folder, **environment)
    try:
        for _ in range(workers):
            cluster.worker()
        yield cluster
    finally:
        cluster.end()
