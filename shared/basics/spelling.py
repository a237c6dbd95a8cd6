"""What a person wrote: repeated in a sentence about it, and the nearest of some words to it."""

from collections.abc import Iterable
from difflib import get_close_matches

SIMILARITY_MIN = 0.6
"""How much alike two words must be, 0 to 1, for one to be taken for a slip of the other."""
QUOTED_CHARS_MAX = 120
"""Characters of a refused value that are repeated in the sentence."""


def truncated(text: str) -> str:
    """The text, cut where it is longer than anybody would read."""
    return text if len(text) <= QUOTED_CHARS_MAX else f"{text[:QUOTED_CHARS_MAX]}…"


def closest_matches(
    written: str, allowed: Iterable[str], *, limit: int, similarity: float = SIMILARITY_MIN
) -> list[str]:
    """Up to `limit` of the allowed words that are like what was written, the nearest first."""
    return get_close_matches(written, list(allowed), n=limit, cutoff=similarity)


def closest_match(written: str, allowed: Iterable[str], *, similarity: float = SIMILARITY_MIN) -> str | None:
    """The allowed word that is most like what was written; None where none is."""
    return next(iter(closest_matches(written, allowed, limit=1, similarity=similarity)), None)
