"""Fetches telemetry frames of a running twin, and writes them as one Parquet file."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ops.client.answers import CLOCK
from ops.client.http_client import Client, escape_path
from ops.local.output_file import atomic_output_file
from ops.report.safe_text import quoted
from shared.basics.errors import InvalidInput, NotFound
from shared.basics.time_format import format_time, format_time_ms
from shared.basics.time_grammar import POINTS_ALLOWED, future_problem, read_time, time_problem
from shared.models.default_fabric import default_fabric_of
from shared.models.superpod.wiring import link_end

FABRIC, FRAME_AT = "fabric", "frame_at_us"


def export_frames(
    client: Client, fabric: str | None, of: str | None, begin: str | None, end: str | None, out: Path
) -> str:
    """Write the frames between two times to a file, and return a line about it.

    `begin` and `end` are times as on the command line. `of` is `ocs`, or by default the link ends of a pod or
    the trunks of a network. Raises NotFound if there are no frames. An error leaves no partial file.
    """
    name = resolve_fabric(client, fabric, of)
    tables = (frame_table(name, *frame) for frame in frames(client, name, begin, end, of_ocses=of == "ocs"))
    first = next(tables, None)
    if first is None:
        raise NotFound(f"{name}: no telemetry frames from that time are kept")
    count, rows, last_us = 0, 0, 0
    with atomic_output_file(out) as file, pq.ParquetWriter(file, first.schema, compression="zstd") as writer:
        for table in chain((first,), tables):
            if table.schema != first.schema:  # written by another version of the twin
                continue
            writer.write_table(table)
            count, rows = count + 1, rows + table.num_rows
            last_us = int(table.column(FRAME_AT)[0].as_py())
    return f"{count} frames up to {format_time(last_us)}, {rows:,} rows, written to {out}"


def resolve_fabric(client: Client, fabric: str | None, of: str | None) -> str:
    """Return the fabric of this name or, if none is given, the default fabric. Raises NotFound if there is no
    such fabric, InvalidInput if it has no objects of the kind."""
    fields = ("name", "kind", "retired_us", "network", "ocs")
    rows = {str(row["name"]): row for row in client.rows("/v1/fabrics", *fields)}
    if fabric is None:
        ended = {name: us for name, row in rows.items() if isinstance(us := row["retired_us"], int)}
        fabric = default_fabric_of({name: str(row["kind"]) for name, row in rows.items()}, ended)
    name = fabric
    if name not in rows:
        raise NotFound(f"--fabric {quoted(name)}: no such fabric; there is {', '.join(rows)}")
    row = rows[name]
    there = ["links" if row["network"] is None else "trunks", *(["ocs"] if row["ocs"] else [])]
    if of not in (None, *there):
        raise InvalidInput(f"--of {of}: {name} is a {row['kind']} and has none; must be {' or '.join(there)}")
    return name


def frames(
    client: Client, fabric: str, begin: str | None, end: str | None, *, of_ocses: bool = False
) -> Iterator[tuple[int, Any]]:
    """Yield (simulated time in microseconds, record batch) of the frames that the twin keeps, oldest
    first."""
    path = f"/v1/telemetry/{escape_path(fabric)}" + ("/ocs" if of_ocses else "")
    first_us, until_us = time_range_us(client, begin, end)
    after_us = first_us
    while True:
        try:
            frame = client.content(path, after_us=after_us, until_us=until_us)
        except NotFound:
            if after_us == first_us:
                raise
            return
        with client.reading(), pa.ipc.open_stream(frame) as reader:
            batch = reader.read_next_batch()
            at_us = int(batch.schema.metadata[b"at_us"])
        yield at_us, batch
        after_us = at_us


def time_range_us(client: Client, begin: str | None, end: str | None) -> tuple[int, int]:
    """Return (microsecond before the first, last microsecond) of a time range: times as on the command line,
    or message ids. The default end is now; without an end, a fast twin would add frames forever.

    Raises InvalidInput for a time in the future, an end before the start of the twin, or an end before the
    begin.
    """
    now_us = client.resource(CLOCK, "now_us").now_us

    def bounds(option: str, text: str) -> tuple[int, int]:
        if "/" in text:
            (message, *_) = client.rows(f"/v1/why/{escape_path(text)}", "at_us")
            return (int(str(message["at_us"])),) * 2
        meant = read_time(text)
        if meant is None:
            raise InvalidInput(f"{option} {text!r}: {time_problem(text, POINTS_ALLOWED)}")
        if meant.at(now_us)[0] > now_us:
            raise InvalidInput(f"{option} {text!r}: {future_problem(text, now_us, format_time_ms(now_us))}")
        return meant.at(now_us)

    first_us = 0 if begin is None else max(0, bounds("--from", begin)[0])
    last_us = now_us if end is None else bounds("--to", end)[1]
    if end is not None and last_us < 0:
        raise InvalidInput(
            f"--to {end!r}: is before the twin's start; must be at most {format_time_ms(now_us)} before now"
        )
    if end is not None and last_us < first_us:
        raise InvalidInput(f"--to {end}: is before --from {begin}")
    return first_us - 1, last_us


def frame_table(fabric: str, at_us: int, batch: Any) -> Any:
    """Return a frame as a table: its time, the name of the link end or OCS, then the columns of the frame."""
    table = pa.Table.from_batches([batch]).replace_schema_metadata({FABRIC: fabric})
    heads = {FRAME_AT: pa.repeat(pa.scalar(at_us, pa.int64()), table.num_rows)}
    for column in ("end", "ocs"):
        if column in table.schema.names:
            numbers = table.column(column)
            count = 1 << int(pc.max(numbers).as_py() or 0).bit_length()
            heads["name"] = _names(column, fabric, count).take(numbers.combine_chunks())
    columns = heads | {name: table.column(name) for name in table.schema.names}
    return pa.table(columns, metadata={FABRIC: fabric})


@lru_cache(maxsize=4)
def _names(column: str, fabric: str, count: int) -> Any:
    """Return the names of the first `count` link ends or OCSes, by number. Cached, because all frames need
    them."""
    named = link_end if column == "end" else None
    names = [named(n).name(fabric) if named is not None else f"{fabric}/ocs-{n}" for n in range(count)]
    return pa.array(names, pa.string())
