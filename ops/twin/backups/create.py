"""Write a backup of an embedded twin, running or stopped."""

from collections.abc import Iterator
from pathlib import Path

import orjson
from pydantic import ValidationError

from ops.client.http_client import Client
from ops.local.output_file import real_path
from ops.twin.backups.backup_files import (
    CLOCK,
    INBOX,
    LETTERS,
    LOG_SUFFIX,
    MANIFEST,
    OPERATIONS,
    ORIGIN,
    atomic_folder,
    compressed,
    file_chunks,
    folder_error,
    log_chunks,
    write_file,
)
from ops.twin.backups.backup_point import stopped_backup_point
from ops.twin.backups.manifest import KeptInbox, manifest_bytes
from ops.twin.data_folder import IDENTITY_FILE, DataFolder, FolderInUse, TwinIdentity
from ops.twin.forks.fork_origin import read_origin
from ops.twin.snapshots import check_records, snapshot_files_up_to
from schemas.files.backup_manifest import BACKUP_FORMAT, BackupFile, BackupManifest, BackupPoint, SiteLogCut
from shared.basics.errors import InvalidInput, LogDamaged, NotFound, OperationFailed, TwinUnreachable
from shared.storage.files.own_files import LARGE_MAX, read_own
from shared.storage.log.log_bytes import site_log
from shared.storage.log.read_only_log import ReadOnlyLog

WHAT = "backup"


def run_backup(
    out: Path, data: Path, *, redis: str | None = None, client: Client | None = None
) -> BackupManifest:
    """Back up the twin in a data folder. `client` reaches a running twin; the default is the URL in the
    folder.

    Raises NotFound if there is no twin, InvalidInput if `out` is inside the data folder. Raises
    OperationFailed if the backup cannot be written; nothing of it is left then.
    """
    folder = DataFolder(data)
    if not data.exists() or folder.identity() is None:
        raise NotFound(f"data folder {data}: holds no twin")
    if real_path(out).is_relative_to(real_path(data)):
        raise InvalidInput(f"{WHAT} {out}: is inside the data folder; must be outside it")
    with atomic_folder(out, WHAT) as part:
        try:
            folder.hold()
        except FolderInUse as in_use:
            return _write_backup(part, folder, running_backup_point(folder, client, in_use))
        try:
            return _write_backup(part, folder, stopped_backup_point(folder, redis))
        finally:
            folder.release()


def running_backup_point(folder: DataFolder, client: Client | None, in_use: FolderInUse) -> BackupPoint:
    """The backup point of the twin that runs in a folder, from its gateway. Errors as in
    `client_of_running`."""
    client = client_of_running(folder, client, in_use)
    answer = client.resource("/v1/backup", *BackupPoint.model_fields)
    with client.reading():
        try:
            return BackupPoint.model_validate_json(orjson.dumps(answer))
        except ValidationError as error:
            raise ValueError(error.errors()[0]["msg"]) from None


def client_of_running(folder: DataFolder, client: Client | None, in_use: FolderInUse) -> Client:
    """A client of the twin that runs in a folder; the default is the URL in the folder. Raises
    OperationFailed if the twin does not answer, or if another twin does."""
    running = folder.running()
    if client is None and running is None:
        raise OperationFailed(f"{in_use}, whose address is not known yet; retry")
    client = client or Client(running.url if running is not None else None)
    try:
        place = str(client.resource("/v1/twin", "runtime", "place")["place"])
    except TwinUnreachable as error:
        raise OperationFailed(f"{in_use}, which does not answer: {error}") from None
    if Path(place) != folder.path.resolve():
        raise OperationFailed(f"{in_use}, but the twin at {client.url} is that of {place}")
    return client


def _write_backup(part: Path, folder: DataFolder, point: BackupPoint) -> BackupManifest:
    files = [*_files(part, folder, point)]
    manifest = BackupManifest(
        format=BACKUP_FORMAT,
        twin=point.twin,
        software=point.software,
        wall_us=point.wall_us,
        clock_us=point.clock.now_us,
        requests_waiting=len(point.inbox),
        sites=point.sites,
        files=tuple(files),
    )
    write_file(part, MANIFEST, [manifest_bytes(manifest)])
    return manifest


def _files(part: Path, folder: DataFolder, point: BackupPoint) -> Iterator[BackupFile]:
    yield write_file(part, IDENTITY_FILE, [TwinIdentity(sites=point.plans).model_dump_json().encode()])
    yield write_file(part, CLOCK, [point.clock.model_dump_json().encode()])
    inbox = KeptInbox(waiting=point.inbox, cancelled=point.cancelled)
    yield write_file(part, INBOX, [inbox.model_dump_json().encode()])
    read_origin(folder)  # a damaged origin raises: the backup of such a fork would be useless
    for cut in point.sites:
        check_records(folder, cut.site, ReadOnlyLog(site_log(folder.logs, cut.site), cut.size))
    if folder.origin.exists():
        yield write_file(part, ORIGIN, _read(folder, folder.origin, folder.origin.stat().st_size))
    for cut in point.sites:
        log = _log_of(folder, cut)
        yield write_file(part, f"log/{cut.site}{LOG_SUFFIX}", compressed(log))
    for name, source, size in (
        (OPERATIONS, folder.operations, point.operations_size),
        (LETTERS, folder.dead_letters, point.letters_size),
    ):
        if size:
            yield write_file(part, name, _read(folder, source, size))
    for source in sorted([*_snapshots(folder, point), *_frames(folder, point)]):
        try:
            data = read_own(source, LARGE_MAX)
        except FileNotFoundError:
            continue  # a frame that was deleted meanwhile, because newer ones replace old ones
        except OSError as error:
            raise folder_error("data folder", folder.path, error) from None
        yield write_file(part, str(source.relative_to(folder.path)), [data])


def _log_of(folder: DataFolder, cut: SiteLogCut) -> Iterator[bytes]:
    """A log up to the cut. Raises LogDamaged if it is shorter, or if no line ends there."""
    log = site_log(folder.logs, cut.site)
    size, lines, last = 0, 0, b"\n"
    for piece in log_chunks(folder.path, log, cut.size):
        size, lines, last = size + len(piece), lines + piece.count(b"\n"), piece[-1:]
        yield piece
    if (size, lines, last) != (cut.size, cut.position, b"\n"):
        raise LogDamaged(
            f"log file {log.path}: holds {lines} messages in {size} bytes, but the twin wrote "
            f"{cut.position} in {cut.size}; restore it from a backup"
        )


def _read(folder: DataFolder, path: Path, size: int) -> Iterator[bytes]:
    try:
        yield from file_chunks(path, size)
    except OSError as error:
        if size or path.exists():
            raise folder_error("data folder", folder.path, error) from None


def _snapshots(folder: DataFolder, point: BackupPoint) -> Iterator[Path]:
    for cut in point.sites:
        yield from snapshot_files_up_to(folder, cut.site, cut.position)


def _frames(folder: DataFolder, point: BackupPoint) -> Iterator[Path]:
    for path in folder.telemetry.rglob("*.arrows"):
        if path.stem.isdecimal() and int(path.stem) <= point.clock.now_us:
            yield path
