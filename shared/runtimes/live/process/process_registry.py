"""The processes of a live twin: each registers itself in Redis every second."""

import json
import os
import socket
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

from shared.basics.errors import InvalidInput
from shared.basics.units import US_PER_HOUR, US_PER_S
from shared.runtimes.child_process import RESTARTS
from shared.storage.store.redis_store import RedisStore

PROCESSES_NOTE = "processes"
ALIVE_US_MAX = 6 * US_PER_S
"""A process whose last beat is older counts as dead."""
CLAIM_S_MAX = 2.5
"""How long a starting process watches whether another one with its name still beats."""
CLAIM_POLL_S = 0.1
FORGET_AFTER_US = US_PER_HOUR


@dataclass(frozen=True, slots=True)
class ProcessInfo:
    """`name` is unique among a twin's processes; `kind` is worker, sequencer, gateway or rebuild."""

    name: str
    kind: str
    service: str | None = None


class ProcessExtra(TypedDict, total=False):
    """What only some kinds of processes report: a sequencer its speed and counters, a historian its `wrong`
    findings."""

    achieved_speed: float
    roots: int
    appends: int
    wrong: Sequence[str]


class ProcessEntry(TypedDict):
    """A process as it registers in Redis. `token` distinguishes it from another one with its name."""

    token: str
    name: str
    kind: str
    service: str | None
    host: str
    pid: int
    started_s: float
    restarts: int
    partitions: list[int]
    address: str | None
    problems: list[str]
    beat_us: int
    extra: ProcessExtra


class ProcessState(ProcessEntry):
    """A registered process, and whether it is alive."""

    alive: bool
    beat_age_s: float


def restarts() -> int:
    """The number of restarts of this process, as its supervisor reports it."""
    value = os.environ.get(RESTARTS, "")
    return int(value) if value.isdecimal() else 0


class ProcessRow:
    """The row of one process in its twin's registry."""

    def __init__(self, info: ProcessInfo, store: RedisStore) -> None:
        self._info = info
        self._store = store
        self._started_s = time.time()
        self._token = uuid.uuid4().hex
        """Distinguishes this process from another one with the same name."""
        self._beat_us = 0

    def namesake(self) -> ProcessEntry | None:
        """The row of another process that registers under this name, or None."""
        row = self._other_row()
        return row if row is not None and self._beat_us and row["beat_us"] > self._beat_us else None

    def owns_name(self, other: ProcessEntry) -> bool:
        """Whether this process, of the two, keeps the name. The older one, unless it did not register for so
        long that it counted as dead when the other took its name."""
        if other["beat_us"] - self._beat_us > ALIVE_US_MAX:
            return False
        return (self._started_s, self._token) < (other["started_s"], other["token"])

    def _other_row(self) -> ProcessEntry | None:
        row = _row_of(self._store, self._info.name)
        return None if row is None or row.get("token") in (None, self._token) else row

    def write(
        self, *, partitions: list[int], problems: list[str], address: str | None, extra: ProcessExtra
    ) -> None:
        """Register this process with its state."""
        self._beat_us = self._store.wall_us()
        row: ProcessEntry = {
            "token": self._token,
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
            "beat_us": self._beat_us,
            "extra": extra,
        }
        self._store.set_globals(PROCESSES_NOTE, {self._info.name: json.dumps(row)})

    def leave(self) -> None:
        """Unregister this process at a graceful exit."""
        self._store.set_globals(PROCESSES_NOTE, {self._info.name: None})


def claim_name(store: RedisStore, name: str) -> None:
    """InvalidInput while another live process has this name. The row of one that has just died looks alive
    for a while, so this waits for its next beat."""
    row = _row_of(store, name)
    if row is None or _is_dead(row) or store.wall_us() - row["beat_us"] > ALIVE_US_MAX:
        return
    until_s = time.monotonic() + CLAIM_S_MAX
    while time.monotonic() < until_s:
        time.sleep(CLAIM_POLL_S)
        later = _row_of(store, name)
        if later is None:
            return
        if later["beat_us"] > row["beat_us"]:
            raise InvalidInput(duplicate_name_text(later))


def _row_of(store: RedisStore, name: str) -> ProcessEntry | None:
    text = store.read_globals(PROCESSES_NOTE).get(name)
    row: ProcessEntry | None = None if text is None else json.loads(text)
    return row


def duplicate_name_text(row: ProcessEntry) -> str:
    """The sentence for a process whose name another one has."""
    if row["kind"] == "rebuild":
        return (
            f"another rebuild is running (pid {row['pid']} on {row['host']}): wait until it has finished, or "
            "stop it; the next one continues its work"
        )
    return (
        f"--replica {row['name']}: another live process has this name (pid {row['pid']} on {row['host']}), "
        "and each takes the other's partitions; must be unique"
    )


def _is_dead(row: ProcessEntry) -> bool:
    """Whether the process of this row ran on this machine and has exited."""
    if row["host"] != socket.gethostname():
        return False
    try:
        os.kill(row["pid"], 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return row["pid"] == os.getpid()


def processes(store: RedisStore) -> list[ProcessState]:
    """Every process that was alive within the last hour, in order of name, with `alive` and `beat_age_s`."""
    now_us = store.wall_us()
    rows: list[ProcessState] = []
    expired: dict[str, None] = {}
    for name, text in sorted(store.read_globals(PROCESSES_NOTE).items()):
        row: ProcessEntry = json.loads(text)
        age_us = max(0, now_us - row["beat_us"])
        if age_us > FORGET_AFTER_US:
            expired[name] = None
            continue
        rows.append({**row, "alive": age_us <= ALIVE_US_MAX, "beat_age_s": round(age_us / US_PER_S, 1)})
    if expired:
        store.set_globals(PROCESSES_NOTE, expired)
    return rows


def achieved_speed(store: RedisStore) -> float:
    """Simulated over wall time, as the sequencer measures it; 0 without a sequencer."""
    rows = [row for row in processes(store) if row["kind"] == "sequencer" and row["alive"]]
    return max((float(row["extra"].get("achieved_speed", 0.0)) for row in rows), default=0.0)
