"""Errors of the operating system on files, as one sentence each."""

from pathlib import Path

from shared.basics.errors import OperationFailed, OutOfFileDescriptors
from shared.storage.files.fd_limits import out_of_descriptors


def file_error(path: Path, error: OSError, what: str = "log file") -> OperationFailed:
    """The error to raise for an OSError on a file; OutOfFileDescriptors if a later try may succeed."""
    if lack := out_of_descriptors(error):
        return OutOfFileDescriptors(f"{what} {path}: {lack}")
    return OperationFailed(f"{what} {path}: {error.strerror or error}")
