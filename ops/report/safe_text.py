"""Text of others as a terminal may have it: what would move its cursor, name its window or turn its letters
round is shown, and not sent."""

import re
import unicodedata
from collections.abc import Callable

# What somebody gave, repeated in a sentence about it: never longer than one reads, never a control
# character.

QUOTED_MAX = 60
"""Characters of a value that are repeated."""
_PLAIN = re.compile(r"[A-Za-z0-9_+-]{1,40}")


def quoted(value: object) -> str:
    """The value as Python writes it, with what cannot be printed escaped, cut where it is long."""
    return shortened(repr(value))


def shortened(text: str, most: int = QUOTED_MAX) -> str:
    """The text, cut where it is longer than so many characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def dotted(*parts: object) -> str:
    """`fabrics.0.config.pod`: names and numbers as a path; a part that is no plain word stands in quotes."""
    return ".".join(
        text if _PLAIN.fullmatch(text := str(part)) else quoted(part) for part in parts if part != ""
    )


HIDDEN_CATEGORIES = frozenset({"Cc", "Cf"})
"""Unicode's categories of control and format characters."""


def _python_escape(character: str) -> str:
    return ascii(character)[1:-1]


def escape_control(text: str, escaped: Callable[[str], str] = _python_escape) -> str:
    """The text with every control and format character but the end of a line as `escaped` writes it: `\\x1b`,
    `\\u202e`."""
    if text.isascii() and text.isprintable():
        return text
    return "\n".join(
        line if line.isprintable() else "".join(_shown(character, escaped) for character in line)
        for line in text.split("\n")
    )


def one_line(text: str) -> str:
    """The same, with the ends of lines shown as well."""
    return escape_control(text).replace("\n", "\\n")


def _shown(character: str, escaped: Callable[[str], str]) -> str:
    return escaped(character) if unicodedata.category(character) in HIDDEN_CATEGORIES else character
