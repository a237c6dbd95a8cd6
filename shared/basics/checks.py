"""Range checks of numeric inputs, with one error sentence each."""

import math
from collections.abc import Iterable

from shared.basics.errors import InvalidInput
from shared.basics.spelling import closest_match

COUNT_MAX = 100_000
"""Maximum number of machines, cubes or OCSes: far more than any fabric has, and still a table of a fraction
of a second."""


def check_probability(field: str, value: float) -> float:
    """Return the value if it lies in 0 … 1. Otherwise raise InvalidInput with the field and the nearest legal
    value."""
    if not 0.0 <= value <= 1.0:
        nearest = "" if math.isnan(value) else f"; the nearest is {0 if value < 0 else 1}"
        raise InvalidInput(f"{field} {value}: must be a probability from 0 to 1{nearest}")
    return float(value)


def check_count(field: str, value: int, least: int, most: int = COUNT_MAX) -> int:
    """Return the value if it lies in least … most. Otherwise raise InvalidInput with the nearest legal
    value."""
    if not least <= value <= most:
        nearest = min(max(value, least), most)
        raise InvalidInput(f"{field} {value}: must be between {least} and {most:,}; the nearest is {nearest}")
    return value


def check_positive(field: str, value: float) -> float:
    """Return the value if it is a finite number above 0. Otherwise raise InvalidInput."""
    if not (math.isfinite(value) and value > 0.0):
        raise InvalidInput(f"{field} {value}: must be a finite number above 0")
    return float(value)


def check_not_negative(field: str, value: float) -> float:
    """Return the value if it is a finite number of at least 0. Otherwise raise InvalidInput."""
    if not (math.isfinite(value) and value >= 0.0):
        raise InvalidInput(f"{field} {value}: must be a finite number of at least 0; the nearest is 0")
    return float(value)


def check_range(name: str, value: float, least: float, most: float, unit: str) -> float:
    """Return the value if it lies in a physical range. Otherwise raise InvalidInput with the nearest allowed
    value. For a positive number of decibels that cannot be above 0, the error suggests the sign."""
    if least <= value <= most:
        return value
    allowed = f"must be between {least:g} and {most:g} {unit}".rstrip()
    if math.isnan(value):
        raise InvalidInput(f"{name} {value:g}: not a number; {allowed}")
    given = f"{name} {value:g} {unit}".rstrip()
    if most <= 0 < value and least <= -value <= most:
        raise InvalidInput(f"{given}: {allowed}; did you mean {-value:g}?")
    raise InvalidInput(f"{given}: {allowed}; the nearest is {min(max(value, least), most):g}")


def closest_match_hint(meant: str, allowed: Iterable[str], similarity: float = 0.5) -> str:
    """Return `; the nearest is …` for the end of an error; empty if no allowed word is similar enough (0 to
    1)."""
    near = closest_match(meant, allowed, similarity=similarity)
    return f"; the nearest is {near}" if near else ""
