"""Text of others as a terminal may have it: what would move its cursor, name its window or turn its letters
round is shown, and not sent."""

import unicodedata
from collections.abc import Callable

HIDDEN = frozenset({"Cc", "Cf"})
"""Unicode's categories of control and format characters."""


def _python(character: str) -> str:
    return ascii(character)[1:-1]


def visible(text: str, escaped: Callable[[str], str] = _python) -> str:
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
    return visible(text).replace("\n", "\\n")


def _shown(character: str, escaped: Callable[[str], str]) -> str:
    return escaped(character) if unicodedata.category(character) in HIDDEN else character
