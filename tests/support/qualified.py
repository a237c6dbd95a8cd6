"""Whole pods' qualifications, each worked out once: it takes seconds, and several tests look at the same."""

from functools import lru_cache

from shared.models.optics.qualification import Conditions, Qualification, qualify_pod

KEPT = 16
"""Some 8 MB each."""


@lru_cache(maxsize=KEPT)
def qualified(conditions: Conditions) -> Qualification:
    """As `qualify_pod` has it; nobody may write to it."""
    found = qualify_pod(conditions)
    for array in (
        found.log10_ber,
        found.lane,
        found.insertion_loss_db,
        found.received_dbm,
        found.interference_db,
    ):
        array.flags.writeable = False
    return found
