"""The folders of forks: find, list and remove them."""

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
from shared.storage.files.own_folders import is_own_folder
from shared.storage.log.log_bytes import site_log
from shared.storage.log.read_only_log import ReadOnlyLog

FORKS_MAX = 100
FORK = "fork"
CLOCK_TIMEOUT_S = 2.0


def forks_folder() -> Path:
    """`lightwave-forks` in the user's state directory (XDG)."""
    return user_folder("state", "lightwave-forks")


def fork_folder(name: str) -> Path:
    """The folder of a fork, which need not exist. Raises InvalidInput for an invalid name."""
    if re.fullmatch(FORK_NAME_PATTERN, name) is None:
        raise InvalidInput(f"fork {quoted(name)}: is not a valid name; must be {FORK_NAMES_ALLOWED}")
    return forks_folder() / name


def existing_fork_folder(name: str) -> Path:
    """The folder of an existing fork; raises NotFound if there is none."""
    place = fork_folder(name)
    if not _is_own(place) or not (place / "origin.json").is_file():
        near = closest_match(name, fork_names())
        hint = f"; did you mean {near}?" if near else "; `lightwave fork list` shows them"
        raise NotFound(f"fork {name}: no such fork{hint}")
    return place


def _is_own(place: Path) -> bool:
    """Whether this folder exists. OperationFailed if it is a link, to a folder that is not a fork's to write
    or remove."""
    try:
        return is_own_folder(place)
    except OSError as error:
        raise folder_error(FORK, place, error) from None


def fork_names() -> list[str]:
    """The names of all complete forks, sorted."""
    try:
        found = [path.name for path in forks_folder().iterdir() if (path / "origin.json").is_file()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise folder_error("forks", forks_folder(), error) from None
    return sorted(name for name in found if re.fullmatch(FORK_NAME_PATTERN, name))


def new_fork_folder(name: str) -> Path:
    """The folder of a new fork. Raises InvalidInput for an invalid name, OperationFailed if it exists, or if
    there are FORKS_MAX forks."""
    place = fork_folder(name)
    if place.exists() or place.is_symlink():
        raise OperationFailed(
            f"fork {name}: already exists; give another name, or remove it with `lightwave fork rm {name}`"
        )
    if len(fork_names()) >= FORKS_MAX:
        raise OperationFailed(f"fork {name}: there are {FORKS_MAX} forks already, the maximum")
    return place


@dataclass(frozen=True, slots=True)
class ForkRow:
    """A fork as `fork list` shows it.

    - `data`, `bytes`: its folder and the size of its files. `url`: its gateway, if it runs.
    - `parent`, `place`, `at_us`, `position`: identity and folder of its parent, simulated time of the fork,
      and number of inherited messages.
    - `now_us`: its current simulated time.
    - `problem`: why the fields after `url` are missing.
    """

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
    """The row of a fork. Raises InvalidInput for an invalid name."""
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
    """The simulated time of a fork, from its gateway if it runs and answers, else from its files."""
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


def require_fork(name: str) -> None:
    """Raise NotFound if there is neither a fork of this name nor files that a killed command left of it."""
    if not fork_folder(name).with_name(f"{name}{PARTIAL}").is_dir():
        existing_fork_folder(name)


def remove_fork(name: str) -> int:
    """Remove a stopped fork, and the files that a killed command left of it; returns the size in bytes.

    Raises NotFound if there is neither. Raises OperationFailed if it runs, or if another process writes it.
    """
    place = fork_folder(name)
    partial = place.with_name(f"{name}{PARTIAL}")
    if not _is_own(partial):
        place = existing_fork_folder(name)
    if is_being_filled(partial):
        raise OperationFailed(f"fork {name}: is being written by another process")
    size = sum(folder_size(path) for path in (place, partial) if _is_own(path))
    try:
        if partial.is_dir():
            shutil.rmtree(partial)
        if place.is_dir():
            _remove_whole(place, partial)
    except OSError as error:
        raise folder_error(FORK, place, error) from None
    return size


def _remove_whole(place: Path, partial: Path) -> None:
    """Rename the folder first, so that an interrupted removal does not leave an incomplete fork."""
    folder = DataFolder(place)
    try:
        folder.hold()
    except FolderInUse as in_use:
        raise OperationFailed(f"fork {place.name}: runs; stop it first ({in_use})") from None
    try:
        place.rename(partial)
        shutil.rmtree(partial)
    finally:
        folder.release()
