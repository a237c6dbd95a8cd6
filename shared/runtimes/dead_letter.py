"""Lines that nobody can read, and messages that were skipped: how they are kept, alike in every runtime."""

import hashlib
from collections import OrderedDict
from typing import Annotated

from pydantic import Field, ValidationError

from schemas.body import Model
from schemas.limits import COUNT_MAX

LINE_BYTES_MAX = 2_048
"""Bytes of the line that are kept."""
ERROR_CHARS_MAX = 1_024
"""Characters of the sentence that are kept: it may quote the line."""
LETTERS_MAX = 2_000
"""Letters that are at hand, the newest ones. Each has at most some 15 KB."""
SKIPPED = "skipped by an operator"
"""What stands in place of an error where a service raised on a message that others read."""


class DeadLetter(Model):
    """`origin` is the place on the log, `partition:offset` or `site:position`, and tells it from every other;
    `service` who could not read it, None for all of them. A line is whole unless `line_bytes` says how long
    it was. `wall_s` is the time at which it was found, since 1970, where that is known."""

    origin: Annotated[str, Field(min_length=3, max_length=100)]
    error: str
    line: str
    line_bytes: Annotated[int, Field(ge=0, le=COUNT_MAX)] | None = None
    line_sha256: str | None = None
    service: str | None = None
    wall_s: float | None = None


def dead_letter_fields(origin: str, error: str, line: bytes) -> dict[str, object]:
    """The fields {origin, error, line}. Of a long line only the beginning is kept, and of the whole line its
    length in bytes and its SHA-256: {line_bytes, line_sha256}. At most about 20 KB as JSON."""
    letter: dict[str, object] = {
        "origin": origin,
        "error": error if len(error) <= ERROR_CHARS_MAX else f"{error[:ERROR_CHARS_MAX]}…",
        "line": line[:LINE_BYTES_MAX].decode("utf-8", "backslashreplace"),
    }
    if len(line) > LINE_BYTES_MAX:
        letter |= {"line_bytes": len(line), "line_sha256": hashlib.sha256(line).hexdigest()}
    return letter


def parse_dead_letter(row: bytes) -> DeadLetter | None:
    """The letter in a row of JSON; None where there is none."""
    try:
        return DeadLetter.model_validate_json(row)
    except ValidationError:
        return None


class NewestDeadLetters:
    """The newest letters, each origin once, however often it was written."""

    def __init__(self) -> None:
        self._found: OrderedDict[str, DeadLetter] = OrderedDict()

    def put(self, row: bytes) -> None:
        """Take up a row of JSON; what is no letter is passed over."""
        letter = parse_dead_letter(row)
        if letter is not None:
            self._found.setdefault(letter.origin, letter)
        if len(self._found) > LETTERS_MAX:
            self._found.popitem(last=False)

    def all(self) -> list[DeadLetter]:
        """Oldest first."""
        return list(self._found.values())
