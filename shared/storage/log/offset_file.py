"""The Kafka offsets of the messages in a copied log.

Next to each site's log file is a file of offsets, eight bytes per line. It is written first. So it may
contain offsets of lines that were never written, but none is missing.
"""

import os
from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path

from shared.storage.files.file_errors import file_error
from shared.storage.files.own_folders import make_own_folders

OFFSETS_SUFFIX = ".offsets"
OFFSET_BYTES = 8


class OffsetFile:
    """Position in a site's copied log → offset. One thread writes; others read what the log already
    contains."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            make_own_folders(path.parent)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
        except OSError as error:
            raise file_error(path, error, "offsets") from None

    @property
    def count(self) -> int:
        """The number of positions with an offset."""
        return os.fstat(self._file).st_size // OFFSET_BYTES

    def put(self, position: int, offsets: Sequence[int]) -> None:
        """Write the offsets of the messages from this position on, which are about to be appended;
        OperationFailed if that fails."""
        try:
            os.ftruncate(self._file, position * OFFSET_BYTES)
            data = b"".join([offset.to_bytes(OFFSET_BYTES) for offset in offsets])
            while data:
                data = data[os.pwrite(self._file, data, os.fstat(self._file).st_size) :]
        except OSError as error:
            raise file_error(self.path, error, "offsets") from None

    def at(self, position: int) -> int:
        """The offset of the message at this position."""
        return int.from_bytes(os.pread(self._file, OFFSET_BYTES, position * OFFSET_BYTES))

    def below(self, offset: int) -> int:
        """The number of messages below this offset."""
        return bisect_left(range(self.count), offset, key=self.at)

    def close(self) -> None:
        os.close(self._file)


class OffsetFiles:
    """The offset files of all sites of a copy, in the folder of its logs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, OffsetFile] = {}

    def of(self, site: str) -> OffsetFile:
        """The offset file of a site; creates it if needed."""
        if site not in self._files:
            self._files[site] = OffsetFile(self._folder / f"{site}{OFFSETS_SUFFIX}")
        return self._files[site]

    def close(self) -> None:
        for file in self._files.values():
            file.close()
        self._files.clear()
