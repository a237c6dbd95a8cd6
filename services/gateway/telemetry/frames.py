"""Decodes telemetry frames. Frames come from files, Redis and Kafka, where other software may write. A frame
that this version does not know counts as missing; it is not an error of the client."""

from collections.abc import Collection
from typing import Any

INTEGER_COLUMNS = ("at_us", "warnings", "alarms")
"""Columns of integers without nulls in every frame."""


def open_frame(
    frame: bytes, whose: str, fields: Collection[str], lists: Collection[str], *flags: str
) -> tuple[int, Any] | None:
    """(simulated time, Arrow record batch) of a frame; None if it is damaged or incomplete.

    It must have `state`, the integer columns `whose`, INTEGER_COLUMNS and `flags`, the float columns
    `fields`, and the columns `lists` with lists of floats.
    """
    import pyarrow as pa  # noqa: PLC0415 -- as in shared/basics/frames.py

    try:
        with pa.ipc.open_stream(frame) as reader:
            batch = reader.read_next_batch()
        at_us = int((batch.schema.metadata or {})[b"at_us"])
    except (pa.ArrowException, StopIteration, OSError, KeyError, ValueError):
        return None
    schema, integer_names = batch.schema, (whose, *INTEGER_COLUMNS, *flags)
    if not {"state", *integer_names, *fields, *lists} <= set(schema.names):
        return None
    integers = all(
        pa.types.is_integer(schema.field(name).type) and not batch.column(name).null_count
        for name in integer_names
    )
    floats = all(pa.types.is_floating(schema.field(name).type) for name in fields)
    lists_of_floats = all(
        hasattr(schema.field(name).type, "value_type")
        and pa.types.is_floating(schema.field(name).type.value_type)
        for name in lists
    )
    return (at_us, batch) if integers and floats and lists_of_floats else None
