"""Telemetry frames: when they are due, and as bytes, which are Arrow IPC streams of one record batch."""

from typing import Any

from shared.basics.units import US_PER_S


def arrow_frame(columns: dict[str, Any], fabric: str, at_us: int) -> bytes:
    """A frame of these Arrow arrays by name; of whom and of when it is stands in the schema's metadata."""
    # Imported here, for it takes a third of a second, which only those who want telemetry should pay.
    import pyarrow as pa  # noqa: PLC0415 -- see above

    batch = pa.RecordBatch.from_pydict(columns).replace_schema_metadata(
        {"fabric": fabric, "at_us": str(at_us)}
    )
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def next_frame_due_us(interval_s: int, at_us: int) -> int | None:
    """When the first telemetry frame after this moment is due: at whole multiples of the interval. None if
    there are no frames, for the interval is 0."""
    interval_us = interval_s * US_PER_S
    return (at_us // interval_us + 1) * interval_us if interval_us else None
