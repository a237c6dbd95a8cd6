"""Telemetry frames of unknown writers: an invalid frame is treated as absent, never as an error of the
client."""

from typing import Any

import pyarrow as pa
import pytest

from services.gateway.telemetry.module_readings import read_module_frame
from services.gateway.telemetry.ocs_readings import read_ocs_frame
from shared.models.telemetry.module_fields import MODULE_FIELDS
from shared.models.telemetry.ocs_fields import OCS_FIELDS

LANES = 8


def columns(frame_type: str) -> dict[str, Any]:
    """Valid columns of one row."""
    arrays: dict[str, Any] = {name: pa.array([0]) for name in (frame_type, "at_us", "warnings", "alarms")}
    if frame_type == "ocs":
        arrays["unread"] = pa.array([0])
    arrays["state"] = pa.array(["up"])
    fields: dict[str, str | None]
    if frame_type == "end":
        fields = {name: field.lanes_column for name, field in MODULE_FIELDS.items()}
    else:
        fields = {name: field.each_column for name, field in OCS_FIELDS.items()}
    arrays |= {name: pa.array([0.5], pa.float32()) for name in fields}
    lists = pa.array([[0.5] * LANES], pa.list_(pa.float32()))
    return arrays | {name: lists for name in fields.values() if name is not None}


def frame(of: dict[str, Any], metadata: dict[str, str] | None) -> bytes:
    batch = pa.record_batch(of)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema.with_metadata(metadata)) as writer:
        writer.write_batch(batch.replace_schema_metadata(metadata))
    return bytes(sink.getvalue())


READ = {"end": read_module_frame, "ocs": read_ocs_frame}


@pytest.mark.parametrize("frame_type", READ)
def test_a_valid_frame_is_read(frame_type: str) -> None:
    read_frame = READ[frame_type](frame(columns(frame_type), {"at_us": "7"}))
    assert read_frame is not None
    assert read_frame.at_us == 7


@pytest.mark.parametrize("frame_type", READ)
@pytest.mark.parametrize("metadata", [None, {}, {"other": "7"}, {"at_us": "abc"}, {"at_us": ""}], ids=repr)
def test_a_frame_without_a_time_is_absent(frame_type: str, metadata: dict[str, str] | None) -> None:
    assert READ[frame_type](frame(columns(frame_type), metadata)) is None


@pytest.mark.parametrize("frame_type", READ)
def test_a_frame_with_other_columns_is_absent(frame_type: str) -> None:
    sound = columns(frame_type)
    for name in sound:
        assert READ[frame_type](frame({k: v for k, v in sound.items() if k != name}, {"at_us": "7"})) is None
        if name != "state":
            assert READ[frame_type](frame(sound | {name: pa.array(["strange"])}, {"at_us": "7"})) is None
    for name in (frame_type, "warnings", "alarms", "at_us"):
        nulls = pa.array([None], pa.int64())
        assert READ[frame_type](frame(sound | {name: nulls}, {"at_us": "7"})) is None
