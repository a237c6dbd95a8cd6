"""The operations log of a twin in one process: a file of JSON lines."""

import threading
from pathlib import Path

from schemas.files.operations_log import Operation, decode_operation, encode_operation
from shared.basics.errors import OperationFailed
from shared.storage.files.own_files import LARGE_MAX, open_own, read_own


class OperationsFile:
    """An `OperationsLog` in a file that one process writes. Thread-safe. The number of an operation is that
    of its line."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()

    def append(self, operation: Operation) -> None:
        with self._lock:
            try:
                with open_own(self._path, "ab+") as file:
                    file.seek(0, 2)
                    torn = file.tell() > 0 and self._last_byte() != b"\n"
                    file.write((b"\n" if torn else b"") + encode_operation(operation) + b"\n")
            except OSError as error:
                raise self._failed(error) from None

    def read(self, start: int = 0, most: int | None = None) -> list[tuple[int, Operation]]:
        rows = []
        seen: set[str] = set()
        for number, line in enumerate(self._lines()):
            operation = decode_operation(line)
            if operation is None or operation.id in seen:
                continue
            seen.add(operation.id)
            if number >= start:
                rows.append((number, operation))
        return rows[:most]

    def end(self) -> int:
        return len(self._lines())

    def _lines(self) -> list[bytes]:
        with self._lock:
            try:
                return read_own(self._path, LARGE_MAX).splitlines()
            except FileNotFoundError:
                return []
            except OSError as error:
                raise self._failed(error) from None

    def _last_byte(self) -> bytes:
        with open_own(self._path) as file:
            file.seek(-1, 2)
            return file.read(1)

    def _failed(self, error: OSError) -> OperationFailed:
        return OperationFailed(f"operations log {self._path}: {error.strerror or error}")
