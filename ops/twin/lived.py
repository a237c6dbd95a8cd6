"""What a twin has lived, read from its data folder, whether it runs or not: its logs up to now, any moment of
theirs, and what its services held then. Nothing in the folder is made, changed or held."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ops.common.client import Client
from ops.twin.backups.point import twin_of
from ops.twin.backups.taking import asked_point
from ops.twin.data import DataFolder, FolderInUse
from ops.twin.history import history_of
from schemas.backup import KeptClock
from schemas.envelope import Envelope
from schemas.registry import Unreadable, decode
from schemas.site_plan import SitePlan
from services.gateway.moments import NOW, AskedMoment, moment_given
from shared.basics.errors import NotFound
from shared.runtimes.embedded.operations import FileOperations
from shared.storage.log.log_bytes import log_of
from shared.storage.log.log_file import LogFile
from shared.storage.snapshots.history import Moment


@dataclass(frozen=True, slots=True)
class Lived:
    """A twin up to now: its identity (empty where that is lost), the sites that it was made with, their logs,
    and its clock."""

    folder: DataFolder
    twin: str
    plans: tuple[SitePlan, ...]
    logs: Mapping[str, LogFile]
    clock: KeptClock

    def moment(self, text: str | None = None) -> AskedMoment:
        """The moment that somebody writes, as of `?at=`; without one, now. InvalidInput for what has not come
        yet, NotFound for the id of no message."""
        return moment_given(text or NOW, self.clock.now_us, list(self.logs), _Places(self.logs))

    def at(self, site: str, position: int) -> Moment:
        """A site when it had read so many messages and all that follows from the last of them; LogDamaged
        where its log is not what its services say."""
        return history_of(self.folder, site, self.logs[site]).at(position)


def lived(folder: DataFolder, client: Client | None = None) -> Lived:
    """The twin in a folder: one that runs tells where it stands at a quiet moment, as for a backup, to
    `client` if one is given; one that does not is taken as it lies there. NotFound where there is none,
    OperationFailed where one that runs does not answer."""
    identity = folder.identity() if folder.path.is_dir() else None
    if identity is None:
        raise NotFound(f"data folder {folder.path}: holds no twin")
    try:
        folder.check_free()
    except FolderInUse as held:
        point = asked_point(folder, client, held)
        logs = {cut.site: LogFile(log_of(folder.logs, cut.site), cut.size) for cut in point.sites}
        return Lived(folder, point.twin, point.plans, logs, point.clock)
    logs = {plan.site: LogFile(log_of(folder.logs, plan.site)) for plan in identity.sites}
    clock = folder.kept_clock()
    now_us = max([clock.now_us, *(log.end_us for log in logs.values())])
    twin = twin_of(FileOperations(folder.operations))
    return Lived(folder, twin, identity.sites, logs, clock.model_copy(update={"now_us": now_us}))


class _Places:
    """What of some logs tells a moment."""

    def __init__(self, logs: Mapping[str, LogFile]) -> None:
        self._logs = logs

    def end(self, site: str) -> int:
        return self._logs[site].end

    def position_at(self, site: str, at_us: int) -> int:
        return self._logs[site].position_at(at_us)

    def position_of(self, site: str, message_id: str) -> int | None:
        return self._logs[site].position_of(message_id)

    def read(self, site: str, start: int, most: int | None = None) -> Iterator[tuple[int, Envelope]]:
        for position, line in self._logs[site].lines(start, most):
            try:
                yield position, decode(line)
            except Unreadable:
                continue
