"""Faults at a running Redis: it continues, and keeps its data."""

import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import redis

from ops.servers.local_servers import LocalRedis
from shared.runtimes.tcp_ports import free_port
from tests.soak.fault_plan import FaultAction, PlannedFault
from tests.soak.faults import servers
from tests.soak.faults.context import FaultContext
from tests.soak.whole_twin import FaultTarget

pytestmark = pytest.mark.integration

FAULT = PlannedFault(
    0, 0, 0.0, FaultAction("redis", "it", lambda *_: None), FaultTarget("redis", "redis"), 0.2, 1
)


def test_a_redis_with_a_full_disk_runs_and_refuses_writes(tmp_path: Path) -> None:
    server = LocalRedis(tmp_path, port=free_port())
    twin: Any = SimpleNamespace(redis=server)
    context = FaultContext(twin)
    server.start()
    client: Any = redis.Redis.from_url(server.url, protocol=2)
    told: list[str] = []

    def write_on() -> None:
        while not told:
            try:
                client.incr("count")
                time.sleep(0.01)
            except redis.ResponseError as error:
                told.append(str(error))

    writing = threading.Thread(target=write_on)
    try:
        pid = server.pid
        writing.start()
        servers.fill_disk(context, FAULT)
        writing.join(20.0)
        assert told[0].startswith("MISCONF Errors writing to the AOF file")
        assert context.wait_until(lambda: not servers._refuses(server), 20.0)
        assert client.incr("count") > 1
        assert (server.pid, context.missed) == (pid, [])
        servers.cut_connections(context, FAULT)
        servers.change_settings(context, FAULT)
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
        count = client.get("count")
        server.kill()
        server.start()
        assert client.get("count") == count, "it was in the file again"
    finally:
        client.close()
        server.stop()
