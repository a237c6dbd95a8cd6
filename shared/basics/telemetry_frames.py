"""Telemetry frames: their due times, and their bytes, which are Arrow IPC streams of one record batch."""

from collections.abc import Mapping

from shared.basics.units import US_PER_S


def arrow_frame(columns: Mapping[str, object], fabric: str, at_us: int) -> bytes:
    """A frame of these Arrow arrays by name. The schema's metadata has its fabric and time."""
    # Imported here because it takes a third of a second, which only commands with telemetry should spend.
    import pyarrow as pa  # noqa: PLC0415 -- see above

    batch = pa.RecordBatch.from_pydict(columns).replace_schema_metadata(
        {"fabric": fabric, "at_us": str(at_us)}
    )
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def next_frame_due_us(interval_s: int, at_us: int) -> int | None:
    """The time of the first telemetry frame after `at_us`, at whole multiples of the interval. None if the
    interval is 0, so that there are no frames."""
    interval_us = interval_s * US_PER_S
    return (at_us // interval_us + 1) * interval_us if interval_us else None
