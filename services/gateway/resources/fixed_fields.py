"""Fields that keep their value as long as their object exists: waiting for another value is in vain."""

from collections.abc import Mapping

from schemas.resource_kinds import (
    BUNDLES,
    DEMANDS,
    FABRICS,
    FAULTS,
    LINKS,
    OCS,
    RACKS,
    REPAIRS,
    REWIRINGS,
    SLICES,
    TRUNKS,
    VERDICTS,
)

FIXED: Mapping[str, frozenset[str]] = {
    FABRICS.word: frozenset({"kind", "site", "commissioned_us", "cubes", "chips", "ocs"}),
    OCS.word: frozenset({"radix"}),
    LINKS.word: frozenset({"ocs"}),
    SLICES.word: frozenset({"owner", "tier", "shape", "twisted", "chips", "requested_us"}),
    FAULTS.word: frozenset({"kind", "target", "injected", "began_us"}),
    VERDICTS.word: frozenset({"kind", "target", "given_us"}),
    REPAIRS.word: frozenset({"kind", "target", "requested_us"}),
    REWIRINGS.word: frozenset({"planned_us"}),
    TRUNKS.word: frozenset({"blocks"}),
    DEMANDS.word: frozenset({"source", "target"}),
    BUNDLES.word: frozenset({"block", "rack", "fibres"}),
    RACKS.word: frozenset({"ocses", "control", "power"}),
}
"""Word of a kind → its fields that never change, besides the name."""


def fixed_field(word: str, name: str) -> str | None:
    """The field of this name of a kind, if it never changes; else None. Headings of tables have other
    values, such as CUBES of fabrics, and are never fixed unless they are also fields."""
    return name if name == "name" or name in FIXED.get(word, ()) else None
