"""Escapes foreign text for the terminal: control and format characters are shown, not sent."""

import re
import unicodedata
from collections.abc import Callable

QUOTED_MAX = 60
"""Maximum number of characters of a value that an error repeats."""
_NOT_XML = re.compile("[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_PLAIN = re.compile(r"[A-Za-z0-9_+-]{1,40}")


def quoted(value: object) -> str:
    """Return the value as a user would write it, shortened if it is long: text in quotes, with unprintable
    characters escaped, and null, true and false as in YAML and JSON."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return shortened(repr(value))


def shortened(text: str, most: int = QUOTED_MAX) -> str:
    """Return the text, shortened to a maximum number of characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def dotted(*parts: object) -> str:
    """Return names and numbers as a path, such as `fabrics.0.config.pod`. A part that is not a plain word is
    quoted."""
    return ".".join(
        text if _PLAIN.fullmatch(text := str(part)) else quoted(part) for part in parts if part != ""
    )


HIDDEN_CATEGORIES = frozenset({"Cc", "Cf"})
"""Unicode's categories of control and format characters."""


def _python_escape(character: str) -> str:
    return ascii(character)[1:-1]


def escape_control(text: str, escaped: Callable[[str], str] = _python_escape) -> str:
    """Return the text with all control and format characters except newlines escaped, by default as `\x1b` or
    `\u202e`."""
    if text.isascii() and text.isprintable():
        return text
    return "\n".join(
        line if line.isprintable() else "".join(_shown(character, escaped) for character in line)
        for line in text.split("\n")
    )


def without_control(text: str) -> str:
    """Return the text with the characters that XML and HTML cannot contain replaced: control characters
    except tabs and line ends. A terminal that shows the file would obey them."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def one_line(text: str) -> str:
    """Return the text with all control and format characters escaped, including newlines."""
    return escape_control(text).replace("\n", "\\n")


def _shown(character: str, escaped: Callable[[str], str]) -> str:
    return escaped(character) if unicodedata.category(character) in HIDDEN_CATEGORIES else character
