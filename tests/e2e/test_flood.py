"""A flood of idle connections: the twin keeps running, answers, and drops them."""

import contextlib
import resource
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.living import LivingTwin, living

pytestmark = pytest.mark.slow("opens thousands of connections and waits until the twin drops them")

CONNECTIONS = 1_100
NOFILE = 1_024
"""The usual limit of a login shell."""
DROPPED_S_MAX = 60.0


@pytest.fixture
def many_files() -> Iterator[None]:
    """Let this process open enough connections for the flood."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4 * CONNECTIONS)), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def files_of(twin: LivingTwin) -> int:
    """Return the number of file descriptors of the twin's process."""
    assert twin.process is not None
    return len(list(Path(f"/proc/{twin.process.pid}/fd").iterdir()))


@pytest.mark.usefixtures("many_files")
def test_the_twin_survives_more_connections_than_file_descriptors(tmp_path: Path) -> None:
    for twin in living(tmp_path / "data", "--speed", "2000", "--set", "pod.cubes=4"):
        assert twin.process is not None
        resource.prlimit(twin.process.pid, resource.RLIMIT_NOFILE, (NOFILE, NOFILE))
        before = files_of(twin)
        now_us = twin.get("/v1/clock")["now_us"]
        with contextlib.ExitStack() as stack:
            for _ in range(CONNECTIONS):
                stack.enter_context(socket.create_connection(("127.0.0.1", twin.port), timeout=30))
            assert twin.get("/healthz")["healthy"]
            until_s = time.monotonic() + DROPPED_S_MAX
            while files_of(twin) > before + 50:
                assert time.monotonic() < until_s, "the connections are still open"
                time.sleep(0.2)
            twin.wait_clock(now_us)
        assert twin.stop() == 0
        assert twin.cli("audit", "--data", str(twin.data)).returncode == 0
