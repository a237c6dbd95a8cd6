"""The manifest of a backup, and the point of a running twin at which it is cut.

A point describes one time at which every site is quiet: an accepted request is on its site's log below
`position`, or in `inbox`.
"""

from typing import Annotated

from pydantic import Field

from schemas.body import Model
from schemas.files.site_plan import SitePlan
from schemas.limits import COUNT_MAX, SPEED_MAX

Count = Annotated[int, Field(ge=0, le=COUNT_MAX)]
Speed = Annotated[float, Field(gt=0, le=SPEED_MAX, allow_inf_nan=False)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]

BACKUP_FORMAT = 1
"""Format of the backup; another number means another version of the software."""


class SavedClock(Model):
    """The clock of a twin that may be stopped: its simulated time and its settings. None if it was not
    kept."""

    speed: Speed | None = None
    paused: bool = False
    now_us: Count = 0
    until_us: Count | None = None
    run_speed: Speed | None = None


class SiteLogCut(Model):
    """The first `position` messages of a site's log, which are `size` bytes."""

    site: str
    position: Count
    size: Count


class WaitingRequest(Model):
    """A request that waits in the inbox of a site; `body` is the JSON of a body of this type, with its key
    and caller."""

    site: str
    number: Count
    fabric: str
    type: str
    body: str


class CancelledKey(Model):
    """The key of a cancelled request, which no other request can use for `kept_s` seconds."""

    key: str
    kept_s: Count


class BackupPoint(Model):
    """The state of a twin at one quiet time. `twin` is its identity, `wall_us` the wall-clock time,
    `software` the build that ran it. `operations_size` and `letters_size` are the bytes of its operations log
    and of its dead letters."""

    twin: str
    software: str
    wall_us: Count
    plans: tuple[SitePlan, ...]
    sites: tuple[SiteLogCut, ...]
    clock: SavedClock
    inbox: tuple[WaitingRequest, ...]
    cancelled: tuple[CancelledKey, ...]
    operations_size: Count
    letters_size: Count


class BackupFile(Model):
    """A file of a backup, by its path from the backup's folder."""

    path: Annotated[str, Field(pattern=r"^[A-Za-z0-9][^/\x00]*(/[A-Za-z0-9][^/\x00]*)*$", max_length=1_000)]
    size: Count
    sha256: Sha256


class BackupManifest(Model):
    """The contents of a backup, with its twin and time."""

    format: Count
    twin: str
    software: str
    wall_us: Count
    clock_us: Count
    requests_waiting: Count
    sites: tuple[SiteLogCut, ...]
    files: tuple[BackupFile, ...]
