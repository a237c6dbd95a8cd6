"""Read a twin's history from its data folder, running or not: its logs, and its states at any time.

Nothing in the folder is created, changed or locked."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ops.client.http_client import Client
from ops.twin.backups.backup_point import twin_identity
from ops.twin.backups.create import running_backup_point
from ops.twin.data_folder import DataFolder, FolderInUse
from ops.twin.snapshots import site_history
from schemas.envelope import Envelope
from schemas.files.backup_manifest import SavedClock
from schemas.files.site_plan import SitePlan
from schemas.registry import Unreadable, decode
from services.gateway.log.past_twin import parse_point_in_time
from services.gateway.requested_time import PointInTime
from shared.basics.errors import NotFound
from shared.basics.time_grammar import NOW
from shared.runtimes.embedded.operations_file import OperationsFile
from shared.storage.log.log_bytes import site_log
from shared.storage.log.read_only_log import ReadOnlyLog
from shared.storage.snapshots.site_history import ReplayedSite


@dataclass(frozen=True, slots=True)
class TwinHistory:
    """A twin up to now: its identity (empty if that is lost), the sites that it was created with, their logs,
    and its clock."""

    folder: DataFolder
    twin: str
    plans: tuple[SitePlan, ...]
    logs: Mapping[str, ReadOnlyLog]
    clock: SavedClock

    def point_in_time(self, text: str | None = None) -> PointInTime:
        """Parse a time in the form of `?at=`; the default is now. Raises InvalidInput for a time in the
        future, NotFound for an unknown message id."""
        return parse_point_in_time(text or NOW, self.clock.now_us, list(self.logs), _LogPositions(self.logs))

    def at(self, site: str, position: int) -> ReplayedSite:
        """A site after `position` messages and all consequences of the last one. Raises LogDamaged if its log
        differs from the outputs of its services."""
        return site_history(self.folder, site, self.logs[site]).at(position)


def read_history(folder: DataFolder, client: Client | None = None) -> TwinHistory:
    """The twin in a folder, up to a quiet time.

    A running twin returns that time, as for a backup, through `client` or the URL in the folder. Raises
    NotFound if there is no twin, OperationFailed if a running one does not answer.
    """
    identity = folder.identity() if folder.path.is_dir() else None
    if identity is None:
        raise NotFound(f"data folder {folder.path}: holds no twin")
    try:
        folder.check_free()
    except FolderInUse as in_use:
        point = running_backup_point(folder, client, in_use)
        logs = {cut.site: ReadOnlyLog(site_log(folder.logs, cut.site), cut.size) for cut in point.sites}
        return TwinHistory(folder, point.twin, point.plans, logs, point.clock)
    logs = {plan.site: ReadOnlyLog(site_log(folder.logs, plan.site)) for plan in identity.sites}
    clock = folder.stored_clock()
    now_us = max([clock.now_us, *(log.end_us for log in logs.values())])
    twin = twin_identity(OperationsFile(folder.operations))
    return TwinHistory(folder, twin, identity.sites, logs, clock.model_copy(update={"now_us": now_us}))


class _LogPositions:
    """The positions in some logs that belong to a time or a message."""

    def __init__(self, logs: Mapping[str, ReadOnlyLog]) -> None:
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
