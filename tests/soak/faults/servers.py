"""Faults of Kafka and Redis."""

import resource
import time
from pathlib import Path
from typing import Any

import redis
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient
from kafka.errors import KafkaError

from ops.servers.local_servers import LocalRedis
from shared.basics.errors import OperationFailed
from shared.runtimes.live.kafka.brokers import Brokers
from shared.runtimes.live.kafka.topic_admin import MESSAGE_BYTES_MAX
from shared.runtimes.live.server_checks import NO_EVICTION
from shared.runtimes.local_server import LocalServer
from tests.soak.fault_plan import PlannedFault
from tests.soak.faults.context import RUNNING_S_MAX, FaultContext

APPEND_ONLY = "appendonlydir/*.incr.aof"
CUT_SHARE_MAX = 0.5
"""Bytes of the append-only file, at most: the twin's own note is at its beginning."""
CUT_BYTES = (2_000, 400_000)
ADMIN_S_MAX = 60.0
CUTS = 10
LITTLE_MEMORY = 1_000_000
"""Bytes: less than a Redis that holds a twin takes."""


def kill_server(context: FaultContext, fault: PlannedFault) -> None:
    """SIGKILL, and a restart after a while."""
    server = _server(context, fault)
    server.kill()
    _back_after(context, fault, server)


def restart_server(context: FaultContext, fault: PlannedFault) -> None:
    """SIGTERM, and a restart after a while."""
    server = _server(context, fault)
    server.stop()
    _back_after(context, fault, server)


def pause_server(context: FaultContext, fault: PlannedFault) -> None:
    """SIGSTOP, later SIGCONT."""
    _pause(context, fault, [_server(context, fault)])


def pause_servers(context: FaultContext, fault: PlannedFault) -> None:
    """Pause Kafka and Redis together."""
    _pause(context, fault, [context.twin.kafka, context.twin.redis])


def restart_servers(context: FaultContext, fault: PlannedFault) -> None:
    """Kafka and Redis receive SIGTERM, one right after the other."""
    context.twin.kafka.stop()
    context.twin.redis.stop()
    _back_after(context, fault, context.twin.kafka, context.twin.redis)


def fill_disk(context: FaultContext, fault: PlannedFault) -> None:
    """No file of the server may grow, as on a disk that is full; it is started again if it ended of that.
    Redis must refuse writes (MISCONF) meanwhile, and live."""
    server = _server(context, fault)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    if not context.wait_until(lambda: server.runs):
        context.missed.append(f"{server.name} did not run, whose disk was to be full")
        return
    pid = server.pid or 0
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, hard))
    try:
        if server is context.twin.redis and not context.wait_until(lambda: _refuses(context.twin.redis)):
            context.missed.append("the disk was full, and Redis had nothing to write")
        context.hold(fault.duration_s)
        if not server.runs and server is context.twin.redis:
            context.missed.append("Redis ended of a full disk, and did not refuse")
    finally:
        if server.runs:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (hard, hard))
        server.start(wait=False)


def _refuses(server: LocalRedis) -> bool:
    """Whether Redis refuses writes, because it could not write its file."""
    return _persistence(server).get("aof_last_write_status") == "err"


def _persistence(server: LocalRedis) -> dict[str, Any]:
    """What Redis says of its files; nothing while it does not answer."""
    try:
        with redis.Redis.from_url(server.url) as client:
            found: Any = client.info("persistence")  # the client's types speak for its asynchronous form too
    except redis.RedisError:
        return {}
    return dict(found)


# --- Kafka --------------------------------------------------------------------------------------------------


def refuse_for_a_while(context: FaultContext, fault: PlannedFault) -> None:
    """Kafka turns every append to the log away."""
    brokers, topic = context.twin.kafka.brokers, context.twin.topics.log
    refuse_writes(brokers, topic, refuse=True)
    try:
        context.hold(fault.duration_s)
    finally:
        refuse_writes(brokers, topic, refuse=False)


def refuse_writes(brokers: Brokers, topic: str, *, refuse: bool) -> None:
    """Make every record too large for a topic, or restore the previous limit."""
    most = "1" if refuse else str(MESSAGE_BYTES_MAX)
    change = ConfigResource(ConfigResourceType.TOPIC, topic, configs={"max.message.bytes": most})
    until_s = time.monotonic() + ADMIN_S_MAX
    while True:
        try:
            admin = KafkaAdminClient(**brokers.arguments())
            try:
                admin.alter_configs([change])
            finally:
                admin.close()
        except (KafkaError, OSError, AssertionError):
            if time.monotonic() > until_s:
                raise
            time.sleep(0.5)
        else:
            return


