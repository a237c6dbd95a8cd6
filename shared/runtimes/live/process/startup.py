"""How a process of a live twin begins: it finds the servers, the twin in Redis and its log on Kafka, and
takes its name.

One that is started again and again while a server is away costs more each time than to wait for it: its
imports alone take most of a second, which the server that is just starting lacks.
"""

import logging
import time
from dataclasses import dataclass

from schemas.files.operations_log import VersionStarted
from shared.basics.errors import OperationFailed, StoreUnreachable
from shared.engine.compatibility import StateCodeVersion
from shared.runtimes.live.kafka.kafka_errors import LogUnreachable
from shared.runtimes.live.kafka.layout import Endpoints
from shared.runtimes.live.kafka.topic_admin import partition_count, topic_id
from shared.runtimes.live.live_clock import queue_operation
from shared.runtimes.live.process.process_registry import claim_name
from shared.runtimes.live.twin_record import NoTwin, TwinRecord, read_twin
from shared.runtimes.live.version_fence import check_one_version
from shared.runtimes.operations_log import local_person, new_operation
from shared.storage.store.redis_store import RedisStore
from shared.storage.store.state_store import GlobalNotes

# Which version of the software each process of a live twin runs: told to the operations log when it is
# another one than the process ran before.

VERSIONS = "versions"
"""Process → the version that it was last seen with. Where Redis has lost that, all are noted once more."""


def record_version(store: GlobalNotes, process: str, software: str) -> None:
    """Note that this process begins with this version, unless it did so the last time as well: one that is
    started again and again tells nothing new."""
    if store.read_globals(VERSIONS).get(process) == software:
        return
    started = VersionStarted(process=process, software=software)
    queue_operation(store, new_operation(started, local_person()))
    store.set_globals(VERSIONS, {process: software})


WAIT_S_MAX = 90.0
"""How long one waits that was told to."""
POLL_S = 0.3

log = logging.getLogger("lightwave.live")


@dataclass(frozen=True, slots=True)
class ProcessOptions:
    """`replica` names this process among all of its twin; one that comes again under the same name resumes
    at once; `software` is the version that it runs, `wait_s` how long it waits for servers and twin."""

    endpoints: Endpoints
    replica: str
    software: str
    metrics_host: str = "127.0.0.1"
    metrics_port: int = 0
    wait_s: float = 0.0


def join_twin(
    store: RedisStore, endpoints: Endpoints, replica: str, code: StateCodeVersion, *, wait_s: float = 0.0
) -> TwinRecord:
    """The twin that a process of this name and version is part of from now on. OperationFailed if a server
    does not answer or there is no twin, not for `wait_s` either; at once if they do not belong together.
    UpgradeNeeded where states are of code with which this one must not be mixed."""
    twin = _find_twin(store, endpoints, wait_s)
    for partition in range(twin.partitions):
        check_one_version(partition, store.values(partition), code)
    claim_name(store, replica)
    record_version(store, replica, code.software)
    return twin


def _find_twin(store: RedisStore, endpoints: Endpoints, wait_s: float) -> TwinRecord:
    until_s = time.monotonic() + wait_s
    told = False
    while True:
        try:
            store.check()
            twin = read_twin(store)
            check_log(endpoints, twin)
        except (StoreUnreachable, LogUnreachable, NoTwin) as error:
            if time.monotonic() >= until_s:
                raise
            if not told:
                log.info("%s; waits for up to %.0f s", error, wait_s)
            told = True
            time.sleep(POLL_S)
        else:
            return twin


def check_log(endpoints: Endpoints, twin: TwinRecord) -> None:
    """OperationFailed unless Kafka has the log that this twin was made with."""
    found = topic_id(endpoints.kafka, endpoints.topics.log)
    if found != twin.topic_id:
        raise OperationFailed(
            f"topic {endpoints.topics.log}: is not the one that this twin was made with; somebody "
            "deleted that and made another (is LIGHTWAVE_PREFIX right?)"
        )
    has = partition_count(endpoints.kafka, endpoints.topics.log)
    if has != twin.partitions:
        raise OperationFailed(
            f"topic {endpoints.topics.log}: has {has} partitions, this twin was made with {twin.partitions}; "
            "fabrics would live elsewhere than their log"
        )
