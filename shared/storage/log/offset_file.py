"""Where the messages of a copied log stand on the partition that they were copied from.

Beside each site's file of lines lies one of numbers, eight bytes for every line. It is written first: so it
may hold some of lines that were never written, and none is missing.
"""

import os
from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path

from shared.storage.files.file_errors import file_error

OFFSETS_SUFFIX = ".offsets"
OFFSET_BYTES = 8


class OffsetFile:
    """Position in a site's copied log → offset. One thread writes, others read what the log holds already."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise file_error(path, error, "offsets") from None

    @property
    def count(self) -> int:
        """Of how many positions the offset is there."""
        return os.fstat(self._file).st_size // OFFSET_BYTES

    def put(self, position: int, offsets: Sequence[int]) -> None:
        """Those of the messages from this position on, which are about to be appended. OperationFailed where
        they cannot be written."""
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
        """How many messages stand below this offset."""
        return bisect_left(range(self.count), offset, key=self.at)

    def close(self) -> None:
        os.close(self._file)


class OffsetFiles:
    """Those of all sites of a copy, in the folder of its logs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, OffsetFile] = {}

    def of(self, site: str) -> OffsetFile:
        """Made where there is none."""
        if site not in self._files:
            self._files[site] = OffsetFile(self._folder / f"{site}{OFFSETS_SUFFIX}")
        return self._files[site]

    def close(self) -> None:
        for file in self._files.values():
            file.close()
        self._files.clear()
