"""Where forks are kept, which there are, and how they go."""

import contextlib
import re
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from ops.client.answers import CLOCK
from ops.client.http_client import Client
from ops.local.user_folders import user_folder
from ops.report.safe_text import quoted
from ops.twin.backups.backup_files import PARTIAL, folder_error, is_being_filled
from ops.twin.data_folder import DataFolder, FolderInUse
from ops.twin.forks.fork_origin import read_origin
from schemas.files.fork_origin import ForkOrigin
from schemas.limits import FORK_NAME_PATTERN, FORK_NAMES_ALLOWED
from shared.basics.errors import InvalidInput, LightwaveError, NotFound, OperationFailed
from shared.basics.spelling import closest_match
from shared.storage.files.folder_lock import is_locked
from shared.storage.log.log_bytes import site_log
from shared.storage.log.read_only_log import ReadOnlyLog

FORKS_MAX = 100
FORK = "fork"
CLOCK_TIMEOUT_S = 2.0


def forks_folder() -> Path:
    """`lightwave-forks` in the user's state directory (XDG)."""
    return user_folder("state", "lightwave-forks")


def fork_folder(name: str) -> Path:
    """Where a fork of this name is or would be; InvalidInput where that is no name."""
    if re.fullmatch(FORK_NAME_PATTERN, name) is None:
        raise InvalidInput(f"fork {quoted(name)}: is not a valid name; must be {FORK_NAMES_ALLOWED}")
    return forks_folder() / name


def existing_fork_folder(name: str) -> Path:
    """Where the fork of this name is; NotFound where there is none."""
    place = fork_folder(name)
    if not (place / "origin.json").is_file():
        near = closest_match(name, fork_names())
        hint = f"; did you mean {near}?" if near else "; `lightwave fork list` has them"
        raise NotFound(f"fork {name}: no such fork{hint}")
    return place


def fork_names() -> list[str]:
    """Of all forks; what is half made is none, nor what else lies there."""
    try:
        found = [path.name for path in forks_folder().iterdir() if (path / "origin.json").is_file()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise folder_error("forks", forks_folder(), error) from None
    return sorted(name for name in found if re.fullmatch(FORK_NAME_PATTERN, name))


def new_fork_folder(name: str) -> Path:
    """Where a new fork goes; InvalidInput for no name, OperationFailed where there is one of it,
    or too many."""
    place = fork_folder(name)
    if place.exists() or place.is_symlink():
        raise OperationFailed(
            f"fork {name}: there is one already; give another name, or remove it with "
            f"`lightwave fork rm {name}`"
        )
    if len(fork_names()) >= FORKS_MAX:
        raise OperationFailed(f"fork {name}: there are {FORKS_MAX} forks, which is as many as there may be")
    return place


@dataclass(frozen=True, slots=True)
class ForkRow:
    """A fork as `fork list` shows it: of which twin, kept where, from which moment and so many messages on;
    where it is now, what its files take, and where it answers if it runs. `problem` is why something of it
    cannot be told."""

    name: str
    data: str
    bytes: int
    runs: bool
    url: str | None
    parent: str | None = None
    place: str | None = None
    at_us: int | None = None
    position: int | None = None
    now_us: int | None = None
    draws: int | None = None
    settings: tuple[str, ...] = ()
    problem: str | None = None


def fork_row(name: str) -> ForkRow:
    """What there is to tell of a fork."""
    folder = DataFolder(fork_folder(name))
    runs = is_locked(folder.path)
    running = folder.running() if runs else None
    url = running.url if running is not None else None
    row = ForkRow(name, str(folder.path), folder_size(folder.path), runs, url)
    try:
        origin = read_origin(folder)
        now_us = 0 if origin is None else _now_us(folder, origin, url)
    except LightwaveError as error:
        return replace(row, problem=str(error))
    if origin is None:
        return replace(row, problem=f"data folder {folder.path}: has lost its origin.json")
    return replace(
        row,
        parent=origin.parent,
        place=origin.place,
        at_us=origin.at_us,
        position=sum(one.position for one in origin.sites),
        now_us=max(now_us, origin.at_us),
        draws=origin.draws,
        settings=origin.settings,
    )


def _now_us(folder: DataFolder, origin: ForkOrigin, url: str | None) -> int:
    """By the twin where it runs and answers, by what it kept where not."""
    if url is not None:
        with contextlib.suppress(LightwaveError):
            return Client(url, timeout_s=CLOCK_TIMEOUT_S).resource(CLOCK, "now_us").now_us
    logs = [ReadOnlyLog(site_log(folder.logs, one.site)).end_us for one in origin.sites]
    return max([folder.stored_clock().now_us, *logs])


def folder_size(folder: Path) -> int:
    """Bytes of all files in a folder."""
    size = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            size += path.lstat().st_size if not path.is_dir() else 0
    return size


def remove_fork(name: str) -> int:
    """Remove a fork that does not run, and what a killed command left of one; returns the bytes that it took.
    NotFound where there is neither, FolderInUse for one that runs."""
    place = fork_folder(name)
    partial = place.with_name(f"{name}{PARTIAL}")
    if not partial.is_dir():
        place = existing_fork_folder(name)
    if is_being_filled(partial):
        raise OperationFailed(f"fork {name}: is being written by another process")
    size = sum(folder_size(path) for path in (place, partial) if path.is_dir())
    try:
        if partial.is_dir():
            shutil.rmtree(partial)
        if place.is_dir():
            _remove_whole(place, partial)
    except OSError as error:
        raise folder_error(FORK, place, error) from None
    return size


def _remove_whole(place: Path, partial: Path) -> None:
    """It loses its name first: what a kill leaves does not look whole."""
    folder = DataFolder(place)
    try:
        folder.hold()
    except FolderInUse as held:
        raise OperationFailed(f"fork {place.name}: runs; end it first ({held})") from None
    try:
        place.rename(partial)
        shutil.rmtree(partial)
    finally:
        folder.release()
