"""A local Kafka: one broker in KRaft mode, from the jars that Maven fetched."""

import base64
import contextlib
import shutil
import socket
import struct
import subprocess
import uuid
from pathlib import Path

from ops.servers.kafka_jars import DEPLOY, java, kafka_libs
from ops.servers.tcp_server import TcpServer
from shared.basics.errors import InvalidInput, OperationFailed
from shared.runtimes.live.kafka.brokers import Brokers
from shared.runtimes.tcp_ports import check_free, free_port
from shared.storage.files.atomic_files import write_atomically

ANSWER_S_MAX = 1.0
CONTROLLER_HOST = "127.0.0.1"
"""Only the broker of the same node connects to the controller."""
PROPERTIES = "server.properties"
LOGGING = "log4j2.yaml"
FORMATTED = Path("data", "meta.properties")
HEAP = ["-Xms128m", "-Xmx384m", "-XX:+ExitOnOutOfMemoryError"]
QUICK = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
"""JVM options for a fast start and half a core."""


class LocalKafka(TcpServer):
    """A broker that keeps all confirmed records over a kill.

    Paths in its settings are relative to its folder, so the folder's name needs no escaping."""

    name = "Kafka"

    def __init__(
        self, folder: Path, host: str = "127.0.0.1", port: int = 9092, controller_port: int | None = None
    ) -> None:
        super().__init__(folder, host, port)
        self._controller_port = controller_port

    @property
    def bootstrap(self) -> str:
        return self.address

    @property
    def brokers(self) -> Brokers:
        """How clients connect."""
        return Brokers(self.bootstrap)

    @property
    def settings(self) -> dict[str, str]:
        """Environment variables for a live twin's processes."""
        return {"LIGHTWAVE_KAFKA": self.bootstrap}

    def answers(self) -> bool:
        return metadata_answers(self.host, self.port)

    def _command(self) -> list[str]:
        run, libs = [java()], kafka_libs()
        classes = ["-cp", f"{libs}/*"]
        shutil.copyfile(DEPLOY / LOGGING, self.folder / LOGGING)
        write_atomically(self.folder / PROPERTIES, self._properties().encode())
        if not (self.folder / FORMATTED).exists():
            self._format([*run, *QUICK, f"-Dlog4j2.configurationFile={LOGGING}", *classes])
        logging = f"-Dlog4j2.configurationFile={LOGGING}"
        return [*run, *HEAP, *QUICK, logging, *classes, "kafka.Kafka", PROPERTIES]

    def _format(self, run: list[str]) -> None:
        """Format the folder once. An interrupted format is repeated, because `meta.properties` is written
        last."""
        tool = ["kafka.tools.StorageTool", "format", "--ignore-formatted", "-t", _cluster_id()]
        answer = subprocess.run(  # noqa: S603 -- a command of ours, no shell
            [*run, *tool, "-c", PROPERTIES], cwd=self.folder, capture_output=True, text=True, check=False
        )
        if answer.returncode:
            output = (answer.stderr or answer.stdout).strip().splitlines()[-1:]
            raise OperationFailed(f"Kafka in {self.folder}: could not format its storage: {' '.join(output)}")

    def _properties(self) -> str:
        controller = f"{CONTROLLER_HOST}:{self._find_controller_port()}"
        values = {
            "controller.quorum.voters": f"1@{controller}",
            "listeners": f"PLAINTEXT://{self.address},CONTROLLER://{controller}",
            "advertised.listeners": f"PLAINTEXT://{self.address}",
            "log.dirs": str(FORMATTED.parent),
        } | ONE_NODE
        return "".join(f"{key}={value}\n" for key, value in values.items())

    def _find_controller_port(self) -> int:
        """The requested port, or the one after the broker's, or any free one."""
        if self._controller_port is not None:
            check_free("Kafka's controller", CONTROLLER_HOST, self._controller_port)
            return self._controller_port
        with contextlib.suppress(InvalidInput):
            check_free("Kafka's controller", CONTROLLER_HOST, self.port + 1)
            return self.port + 1
        return free_port(CONTROLLER_HOST)


ONE_NODE = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "PLAINTEXT",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "auto.create.topics.enable": "false",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "5",
    "transaction.state.log.num.partitions": "5",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "log.cleaner.dedupe.buffer.size": "2097152",
    # A broker that was killed may register again only after its old session has ended: 3 s instead of 9.
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
}
"""Settings of a single node that restarts fast after a kill; docker-compose.yml has the same."""

METADATA, METADATA_VERSION = 3, 1


def metadata_answers(host: str, port: int) -> bool:
    """Whether a broker answers a metadata request with at least one broker.

    Encoded by hand: about 40 bytes in 2 ms. A Kafka client takes seconds to detect a missing broker.
    """
    request = struct.pack(
        ">hhihi", METADATA, METADATA_VERSION, 1, -1, 0
    )  # an empty client name and no topics
    try:
        with socket.create_connection((host, port), ANSWER_S_MAX) as link:
            link.sendall(struct.pack(">i", len(request)) + request)
            with link.makefile("rb") as answer:
                _size, _correlation, brokers = struct.unpack(">iii", answer.read(12))
    except (OSError, struct.error):
        return False
    return bool(brokers > 0)


def _cluster_id() -> str:
    """16 random bytes in Kafka's encoding, without a leading dash, which would look like an option."""
    while (text := base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")).startswith("-"):
        pass
    return text
