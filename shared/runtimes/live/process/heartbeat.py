"""Which processes of a live twin are there: each notes itself in Redis every second."""

import json
import os
import socket
import time
from dataclasses import dataclass
from typing import Any

from shared.basics.units import US_PER_HOUR, US_PER_S
from shared.runtimes.child_process import RESTARTS
from shared.storage.redis_store import RedisStore

NOTE = "processes"
ALIVE_US_MAX = 6 * US_PER_S
"""A process whose last beat is older is taken for dead."""
FORGOTTEN_US = US_PER_HOUR


@dataclass(frozen=True, slots=True)
class ProcessInfo:
    """`name` is unique among a twin's processes; `kind` is worker, sequencer or gateway."""

    name: str
    kind: str
    service: str | None = None


def restarts() -> int:
    """How often this process was started after the first time, as whoever keeps it running says."""
    said = os.environ.get(RESTARTS, "")
    return int(said) if said.isdecimal() else 0


class ProcessRow:
    """One process's row among all of its twin."""

    def __init__(self, info: ProcessInfo, store: RedisStore) -> None:
        self._info = info
        self._store = store
        self._started_s = time.time()

    def write(self, *, partitions: list[int], problems: list[str], address: str | None, extra: Any) -> None:
        """Say that this process is there, and how it stands."""
        row = {
            "name": self._info.name,
            "kind": self._info.kind,
            "service": self._info.service,
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "started_s": self._started_s,
            "restarts": restarts(),
            "partitions": partitions,
            "address": address,
            "problems": problems,
            "beat_us": self._store.wall_us(),
            "extra": extra,
        }
        self._store.set_globals(NOTE, {self._info.name: json.dumps(row)})

    def leave(self) -> None:
        """This process ends in good order."""
        self._store.set_globals(NOTE, {self._info.name: None})


def processes(store: RedisStore) -> list[dict[str, Any]]:
    """Every process that was there within the hour, in order of name, with `alive` and `beat_age_s`."""
    now_us = store.wall_us()
    found: list[dict[str, Any]] = []
    gone: dict[str, None] = {}
    for name, text in sorted(store.read_globals(NOTE).items()):
        row = json.loads(text)
        age_us = max(0, now_us - row["beat_us"])
        if age_us > FORGOTTEN_US:
            gone[name] = None
            continue
        found.append(row | {"alive": age_us <= ALIVE_US_MAX, "beat_age_s": round(age_us / US_PER_S, 1)})
    if gone:
        store.set_globals(NOTE, gone)
    return found


def achieved_speed(store: RedisStore) -> float:
    """Simulated over wall time, as the sequencer holds it; 0 if none is there."""
    rows = [row for row in processes(store) if row["kind"] == "sequencer" and row["alive"]]
    return max((float(row["extra"].get("achieved_speed", 0.0)) for row in rows), default=0.0)
