"""Availability of a superpod's fabric, which needs all of its OCSes ([LF] 4.2.2, Figure 15a)."""

from shared.basics.checks import check_count, check_probability
from shared.basics.errors import InvalidInput
from shared.models.superpod.wiring import OCS_COUNT, STRANDS

STRANDS_BY_KIND = {"cwdm4-duplex": 4, "cwdm4-bidi": STRANDS, "cwdm8-bidi": 1}
"""Fibre strands per link, by kind of module ([LF] 4.2.2)."""


def fabric_ocs(kind: str) -> int:
    """OCSes of a superpod with modules of this kind: 96, 48 or 24, in proportion to the strands per link.

    InvalidInput if the kind is unknown.
    """
    if kind not in STRANDS_BY_KIND:
        raise InvalidInput(
            f"kind: {kind!r} is not a known kind of module; must be one of {', '.join(STRANDS_BY_KIND)}"
        )
    return OCS_COUNT * STRANDS_BY_KIND[kind] // STRANDS


def fabric_availability(ocs_availability: float, ocs: int) -> float:
    """Probability that all OCSes of a fabric work: A^n. InvalidInput if a value is out of range."""
    return check_probability("ocs-availability", ocs_availability) ** check_count("ocs", ocs, 0)
