"""A real Redis Cluster for tests: three primaries as child processes, and a replica where one is wanted."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import redis
from redis.backoff import NoBackoff
from redis.crc import key_slot
from redis.retry import Retry

from ops.servers.redis_server import LocalRedis
from shared.runtimes.tcp_ports import free_port

__all__ = ["redis_cluster"]

PRIMARIES = 3
SLOTS = 16_384
NODE_TIMEOUT_MS = 5_000
"""How long a node is not heard of before it is taken for dead: a busy machine may keep one waiting."""
HASTE_MS = 500
AGREED_S_MAX = 30.0


class ClusterNode(LocalRedis):
    """One Redis that is, or will be, a node of a cluster."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "127.0.0.1", free_port())
        self.bus_port = free_port()

    def _prepare(self) -> list[str]:
        options = {
            "cluster-enabled": "yes",
            "cluster-announce-ip": self.host,
            "cluster-port": str(self.bus_port),
            "cluster-node-timeout": str(NODE_TIMEOUT_MS),
            "repl-diskless-sync-delay": "0",
        }
        return [
            *super()._prepare(),
            *(word for name, value in options.items() for word in (f"--{name}", value)),
        ]

    @contextmanager
    def client(self) -> Iterator[Any]:
        """Of this node alone; it follows no redirection."""
        with redis.Redis(self.host, self.port, socket_timeout=5, retry=Retry(NoBackoff(), 0)) as client:
            yield client

    def ask(self, *command: str | int) -> Any:
        with self.client() as client:
            return client.execute_command(*command)

    def cluster_info(self) -> dict[str, str]:
        answer: dict[str, str] = self.ask("CLUSTER INFO")
        return answer

    @property
    def id(self) -> str:
        return str(self.ask("CLUSTER MYID").decode())

    def knows(self, other: str) -> bool:
        """Whether it has shaken hands with this node."""
        known = self.ask("CLUSTER NODES").values()
        return any(row["node_id"] == other and row["connected"] for row in known)

    def holds(self, key: str) -> bool:
        """Whether this node takes writes of the key, by its own account."""
        slot = key_slot(key.encode())
        for first, last, (host, port, *_), *_ in self.ask("CLUSTER SLOTS"):
            if first <= slot <= last:
                return (host.decode() if isinstance(host, bytes) else host, port) == (self.host, self.port)
        return False


class RedisCluster:
    """Three primaries that share the slots, and perhaps replicas. Started by `form`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.nodes: list[ClusterNode] = []

    @property
    def url(self) -> str:
        return self.nodes[0].url

    def form(self) -> None:
        for _ in range(PRIMARIES):
            self._start_node()
        first = self.nodes[0]
        for n, node in enumerate(self.nodes):
            node.wait_ready()
            begin, end = (SLOTS * at // PRIMARIES for at in (n, n + 1))
            node.ask("CLUSTER ADDSLOTSRANGE", begin, end - 1)
            node.ask("CLUSTER SET-CONFIG-EPOCH", n + 1)
            if node is not first:
                first.ask("CLUSTER MEET", node.host, node.port, node.bus_port)
        self.wait_agreed()

    def add_replica(self, primary: ClusterNode) -> ClusterNode:
        """A new node that holds what this one holds, and takes over when it is gone."""
        replica = self._start_node()
        replica.wait_ready()
        others = [node for node in self.nodes if node is not replica]
        for node in others:
            node.ask("CLUSTER MEET", replica.host, replica.port, replica.bus_port)
        until_true(lambda: replica.knows(primary.id), "the replica knows its primary")
        replica.ask("CLUSTER REPLICATE", primary.id)
        until_true(lambda: replica.ask("ROLE")[3] == b"connected", "the replica has its copy")
        for node in others:
            until_true(partial(node.ask, "CLUSTER REPLICAS", primary.id), "all know the replica")
        self.wait_agreed()
        return replica

    def ensure(self) -> None:
        """All of it runs; what a test has killed is started again."""
        if not all(node.runs for node in self.nodes):
            for node in self.nodes:
                node.start()
            self.wait_agreed()

    @contextmanager
    def hasty(self) -> Iterator[None]:
        """Takes nodes for dead soon, so that a test need not wait for it."""
        for node in self.nodes:
            node.ask("CONFIG SET", "cluster-node-timeout", HASTE_MS)
        try:
            yield
        finally:
            self.ensure()
            for node in self.nodes:
                node.ask("CONFIG SET", "cluster-node-timeout", NODE_TIMEOUT_MS)

    def flush(self) -> None:
        """Forget everything."""
        for node in self.nodes:
            if node.ask("ROLE")[0] == b"master":
                node.ask("FLUSHALL")

    def stop(self) -> None:
        for node in self.nodes:
            node.stop()

    def holder(self, key: str) -> ClusterNode:
        """The node that takes writes of this key."""
        return next(node for node in self.nodes if node.runs and node.holds(key))

    def other(self, node: ClusterNode) -> ClusterNode:
        """Another one that takes writes."""
        return next(other for other in self.nodes if other is not node and other.ask("ROLE")[0] == b"master")

    @contextmanager
    def moving(self, key: str) -> Iterator[Callable[[str], None]]:
        """The slot of this key is on its way to another node, and has arrived there at the end. Gives a
        function that brings one key over."""
        slot, source = key_slot(key.encode()), self.holder(key)
        target = self.other(source)
        target.ask("CLUSTER SETSLOT", slot, "IMPORTING", source.id)
        source.ask("CLUSTER SETSLOT", slot, "MIGRATING", target.id)

        def bring(name: str) -> None:
            source.ask("MIGRATE", target.host, target.port, name, 0, 5_000)

        try:
            yield bring
        finally:
            for name in source.ask("CLUSTER GETKEYSINSLOT", slot, 1_000):
                bring(name)
            for node in (target, source, *self.nodes):
                node.ask("CLUSTER SETSLOT", slot, "NODE", target.id)

    def wait_agreed(self) -> None:
        """Every node knows every other, and serves."""
        until_true(self._agreed, "the cluster agrees")

    def _agreed(self) -> bool:
        infos = [node.cluster_info() for node in self.nodes]
        wanted = ("ok", str(len(self.nodes)), str(SLOTS))
        return all(
            (info["cluster_state"], info["cluster_known_nodes"], info["cluster_slots_ok"]) == wanted
            for info in infos
        )

    def _start_node(self) -> ClusterNode:
        node = ClusterNode(self.folder / f"node-{len(self.nodes)}")
        node.start(wait=False)
        self.nodes.append(node)
        return node


def until_true(holds: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + AGREED_S_MAX
    while time.monotonic() < until:
        if holds():
            return
        time.sleep(0.02)
    raise AssertionError(f"never: {what}")


@pytest.fixture(scope="session")
def redis_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisCluster]:
    """One cluster for the whole session: empty it before use, and `ensure` it if you kill a node."""
    cluster = RedisCluster(tmp_path_factory.mktemp("cluster"))
    try:
        cluster.form()
        yield cluster
    finally:
        cluster.stop()
