"""Bounds of the numbers that fields can have: filters with a value outside of them can never match."""

from collections.abc import Mapping
from typing import Any

from schemas.resource_kinds import CUBES
from shared.models.superpod.wiring import CHIPS_PER_CUBE, HOSTS_PER_CUBE

SHARES = frozenset(
    {
        *("utilisation", "utilisation_now", "cube_availability", "used", "used_mean"),
        "productive_share",
        *("served", "served_mean", "transit", "share", "confidence"),
    }
)
"""Fields and headings that are fractions of a whole."""
USES = frozenset({"use", "use_mean", "use_out", "use_back", "bound", "solve_above"})
"""Fractions of a capacity, which a load can exceed."""
SIGNED = frozenset({"priority"})
"""Whole numbers that can be negative."""
_BIT_ERRORS = frozenset({"ber", "raw_ber"})
_MOST: Mapping[tuple[str, str], int] = {
    (CUBES.word, "hosts_down"): HOSTS_PER_CUBE,
    (CUBES.word, "chips_used"): CHIPS_PER_CUBE,
}
"""(word of a kind, field) → its highest value."""

Bounds = tuple[float | None, float | None]
"""(lowest, highest) value; None without a bound."""
UNBOUNDED: Bounds = (None, None)


def is_share(name: str) -> bool:
    """Whether a field, a heading or the last part of a nested field is a fraction, which may be written as a
    percentage."""
    return _leaf(name) in SHARES | USES


def bounds_of(word: str, name: str, kind: Any) -> Bounds:
    """The bounds of a field or heading of the rows of a kind; empty `word` for readings."""
    leaf = _leaf(name)
    if kind not in (int, float):
        return UNBOUNDED
    if leaf in SHARES or leaf in _BIT_ERRORS:
        return 0, 1
    if leaf in USES or leaf.endswith("_gbps"):
        return 0, None
    if kind is int and leaf not in SIGNED:
        return 0, _MOST.get((word, leaf))
    return UNBOUNDED


def bounds_text(bounds: Bounds, *, is_share: bool = False) -> str:
    """What a number must be."""
    low, high = bounds
    if high is None:
        return f"must be at least {low:g}"
    percent = ", or between 0% and 100%" if is_share and high == 1 else ""
    return f"must be between {low:g} and {high:g}{percent}"


def is_outside(value: float, bounds: Bounds) -> bool:
    """Whether a field never has this value."""
    low, high = bounds
    return (low is not None and value < low) or (high is not None and value > high)


def never_text(sign: str, value: float, bounds: Bounds) -> str | None:
    """Why no value passes this order, such as `< 0`; None if a value can."""
    low, high = bounds
    if sign == "<" and value == low:
        return f"no value is below {low:g}"
    if sign == ">" and value == high:
        return f"no value is above {high:g}"
    return None


def _leaf(name: str) -> str:
    return name.rpartition(".")[2].lower().replace("-", "_")