def forget_group(context: FaultContext, fault: PlannedFault) -> None:
    """Kafka loses the group of a service: its offsets and its members, while no worker of it runs."""
    services = context.twin.options.services
    service = services[fault.index("service", len(services))]
    names = [name for name, served in context.twin.workers.items() if served == service]
    group = context.twin.topics.group(service)
    for name in names:
        context.twin.supervisor.drop(name)
    try:
        if not context.wait_until(lambda: _deleted(context.twin.kafka.brokers, group)):
            context.missed.append(f"Kafka did not let its group {group} go within {RUNNING_S_MAX:.0f} s")
    finally:
        for name in names:
            context.twin.start_process(name)


def _deleted(brokers: Brokers, group: str) -> bool:
    """Whether Kafka deletes a group; it refuses until its last member's session has ended."""
    try:
        admin = KafkaAdminClient(**brokers.arguments())
        try:
            return bool(admin.delete_groups([group]).get(group) == "OK")
        finally:
            admin.close()
    except (KafkaError, OSError):
        return False


# --- Redis --------------------------------------------------------------------------------------------------


def roll_back(context: FaultContext, fault: PlannedFault) -> None:
    """The end of Redis's file is cut off while it is down."""
    server = context.twin.redis
    server.kill()
    cut_short(server.folder, int(fault.between("cut", *CUT_BYTES)))
    _back_after(context, fault, server)


def cut_short(folder: Path, cut_bytes: int) -> int:
    """Cut the end off the append-only file of a Redis that does not run; how many bytes were cut."""
    files = sorted(folder.glob(APPEND_ONLY), key=lambda path: int(path.name.split(".")[-3]))
    if not files:
        raise OperationFailed(f"Redis in {folder}: has no append-only file")
    size = files[-1].stat().st_size
    cut = min(cut_bytes, int(CUT_SHARE_MAX * size))
    with files[-1].open("r+b") as file:
        file.truncate(size - cut)
    return cut


def empty(context: FaultContext, fault: PlannedFault) -> None:
    """Flush Redis, and rebuild it from the log."""
    context.twin.store.flush()
    context.hold(fault.duration_s)
    context.command_until_done("live", "rebuild")


def run_out_of_memory(context: FaultContext, fault: PlannedFault) -> None:
    """Redis refuses every write that needs memory."""
    with redis.Redis.from_url(context.twin.redis.url) as client:
        client.config_set("maxmemory", LITTLE_MEMORY)
        try:
            context.hold(fault.duration_s)
        finally:
            client.config_set("maxmemory", 0)


def change_settings(context: FaultContext, fault: PlannedFault) -> None:
    """Redis is set to keep no file and to evict keys. Later it gets its previous settings, and rewrites its
    file."""
    with redis.Redis.from_url(context.twin.redis.url) as client:
        client.config_set("maxmemory-policy", "allkeys-lru")
        client.config_set("appendonly", "no")
        try:
            context.hold(fault.duration_s)
        finally:
            client.config_set("maxmemory-policy", NO_EVICTION)
            client.config_set("appendonly", "yes")
    if not context.wait_until(lambda: _is_written(context.twin.redis)):
        raise OperationFailed(f"Redis has not written its file within {RUNNING_S_MAX:.0f} s")


def _is_written(server: LocalRedis) -> bool:
    """Whether its file holds all that it holds."""
    found = _persistence(server)
    return bool(found.get("aof_enabled")) and not (
        found["aof_rewrite_in_progress"] or found["aof_rewrite_scheduled"]
    )


def cut_connections(context: FaultContext, fault: PlannedFault) -> None:
    """All connections to Redis are cut, again and again (CLIENT KILL)."""
    with redis.Redis.from_url(context.twin.redis.url) as client:
        for _ in range(CUTS):
            client.client_kill_filter(_type="normal", skipme=True)
            context.hold(fault.duration_s / CUTS)


def _server(context: FaultContext, fault: PlannedFault) -> LocalServer:
    return context.twin.kafka if fault.target.kind == "kafka" else context.twin.redis


def _pause(context: FaultContext, fault: PlannedFault, servers: list[LocalServer]) -> None:
    for server in servers:
        server.pause()
    try:
        context.hold(fault.duration_s)
    finally:
        for server in servers:
            server.resume()


def _back_after(context: FaultContext, fault: PlannedFault, *servers: LocalServer) -> None:
    try:
        context.hold(fault.duration_s)
    finally:
        for server in servers:
            server.start(wait=False)
