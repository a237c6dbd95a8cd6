"""Telemetry frames: one row for every connected link end, at a fixed interval of simulated time.

They contain what the modules read, which is close to the true values but not equal.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from schemas.envelope import Envelope
from services.transceivers.link_optics import masks_of, path_loss_db, strands_between
from services.transceivers.modules import bias_ageing, expected_bias_ageing, modules_of
from services.transceivers.sensor_history import state_at
from services.transceivers.state import LINK_STATES, TransceiversState
from shared.basics.telemetry_frames import arrow_frame
from shared.models.assumptions import assumed
from shared.models.optics.impairments import ImpairedEnds, Impairment
from shared.models.optics.lane_light import known_light
from shared.models.optics.link_design import design_of
from shared.models.optics.module_kinds import LANES_PER_LINK
from shared.models.plant.plant_format import NO_END
from shared.models.superpod.wiring import STRANDS, IntArray
from shared.models.telemetry.installed_modules import with_rows
from shared.models.telemetry.module_fields import MODULE_FIELDS
from shared.models.telemetry.module_readings import (
    FloatArray,
    ModuleCalibration,
    PhysicalLight,
    Readings,
    Sensors,
    module_flags,
    read_modules,
)
from shared.models.telemetry.registers import DARK_DBM
from shared.models.telemetry.temperature import module_temperature_c

if TYPE_CHECKING:
    import pyarrow as pa


def frame(state: TransceiversState, message: Envelope) -> bytes:
    """An Arrow IPC stream of one record batch. The columns are:

    - `end` (number), `state`
    - `loss_db` of the worse strand; null without circuits on both strands
    - `at_us`, when the module was read
    - `warnings` and `alarms`: raised flags, one bit a field
    - the fields of `shared.models.telemetry.module_fields`, each with the value of its worst lane
    - next to each lane field, the values of all 8 lanes

    Values that a module cannot measure are null: all if it is dead, and error counts if a lane has no light.
    """
    import pyarrow as pa  # noqa: PLC0415 -- as in shared/basics/telemetry_frames.py

    ends = np.flatnonzero(state.peer != NO_END)
    readings = readings_of(state, ends, message.at_us)
    loss_db = path_loss_db(state, ends)
    warnings, alarms = module_flags(readings)
    states = pa.DictionaryArray.from_arrays(pa.array(state.code[ends].astype(np.int8)), list(LINK_STATES))
    columns = {
        "end": pa.array(ends.astype(np.int32)),
        "state": states,
        "loss_db": pa.array(loss_db, mask=~_lit_strands(state, ends).all(axis=1)),
        "at_us": pa.array(readings.at_us),
        "warnings": pa.array(warnings),
        "alarms": pa.array(alarms),
    }
    return arrow_frame(columns | _fields(readings), state.fabric, message.at_us)


def _fields(readings: Readings) -> "dict[str, pa.Array]":
    import pyarrow as pa  # noqa: PLC0415 -- as in shared/basics/telemetry_frames.py

    def floats(values: FloatArray) -> Any:
        return pa.array(values.astype(np.float32), mask=np.isnan(values))

    columns: dict[str, pa.Array] = {}
    for name, field in MODULE_FIELDS.items():
        columns[name] = floats(readings.worst(name))
        if field.lanes_column is not None:
            lanes = floats(readings.field(name).ravel())
            columns[field.lanes_column] = pa.FixedSizeListArray.from_arrays(lanes, LANES_PER_LINK)
    return columns


def readings_of(state: TransceiversState, ends: IntArray, at_us: int) -> Readings:
    """The readings of the modules at connected ends at a time."""
    return readings_for_light(state, ends, light_of(state, ends, at_us), at_us)


def readings_for_light(
    state: TransceiversState, ends: IntArray, light: PhysicalLight, at_us: int | IntArray
) -> Readings:
    """The readings of this light at a time, or each at its own time."""
    seed, fabric = state.seed, state.fabric
    made = modules_of(state).calibration
    gbps = design_of(state.config).rate.gbps
    sensors = sensors_of(state, ends)
    if sensors is not None and state.light_history:
        light, made = _as_sensors_report(state, ends, light, sensors.seen_us(at_us))
    return read_modules(seed, fabric, made, ends, light, at_us, gbps, sensors)


def _as_sensors_report(
    state: TransceiversState, ends: IntArray, light: PhysicalLight, seen_us: IntArray
) -> tuple[PhysicalLight, ModuleCalibration]:
    """The light that stuck and late sensors report, and the calibrations of the modules that measured it.

    The calibration differs if the module was replaced since. A module that is dead now reports nothing.
    """
    seen = PhysicalLight(*(getattr(light, name).copy() for name in PhysicalLight.__slots__))
    made = modules_of(state).calibration
    for place, end in enumerate(ends.tolist()):
        past = state_at(state, end, int(seen_us[place]))
        if past is None or state.failed[end]:
            continue
        only = np.array([end])
        is_linked = bool(past.peer[end] != NO_END)
        was = light_of(past, only, int(seen_us[place]), is_linked=is_linked)
        for name in PhysicalLight.__slots__:
            getattr(seen, name)[place] = getattr(was, name)[0]
        if past.replaced.get(end) != state.replaced.get(end):
            then = modules_of(past).calibration
            rows = ModuleCalibration(*(getattr(then, name)[only] for name in ModuleCalibration.__slots__))
            made = with_rows(made, only, rows)
    return seen, made


def sensors_of(state: TransceiversState, ends: IntArray) -> Sensors | None:
    """The faulty sensors of these ends; None if all are sound."""
    misreading = masks_of(state).misreading
    if not misreading:
        return None
    broken = [(at, misreading[end]) for at, end in enumerate(ends.tolist()) if end in misreading]
    if not broken:
        return None
    sensors = Sensors.sound(len(ends))
    for at, wrong in broken:
        sensors.rx_offset_db[at], sensors.lying[at] = wrong.reading_offset_db, wrong.lying
        sensors.stuck_at_us[at], sensors.late_us[at] = wrong.stuck_us, wrong.late_us
    return sensors


def light_of(
    state: TransceiversState,
    ends: IntArray,
    at_us: int,
    wrong: Mapping[int, Impairment] | None = None,
    *,
    is_linked: bool = True,
) -> PhysicalLight:
    """The physical light at these ends, which are all connected or all unconnected.

    A dead module measures nothing. An end sees no light on a strand that is not made or whose far end is
    dead. If `wrong` is given, it replaces the actual impairments: every strand counts as made, and lasers
    have the expected ageing.
    """
    if not is_linked:
        return _unlinked_light_of(state, ends, at_us, state.impaired if wrong is None else wrong)
    design = design_of(state.config)
    strands, lanes = strands_between(state, ends, wrong)
    is_actual = wrong is None or wrong is state.impaired
    known = known_light(state.seed, state.fabric, state.cubes, design, "truth" if is_actual else "expected")
    light = known.of(ends, strands, lanes)
    shape = (len(ends), LANES_PER_LINK)
    dead, silent = state.failed[ends], state.failed[state.peer[ends]]
    if not is_actual:
        dead, silent = np.zeros_like(dead), np.zeros_like(silent)
    made = (_lit_strands(state, ends) & ~silent[:, None]) | (not is_actual)
    dark = np.repeat(~made, LANES_PER_LINK // STRANDS, axis=1)
    faint = dark | (light.received_dbm < DARK_DBM)  # like a laser that is off: too little light to lock on
    unread = np.where(faint | dead[:, None], np.nan, 0.0)
    nothing = np.where(dead, np.nan, 0.0)
    received_dbm = np.where(dark, -np.inf, light.received_dbm) + nothing[:, None]
    linked = (state.lit[ends] > 0) & ~state.failed[state.peer[ends]]
    impaired = ImpairedEnds(state.impaired if wrong is None else wrong, ends)
    age = bias_ageing if is_actual else expected_bias_ageing
    temperature_k = (
        module_temperature_c(state.seed, state.fabric, ends, at_us, linked)
        + impaired.excess_temperature_k[:, 0]
    )
    return PhysicalLight(
        design.launched_dbm + lanes.near_launch_db.reshape(shape) + nothing[:, None],
        received_dbm,
        light.snr_db + unread,
        light.log10_raw_ber + unread,
        light.log10_ber + unread,
        light.interference_db + unread,
        age(state, ends, at_us) + assumed("laser_wear_bias") * impaired.worn,
        temperature_k + nothing,
    )


def _unlinked_light_of(
    state: TransceiversState, ends: IntArray, at_us: int, wrong: Mapping[int, Impairment]
) -> PhysicalLight:
    """The light of unconnected ends: lasers are on, and nothing is received.

    Manufacturing differences of the launch power are left out, because nothing compares them.
    """
    shape = (len(ends), LANES_PER_LINK)
    impaired = ImpairedEnds(wrong, ends)
    age = bias_ageing if wrong is state.impaired else expected_bias_ageing
    nothing = np.where(state.failed[ends], np.nan, 0.0) if wrong is state.impaired else np.zeros(len(ends))
    launch_loss_db = np.repeat(impaired.launch_loss_db, LANES_PER_LINK // STRANDS, axis=1)
    unlinked = np.zeros(len(ends), dtype=np.bool_)
    temperature_k = (
        module_temperature_c(state.seed, state.fabric, ends, at_us, unlinked)
        + impaired.excess_temperature_k[:, 0]
    )
    unread = np.full(shape, np.nan)
    return PhysicalLight(
        design_of(state.config).launched_dbm - launch_loss_db + nothing[:, None],
        np.full(shape, -np.inf) + nothing[:, None],
        *(unread, unread, unread, unread),
        age(state, ends, at_us) + assumed("laser_wear_bias") * impaired.worn,
        temperature_k + nothing,
    )


def _lit_strands(state: TransceiversState, ends: IntArray) -> npt.NDArray[np.bool_]:
    """Which strands of each end are made, of shape (n, strands)."""
    bits = state.lit[ends][:, None] >> np.arange(STRANDS, dtype=np.uint8)
    return (bits & 1).astype(np.bool_)
