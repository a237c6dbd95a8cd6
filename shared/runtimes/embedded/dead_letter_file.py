"""Stores lines that no service can read, with their error and origin."""

import threading
import time
from pathlib import Path

import orjson

from shared.runtimes.dead_letter import DeadLetter, NewestDeadLetters, dead_letter_fields, parse_dead_letter
from shared.storage.files.file_errors import file_error
from shared.storage.files.own_files import LARGE_MAX, open_own, read_own

FILE_WORD = "dead letters"


class DeadLetterFile:
    """An append-only file of JSON lines: the fields of `dead_letter_fields` and `wall_s`. Each origin is
    stored once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        rows = self._rows()
        self._origins = {letter.origin for row in rows if (letter := parse_dead_letter(row))}
        # End a line that a crash cut off, so that the next letter is not lost with it.
        self._lead = b"\n" if rows and not rows[-1].endswith(b"\n") else b""

    def put(self, origin: str, error: str, line: bytes) -> None:
        """Store an unreadable line; OperationFailed if the file cannot be written."""
        with self._lock:
            if origin in self._origins:
                return
            self._origins.add(origin)
            row = dead_letter_fields(origin, error, line) | {"wall_s": time.time()}
            try:
                with open_own(self.path, "ab") as file:
                    file.write(self._lead + orjson.dumps(row) + b"\n")
                    self._lead = b""
            except OSError as problem:
                raise file_error(self.path, problem, FILE_WORD) from None

    def count(self) -> int:
        return len(self._origins)

    def read(self) -> list[DeadLetter]:
        """The newest letters, oldest first; skips other rows, such as a torn last line."""
        letters = NewestDeadLetters()
        for row in self._rows():
            letters.put(row)
        return letters.all()

    def _rows(self) -> list[bytes]:
        try:
            return read_own(self.path, LARGE_MAX).splitlines(keepends=True)
        except FileNotFoundError:
            return []
        except OSError as problem:
            raise file_error(self.path, problem, FILE_WORD) from None
