"""The owner of a Redis database: an embedded twin that keeps its states there, or a live twin.

A database holds one twin. A second one would overwrite the states of the first, which could not continue.
"""

import socket
import time
from dataclasses import dataclass
from pathlib import Path

from ops.report.wall_time import format_wall_time
from shared.basics.errors import OperationFailed
from shared.basics.units import US_PER_S
from shared.runtimes.live.twin_record import find_twin
from shared.storage.files.folder_lock import is_locked
from shared.storage.store.redis_store import RedisStore

OWNER_NOTE = "embedded-twin"
OWNER_KEY = f"lightwave:{OWNER_NOTE}"
ADVICE = "give another Redis, or another database number"


@dataclass(frozen=True, slots=True)
class RedisOwner:
    """The embedded twin that a database belongs to.

    `twin`: its identity. `folder`, `host`: where its data folder is. `since_s`: when it first used the
    database, in wall seconds since 1970.
    """

    twin: str
    folder: str
    host: str
    since_s: float

    def runs_elsewhere(self, folder: Path) -> bool:
        """Whether this twin runs now in another folder of this machine, such as the one that this folder was
        copied from."""
        elsewhere = Path(self.folder)
        return self.host == socket.gethostname() and elsewhere != folder and is_locked(elsewhere)


def find_owner(store: RedisStore) -> RedisOwner | None:
    """The embedded twin that this database belongs to; None if none has recorded itself."""
    note = store.read_globals(OWNER_NOTE)
    if "twin" not in note:
        return None
    since_s = note.get("since_s", "")
    seconds = float(since_s) if since_s.replace(".", "", 1).isdecimal() else 0.0
    return RedisOwner(note["twin"], note.get("folder", ""), note.get("host", ""), seconds)


def check_owner(store: RedisStore, folder: Path, twin: str) -> None:
    """Raise OperationFailed if the database holds another twin than this one, or if this one runs elsewhere.

    `folder`: absolute. `twin`: the identity of the folder's twin, empty if it has none yet.
    """
    live = find_twin(store)
    if live is not None:
        raise OperationFailed(f"Redis at {store.name}: holds the live twin {live.twin}; {ADVICE}")
    owner = find_owner(store)
    if owner is None:
        if not twin and (fabrics := store.fabrics()):
            names = ", ".join(sorted(fabrics))
            raise OperationFailed(f"Redis at {store.name}: holds another twin, with {names}; {ADVICE}")
        return
    is_same_folder = (owner.folder, owner.host) == (str(folder), socket.gethostname())
    runs_elsewhere = owner.runs_elsewhere(folder)
    if (owner.twin == twin or is_same_folder) and not runs_elsewhere:
        return
    state = "it runs" if runs_elsewhere else "it is not known to run"
    since = format_wall_time(round(owner.since_s * US_PER_S))
    raise OperationFailed(
        f"Redis at {store.name}: holds another twin ({owner.twin}, since {since}, of data folder "
        f"{owner.folder} on {owner.host}; {state}); {ADVICE}"
    )


def record_owner(store: RedisStore, folder: Path, twin: str) -> None:
    """Record that the database belongs to this twin, which `check_owner` has accepted."""
    before = find_owner(store)
    since_s = before.since_s if before is not None and before.twin == twin else time.time()
    fields = {"twin": twin, "folder": str(folder), "host": socket.gethostname(), "since_s": f"{since_s:.3f}"}
    store.set_globals(OWNER_NOTE, fields)
