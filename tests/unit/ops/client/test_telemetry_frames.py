"""Telemetry frames as table rows, with the name of their source and their time."""

import pyarrow as pa
import pytest

from ops.client.telemetry_frames import frame_table
from shared.models.superpod.wiring import link_end


@pytest.mark.parametrize("ends", [[0], [5, 95, 96, 6143], list(range(384))])
def test_rows_are_named_by_their_ends(ends: list[int]) -> None:
    values = [float(end) for end in ends]
    batch = pa.record_batch({"end": pa.array(ends, pa.int32()), "ber": pa.array(values)})
    table = frame_table("pod-1", 7_000, batch)
    assert table.schema.names == ["frame_at_us", "name", "end", "ber"]
    assert table.column("frame_at_us").to_pylist() == [7_000] * len(ends)
    assert table.column("name").to_pylist() == [link_end(end).name("pod-1") for end in ends]
    assert table.column("ber").to_pylist() == values


def test_rows_of_ocses_are_named_too_and_a_frame_may_have_none() -> None:
    batch = pa.record_batch({"ocs": pa.array([47, 0], pa.int32())})
    assert frame_table("dcn-0", 1, batch).column("name").to_pylist() == ["dcn-0/ocs-47", "dcn-0/ocs-0"]
    empty = frame_table("pod-0", 1, pa.record_batch({"end": pa.array([], pa.int32())}))
    assert (empty.num_rows, empty.schema.names) == (0, ["frame_at_us", "name", "end"])
