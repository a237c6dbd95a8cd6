"""What a person wrote: repeated in a sentence about it, and the nearest of some words to it."""

from collections.abc import Iterable
from difflib import get_close_matches

ALIKE = 0.6
"""How much alike two words must be, 0 to 1, for one to be taken for a slip of the other."""
SHOWN_MAX = 120
"""Characters of a refused value that are repeated in the sentence."""


def short(text: str) -> str:
    """The text, cut where it is longer than anybody would read."""
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}…"


def nearest_words(written: str, allowed: Iterable[str], *, limit: int, alike: float = ALIKE) -> list[str]:
    """Up to `limit` of the allowed words that are like what was written, the nearest first."""
    return get_close_matches(written, list(allowed), n=limit, cutoff=alike)


def nearest(written: str, allowed: Iterable[str], *, alike: float = ALIKE) -> str | None:
    """The allowed word that is most like what was written; None where none is."""
    return next(iter(nearest_words(written, allowed, limit=1, alike=alike)), None)
