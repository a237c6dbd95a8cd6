"""Strikes at Kafka and Redis."""

import resource
import time
from pathlib import Path
from typing import Any

import redis
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient
from kafka.errors import KafkaError

from ops.servers.both import LocalRedis
from ops.soak.plan import Fault
from ops.soak.strikes.scene import BACK_S_MAX, Scene
from shared.basics.errors import OperationFailed
from shared.runtimes.live.kafka.brokers import Brokers
from shared.runtimes.live.kafka.topics import MESSAGE_BYTES_MAX
from shared.runtimes.live.surroundings import KEEPS_ALL
from shared.runtimes.local_server import LocalServer

APPEND_ONLY = "appendonlydir/*.incr.aof"
CUT_SHARE_MAX = 0.5
"""Of the append-only file, at most: the twin's own note stands at its beginning."""
CUT_BYTES = (2_000, 400_000)
ADMIN_S_MAX = 60.0
CUTS = 10
LITTLE_MEMORY = 1_000_000
"""Bytes: less than a Redis that holds a twin takes."""


def kill_server(scene: Scene, fault: Fault) -> None:
    """SIGKILL; it is back after a while."""
    server = _server(scene, fault)
    server.kill()
    _back_after(scene, fault, server)


def restart_server(scene: Scene, fault: Fault) -> None:
    """SIGTERM; it is back after a while."""
    server = _server(scene, fault)
    server.stop()
    _back_after(scene, fault, server)


def pause_server(scene: Scene, fault: Fault) -> None:
    """SIGSTOP, later SIGCONT."""
    _pause(scene, fault, [_server(scene, fault)])


def pause_servers(scene: Scene, fault: Fault) -> None:
    """Kafka and Redis stand still together."""
    _pause(scene, fault, [scene.twin.kafka, scene.twin.redis])


def restart_servers(scene: Scene, fault: Fault) -> None:
    """Kafka and Redis are asked to end, one right after the other."""
    scene.twin.kafka.stop()
    scene.twin.redis.stop()
    _back_after(scene, fault, scene.twin.kafka, scene.twin.redis)


def fill_disk(scene: Scene, fault: Fault) -> None:
    """No file of the server may grow, as on a disk that is full; it is started again if it ended of that.
    Redis must refuse writes (MISCONF) meanwhile, and live."""
    server = _server(scene, fault)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    if not scene.wait_until(lambda: server.runs):
        scene.missed.append(f"{server.name} did not run, whose disk was to be full")
        return
    pid = server.pid or 0
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, hard))
    try:
        if server is scene.twin.redis and not scene.wait_until(lambda: _refuses(scene.twin.redis)):
            scene.missed.append("the disk was full, and Redis had nothing to write")
        scene.hold(fault.lasts_s)
        if not server.runs and server is scene.twin.redis:
            scene.missed.append("Redis ended of a full disk, and did not refuse")
    finally:
        if server.runs:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (hard, hard))
        server.start(wait=False)


def _refuses(server: LocalRedis) -> bool:
    """Whether Redis refuses writes, for it could not write its file."""
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


def refuse_for_a_while(scene: Scene, fault: Fault) -> None:
    """Kafka turns every append to the log away."""
    brokers, topic = scene.twin.kafka.brokers, scene.twin.topics.log
    refuse_writes(brokers, topic, refuse=True)
    try:
        scene.hold(fault.lasts_s)
    finally:
        refuse_writes(brokers, topic, refuse=False)


def refuse_writes(brokers: Brokers, topic: str, *, refuse: bool) -> None:
    """Let every record be too large for a topic; or let it take what it took before."""
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


def forget_group(scene: Scene, fault: Fault) -> None:
    """Kafka loses the group of a service: its offsets and its members, while no worker of it runs."""
    services = scene.twin.options.services
    service = services[fault.index("service", len(services))]
    names = [name for name, served in scene.twin.workers.items() if served == service]
    group = scene.twin.topics.group(service)
    for name in names:
        scene.twin.supervisor.drop(name)
    try:
        if not scene.wait_until(lambda: _deleted(scene.twin.kafka.brokers, group)):
            scene.missed.append(f"Kafka did not let its group {group} go within {BACK_S_MAX:.0f} s")
    finally:
        for name in names:
            scene.twin.start_process(name)


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


def roll_back(scene: Scene, fault: Fault) -> None:
    """The end of Redis's file is cut off while it is down."""
    server = scene.twin.redis
    server.kill()
    cut_short(server.folder, int(fault.between("cut", *CUT_BYTES)))
    _back_after(scene, fault, server)


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


def empty(scene: Scene, fault: Fault) -> None:
    """All of Redis is flushed, and made again from the log."""
    scene.twin.store.flush()
    scene.hold(fault.lasts_s)
    scene.command_until_done("live", "rebuild")


def run_out_of_memory(scene: Scene, fault: Fault) -> None:
    """Redis refuses every write that needs memory."""
    with redis.Redis.from_url(scene.twin.redis.url) as client:
        client.config_set("maxmemory", LITTLE_MEMORY)
        try:
            scene.hold(fault.lasts_s)
        finally:
            client.config_set("maxmemory", 0)


def change_settings(scene: Scene, fault: Fault) -> None:
    """Redis is told to keep no file and to evict keys; later what it was told before, and to write its file
    anew."""
    with redis.Redis.from_url(scene.twin.redis.url) as client:
        client.config_set("maxmemory-policy", "allkeys-lru")
        client.config_set("appendonly", "no")
        try:
            scene.hold(fault.lasts_s)
        finally:
            client.config_set("maxmemory-policy", KEEPS_ALL)
            client.config_set("appendonly", "yes")
    if not scene.wait_until(lambda: _is_written(scene.twin.redis)):
        raise OperationFailed(f"Redis has not written its file within {BACK_S_MAX:.0f} s")


def _is_written(server: LocalRedis) -> bool:
    """Whether its file holds all that it holds."""
    found = _persistence(server)
    return bool(found.get("aof_enabled")) and not (
        found["aof_rewrite_in_progress"] or found["aof_rewrite_scheduled"]
    )


def cut_connections(scene: Scene, fault: Fault) -> None:
    """All connections to Redis are cut, again and again (CLIENT KILL)."""
    with redis.Redis.from_url(scene.twin.redis.url) as client:
        for _ in range(CUTS):
            client.client_kill_filter(_type="normal", skipme=True)
            scene.hold(fault.lasts_s / CUTS)


def _server(scene: Scene, fault: Fault) -> LocalServer:
    return scene.twin.kafka if fault.target.kind == "kafka" else scene.twin.redis


def _pause(scene: Scene, fault: Fault, servers: list[LocalServer]) -> None:
    for server in servers:
        server.pause()
    try:
        scene.hold(fault.lasts_s)
    finally:
        for server in servers:
            server.resume()


def _back_after(scene: Scene, fault: Fault, *servers: LocalServer) -> None:
    try:
        scene.hold(fault.lasts_s)
    finally:
        for server in servers:
            server.start(wait=False)
