"""Waiting for a twin: it is seen when it is made, and missed with a sentence that says what is missing."""

import threading
from pathlib import Path

import pytest

from ops.live.await_twin import await_twin
from ops.live.settings import LiveSettings
from shared.basics.errors import OperationFailed
from shared.runtimes.embedded.server import EmbeddedServer
from shared.runtimes.live.twin_record import write_twin
from shared.runtimes.ports import free_port


@pytest.fixture
def server(tmp_path: Path) -> EmbeddedServer:
    return EmbeddedServer(tmp_path / "redis")


def test_ends_when_the_twin_is_there(server: EmbeddedServer) -> None:
    try:
        server.ensure()
        settings = LiveSettings(redis=server.url)
        with pytest.raises(OperationFailed, match=r"holds no live twin after 0 s; `lightwave live init`"):
            await_twin(settings, 0.3)
        timer = threading.Timer(0.3, write_twin, (settings.store(), "a" * 32, 16, "topic"))
        timer.start()
        await_twin(settings, 10)
        assert timer.finished.is_set()
        timer.join()
    finally:
        server.stop()


def test_a_redis_that_never_answers_is_one_sentence() -> None:
    settings = LiveSettings(redis=f"redis://127.0.0.1:{free_port()}/0")
    with pytest.raises(OperationFailed, match=r"^Redis at .*: does not answer after 0 s"):
        await_twin(settings, 0.1)
