"""Telemetry frames of the OCSes: one row an OCS, with its own readings.

Frames have the interval of a pod's link ends or of a network's trunks.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from schemas.envelope import Envelope
from schemas.messages.failures import ParametersChanged
from services.ocs.chassis import parse_ocs
from services.ocs.mirror_faults import mirror_loss_db
from services.ocs.state import BoolArray, OcsState
from shared.basics.telemetry_frames import arrow_frame, next_frame_due_us
from shared.engine.service import Output
from shared.models.ocs.camera_alignment import AlignmentLoop
from shared.models.ocs.parts import PART, PARTS, part_word
from shared.models.ocs.patched_fibres import SIDES, physical_ports
from shared.models.ocs_technologies import ALIGNED_BY_CAMERA
from shared.models.optics.palomar import manufactured_ocses, mirror_count, squared_deflection
from shared.models.telemetry.ocs_fields import OCS_FIELDS
from shared.models.telemetry.ocs_readings import (
    FANS,
    ChassisState,
    FloatArray,
    OcsReadings,
    ocs_calibration,
    ocs_flags,
    ocs_unread,
    read_ocses,
)

if TYPE_CHECKING:
    import pyarrow as pa

STATES = ("up", "held", "down")
"""States of an OCS, by code."""


def frame(state: OcsState, message: Envelope) -> bytes | None:
    """The telemetry frame that is due at this message's time, or None.

    It is an Arrow IPC stream of one record batch. The columns are:

    - `ocs` (number), `state`, `at_us`
    - `warnings` and `alarms`: raised flags, one bit a field
    - `unread`: fields that it should read and cannot, one bit a field
    - the fields of `shared.models.telemetry.ocs_fields`, each with its worst value
    - next to each such field, all its values; mirrors in order of physical port, North side first

    Values that are not read are null.
    """
    if next_frame_due_us(state.telemetry_interval_s, message.at_us - 1) != message.at_us:
        return None
    import pyarrow as pa  # noqa: PLC0415 -- as in shared/basics/telemetry_frames.py

    chassis = chassis_of(state, message.at_us)
    readings = _read(state, chassis, message.at_us)
    warnings, alarms = ocs_flags(readings)
    codes = np.where(state.chassis_faults > 0, 2, np.where(state.held, 1, 0)).astype(np.int8)
    columns = {
        "ocs": pa.array(np.arange(state.ocs_count, dtype=np.int32)),
        "state": pa.DictionaryArray.from_arrays(pa.array(codes), list(STATES)),
        "at_us": pa.array(np.full(state.ocs_count, message.at_us)),
        "warnings": pa.array(warnings),
        "alarms": pa.array(alarms),
        "unread": pa.array(ocs_unread(readings, chassis)),
    }
    return arrow_frame(columns | _fields(readings), state.fabric, message.at_us)


def on_parameters_changed(state: OcsState, body: ParametersChanged, _message: Envelope) -> list[Output]:
    """Apply a change of the telemetry interval."""
    changed = body.of("transceivers") | body.of("traffic")
    interval_s = changed.get("telemetry_interval_s")
    if isinstance(interval_s, int):
        state.telemetry_interval_s = interval_s
    return []


def _fields(readings: OcsReadings) -> "dict[str, pa.Array]":
    """The columns of all fields."""
    import pyarrow as pa  # noqa: PLC0415 -- as in shared/basics/telemetry_frames.py

    def floats(values: FloatArray) -> Any:
        return pa.array(values.astype(np.float32), mask=np.isnan(values))

    columns: dict[str, pa.Array] = {}
    for name, field in OCS_FIELDS.items():
        columns[name] = floats(readings.worst(name))
        if field.each_column is not None:
            each = readings.each(name)
            columns[field.each_column] = pa.FixedSizeListArray.from_arrays(
                floats(each.ravel()), each.shape[1]
            )
    return columns


def _read(state: OcsState, chassis: ChassisState, at_us: int) -> OcsReadings:
    made = ocs_calibration(state.seed, state.fabric, state.ocs_count, state.radix)
    return read_ocses(state.seed, state.fabric, made, chassis, at_us)


def chassis_of(state: OcsState, at_us: int) -> ChassisState:
    """The physical state of all OCSes at a time."""
    whole = _working_parts(state, "ocs")[:, 0] & (state.housing_faults == 0)
    supplies, fans = _working_parts(state, "supply"), _working_parts(state, "fan")
    powered = whole & supplies.any(axis=1) & (FANS - fans.sum(axis=1) <= PART["fan"].spare)
    by_camera = state.technology in ALIGNED_BY_CAMERA
    reached = state.control_faults == 0
    restarting = np.isin(np.arange(state.ocs_count), list(state.restarts))
    return ChassisState(
        deflection=_deflection(state),
        loss_db=mirror_loss_db(state, at_us),
        cameras=_working_parts(state, "camera"),
        beams=_working_parts(state, "injector"),
        supplies=supplies,
        fans=fans,
        watts=_watts(state),
        answers=powered & reached & _working_parts(state, "cpu")[:, 0] & ~restarting,
        run=_working_parts(state, "fpga")[:, 0],
        loop=AlignmentLoop(camera_noise_urad=state.config.camera_noise_urad) if by_camera else None,
    )


def _deflection(state: OcsState) -> FloatArray:
    """The deflection of the mirrors of made circuits as a share of the largest angle; NaN for other mirrors.

    Both mirrors of a circuit turn by the same angle.
    """
    deflection = np.full((state.ocs_count, len(SIDES), state.radix), np.nan)
    ocs, norths = np.nonzero(state.made)
    if not len(ocs):
        return deflection
    souths = state.wanted[ocs, norths].astype(np.int64)
    north_at = physical_ports(state.patched, 0, ocs, norths.astype(np.int64))
    south_at = physical_ports(state.patched, 1, ocs, souths)
    made = manufactured_ocses(state.seed, state.fabric, state.radix, state.ocs_count, state.technology)
    squares = squared_deflection(mirror_count(state.radix))
    angle = np.sqrt(squares[made.north_mirror[ocs, north_at], made.south_mirror[ocs, south_at]])
    deflection[ocs, 0, north_at] = deflection[ocs, 1, south_at] = angle
    return deflection


def _working_parts(state: OcsState, word: str) -> BoolArray:
    """Which parts of a kind work, of shape (OCSes, parts of the kind in each)."""
    working = np.ones((state.ocs_count, PART[word].count), dtype=np.bool_)
    for name in state.broken:
        if part_word(name) == word:
            label = name.rpartition("-")[2]
            place = 0 if PART[word].count == 1 else SIDES.index(label) if label in SIDES else int(label)
            working[parse_ocs(name), place] = False
    return working


def _watts(state: OcsState) -> FloatArray:
    """Power in W that all parts except the supplies draw, of shape (OCSes,); broken parts draw none."""
    drawing = [part for part in PARTS if part.word != "supply"]
    watts = np.full(state.ocs_count, sum(part.count * part.watts for part in drawing))
    for name in state.broken:
        part = PART.get(part_word(name))
        if part in drawing:
            watts[parse_ocs(name)] -= part.watts
    return watts
