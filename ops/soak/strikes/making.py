"""Strikes at what makes a twin, and makes it again: rebuilds and inits, whole and cut off."""

import contextlib
from concurrent.futures import ThreadPoolExecutor

import redis
from kafka.admin import KafkaAdminClient
from kafka.errors import KafkaError

from ops.soak.facts import gather
from ops.soak.log import read_log
from ops.soak.plan import Fault
from ops.soak.strikes.scene import Scene
from shared.runtimes.live.kafka.layout import Topics

FRESH = {"pods": 5, "partitions": 3}
FRESH_DATABASE = 1
"""Of the same Redis: a twin of its own."""


def rebuild(scene: Scene, _: Fault) -> None:
    """Every state is made again under the living twin."""
    scene.command_until_done("live", "rebuild")


def kill_rebuild(scene: Scene, fault: Fault) -> None:
    """A rebuild is killed on its way, then another goes to its end."""
    scene.command("live", "rebuild", kill_after_s=fault.lasts_s)
    scene.command_until_done("live", "rebuild")


def rebuild_twice(scene: Scene, _: Fault) -> None:
    """Two at once."""
    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(scene.command_until_done, "live", "rebuild") for _ in range(2)]
        for one in both:
            one.result()


def init_again(scene: Scene, fault: Fault) -> None:
    """`init --keep` of the living twin is killed on its way, then done to its end: nothing is to change."""
    words = ("live", "init", "--keep", *scene.twin.options.words)
    scene.command(*words, kill_after_s=fault.lasts_s)
    done = scene.command_until_done(*words)
    if "is there already" not in done.told:
        scene.problems.append(f"the living twin was not kept: {done}")


def kill_init(scene: Scene, fault: Fault) -> None:
    """The making of another twin, on the same servers, is killed on its way and gone on with: it begins each
    fabric once."""
    prefix = f"{scene.twin.options.prefix}-fresh-{fault.number}"
    url = f"{scene.twin.redis.url.rpartition('/')[0]}/{FRESH_DATABASE}"
    elsewhere = {"LIGHTWAVE_PREFIX": prefix, "LIGHTWAVE_REDIS": url}
    words = ("live", "init", "--keep", *(word for name, n in FRESH.items() for word in (f"--{name}", str(n))))
    try:
        scene.command(*words, kill_after_s=fault.lasts_s, environment=elsewhere)
        scene.command_until_done(*words, environment=elsewhere)
        found = gather(read_log(scene.twin.kafka.brokers, Topics(prefix).log)).beginnings
        counts = {fabric: len(rows) for fabric, rows in sorted(found.items())}
        if counts != {f"pod-{number}": 1 for number in range(FRESH["pods"])}:
            scene.problems.append(f"a twin whose making was killed begins so on its log: {counts}")
    finally:
        _clear(scene, Topics(prefix), url)


def _clear(scene: Scene, topics: Topics, url: str) -> None:
    with contextlib.suppress(KafkaError, OSError, redis.RedisError), redis.Redis.from_url(url) as client:
        client.flushdb()
        admin = KafkaAdminClient(**scene.twin.kafka.brokers.arguments())
        admin.delete_topics([topics.log, topics.telemetry, topics.dead_letters, topics.operations])
        admin.close()
