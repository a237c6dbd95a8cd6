"""Repeats user input in errors, and finds the closest allowed words."""

from collections.abc import Iterable
from difflib import get_close_matches

SIMILARITY_MIN = 0.6
"""Minimum similarity of two words, 0 to 1, for one to count as a misspelling of the other."""
QUOTED_CHARS_MAX = 120
"""Maximum characters of a refused value that the sentence repeats."""


def truncated(text: str) -> str:
    """The text, cut to a readable length."""
    return text if len(text) <= QUOTED_CHARS_MAX else f"{text[:QUOTED_CHARS_MAX]}…"


def closest_matches(
    written: str, allowed: Iterable[str], *, limit: int, similarity: float = SIMILARITY_MIN
) -> list[str]:
    """Up to `limit` allowed words that are similar to the input, the nearest first."""
    return get_close_matches(written, list(allowed), n=limit, cutoff=similarity)


def closest_match(written: str, allowed: Iterable[str], *, similarity: float = SIMILARITY_MIN) -> str | None:
    """The allowed word that is most similar to the input; None if none is similar enough."""
    return next(iter(closest_matches(written, allowed, limit=1, similarity=similarity)), None)
