"""Folders that a command makes or reads by itself, below a folder that another user may have prepared.

A link there could lead to any folder of this user, whose files would be read, replaced or removed. So these
folders must be real ones. Folders that people name on the command line may be links.
"""

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath

IS_LINK = "is a link; must be a folder"
FILE_IS_LINK = "is a link; must be a regular file"


def is_own_folder(path: Path) -> bool:
    """Whether this folder exists. OSError, with the path, for a link or a file."""
    try:
        kind = path.lstat().st_mode
    except FileNotFoundError:
        return False
    if stat.S_ISLNK(kind):
        raise OSError(errno.ELOOP, IS_LINK, str(path))
    if not stat.S_ISDIR(kind):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
    return True


def make_own_folders(*paths: Path) -> None:
    """Create these folders, from the outside in, as far as they are missing. OSError as in `is_own_folder`,
    and if one cannot be created. The parents of the first may be links."""
    for path in paths:
        if not is_own_folder(path):
            path.mkdir(parents=True, exist_ok=True)
            is_own_folder(path)  # another process may have made it meanwhile


def check_own_parents(folder: Path, name: str) -> None:
    """OSError as in `is_own_folder` unless all folders between `folder` and the file `name` in it are real or
    missing."""
    for parent in reversed(PurePath(name).parents[:-1]):
        is_own_folder(folder / parent)


def check_no_links(folder: Path, parts: Iterable[str], *, files_too: Iterable[str] = ()) -> None:
    """OSError, with the path, if one of these parts of a folder, or a folder below, is a link.

    In parts of `files_too`, files must not be links either: another program opens them.
    """
    strict = frozenset(files_too)
    for part in (*parts, *strict):
        place = folder / part
        if place.is_symlink():
            raise OSError(errno.ELOOP, IS_LINK, str(place))
        for found in _links_below(place):
            if found.is_dir():
                raise OSError(errno.ELOOP, IS_LINK, str(found))
            if part in strict:
                raise OSError(errno.ELOOP, FILE_IS_LINK, str(found))


def _links_below(folder: Path) -> Iterator[Path]:
    """Every link below a folder; follows none. Folders that cannot be read are skipped: whoever opens them
    reports that."""
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(place, name)
            if path.is_symlink():
                yield path
