"""What a fork keeps of its origin, and whether its logs still begin with what it has from there."""

import hashlib

from pydantic import ValidationError

from ops.twin.data_folder import DataFolder
from schemas.api.rows import ForkInfo
from schemas.files.fork_origin import FORK_FORMAT, ForkOrigin, InheritedLog
from shared.basics.errors import OperationFailed
from shared.storage.files.file_errors import file_error
from shared.storage.log.log_bytes import LogBytes

ORIGIN_MAX = 16 << 20
PIECE = 1 << 20


def read_origin(folder: DataFolder) -> ForkOrigin | None:
    """None of a twin that is no fork; OperationFailed where what is kept cannot be read, or is of another
    version."""
    where = f"data folder {folder.path}: {folder.origin.name}"
    try:
        with folder.origin.open("rb") as file:
            text = file.read(ORIGIN_MAX)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise OperationFailed(f"{where}: {error.strerror or error}") from None
    try:
        origin = ForkOrigin.model_validate_json(text)
    except ValidationError:
        raise OperationFailed(
            f"{where} is damaged: of what this twin is a fork it cannot say; restore it from a backup"
        ) from None
    if origin.form != FORK_FORMAT:
        raise OperationFailed(f"{where} is of form {origin.form}; must be {FORK_FORMAT}")
    return origin


def fork_about(origin: ForkOrigin) -> ForkInfo:
    """As people read it."""
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
    """In what the beginning of a fork's log is not what its parent's was; None where it is that."""
    digest, left = hashlib.sha256(), inherited.size
    try:
        with log.opened() as file:
            while left and (piece := file.read(min(PIECE, left))):
                digest.update(piece)
                left -= len(piece)
    except OSError as error:
        raise file_error(log.path, error) from None
    if left:
        return f"ends {left:,} bytes before the end of what it has from its parent"
    if digest.hexdigest() != inherited.sha256:
        return f"the first {inherited.position:,} messages are not its parent's: their digest is another"
    return None
