"""A telemetry frame as bytes, opened. Frames come from files, Redis and Kafka, where strangers may have
written: what is no frame that this version knows is none at all, not an error of whoever asked."""

from collections.abc import Collection
from typing import Any

INTEGER_COLUMNS = ("at_us", "warnings", "alarms")
"""Columns of whole numbers without a gap, of every frame."""


def open_frame(
    frame: bytes, whose: str, fields: Collection[str], lists: Collection[str], *flags: str
) -> tuple[int, Any] | None:
    """(of when it is, its Arrow record batch); None if it is damaged, or not yet whole, or has not the column
    `whose`, COUNTED and further `flags` as whole numbers, `state`, the `fields` as numbers and the `lists` of
    them."""
    import pyarrow as pa  # noqa: PLC0415 -- as in shared/basics/frames.py

    try:
        with pa.ipc.open_stream(frame) as reader:
            batch = reader.read_next_batch()
        at_us = int((batch.schema.metadata or {})[b"at_us"])
    except (pa.ArrowException, StopIteration, OSError, KeyError, ValueError):
        return None
    schema, counted = batch.schema, (whose, *INTEGER_COLUMNS, *flags)
    if not {"state", *counted, *fields, *lists} <= set(schema.names):
        return None
    whole = all(
        pa.types.is_integer(schema.field(name).type) and not batch.column(name).null_count for name in counted
    )
    numbers = all(pa.types.is_floating(schema.field(name).type) for name in fields)
    of_numbers = all(
        hasattr(schema.field(name).type, "value_type")
        and pa.types.is_floating(schema.field(name).type.value_type)
        for name in lists
    )
    return (at_us, batch) if whole and numbers and of_numbers else None
