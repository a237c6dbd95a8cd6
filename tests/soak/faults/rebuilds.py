"""Faults of rebuilds and inits, complete and interrupted."""

import contextlib
import signal
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import redis
from kafka.admin import KafkaAdminClient
from kafka.errors import KafkaError

from ops.servers.local_servers import LocalKafka
from shared.runtimes.live.kafka.layout import Topics
from tests.soak.fault_plan import PlannedFault
from tests.soak.faults.context import FaultContext
from tests.soak.log_facts import gather_facts, read_log

FRESH = {"pods": 5, "partitions": 3}
FRESH_DATABASE = 1
"""Of the same Redis: a twin of its own."""
ESTABLISHED = "01"
"""Of a connection, as /proc says it."""
TRIES = 4
"""A command that ended before it was killed is tried again, and killed earlier."""


def rebuild(context: FaultContext, _: PlannedFault) -> None:
    """Rebuild every state while the twin runs."""
    context.command_until_done("live", "rebuild")


def kill_rebuild(context: FaultContext, fault: PlannedFault) -> None:
    """Kill a rebuild, then run another to its end."""
    kill_after(context, fault.duration_s, "live", "rebuild")
    context.command_until_done("live", "rebuild")


def rebuild_twice(context: FaultContext, _: PlannedFault) -> None:
    """Run two rebuilds at once."""
    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(context.command_until_done, "live", "rebuild") for _ in range(2)]
        for one in both:
            one.result()


def init_again(context: FaultContext, fault: PlannedFault) -> None:
    """`init --keep` of the living twin is killed on its way, then done to its end: nothing is to change."""
    words = ("live", "init", "--keep", *context.twin.options.words)
    kill_after(context, fault.duration_s, *words)
    done = context.command_until_done(*words)
    if "is there already" not in done.stdout:
        context.problems.append(f"the living twin was not kept: {done}")


def kill_init(context: FaultContext, fault: PlannedFault) -> None:
    """The making of another twin, on the same servers, is killed on its way and gone on with: it begins each
    fabric once."""
    url = f"{context.twin.redis.url.rpartition('/')[0]}/{FRESH_DATABASE}"
    words = ("live", "init", "--keep", *(word for name, n in FRESH.items() for word in (f"--{name}", str(n))))
    for place in range(TRIES):
        prefix = f"{context.twin.options.prefix}-fresh-{fault.number}-{place}"
        elsewhere = {"LIGHTWAVE_PREFIX": prefix, "LIGHTWAVE_REDIS": url}
        begun = partial(_has_log, context.twin.kafka, Topics(prefix))
        try:
            killed = context.command(
                *words, kill_after_s=fault.duration_s / 2**place, begun=begun, environment=elsewhere
            )
            if killed.code != -signal.SIGKILL:
                continue
            context.command_until_done(*words, environment=elsewhere)
            found = gather_facts(read_log(context.twin.kafka.brokers, Topics(prefix).log)).commissionings
            counts = {fabric: len(rows) for fabric, rows in sorted(found.items())}
            if counts != {f"pod-{number}": 1 for number in range(FRESH["pods"])}:
                context.problems.append(f"a twin whose making was killed begins so on its log: {counts}")
            return
        finally:
            _clear(context, Topics(prefix), url)
    context.missed.append(f"{killed} before it was killed, {TRIES} times")


def kill_after(context: FaultContext, after_s: float, *words: str) -> None:
    """Kill a command of the living twin so long after its first word to Redis; earlier, if it ends before."""
    redis_port = urlsplit(context.twin.redis.url).port or 0
    for place in range(TRIES):
        done = context.command(
            *words, kill_after_s=after_s / 2**place, begun=lambda pid: is_connected(pid, redis_port)
        )
        if done.code == -signal.SIGKILL:
            return
    context.missed.append(f"{done} before it was killed, {TRIES} times")


def is_connected(pid: int, port: int, proc: Path = Path("/proc")) -> bool:
    """Whether a process has a connection to a port of this machine."""
    try:
        files = [*(proc / str(pid) / "fd").iterdir()]
        lines = (proc / str(pid) / "net" / "tcp").read_text().splitlines()[1:]
    except OSError:
        return False  # it has ended
    held = set()
    for file in files:
        with contextlib.suppress(OSError):  # closed just now
            held.add(str(file.readlink()))
    rows = (line.split() for line in lines)
    inodes = {row[9] for row in rows if int(row[2].rpartition(":")[2], 16) == port and row[3] == ESTABLISHED}
    return any(f"socket:[{inode}]" in held for inode in inodes)


def _has_log(kafka: LocalKafka, topics: Topics, _pid: int) -> bool:
    """Whether the first topic of a new twin exists, according to the broker's files."""
    return (kafka.folder / "data" / f"{topics.log}-0").exists()


def _clear(context: FaultContext, topics: Topics, url: str) -> None:
    with contextlib.suppress(KafkaError, OSError, redis.RedisError), redis.Redis.from_url(url) as client:
        client.flushdb()
        admin = KafkaAdminClient(**context.twin.kafka.brokers.arguments())
        admin.delete_topics([topics.log, topics.telemetry, topics.dead_letters, topics.operations])
        admin.close()
