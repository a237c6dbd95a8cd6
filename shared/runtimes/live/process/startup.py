"""Startup of a live process: finds the servers, the twin in Redis and its log on Kafka, and claims its name.

It waits for servers that are down, because repeated restarts cost more: the imports alone take most of a
second of CPU that a starting server needs. It records its software version on the operations log if that
changed.
"""

import logging
import time
from dataclasses import dataclass

from schemas.files.operations_log import VersionStarted
from shared.basics.errors import OperationFailed, StateRefused, StoreUnreachable
from shared.engine.code_version import StateCodeVersion
from shared.runtimes.live.kafka.kafka_errors import LogUnreachable
from shared.runtimes.live.kafka.layout import Endpoints
from shared.runtimes.live.kafka.topic_admin import partition_count, topic_id
from shared.runtimes.live.live_clock import queue_operation
from shared.runtimes.live.process.process_registry import claim_name
from shared.runtimes.live.twin_record import NoTwin, TwinRecord, read_twin
from shared.runtimes.live.version_fence import check_one_version
from shared.runtimes.operations_log import local_person, new_operation
from shared.storage.store.redis_store import RedisStore
from shared.storage.store.sealed_commits import check_head_values
from shared.storage.store.state_store import GlobalNotes

VERSIONS = "versions"
"""Process → its last recorded version. If Redis loses this, all versions are recorded again."""


def record_version(store: GlobalNotes, process: str, software: str) -> None:
    """Record that this process starts with this version, unless its last start had the same."""
    if store.read_globals(VERSIONS).get(process) == software:
        return
    started = VersionStarted(process=process, software=software)
    queue_operation(store, new_operation(started, local_person()))
    store.set_globals(VERSIONS, {process: software})


WAIT_S_MAX = 90.0
"""Default waiting time of a process that waits."""
POLL_S = 0.3

log = logging.getLogger("lightwave.live")


@dataclass(frozen=True, slots=True)
class ProcessOptions:
    """`replica` is the unique name of this process in its twin; a process that returns under its name resumes
    at once. `software` is its version. `wait_s` is how long it waits for servers and twin."""

    endpoints: Endpoints
    replica: str
    software: str
    metrics_host: str = "127.0.0.1"
    metrics_port: int = 0
    wait_s: float = 0.0


def join_twin(
    store: RedisStore, endpoints: Endpoints, replica: str, code: StateCodeVersion, *, wait_s: float = 0.0
) -> TwinRecord:
    """Join the twin as a process of this name and version. Retries for `wait_s` if a server does not answer
    or there is no twin, then raises OperationFailed. Fails at once if Redis and Kafka do not belong together.
    UpgradeNeeded if states are of code that must not be mixed with this one."""
    twin = _find_twin(store, endpoints, wait_s)
    for partition in range(twin.partitions):
        try:
            head = store.snapshot(partition, [])
            check_head_values(endpoints.digests(twin.twin), partition, head)
        except StateRefused:
            continue  # the process that loads this partition refuses it, and notes the reason
        check_one_version(partition, head.values, code)
    claim_name(store, replica)
    record_version(store, replica, code.software)
    return twin


def _find_twin(store: RedisStore, endpoints: Endpoints, wait_s: float) -> TwinRecord:
    until_s = time.monotonic() + wait_s
    is_logged = False
    while True:
        try:
            store.check()
            twin = read_twin(store)
            check_log(endpoints, twin)
        except (StoreUnreachable, LogUnreachable, NoTwin) as error:
            if time.monotonic() >= until_s:
                raise
            if not is_logged:
                log.info("%s; waiting for up to %.0f s", error, wait_s)
            is_logged = True
            time.sleep(POLL_S)
        else:
            return twin


def check_log(endpoints: Endpoints, twin: TwinRecord) -> None:
    """OperationFailed unless Kafka has the log with which this twin was created."""
    found = topic_id(endpoints.kafka, endpoints.topics.log)
    if found != twin.topic_id:
        raise OperationFailed(
            f"topic {endpoints.topics.log}: is not the topic with which this twin was created; that was "
            "deleted and another created (is LIGHTWAVE_PREFIX right?)"
        )
    partitions = partition_count(endpoints.kafka, endpoints.topics.log)
    if partitions != twin.partitions:
        raise OperationFailed(
            f"topic {endpoints.topics.log}: has {partitions} partitions, must be {twin.partitions} as "
            "at the creation of this twin; fabrics would not be found on their log"
        )
