"""Servers of the contract tests: one embedded Redis for all tests, emptied before each, and a separate Redis
for tests that stop or kill it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from ops.servers.local_servers import LocalRedis
from shared.runtimes.embedded.valkey_server import EmbeddedValkey
from shared.runtimes.tcp_ports import free_port
from tests.support.redis_cluster import redis_cluster

__all__ = ["embedded_server", "redis_cluster", "redis_url"]


@pytest.fixture(scope="session")
def embedded_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedValkey]:
    server = EmbeddedValkey(tmp_path_factory.mktemp("redis"))
    server.ensure()
    yield server
    server.stop()


@pytest.fixture
def redis_url(embedded_server: EmbeddedValkey) -> str:
    """Return the URL of an empty Redis. Starts it again if a test has killed it."""
    embedded_server.ensure()
    with redis.Redis.from_url(embedded_server.url) as client:
        client.flushall()
    return embedded_server.url


@pytest.fixture
def local_redis(tmp_path: Path) -> Iterator[LocalRedis]:
    """Return a Redis for a single test, not started yet."""
    server = LocalRedis(tmp_path / "redis", "127.0.0.1", free_port())
    yield server
    server.stop()
