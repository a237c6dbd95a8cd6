"""A real Redis Cluster for tests: three primaries as child processes, and replicas where a test adds them."""

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
"""How long a node may be silent before the cluster marks it as failed. A busy machine may delay a node."""
HASTE_MS = 500
AGREED_S_MAX = 30.0


class ClusterNode(LocalRedis):
    """A Redis server that is a node of a cluster, or becomes one."""

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
        """Yield a client of this node, which follows no redirections."""
        with redis.Redis(self.host, self.port, socket_timeout=5, retry=Retry(NoBackoff(), 0)) as client:
            yield client

    def execute(self, *command: str | int) -> Any:
        with self.client() as client:
            return client.execute_command(*command)

    def cluster_info(self) -> dict[str, str]:
        answer: dict[str, str] = self.execute("CLUSTER INFO")
        return answer

    @property
    def id(self) -> str:
        return str(self.execute("CLUSTER MYID").decode())

    def knows(self, other: str) -> bool:
        """Whether it is connected to this node."""
        known = self.execute("CLUSTER NODES").values()
        return any(row["node_id"] == other and row["connected"] for row in known)

    def serves_key(self, key: str) -> bool:
        """Whether this node takes writes of the key, according to its own slot table."""
        slot = key_slot(key.encode())
        for first, last, (host, port, *_), *_ in self.execute("CLUSTER SLOTS"):
            if first <= slot <= last:
                return (host.decode() if isinstance(host, bytes) else host, port) == (self.host, self.port)
        return False


class RedisCluster:
    """Three primaries that share the slots, and optional replicas. `form` starts them."""

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
            node.execute("CLUSTER ADDSLOTSRANGE", begin, end - 1)
            node.execute("CLUSTER SET-CONFIG-EPOCH", n + 1)
            if node is not first:
                first.execute("CLUSTER MEET", node.host, node.port, node.bus_port)
        self.wait_agreed()

    def add_replica(self, primary: ClusterNode) -> ClusterNode:
        """Add a replica of this primary, which takes over when the primary fails."""
        replica = self._start_node()
        replica.wait_ready()
        others = [node for node in self.nodes if node is not replica]
        for node in others:
            node.execute("CLUSTER MEET", replica.host, replica.port, replica.bus_port)
        wait_for(lambda: replica.knows(primary.id), "the replica knows its primary")
        replica.execute("CLUSTER REPLICATE", primary.id)
        wait_for(lambda: replica.execute("ROLE")[3] == b"connected", "the replica has its copy")
        for node in others:
            wait_for(partial(node.execute, "CLUSTER REPLICAS", primary.id), "all know the replica")
        self.wait_agreed()
        return replica

    def ensure(self) -> None:
        """Start the nodes again that a test has killed."""
        if not all(node.runs for node in self.nodes):
            for node in self.nodes:
                node.start()
            self.wait_agreed()

    @contextmanager
    def short_timeouts(self) -> Iterator[None]:
        """Shorten the node timeout for the duration of the block, so that a test need not wait for it."""
        for node in self.nodes:
            node.execute("CONFIG SET", "cluster-node-timeout", HASTE_MS)
        try:
            yield
        finally:
            self.ensure()
            for node in self.nodes:
                node.execute("CONFIG SET", "cluster-node-timeout", NODE_TIMEOUT_MS)

    def flush(self) -> None:
        """Delete all data."""
        for node in self.nodes:
            if node.execute("ROLE")[0] == b"master":
                node.execute("FLUSHALL")

    def stop(self) -> None:
        for node in self.nodes:
            node.stop()

    def node_of(self, key: str) -> ClusterNode:
        """Return the node that takes writes of this key."""
        return next(node for node in self.nodes if node.runs and node.serves_key(key))

    def other(self, node: ClusterNode) -> ClusterNode:
        """Return another node that takes writes."""
        return next(
            other for other in self.nodes if other is not node and other.execute("ROLE")[0] == b"master"
        )

    @contextmanager
    def moving(self, key: str) -> Iterator[Callable[[str], None]]:
        """Migrate the slot of this key to another node; the migration ends with the block. Yields a function
        that moves one key."""
        slot, source = key_slot(key.encode()), self.node_of(key)
        target = self.other(source)
        target.execute("CLUSTER SETSLOT", slot, "IMPORTING", source.id)
        source.execute("CLUSTER SETSLOT", slot, "MIGRATING", target.id)

        def move_key(name: str) -> None:
            source.execute("MIGRATE", target.host, target.port, name, 0, 5_000)

        try:
            yield move_key
        finally:
            for name in source.execute("CLUSTER GETKEYSINSLOT", slot, 1_000):
                move_key(name)
            for node in (target, source, *self.nodes):
                node.execute("CLUSTER SETSLOT", slot, "NODE", target.id)

    def wait_agreed(self) -> None:
        """Wait until every node knows all others and serves."""
        wait_for(self._agreed, "the cluster agrees")

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


def wait_for(condition: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + AGREED_S_MAX
    while time.monotonic() < until:
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError(f"never: {what}")


@pytest.fixture(scope="session")
def redis_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisCluster]:
    """Return the session's cluster. Empty it before use, and call `ensure` after killing a node."""
    cluster = RedisCluster(tmp_path_factory.mktemp("cluster"))
    try:
        cluster.form()
        yield cluster
    finally:
        cluster.stop()
