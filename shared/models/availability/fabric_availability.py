"""Availability of a superpod's fabric: all of its OCSes have to work ([LF] 4.2.2, Figure 15a)."""

from shared.basics.checks import check_count, check_probability
from shared.basics.errors import InvalidInput
from shared.models.superpod.wiring import OCS_COUNT, STRANDS

STRANDS_BY_KIND = {"cwdm4-duplex": 4, "cwdm4-bidi": STRANDS, "cwdm8-bidi": 1}
"""Fibre strands of one link, by the kind of its modules ([LF] 4.2.2)."""


def fabric_ocs(kind: str) -> int:
    """OCSes of a superpod with modules of this kind: 96, 48 or 24, in proportion to the strands of a link.

    InvalidInput on an unknown kind.
    """
    if kind not in STRANDS_BY_KIND:
        raise InvalidInput(
            f"kind: {kind!r} is not a known kind of module; must be one of {', '.join(STRANDS_BY_KIND)}"
        )
    return OCS_COUNT * STRANDS_BY_KIND[kind] // STRANDS


def fabric_availability(ocs_availability: float, ocs: int) -> float:
    """Probability that all OCSes of a fabric work: A^n. InvalidInput on anything out of range."""
    return check_probability("ocs-availability", ocs_availability) ** check_count("ocs", ocs, 0)
