"""Frames that strangers wrote: none at all, and never an error of whoever asks."""

from typing import Any

import pyarrow as pa
import pytest

from services.gateway.telemetry.module_readings import read_module_frame
from services.gateway.telemetry.ocs_readings import read_ocs_frame
from shared.models.telemetry.module_fields import MODULE_FIELDS
from shared.models.telemetry.ocs_fields import OCS_FIELDS

LANES = 8


def columns(whose: str) -> dict[str, Any]:
    """Of one row, all sound."""
    found: dict[str, Any] = {name: pa.array([0]) for name in (whose, "at_us", "warnings", "alarms")}
    if whose == "ocs":
        found["unread"] = pa.array([0])
    found["state"] = pa.array(["up"])
    fields: dict[str, str | None]
    if whose == "end":
        fields = {name: field.lanes_column for name, field in MODULE_FIELDS.items()}
    else:
        fields = {name: field.each_column for name, field in OCS_FIELDS.items()}
    found |= {name: pa.array([0.5], pa.float32()) for name in fields}
    lists = pa.array([[0.5] * LANES], pa.list_(pa.float32()))
    return found | {name: lists for name in fields.values() if name is not None}


def frame(of: dict[str, Any], metadata: dict[str, str] | None) -> bytes:
    batch = pa.record_batch(of)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema.with_metadata(metadata)) as writer:
        writer.write_batch(batch.replace_schema_metadata(metadata))
    return bytes(sink.getvalue())


READ = {"end": read_module_frame, "ocs": read_ocs_frame}


@pytest.mark.parametrize("whose", READ)
def test_a_sound_one_is_read(whose: str) -> None:
    found = READ[whose](frame(columns(whose), {"at_us": "7"}))
    assert found is not None
    assert found.at_us == 7


@pytest.mark.parametrize("whose", READ)
@pytest.mark.parametrize("metadata", [None, {}, {"other": "7"}, {"at_us": "abc"}, {"at_us": ""}], ids=repr)
def test_one_that_is_of_no_time_is_none(whose: str, metadata: dict[str, str] | None) -> None:
    assert READ[whose](frame(columns(whose), metadata)) is None


@pytest.mark.parametrize("whose", READ)
def test_one_whose_columns_are_others_is_none(whose: str) -> None:
    sound = columns(whose)
    for name in sound:
        assert READ[whose](frame({k: v for k, v in sound.items() if k != name}, {"at_us": "7"})) is None
        if name != "state":
            assert READ[whose](frame(sound | {name: pa.array(["strange"])}, {"at_us": "7"})) is None
    for name in (whose, "warnings", "alarms", "at_us"):
        nothing = pa.array([None], pa.int64())
        assert READ[whose](frame(sound | {name: nothing}, {"at_us": "7"})) is None
