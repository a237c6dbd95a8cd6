"""Bounds of the numbers that fields can have: filters with a value outside of them can never match."""

from collections.abc import Iterable, Mapping
from typing import Any

from schemas.resource_kinds import BLOCKS, CUBES, DOMAINS, FABRICS, OCS, RACKS, SLICES
from shared.models.plant.plant_format import Plant
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

PORTS_OF_SIDE = "ports of a side"
"""The size of an OCS."""
_PARTS: Mapping[tuple[str, str], str] = {
    **{(SLICES.word, name): part for name, part in (("chips", "chip"), ("cubes", "cube"))},
    **dict.fromkeys(((SLICES.word, name) for name in ("links_down", "links_degraded")), "end"),
    **dict.fromkeys(((FABRICS.word, name) for name in ("cubes", "healthy", "drained")), "cube"),
    **dict.fromkeys(((FABRICS.word, name) for name in ("chips", "chips_used")), "chip"),
    **dict.fromkeys(((FABRICS.word, name) for name in ("ocs", "ocs_down", "ocs_held")), "ocs"),
    **dict.fromkeys(((FABRICS.word, f"links.{one}") for one in ("up", "degraded", "down", "dark")), "end"),
    (FABRICS.word, "hosts_down"): "host",
    **dict.fromkeys(((FABRICS.word, name) for name in ("network.blocks", "network.blocks_down")), "block"),
    **dict.fromkeys(
        ((kind.word, name) for kind in (RACKS, DOMAINS) for name in ("ocses", "ocses_up")), "ocs"
    ),
    **dict.fromkeys(
        ((OCS.word, name) for name in ("circuits_wanted", "circuits_made", "circuits_stale", "circuits")),
        PORTS_OF_SIDE,
    ),
    (BLOCKS.word, "trunks"): "block",
}
"""(word of a kind, field) → the kind of part of which a fabric has at least as many."""

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


def largest_of(word: str, name: str, plants: Iterable[Plant]) -> int | None:
    """The highest value of a field in fabrics with these plants; None if their size does not bound it."""
    part = _PARTS.get((word, name.lower().replace("-", "_")))
    if part is None:
        return None
    return max((_population(plant, part) for plant in plants), default=0) or None


def _population(plant: Plant, part: str) -> int:
    if part != PORTS_OF_SIDE:
        return plant.population(part)
    ocses = plant.population("ocs")
    return plant.population("port") // (2 * ocses) if ocses else 0


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
