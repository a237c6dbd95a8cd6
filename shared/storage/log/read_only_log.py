"""A site's log file that is only read, up to its present end. Another process may write to it."""

import contextlib
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from schemas.files.log_archive import LogPosition
from shared.storage.files.file_errors import file_error
from shared.storage.log.archive_reader import LOG_START, segment_ends_after
from shared.storage.log.log_bytes import LogBytes

STRIDE = 512
"""Lines between two whose offset is known."""


@dataclass(frozen=True, slots=True)
class _Mark:
    """A line with a known offset, and its time, if known."""

    position: int
    offset: int
    at_us: int | None = None


class ReadOnlyLog:
    """A log up to its last complete line, or up to `most` bytes. Later appends are not part of it. Creates
    and changes nothing. `end` is the number of lines, `size` their bytes.

    OperationFailed if the file cannot be read; a missing file is an empty log. Archived segments are not read
    to find the end.
    """

    def __init__(self, content: LogBytes, most: int | None = None) -> None:
        self.content = content
        self.end = self.size = 0
        self._marks: list[_Mark] = []
        """The starts of segments, and after them every STRIDEth line."""
        for place in self._places():
            if most is None or place.offset <= most:
                self._marks.append(_Mark(place.position, place.offset, place.at_us))
                self.end, self.size = place.position, place.offset
        with self._reading(self.size) as file:
            for line in file or ():
                if not line.endswith(b"\n") or (most is not None and self.size + len(line) > most):
                    break
                if self.end % STRIDE == 0 and self.end > self._marks[-1].position:
                    self._marks.append(_Mark(self.end, self.size))
                self.end += 1
                self.size += len(line)

    @property
    def end_us(self) -> int:
        """The simulated time of the last message; 0 if it has none that can be read."""
        for _, line in self.lines(max(0, self.end - 1)):
            return max(0, _at_us(line) or 0)
        return 0

    def lines(self, start: int, most: int | None = None) -> Iterator[tuple[int, bytes]]:
        """(position, line without newline) from `start` on."""
        end = self.end if most is None else min(self.end, start + most)
        if not 0 <= start < end:
            return
        mark = self._before(start)
        with self._reading(mark.offset) as file:
            for position in range(mark.position, end):
                line = file.readline() if file is not None else b""
                if position >= start:
                    yield position, line.rstrip(b"\n")

    def offset_of(self, position: int) -> int:
        """The byte at which a message starts; for the position after the last, the size."""
        if position >= self.end:
            return self.size
        mark = self._before(position)
        before = self.lines(mark.position, position - mark.position)
        return mark.offset + sum(len(line) + 1 for _, line in before)

    def position_at(self, at_us: int) -> int:
        """The position of the first message at or after this simulated time; `end` if none is."""
        number = bisect_right(self._marks, at_us - 1, key=self._time_of) - 1
        for position, line in self.lines(self._marks[max(0, number)].position):
            found_us = _at_us(line)
            if found_us is not None and found_us >= at_us:
                return position
        return self.end

    def position_of(self, message_id: str) -> int | None:
        """The position of the message with this id, or None. Scans the log."""
        named = b'"id":' + orjson.dumps(message_id)
        for position, line in self.lines(0):
            if named in line and _envelope_fields(line).get("id") == message_id:
                return position
        return None

    def at_us(self, position: int) -> int:
        """The simulated time of a message; if its line cannot be read, that of the nearest earlier one."""
        return self._at_us(position)

    def _at_us(self, position: int) -> int:
        while position >= 0:
            for _, line in self.lines(position, 1):
                if (at_us := _at_us(line)) is not None:
                    return at_us
            position -= 1
        return 0

    def _time_of(self, mark: _Mark) -> int:
        return self._at_us(mark.position) if mark.at_us is None else mark.at_us

    def _before(self, position: int) -> _Mark:
        """The last mark up to a position."""
        return self._marks[bisect_right(self._marks, position, key=lambda mark: mark.position) - 1]

    def _places(self) -> list[LogPosition]:
        try:
            live_start = self.content.live_start()
        except OSError as error:
            raise file_error(self.content.path, error) from None
        return [LOG_START, *segment_ends_after(self.content.archive, live_start, 0)]

    @contextlib.contextmanager
    def _reading(self, offset: int = 0) -> Iterator[Any]:
        try:
            with self.content.opened(offset) as file:
                yield file
        except FileNotFoundError:
            yield None
        except OSError as error:
            raise file_error(self.content.path, error) from None


def _envelope_fields(line: bytes) -> Mapping[str, object]:
    try:
        fields = orjson.loads(line)
    except orjson.JSONDecodeError:
        return {}
    return fields if isinstance(fields, dict) else {}


def _at_us(line: bytes) -> int | None:
    at_us = _envelope_fields(line).get("at_us")
    return at_us if isinstance(at_us, int) else None
