"""Fixtures: a real Kafka and a real Redis, each started once. A conftest.py imports them by name."""

from collections.abc import Iterator

import pytest

from ops.servers.local_servers import LocalKafka, LocalRedis
from shared.runtimes.tcp_ports import free_port

__all__ = ["kafka", "live_redis"]


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalKafka]:
    """Return the session's broker. Use your own topics, and start it again if you kill it."""
    server = LocalKafka(tmp_path_factory.mktemp("kafka"), "127.0.0.1", free_port())
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def live_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRedis]:
    """Return the session's Redis. Empty it before use, and start it again if you kill it."""
    server = LocalRedis(tmp_path_factory.mktemp("redis"), "127.0.0.1", free_port())
    try:
        server.start()
        yield server
    finally:
        server.stop()
