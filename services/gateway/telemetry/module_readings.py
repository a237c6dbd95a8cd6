"""What modules read of themselves, from telemetry frames: rows of the newest one, one end lane by lane, and
how a field went over the frames that are kept."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from schemas.api.sensor_readings import FieldReading, ReadingRow, ReadingSample
from services.gateway.fabrics import fabric_plant
from services.gateway.ports import TwinPorts
from services.gateway.telemetry.frames import open_frame
from shared.basics.errors import InvalidInput
from shared.models.superpod.wiring import IntArray, link_end
from shared.models.telemetry.module_fields import MODULE_FIELDS, ModuleField, module_fields_of

ROW_COLUMNS = ("state", "at_us", "warnings", "alarms", *MODULE_FIELDS)
LANES = sum(name.startswith("lane_") for name in FieldReading.model_fields)
DIGITS = 3
"""Of rates; other fields have so many decimals, and the supply one more."""


@dataclass(frozen=True, slots=True)
class ModuleFrame:
    """A telemetry frame of a pod: of when it is, and its Arrow record batch."""

    at_us: int
    batch: Any

    @property
    def ends(self) -> IntArray:
        """The numbers of the link ends, ascending."""
        found: IntArray = self.batch.column("end").to_numpy()
        return found

    def row_of(self, end: int) -> int | None:
        """The row of a link end; None where no circuit leads to it."""
        place = int(np.searchsorted(self.ends, end))
        return place if place < len(self.ends) and self.ends[place] == end else None


def read_module_frame(frame: bytes) -> ModuleFrame | None:
    """A frame as bytes; None if it is no frame of link ends that this version knows, or not yet whole."""
    lists = [field.lanes_column for field in MODULE_FIELDS.values() if field.lanes_column is not None]
    found = open_frame(frame, "end", MODULE_FIELDS, lists)
    return None if found is None else ModuleFrame(*found)


def newest_module_frame(twin: TwinPorts, fabric: str) -> ModuleFrame | None:
    """The newest frame of a fabric; None where it has none, or no link ends."""
    if not fabric_plant(twin, fabric).population("end"):
        return None
    frame = twin.telemetry(fabric)
    return None if frame is None else read_module_frame(frame)


def reading_rows(twin: TwinPorts, fabric: str) -> list[ReadingRow]:
    """Of all connected link ends at the newest frame; none before the first."""
    frame = newest_module_frame(twin, fabric)
    if frame is None:
        return []
    columns = {name: frame.batch.column(name).to_pylist() for name in ROW_COLUMNS}
    return [
        _row(fabric, frame, end, values)
        for end, values in zip(frame.ends.tolist(), _rows(columns), strict=True)
    ]


def field_readings(twin: TwinPorts, fabric: str, end: int) -> list[FieldReading]:
    """All fields of a link end at the newest frame; none where that does not have it."""
    frame = newest_module_frame(twin, fabric)
    row = None if frame is None else frame.row_of(end)
    if frame is None or row is None:
        return []
    values = {name: frame.batch.column(name)[row].as_py() for name in frame.batch.schema.names}
    return [_field(field, frame, values) for field in MODULE_FIELDS.values()]


def module_samples(
    twin: TwinPorts, fabric: str, end: int, name: str, since_us: int, lane: int | None
) -> list[ReadingSample]:
    """How a field of a link end went over the frames that are kept since a moment: of its worst lane, or of
    one. A sample is of when the module was read."""
    if name not in MODULE_FIELDS:
        raise InvalidInput(f"field {name}: a module does not read it; allowed are {', '.join(MODULE_FIELDS)}")
    column = MODULE_FIELDS[name].lanes_column if lane is not None else name
    if column is None:
        raise InvalidInput(f"lane {lane}: {name} is of the module as a whole; allowed is none")
    found = []
    for _, content in twin.frames(fabric, since_us - 1):
        frame = read_module_frame(content)
        row = None if frame is None else frame.row_of(end)
        if frame is None or row is None:
            continue
        value = frame.batch.column(column)[row].as_py()
        if lane is not None and value is not None:
            value = value[lane]
        at_us = frame.batch.column("at_us")[row].as_py()
        found.append(ReadingSample(at_us=at_us, value=rounded_reading(name, value)))
    return found


def _rows(columns: dict[str, list[Any]]) -> Iterator[dict[str, Any]]:
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(columns, values, strict=True))


def _is_silent(values: dict[str, Any]) -> bool:
    """Whether the module says nothing; one without light has a temperature."""
    return values["temperature_c"] is None


def _row(fabric: str, frame: ModuleFrame, end: int, values: dict[str, Any]) -> ReadingRow:
    """Unchecked: a frame is ours, and has thousands of them."""
    found: dict[str, Any] = {name: rounded_reading(name, values[name]) for name in MODULE_FIELDS}
    found |= {level: tuple(module_fields_of(values[level])) for level in ("warnings", "alarms")}
    found |= {"name": link_end(end).name(fabric), "state": values["state"], "at_us": values["at_us"]}
    found |= {
        "late_us": frame.at_us - values["at_us"],
        "unread": tuple(MODULE_FIELDS) if _is_silent(values) else (),
    }
    return ReadingRow.model_construct(**found)


def _field(field: ModuleField, frame: ModuleFrame, values: dict[str, Any]) -> FieldReading:
    name = field.name
    lanes = (values[field.lanes_column] if field.lanes_column else None) or [None] * LANES
    warned, alarmed = (name in module_fields_of(values[level]) for level in ("warnings", "alarms"))
    read = "unread" if _is_silent(values) else None if values[name] is None else "ok"
    return FieldReading.model_validate(
        {
            "field": name,
            "unit": field.unit,
            "module": None if field.by_lane else rounded_reading(name, values[name]),
            **{f"lane_{number}": rounded_reading(name, value) for number, value in enumerate(lanes)},
            "low_alarm": field.low_alarm,
            "low_warning": field.low_warning,
            "high_warning": field.high_warning,
            "high_alarm": field.high_alarm,
            "flag": "alarm" if alarmed else "warning" if warned else read,
            "at_us": values["at_us"],
            "late_us": frame.at_us - values["at_us"],
        }
    )


def rounded_reading(name: str, value: float | None) -> float | None:
    """A value with the digits that its register has, and no more."""
    if value is None:
        return None
    if MODULE_FIELDS[name].is_rate:
        return float(f"{value:.{DIGITS}e}")
    return round(value, DIGITS + (name == "supply_v"))
