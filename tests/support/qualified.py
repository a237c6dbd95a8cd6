"""Qualifications of whole pods, each computed once. One takes seconds, and several tests use the same."""

from functools import lru_cache

from shared.models.optics.qualification import Conditions, Qualification, qualify_pod

KEPT = 16
"""Results to keep, of about 8 MB each."""


@lru_cache(maxsize=KEPT)
def qualified(conditions: Conditions) -> Qualification:
    """Return the result of `qualify_pod`, with read-only arrays."""
    result = qualify_pod(conditions)
    for array in (
        result.log10_ber,
        result.lane,
        result.insertion_loss_db,
        result.received_dbm,
        result.interference_db,
    ):
        array.flags.writeable = False
    return result
