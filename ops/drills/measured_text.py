"""What a probe measured, as people read it: each value once, and fractions rounded."""

import re
from collections.abc import Sequence

_COUNTED = re.compile(r"count=(-?[0-9]+\.[0-9]+(?:e-?[0-9]+)?)")
"""A fraction without the name of a resource. Counts are whole numbers, so it is a share."""
_FRACTION = re.compile(r"(?<==)-?[0-9]+\.[0-9]+(?:e[+-]?[0-9]+)?$")


def measured_texts(compared: Sequence[str]) -> list[str]:
    """The values that the condition of a probe compared, in their order.

    A tolerance with two bounds compares the same value twice; it is shown once. `count=0.6428571428571429`
    of the log becomes `share=0.6429`.
    """
    return list(dict.fromkeys(_shown(text) for text in compared))


def _shown(text: str) -> str:
    share = _COUNTED.fullmatch(text)
    if share is not None:
        text = f"share={share[1]}"
    return _FRACTION.sub(lambda number: f"{float(number[0]):.4g}", text)
