"""Conversions of states of the scheduler that earlier versions stored."""

from shared.engine.service import StoredFields


def add_start_pause(stored: StoredFields) -> StoredFields:
    """Earlier versions did not count the slices of a pod that back off in a row, and never paused starts."""
    return {**stored, "start_pause": b"null"}
