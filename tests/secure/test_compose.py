"""Kafka and Redis as docker-compose.yml sets them up, with the secrets of the script, but without
containers."""

import contextlib
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ops.live.settings import LiveSettings, variable
from ops.servers.local_servers import LocalKafka, LocalRedis
from shared.basics.errors import OperationFailed
from shared.runtimes.live.kafka.brokers import Brokers
from shared.runtimes.live.kafka.topic_admin import check_settings, create_topics
from shared.runtimes.tcp_ports import free_port
from shared.storage.store.redis_store import RedisStore
from tests.support.broker_version import broker_version
from tests.support.deployment import filled, own_containers, services
from tests.unit.tree.tidy import ROOT

IN_CONTAINERS = "/run/secrets"
START_SCRIPT_ONLY = ("KAFKA_HEAP_OPTS", "KAFKA_OPTS")
"""Variables for the start script, which the broker never reads."""


class ComposeKafka(LocalKafka):
    """A Kafka with the Compose file's environment, which the image turns into settings."""

    secrets: Path

    def answers(self) -> bool:
        password = (self.secrets / "kafka-password").read_text().strip()
        try:
            broker_version(
                Brokers(self.address, "SASL_PLAINTEXT", mechanism="PLAIN", user="twin", password=password)
            )
        except OperationFailed:
            return False
        return True

    def _properties(self) -> str:
        environment = services()["kafka"]["environment"]
        values = {
            name.removeprefix("KAFKA_").lower().replace("_", "."): value
            for name, value in environment.items()
            if name.startswith("KAFKA_") and name not in START_SCRIPT_ONLY
        }
        own = dict(line.split("=", 1) for line in super()._properties().splitlines())
        for name in ("controller.quorum.voters", "listeners", "advertised.listeners", "log.dirs"):
            values[name] = own[name].replace(
                f"PLAINTEXT://{self.address}", f"SASL_PLAINTEXT://{self.address}"
            )
        return "".join(f"{name}={value}\n" for name, value in values.items())

    def _command(self) -> list[str]:
        java, *rest = super()._command()
        options = services()["kafka"]["environment"]["KAFKA_OPTS"]
        return [java, options.replace(IN_CONTAINERS, str(self.secrets)), *rest]


class ComposeRedis(LocalRedis):
    """A Redis with the command of the Compose file, on a port and in a folder of the test."""

    secrets: Path

    def answers(self) -> bool:
        return b"NOAUTH" in talk(self.port, b"PING\r\n")

    def _command(self) -> list[str]:
        binary, *words = services()["redis"]["command"]
        place = ["--port", str(self.port), "--bind", self.host, "--dir", str(self.folder)]
        return [binary, *(word.replace(IN_CONTAINERS, str(self.secrets)) for word in words), *place]


def talk(port: int, request: bytes) -> bytes:
    """Return the first answer of a server; empty if it does not answer."""
    try:
        with socket.create_connection(("127.0.0.1", port), 1.0) as link:
            link.sendall(request)
            return link.recv(1_000)
    except OSError:
        return b""


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[LiveSettings]:
    """Return the settings of a worker, with the addresses of both servers."""
    secrets = tmp_path / "secrets"
    subprocess.run([ROOT / "ops/deploy/secrets.sh", secrets], check=True)
    kafka = ComposeKafka(tmp_path / "kafka", "127.0.0.1", free_port())
    redis = ComposeRedis(tmp_path / "redis", "127.0.0.1", free_port())
    kafka.secrets = redis.secrets = secrets
    with contextlib.ExitStack() as stack:
        for server in (redis, kafka):
            stack.callback(server.stop)
            server.start()
        known = {variable(name): name for name in LiveSettings.model_fields}
        places = {IN_CONTAINERS: str(secrets), "kafka:9092": kafka.address, "redis:6379": redis.address}
        values = {}
        for name, value in own_containers()["cubes"]["environment"].items():
            values[known[name]] = filled(value)
            for before, after in places.items():
                values[known[name]] = values[known[name]].replace(before, after)
        yield LiveSettings.model_validate(values, strict=False)


def test_a_worker_can_log_in_and_other_clients_cannot(settings: LiveSettings, tmp_path: Path) -> None:
    places = settings.endpoints
    create_topics(places.kafka, places.topics, 1, 1)
    assert check_settings(places.kafka, places.topics) == []
    with contextlib.closing(settings.store()) as store:
        store.check()
        store.set_globals("clock", {"speed": "60"})
        assert store.read_globals("clock") == {"speed": "60"}
        with pytest.raises(OperationFailed, match="no permissions to run the 'flushdb' command"):
            store.flush()
    address = settings.redis.partition("twin@")[2].partition("/")[0]
    with contextlib.closing(RedisStore(f"redis://{address}")) as store, pytest.raises(OperationFailed):
        store.check()
    (tmp_path / "secrets/kafka-password").write_text("another")
    with pytest.raises(OperationFailed, match="refuses the login of user 'twin'"):
        create_topics(settings.endpoints.kafka, places.topics, 1, 1)
