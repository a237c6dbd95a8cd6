"""Decodes telemetry frames. Frames come from files, Redis and Kafka, where other software may write. A frame
that this version does not know counts as missing; it is not an error of the client."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

INTEGER_COLUMNS = ("at_us", "warnings", "alarms")
"""Columns of integers without nulls in every frame."""


@dataclass(frozen=True, slots=True)
class FrameRow:
    """One row of a frame, which `open_frame` has checked."""

    values: Mapping[str, Any]
    """Column → value, as pyarrow returns it."""

    def number(self, column: str) -> float | None:
        """The value of a column of floats."""
        value: float | None = self.values[column]
        return value

    def numbers(self, column: str) -> Sequence[float | None]:
        """The values of a column of lists; empty if there is no list."""
        values: Sequence[float | None] | None = self.values[column]
        return values or ()

    def integer(self, column: str) -> int:
        """The value of a column of integers."""
        value: int = self.values[column]
        return value

    def text(self, column: str) -> str:
        """The value of a column of texts."""
        value: str = self.values[column]
        return value


def open_frame(
    frame: bytes, whose: str, fields: Collection[str], lists: Collection[str], *flags: str
) -> tuple[int, Any] | None:
    """(simulated time, Arrow record batch) of a frame; None if it is damaged or incomplete.

    It must have `state`, the integer columns `whose`, INTEGER_COLUMNS and `flags`, the float columns
    `fields`, and the columns `lists` with lists of floats.
    """
    import pyarrow as pa  # noqa: PLC0415 -- as in shared/basics/telemetry_frames.py

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
