"""A local server that does not start is distinguished from one that runs and is only slow."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.basics.errors import OperationFailed
from shared.runtimes.local_server import LocalServer

pytestmark = pytest.mark.integration


class _SilentServer(LocalServer):
    name = "Silent"
    start_s_max = 0.2

    def __init__(self, folder: Path, code: str) -> None:
        super().__init__(folder)
        self._code = code

    def answers(self) -> bool:
        return False

    def _prepare(self) -> list[str]:
        return [sys.executable, "-S", "-c", self._code]


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[list[_SilentServer]]:
    started: list[_SilentServer] = []
    yield started
    for server in started:
        server.stop()


def test_a_server_that_runs_and_is_too_slow_is_not_reported_as_failed(
    tmp_path: Path, servers: list[_SilentServer]
) -> None:
    server = _SilentServer(tmp_path / "slow", "import time; time.sleep(600)")
    servers.append(server)
    with pytest.raises(OperationFailed) as caught:
        server.start()
    assert str(caught.value) == (
        f"Silent in {server.folder} runs, but did not answer within 0.2 s; the machine is busy: try again "
        "(its log: its log is empty)"
    )
    assert server.runs


def test_a_server_that_exits_did_not_start(tmp_path: Path, servers: list[_SilentServer]) -> None:
    server = _SilentServer(tmp_path / "dead", "raise SystemExit('no such option')")
    server.start_s_max = 600.0  # type: ignore[misc]  # of this server alone
    servers.append(server)
    with pytest.raises(OperationFailed, match=r"did not start: no such option$"):
        server.start()
