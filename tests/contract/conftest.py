"""One real embedded server for all contract tests, emptied before each that asks for it."""

from collections.abc import Iterator

import pytest
import redis

from shared.state.server import EmbeddedServer
from tests.redis_cluster import redis_cluster

__all__ = ["embedded_server", "redis_cluster", "redis_url"]


@pytest.fixture(scope="session")
def embedded_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    server = EmbeddedServer(tmp_path_factory.mktemp("redis"))
    server.ensure()
    yield server
    server.stop()


@pytest.fixture
def redis_url(embedded_server: EmbeddedServer) -> str:
    """A server that holds nothing; started again if a test has killed it."""
    embedded_server.ensure()
    with redis.Redis.from_url(embedded_server.url) as client:
        client.flushall()
    return embedded_server.url
