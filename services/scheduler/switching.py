"""How long the scheduler thinks that circuits take."""

from functools import lru_cache

from schemas.config import PodOcsConfig
from shared.models.superpod.wiring import DIMENSIONS, FACE_LINKS, STRANDS
from shared.models.technologies import ocs_technology, pace_of


@lru_cache(maxsize=1_024)
def switching_us(ocs: PodOcsConfig | None, joins: int) -> int:
    """From a command to its circuits, on average, with so many joins in each dimension: a slice has as many
    as cubes. Where there are no OCSes, nobody waits for them."""
    if ocs is None:
        return 0
    on_one = joins * STRANDS
    return pace_of(ocs_technology(ocs.technology), ocs).expected_us(on_one * DIMENSIONS * FACE_LINKS, on_one)
