"""What somebody gave, repeated in a sentence about it: never longer than one reads, never a control
character."""

import re

SHOWN_MAX = 60
"""Characters of a value that are repeated."""
_PLAIN = re.compile(r"[A-Za-z0-9_+-]{1,40}")


def quoted(value: object) -> str:
    """The value as Python writes it, with what cannot be printed escaped, cut where it is long."""
    return shortened(repr(value))


def shortened(text: str, most: int = SHOWN_MAX) -> str:
    """The text, cut where it is longer than so many characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def dotted(*parts: object) -> str:
    """`fabrics.0.config.pod`: names and numbers as a path; a part that is no plain word stands in quotes."""
    return ".".join(
        text if _PLAIN.fullmatch(text := str(part)) else quoted(part) for part in parts if part != ""
    )
