"""Readings of OCSes from telemetry frames: rows of the newest frame, one OCS field by field, and the samples
of a field over the stored frames."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from schemas.api.sensor_readings import OcsFieldReading, OcsReadingRow, ReadingSample
from services.gateway.fabrics import fabric_plant
from services.gateway.runtime_ports import TwinPorts
from services.gateway.telemetry.frames import FrameRow, open_frame
from shared.basics.errors import InvalidInput
from shared.models.ocs.patched_fibres import SIDES
from shared.models.telemetry.ocs_fields import OCS_FIELDS, OcsField, ocs_fields_of

OCS_FRAMES = "ocs"
"""Frames of a fabric's OCSes are stored under the fabric's name and this word."""
FLAG_COLUMNS = ("warnings", "alarms", "unread")
"""Columns with one bit per field: beyond a threshold, or not read although it should be."""
OCS_ROW_COLUMNS = ("state", "at_us", *FLAG_COLUMNS, *OCS_FIELDS)
FLAGS = {"alarms": "alarm", "unread": "unread", "warnings": "warning"}
"""Flag of a field by column, most severe first."""
DIGITS = 3


@dataclass(frozen=True, slots=True)
class OcsFrame:
    """A telemetry frame of a fabric's OCSes, one row per OCS in order of number."""

    at_us: int
    """Its simulated time."""
    batch: Any
    """Its Arrow record batch."""

    @property
    def count(self) -> int:
        rows: int = self.batch.num_rows
        return rows


def ocs_frames_name(fabric: str) -> str:
    """The name under which the frames of a fabric's OCSes are stored."""
    return f"{fabric}/{OCS_FRAMES}"


def read_ocs_frame(frame: bytes) -> OcsFrame | None:
    """Decode a frame; None if it is incomplete, or not a frame of OCSes that this version knows."""
    lists = [field.each_column for field in OCS_FIELDS.values() if field.each_column is not None]
    opened = open_frame(frame, "ocs", OCS_FIELDS, lists, "unread")
    return None if opened is None else OcsFrame(*opened)


def newest_ocs_frame(twin: TwinPorts, fabric: str) -> OcsFrame | None:
    """The newest frame of a fabric's OCSes; None if there is none, or the fabric has no OCSes."""
    if not fabric_plant(twin, fabric).population("ocs"):
        return None
    frame = twin.telemetry(ocs_frames_name(fabric))
    return None if frame is None else read_ocs_frame(frame)


def ocs_reading_rows(twin: TwinPorts, fabric: str) -> list[OcsReadingRow]:
    """The readings of all OCSes in the newest frame; empty before the first one."""
    frame = newest_ocs_frame(twin, fabric)
    if frame is None:
        return []
    columns = {
        name: frame.batch.column(name).to_pylist() for name in (*OCS_ROW_COLUMNS, "each_mirror_error_urad")
    }
    return [
        _row(f"{fabric}/ocs-{ocs}", FrameRow({name: column[ocs] for name, column in columns.items()}))
        for ocs in range(frame.count)
    ]


def ocs_field_readings(twin: TwinPorts, fabric: str, ocs: int) -> tuple[OcsFieldReading, ...]:
    """All fields of an OCS in the newest frame; empty before the first one."""
    frame = newest_ocs_frame(twin, fabric)
    if frame is None or ocs >= frame.count:
        return ()
    values = FrameRow({name: frame.batch.column(name)[ocs].as_py() for name in frame.batch.schema.names})
    return tuple([_field(field, values) for field in OCS_FIELDS.values()])


def ocs_samples(
    twin: TwinPorts, fabric: str, ocs: int, name: str, since_us: int, part: str | None
) -> list[ReadingSample]:
    """The samples of a field of an OCS since a time: of its worst mirror, camera, supply or fan, or of one of
    them."""
    field = OCS_FIELDS.get(name)
    if field is None:
        raise InvalidInput(f"field {name}: not a field of an OCS; must be one of {', '.join(OCS_FIELDS)}")
    if part is not None and field.each_column is None:
        raise InvalidInput(f"of {part}: must be omitted, because {field.name} belongs to the whole chassis")
    samples = []
    for at_us, content in twin.frames(ocs_frames_name(fabric), since_us - 1):
        frame = read_ocs_frame(content)
        if frame is None or ocs >= frame.count:
            continue
        value = frame.batch.column(name if part is None else field.each_column)[ocs].as_py()
        if part is not None:
            value = value[_part_index(field, part, len(value))]
        samples.append(ReadingSample(at_us=at_us, value=rounded_ocs_reading(value)))
    return samples


def _part_index(field: OcsField, part: str, count: int) -> int:
    """The index of a part in the list of a field's parts: N24 for mirrors, S for cameras, 1 for supplies."""
    labels = _labels(field, count)
    if part not in labels:
        allowed = _labels_text(field, labels)
        raise InvalidInput(f"of {part}: no such {field.of} of an OCS; must be {allowed}")
    return labels.index(part)


def _labels_text(field: OcsField, labels: Sequence[str]) -> str:
    """The labels in a sentence: N0 to N135 or S0 to S135; N or S; 0 to 3."""
    if field.of == "mirror":
        last = len(labels) // len(SIDES) - 1
        return " or ".join(f"{side}0 to {side}{last}" for side in SIDES)
    return f"{labels[0]} to {labels[-1]}" if len(labels) > len(SIDES) else " or ".join(labels)


def _labels(field: OcsField, count: int) -> Sequence[str]:
    """The labels of a field's parts, in the order of a frame."""
    if field.of == "mirror":
        return [f"{side}{port}" for side in SIDES for port in range(count // len(SIDES))]
    return SIDES if field.of == "array" else [str(number) for number in range(count)]


def _worst(field: OcsField, each: Sequence[float | None] | None) -> str | None:
    """The part with the worst reading; None for the chassis, or if nothing was read."""
    read = [(value, place) for place, value in enumerate(each or ()) if value is not None]
    if not read:
        return None
    fold = min if field.worst == "low" else max
    return _labels(field, len(each or ()))[fold(read, key=lambda row: row[0])[1]]


def _row(name: str, row: FrameRow) -> OcsReadingRow:
    return OcsReadingRow.model_validate(
        {
            **{field: rounded_ocs_reading(row.number(field)) for field in OCS_FIELDS},
            **{level: tuple(ocs_fields_of(row.integer(level))) for level in FLAG_COLUMNS},
            "mirror": _worst(OCS_FIELDS["mirror_error_urad"], row.numbers("each_mirror_error_urad")),
            "name": name,
            "state": row.text("state"),
            "at_us": row.integer("at_us"),
        }
    )


def _field(field: OcsField, row: FrameRow) -> OcsFieldReading:
    name = field.name
    each = row.numbers(field.each_column) if field.each_column is not None else [row.number(name)]
    read = [value for value in each if value is not None]
    raised = [flag for level, flag in FLAGS.items() if name in ocs_fields_of(row.integer(level))]
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
            "at_us": row.integer("at_us"),
        }
    )


def rounded_ocs_reading(value: float | None) -> float | None:
    """A value rounded to the digits of its step."""
    return None if value is None or math.isnan(value) else round(value, DIGITS)
