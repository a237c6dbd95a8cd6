"""What the exact models accept, and the sentence for what they do not."""

import math
from collections.abc import Iterable

from shared.basics.errors import InvalidInput
from shared.basics.spelling import closest_match

COUNT_MAX = 100_000
"""Machines, cubes or OCSes at most: far above any fabric, and still a table of a fraction of a second."""


def check_probability(field: str, value: float) -> float:
    """The value, if it is one of 0 … 1; InvalidInput names the field and the nearest legal value
    otherwise."""
    if not 0.0 <= value <= 1.0:
        nearest = "" if math.isnan(value) else f"; the nearest is {0 if value < 0 else 1}"
        raise InvalidInput(f"{field} {value}: not a probability; allowed are 0 to 1{nearest}")
    return float(value)


def check_count(field: str, value: int, least: int, most: int = COUNT_MAX) -> int:
    """The value, if it is one of least … most; InvalidInput names the nearest otherwise."""
    if not least <= value <= most:
        nearest = min(max(value, least), most)
        raise InvalidInput(
            f"{field} {value}: not allowed; allowed are {least} to {most:,}; the nearest is {nearest}"
        )
    return value


def check_positive(field: str, value: float) -> float:
    """The value, if it is a finite number above 0; InvalidInput otherwise."""
    if not (math.isfinite(value) and value > 0.0):
        raise InvalidInput(f"{field} {value}: not allowed; allowed are finite numbers above 0")
    return float(value)


def check_not_negative(field: str, value: float) -> float:
    """The value, if it is a finite number of at least 0; InvalidInput otherwise."""
    if not (math.isfinite(value) and value >= 0.0):
        raise InvalidInput(
            f"{field} {value}: not allowed; allowed are finite numbers from 0; the nearest is 0"
        )
    return float(value)


def check_range(name: str, value: float, least: float, most: float, unit: str) -> float:
    """The value; InvalidInput with the nearest allowed one unless it lies in a physical range. Who gives a
    positive number where decibels are never above 0 most likely left out its sign."""
    if least <= value <= most:
        return value
    allowed = f"allowed are {least:g} to {most:g} {unit}".rstrip()
    if math.isnan(value):
        raise InvalidInput(f"{name} {value:g}: not a number; {allowed}")
    given = f"{name} {value:g} {unit}".rstrip()
    if most <= 0 < value and least <= -value <= most:
        raise InvalidInput(f"{given}: {allowed}; did you mean {-value:g}?")
    raise InvalidInput(f"{given}: {allowed}; the nearest is {min(max(value, least), most):g}")


def closest_match_hint(meant: str, allowed: Iterable[str], similarity: float = 0.5) -> str:
    """`; the nearest is …`, to end a refusal with, where a word is so much like what was meant (0 to 1)."""
    near = closest_match(meant, allowed, similarity=similarity)
    return f"; the nearest is {near}" if near else ""
