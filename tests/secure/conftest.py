"""Real servers with TLS and logins, each started once."""

from collections.abc import Iterator

import pytest

from shared.runtimes.tcp_ports import free_port
from tests.secure.servers import SecureKafka, SecureRedis
from tests.support.authority import Authority
from tests.support.live_servers import kafka as plain_kafka
from tests.support.live_servers import live_redis as plain_redis

__all__ = ["plain_kafka", "plain_redis"]

PREFIX = "secure"


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority") / "ours")


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> Iterator[SecureKafka]:
    server = SecureKafka(tmp_path_factory.mktemp("kafka"), authority, free_port())
    try:
        server.start()
        server.allow(PREFIX)
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def redis(tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> Iterator[SecureRedis]:
    server = SecureRedis(tmp_path_factory.mktemp("redis"), authority, free_port())
    try:
        server.start()
        yield server
    finally:
        server.stop()
