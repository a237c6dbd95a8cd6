"""Readings of transceiver modules from telemetry frames: rows of the newest frame, one link end lane by lane,
and the samples of a field over the stored frames."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from schemas.api.sensor_readings import FieldReading, ReadingRow, ReadingSample
from services.gateway.fabrics import fabric_plant
from services.gateway.runtime_ports import TwinPorts
from services.gateway.telemetry.frames import FrameRow, open_frame
from shared.basics.errors import InvalidInput
from shared.models.superpod.wiring import IntArray, link_end
from shared.models.telemetry.module_fields import MODULE_FIELDS, ModuleField, module_fields_of

ROW_COLUMNS = ("state", "at_us", "warnings", "alarms", *MODULE_FIELDS)
LANES = sum(name.startswith("lane_") for name in FieldReading.model_fields)
DIGITS = 3
"""Significant digits of rates; decimals of other fields (supply voltage has one more)."""


@dataclass(frozen=True, slots=True)
class ModuleFrame:
    """A telemetry frame of a pod."""

    at_us: int
    """Its simulated time."""
    batch: Any
    """Its Arrow record batch."""

    @property
    def ends(self) -> IntArray:
        """The numbers of the link ends, ascending."""
        ends: IntArray = self.batch.column("end").to_numpy()
        return ends

    def row_of(self, end: int) -> int | None:
        """The row of a link end; None if no circuit leads to it."""
        place = int(np.searchsorted(self.ends, end))
        return place if place < len(self.ends) and self.ends[place] == end else None


def read_module_frame(frame: bytes) -> ModuleFrame | None:
    """Decode a frame; None if it is incomplete, or not a frame of link ends that this version knows."""
    lists = [field.lanes_column for field in MODULE_FIELDS.values() if field.lanes_column is not None]
    opened = open_frame(frame, "end", MODULE_FIELDS, lists)
    return None if opened is None else ModuleFrame(*opened)


def newest_module_frame(twin: TwinPorts, fabric: str) -> ModuleFrame | None:
    """The newest frame of a fabric; None if there is none, or the fabric has no link ends."""
    if not fabric_plant(twin, fabric).population("end"):
        return None
    frame = twin.telemetry(fabric)
    return None if frame is None else read_module_frame(frame)


def reading_rows(twin: TwinPorts, fabric: str) -> list[ReadingRow]:
    """The readings of all connected link ends in the newest frame; empty before the first one."""
    frame = newest_module_frame(twin, fabric)
    if frame is None:
        return []
    columns = {name: frame.batch.column(name).to_pylist() for name in ROW_COLUMNS}
    return [
        _row(fabric, frame, end, values)
        for end, values in zip(frame.ends.tolist(), _rows(columns), strict=True)
    ]


def field_readings(twin: TwinPorts, fabric: str, end: int) -> list[FieldReading]:
    """All fields of a link end in the newest frame; empty if it is not in the frame."""
    frame = newest_module_frame(twin, fabric)
    row = None if frame is None else frame.row_of(end)
    if frame is None or row is None:
        return []
    values = FrameRow({name: frame.batch.column(name)[row].as_py() for name in frame.batch.schema.names})
    return [_field(field, frame, values) for field in MODULE_FIELDS.values()]


def module_samples(
    twin: TwinPorts, fabric: str, end: int, name: str, since_us: int, lane: int | None
) -> list[ReadingSample]:
    """The samples of a field of a link end since a time, of its worst lane or of one. A sample has the time
    at which the module was read."""
    if name not in MODULE_FIELDS:
        raise InvalidInput(
            f"field {name}: not a field of a module; must be one of {', '.join(MODULE_FIELDS)}"
        )
    column = MODULE_FIELDS[name].lanes_column if lane is not None else name
    if column is None:
        raise InvalidInput(f"lane {lane}: must be omitted, because {name} belongs to the whole module")
    samples = []
    for _, content in twin.frames(fabric, since_us - 1):
        frame = read_module_frame(content)
        row = None if frame is None else frame.row_of(end)
        if frame is None or row is None:
            continue
        value = frame.batch.column(column)[row].as_py()
        if lane is not None and value is not None:
            value = value[lane]
        at_us = frame.batch.column("at_us")[row].as_py()
        samples.append(ReadingSample(at_us=at_us, value=rounded_reading(name, value)))
    return samples


def _rows(columns: dict[str, list[object]]) -> Iterator[FrameRow]:
    for values in zip(*columns.values(), strict=True):
        yield FrameRow(dict(zip(columns, values, strict=True)))


def _is_silent(row: FrameRow) -> bool:
    """Whether the module does not respond. A module without light still reports its temperature."""
    return row.number("temperature_c") is None


def _row(fabric: str, frame: ModuleFrame, end: int, row: FrameRow) -> ReadingRow:
    """The row of one link end. It is not validated: frames are our own and have thousands of rows."""
    at_us = row.integer("at_us")
    fields: dict[str, Any] = {
        **{name: rounded_reading(name, row.number(name)) for name in MODULE_FIELDS},
        **{level: tuple(module_fields_of(row.integer(level))) for level in ("warnings", "alarms")},
        "name": link_end(end).name(fabric),
        "state": row.text("state"),
        "at_us": at_us,
        "late_us": frame.at_us - at_us,
        "unread": tuple(MODULE_FIELDS) if _is_silent(row) else (),
    }
    return ReadingRow.model_construct(**fields)


def _field(field: ModuleField, frame: ModuleFrame, row: FrameRow) -> FieldReading:
    name, at_us = field.name, row.integer("at_us")
    lanes = (row.numbers(field.lanes_column) if field.lanes_column else None) or [None] * LANES
    warned, alarmed = (name in module_fields_of(row.integer(level)) for level in ("warnings", "alarms"))
    read = "unread" if _is_silent(row) else None if row.number(name) is None else "ok"
    return FieldReading.model_validate(
        {
            "field": name,
            "unit": field.unit,
            "module": None if field.by_lane else rounded_reading(name, row.number(name)),
            **{f"lane_{number}": rounded_reading(name, value) for number, value in enumerate(lanes)},
            "low_alarm": field.low_alarm,
            "low_warning": field.low_warning,
            "high_warning": field.high_warning,
            "high_alarm": field.high_alarm,
            "flag": "alarm" if alarmed else "warning" if warned else read,
            "at_us": at_us,
            "late_us": frame.at_us - at_us,
        }
    )


def rounded_reading(name: str, value: float | None) -> float | None:
    """A value rounded to the digits of its register."""
    if value is None:
        return None
    if MODULE_FIELDS[name].is_rate:
        return float(f"{value:.{DIGITS}e}")
    return round(value, DIGITS + (name == "supply_v"))
