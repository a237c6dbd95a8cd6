"""The origin of a fork, and the check of the inherited part of its logs."""

import hashlib

from pydantic import ValidationError

from ops.twin.data_folder import DataFolder
from schemas.api.rows import ForkInfo
from schemas.files.fork_origin import FORK_FORMAT, ForkOrigin, InheritedLog
from shared.basics.errors import OperationFailed
from shared.storage.files.file_errors import file_error
from shared.storage.files.own_files import read_own
from shared.storage.log.log_bytes import LogBytes

ORIGIN_MAX = 16 << 20
PIECE = 1 << 20


def read_origin(folder: DataFolder) -> ForkOrigin | None:
    """The origin of a fork; None if the twin is not a fork. Raises OperationFailed if the file cannot be
    read, or has another format."""
    where = f"data folder {folder.path}: {folder.origin.name}"
    try:
        text = read_own(folder.origin, ORIGIN_MAX)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise OperationFailed(f"{where}: {error.strerror or error}") from None
    try:
        origin = ForkOrigin.model_validate_json(text)
    except ValidationError:
        raise OperationFailed(
            f"{where} is damaged, so the origin of this fork is unknown; restore it from a backup"
        ) from None
    if origin.format != FORK_FORMAT:
        raise OperationFailed(f"{where} has format {origin.format}; must be {FORK_FORMAT}")
    return origin


def fork_about(origin: ForkOrigin) -> ForkInfo:
    """The origin as the API shows it."""
    return ForkInfo(
        name=origin.name,
        parent=origin.parent,
        place=origin.place,
        at_us=origin.at_us,
        positions={one.site: one.position for one in origin.sites},
        draws=origin.draws,
        settings=origin.settings,
    )


def inherited_difference(inherited: InheritedLog, log: LogBytes) -> str | None:
    """How the beginning of a fork's log differs from its parent's log at that time; None if it does not."""
    digest, left = hashlib.sha256(), inherited.size
    try:
        with log.opened() as file:
            while left and (piece := file.read(min(PIECE, left))):
                digest.update(piece)
                left -= len(piece)
    except OSError as error:
        raise file_error(log.path, error) from None
    if left:
        return f"ends {left:,} bytes before the end of the inherited part"
    if digest.hexdigest() != inherited.sha256:
        return f"the first {inherited.position:,} messages differ from those of its parent"
    return None
