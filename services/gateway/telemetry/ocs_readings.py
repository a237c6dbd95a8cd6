"""What OCSes read of themselves, from telemetry frames: rows of the newest one, one OCS field by field, and
how a field went over the frames that are kept."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from schemas.api.sensor_readings import OcsFieldReading, OcsReadingRow, ReadingSample
from services.gateway.fabrics import fabric_plant
from services.gateway.ports import TwinPorts
from services.gateway.telemetry.frames import open_frame
from shared.basics.errors import InvalidInput
from shared.models.telemetry.ocs_fields import OCS_FIELDS, OcsField, ocs_fields_of

OCS_FRAMES = "ocs"
"""Frames of a fabric's OCSes are found under its name and this word."""
FLAG_COLUMNS = ("warnings", "alarms", "unread")
"""Columns with a bit a field: beyond a threshold, or not read though it should be."""
OCS_ROW_COLUMNS = ("state", "at_us", *FLAG_COLUMNS, *OCS_FIELDS)
FLAGS = {"alarms": "alarm", "unread": "unread", "warnings": "warning"}
"""What a field is flagged as, the gravest first."""
DIGITS = 3
SIDES = ("N", "S")


@dataclass(frozen=True, slots=True)
class OcsFrame:
    """A telemetry frame of a fabric's OCSes: of when it is, and its Arrow record batch, a row an OCS in their
    order."""

    at_us: int
    batch: Any

    @property
    def count(self) -> int:
        found: int = self.batch.num_rows
        return found


def ocs_frames_name(fabric: str) -> str:
    """Under which the frames of a fabric's OCSes are found."""
    return f"{fabric}/{OCS_FRAMES}"


def read_ocs_frame(frame: bytes) -> OcsFrame | None:
    """A frame as bytes; None if it is none of OCSes that this version knows, or not yet whole."""
    lists = [field.each_column for field in OCS_FIELDS.values() if field.each_column is not None]
    found = open_frame(frame, "ocs", OCS_FIELDS, lists, "unread")
    return None if found is None else OcsFrame(*found)


def newest_ocs_frame(twin: TwinPorts, fabric: str) -> OcsFrame | None:
    """The newest frame of a fabric's OCSes; None where it has none of either."""
    if not fabric_plant(twin, fabric).population("ocs"):
        return None
    frame = twin.telemetry(ocs_frames_name(fabric))
    return None if frame is None else read_ocs_frame(frame)


def ocs_reading_rows(twin: TwinPorts, fabric: str) -> list[OcsReadingRow]:
    """Of all OCSes at the newest frame; none before the first."""
    frame = newest_ocs_frame(twin, fabric)
    if frame is None:
        return []
    columns = {
        name: frame.batch.column(name).to_pylist() for name in (*OCS_ROW_COLUMNS, "each_mirror_error_urad")
    }
    return [
        _row(f"{fabric}/ocs-{ocs}", {name: column[ocs] for name, column in columns.items()})
        for ocs in range(frame.count)
    ]


def ocs_field_readings(twin: TwinPorts, fabric: str, ocs: int) -> tuple[OcsFieldReading, ...]:
    """All fields of an OCS at the newest frame; none before the first."""
    frame = newest_ocs_frame(twin, fabric)
    if frame is None or ocs >= frame.count:
        return ()
    values = {name: frame.batch.column(name)[ocs].as_py() for name in frame.batch.schema.names}
    return tuple([_field(field, values) for field in OCS_FIELDS.values()])


def ocs_samples(
    twin: TwinPorts, fabric: str, ocs: int, name: str, since_us: int, part: str | None
) -> list[ReadingSample]:
    """How a field of an OCS went over the frames that are kept since a moment: of its worst mirror, camera,
    supply or fan, or of one."""
    field = OCS_FIELDS.get(name)
    if field is None:
        raise InvalidInput(f"field {name}: an OCS does not read it; allowed are {', '.join(OCS_FIELDS)}")
    if part is not None and field.each_column is None:
        raise InvalidInput(f"of {part}: {field.name} is of the chassis as a whole; allowed is none")
    found = []
    for at_us, content in twin.frames(ocs_frames_name(fabric), since_us - 1):
        frame = read_ocs_frame(content)
        if frame is None or ocs >= frame.count:
            continue
        value = frame.batch.column(name if part is None else field.each_column)[ocs].as_py()
        if part is not None:
            value = value[_place(field, part, len(value))]
        found.append(ReadingSample(at_us=at_us, value=rounded_ocs_reading(value)))
    return found


def _place(field: OcsField, part: str, count: int) -> int:
    """Where in a list of all of a field's parts one is: N24 of mirrors, S of cameras, 1 of supplies."""
    labels = _labels(field, count)
    if part not in labels:
        allowed = f"{labels[0]} to {labels[-1]}" if len(labels) > len(SIDES) else " and ".join(labels)
        raise InvalidInput(f"of {part}: no {field.of} of an OCS; allowed are {allowed}")
    return labels.index(part)


def _labels(field: OcsField, count: int) -> Sequence[str]:
    """How people call the parts that a field is of, in the order of a frame."""
    if field.of == "mirror":
        return [f"{side}{port}" for side in SIDES for port in range(count // len(SIDES))]
    return SIDES if field.of == "array" else [str(number) for number in range(count)]


def _worst(field: OcsField, each: Sequence[float | None] | None) -> str | None:
    """Which part reads worst of those that are read; None of the chassis, or where none is."""
    read = [(value, place) for place, value in enumerate(each or ()) if value is not None]
    if not read:
        return None
    fold = min if field.worst == "low" else max
    return _labels(field, len(each or ()))[fold(read, key=lambda row: row[0])[1]]


def _row(name: str, values: dict[str, Any]) -> OcsReadingRow:
    found: dict[str, Any] = {field: rounded_ocs_reading(values[field]) for field in OCS_FIELDS}
    found |= {level: tuple(ocs_fields_of(values[level])) for level in FLAG_COLUMNS}
    found["mirror"] = _worst(OCS_FIELDS["mirror_error_urad"], values["each_mirror_error_urad"])
    found |= {"name": name, "state": values["state"], "at_us": values["at_us"]}
    return OcsReadingRow.model_validate(found)


def _field(field: OcsField, values: dict[str, Any]) -> OcsFieldReading:
    name = field.name
    each = values[field.each_column] if field.each_column is not None else [values[name]]
    read = [value for value in each if value is not None]
    raised = [flag for level, flag in FLAGS.items() if name in ocs_fields_of(values[level])]
    return OcsFieldReading.model_validate(
        {
            "field": name,
            "unit": field.unit,
            "count": len(read),
            "lowest": rounded_ocs_reading(min(read, default=None)),
            "median": rounded_ocs_reading(median(read) if read else None),
            "highest": rounded_ocs_reading(max(read, default=None)),
            "at": _worst(field, each) if field.each_column is not None else None,
            "low_alarm": field.low_alarm,
            "low_warning": field.low_warning,
            "high_warning": field.high_warning,
            "high_alarm": field.high_alarm,
            "flag": raised[0] if raised else "ok" if read else None,
            "at_us": values["at_us"],
        }
    )


def rounded_ocs_reading(value: float | None) -> float | None:
    """A value with the digits that its step has, and no more."""
    return None if value is None or math.isnan(value) else round(value, DIGITS)
