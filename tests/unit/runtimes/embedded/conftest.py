"""Closes the logs that a test opened."""

from collections.abc import Iterator

import pytest

from tests.support.runner_twin import RunnerTwin


@pytest.fixture(autouse=True)
def _close_logs() -> Iterator[None]:
    yield
    for log in RunnerTwin.opened:
        log.close()
    RunnerTwin.opened.clear()
