"""Dead letters: unreadable lines and skipped messages, in the same form in every runtime."""

import hashlib
from collections import OrderedDict
from typing import Annotated

from pydantic import Field, ValidationError

from schemas.body import Model
from schemas.limits import COUNT_MAX

LINE_BYTES_MAX = 2_048
"""Bytes of the line that are stored."""
ERROR_CHARS_MAX = 1_024
"""Characters of the error that are stored: it may quote the line."""
LETTERS_MAX = 2_000
"""The newest letters that are returned, of at most 15 KB each."""
SKIPPED = "skipped by an operator"
"""Stands for the error if a service failed on a message that others read."""


class DeadLetter(Model):
    """A line that was not read. `origin` is its unique place on the log, `partition:offset` or
    `site:position`. `service` could not read it; None means all services. A line is complete unless
    `line_bytes` has its length. `wall_s` is when it was found, since 1970, if known."""

    origin: Annotated[str, Field(min_length=3, max_length=100)]
    error: str
    line: str
    line_bytes: Annotated[int, Field(ge=0, le=COUNT_MAX)] | None = None
    line_sha256: str | None = None
    service: str | None = None
    wall_s: float | None = None


def dead_letter_fields(origin: str, error: str, line: bytes) -> dict[str, object]:
    """The fields {origin, error, line}. Of a long line only the start is stored, with the length and SHA-256
    of the whole line: {line_bytes, line_sha256}. At most about 20 KB as JSON."""
    letter: dict[str, object] = {
        "origin": origin,
        "error": error if len(error) <= ERROR_CHARS_MAX else f"{error[:ERROR_CHARS_MAX]}…",
        "line": line[:LINE_BYTES_MAX].decode("utf-8", "backslashreplace"),
    }
    if len(line) > LINE_BYTES_MAX:
        letter |= {"line_bytes": len(line), "line_sha256": hashlib.sha256(line).hexdigest()}
    return letter


def parse_dead_letter(row: bytes) -> DeadLetter | None:
    """The letter in a row of JSON; None if the row is not one."""
    try:
        return DeadLetter.model_validate_json(row)
    except ValidationError:
        return None


class NewestDeadLetters:
    """The newest letters, each origin once."""

    def __init__(self) -> None:
        self._letters: OrderedDict[str, DeadLetter] = OrderedDict()

    def put(self, row: bytes) -> None:
        """Add a row of JSON; ignores rows that are not letters."""
        letter = parse_dead_letter(row)
        if letter is not None:
            self._letters.setdefault(letter.origin, letter)
        if len(self._letters) > LETTERS_MAX:
            self._letters.popitem(last=False)

    def all(self) -> list[DeadLetter]:
        """Oldest first."""
        return list(self._letters.values())
