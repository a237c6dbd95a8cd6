"""Where forks are kept, which there are, and how they go."""

import contextlib
import re
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from ops.common.client import Client
from ops.common.folders import user_folder
from ops.common.quoted import quoted
from ops.twin.backups.files import PARTIAL, failed, is_being_filled
from ops.twin.data import DataFolder, FolderInUse
from ops.twin.forks.origin import origin_of
from schemas.bounds import FORK_NAME, FORK_NAMES_ALLOWED
from schemas.fork import ForkOrigin
from shared.basics.errors import InvalidInput, LightwaveError, NotFound, OperationFailed
from shared.basics.words import nearest
from shared.storage.log.folder import is_held
from shared.storage.log.log_bytes import log_of
from shared.storage.log.log_file import LogFile

FORKS_MAX = 100
WHAT = "fork"
ASK_S_MAX = 2.0


def forks_folder() -> Path:
    """`lightwave-forks` in the user's state directory (XDG)."""
    return user_folder("state", "lightwave-forks")


def place_of(name: str) -> Path:
    """Where a fork of this name is or would be; InvalidInput where that is no name."""
    if re.fullmatch(FORK_NAME, name) is None:
        raise InvalidInput(f"fork {quoted(name)}: not a name; allowed are {FORK_NAMES_ALLOWED}")
    return forks_folder() / name


def existing(name: str) -> Path:
    """Where the fork of this name is; NotFound where there is none."""
    place = place_of(name)
    if not (place / "origin.json").is_file():
        near = nearest(name, names())
        hint = f"; did you mean {near}?" if near else "; `lightwave fork list` has them"
        raise NotFound(f"fork {name}: no such fork{hint}")
    return place


def names() -> list[str]:
    """Of all forks; what is half made is none, nor what else lies there."""
    try:
        found = [path.name for path in forks_folder().iterdir() if (path / "origin.json").is_file()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise failed("forks", forks_folder(), error) from None
    return sorted(name for name in found if re.fullmatch(FORK_NAME, name))


def check_new(name: str) -> Path:
    """Where a new fork goes; InvalidInput for no name, OperationFailed where there is one of it,
    or too many."""
    place = place_of(name)
    if place.exists() or place.is_symlink():
        raise OperationFailed(
            f"fork {name}: there is one already; give another name, or remove it with "
            f"`lightwave fork rm {name}`"
        )
    if len(names()) >= FORKS_MAX:
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
    folder = DataFolder(place_of(name))
    runs = is_held(folder.path)
    running = folder.running() if runs else None
    url = running.url if running is not None else None
    told = ForkRow(name, str(folder.path), size_of(folder.path), runs, url)
    try:
        origin = origin_of(folder)
        now_us = 0 if origin is None else _now_us(folder, origin, url)
    except LightwaveError as error:
        return replace(told, problem=str(error))
    if origin is None:
        return replace(told, problem=f"data folder {folder.path}: has lost its origin.json")
    return replace(
        told,
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
            return int(Client(url, timeout_s=ASK_S_MAX).thing("/v1/clock", "now_us")["now_us"])
    logs = [LogFile(log_of(folder.logs, one.site)).end_us for one in origin.sites]
    return max([folder.kept_clock().now_us, *logs])


def size_of(folder: Path) -> int:
    """Bytes of all files in a folder."""
    size = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            size += path.lstat().st_size if not path.is_dir() else 0
    return size


def remove(name: str) -> int:
    """Remove a fork that does not run, and what a killed command left of one; returns the bytes that it took.
    NotFound where there is neither, FolderInUse for one that runs."""
    place = place_of(name)
    half = place.with_name(f"{name}{PARTIAL}")
    if not half.is_dir():
        place = existing(name)
    if is_being_filled(half):
        raise OperationFailed(f"fork {name}: is being written by another process")
    size = sum(size_of(path) for path in (place, half) if path.is_dir())
    try:
        if half.is_dir():
            shutil.rmtree(half)
        if place.is_dir():
            _remove_whole(place, half)
    except OSError as error:
        raise failed(WHAT, place, error) from None
    return size


def _remove_whole(place: Path, half: Path) -> None:
    """It loses its name first: what a kill leaves does not look whole."""
    folder = DataFolder(place)
    try:
        folder.hold()
    except FolderInUse as held:
        raise OperationFailed(f"fork {place.name}: runs; end it first ({held})") from None
    try:
        place.rename(half)
        shutil.rmtree(half)
    finally:
        folder.release()
