"""Telemetry frames: one row for every connected link end, at a fixed cadence of simulated time. They hold
what the modules say of themselves, which is near the truth and not the truth."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from schemas.envelope import Envelope
from services.transceivers.link_optics import path_loss_db, strands_between
from services.transceivers.modules import bias_ageing, expected_bias_ageing, modules_of
from services.transceivers.sensor_history import state_at
from services.transceivers.state import LINK_STATES, NO_END, TransceiversState
from shared.basics.telemetry_frames import arrow_frame
from shared.models.assumptions import assumed
from shared.models.optics.impairments import ImpairedEnds, Impairment
from shared.models.optics.lane_light import known_light
from shared.models.optics.link_design import design_of
from shared.models.optics.module_kinds import LANES_PER_LINK
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


def frame(state: TransceiversState, message: Envelope) -> bytes:
    """An Arrow IPC stream of one record batch: `end` (number), `state`, `loss_db` of the worse strand, null
    without circuits on both; `at_us`, when the module was read; `warnings` and `alarms`, the flags that it
    raises, a bit a field; then the fields of `shared.models.telemetry.module_fields`, each that of the worst
    lane,
    and beside it that of all 8. What a module cannot measure is null: all where it is dead, errors and what
    tells of them where a lane has no light."""
    import pyarrow as pa  # noqa: PLC0415 -- as in shared/basics/frames.py

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


def _fields(readings: Readings) -> dict[str, Any]:
    """The columns of all fields."""
    import pyarrow as pa  # noqa: PLC0415 -- as in shared/basics/frames.py

    def floats(values: FloatArray) -> Any:
        return pa.array(values.astype(np.float32), mask=np.isnan(values))

    columns: dict[str, Any] = {}
    for name, field in MODULE_FIELDS.items():
        columns[name] = floats(readings.worst(name))
        if field.lanes_column is not None:
            lanes = floats(readings.field(name).ravel())
            columns[field.lanes_column] = pa.FixedSizeListArray.from_arrays(lanes, LANES_PER_LINK)
    return columns


def readings_of(state: TransceiversState, ends: IntArray, at_us: int) -> Readings:
    """What the modules at these connected ends say at a moment."""
    return readings_for_light(state, ends, light_of(state, ends, at_us), at_us)


def readings_for_light(
    state: TransceiversState, ends: IntArray, light: PhysicalLight, at_us: int | IntArray
) -> Readings:
    """What the modules at these ends say of this light at a moment, or each at one of its own."""
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
    """The light that stuck and late sensors tell of, and how the modules that told were calibrated: where one
    was replaced since, that is another. A module that is dead now says nothing of any."""
    found = PhysicalLight(*(getattr(light, name).copy() for name in PhysicalLight.__slots__))
    made = modules_of(state).calibration
    for place, end in enumerate(ends.tolist()):
        past = state_at(state, end, int(seen_us[place]))
        if past is None or state.failed[end]:
            continue
        one = np.array([end])
        is_linked = bool(past.peer[end] != NO_END)
        was = light_of(past, one, int(seen_us[place]), is_linked=is_linked)
        for name in PhysicalLight.__slots__:
            getattr(found, name)[place] = getattr(was, name)[0]
        if past.replaced.get(end) != state.replaced.get(end):
            then = modules_of(past).calibration
            rows = ModuleCalibration(*(getattr(then, name)[one] for name in ModuleCalibration.__slots__))
            made = with_rows(made, one, rows)
    return found, made


def sensors_of(state: TransceiversState, ends: IntArray) -> Sensors | None:
    """How the sensors of these ends are; None where all are sound."""
    broken = [(at, state.impaired[end]) for at, end in enumerate(ends.tolist()) if end in state.impaired]
    if not any(wrong.misreads for _, wrong in broken):
        return None
    found = Sensors.sound(len(ends))
    for at, wrong in broken:
        found.rx_offset_db[at], found.lying[at] = wrong.reading_offset_db, wrong.lying
        found.stuck_at_us[at], found.late_us[at] = wrong.stuck_us, wrong.late_us
    return found


def light_of(
    state: TransceiversState,
    ends: IntArray,
    at_us: int,
    wrong: Mapping[int, Impairment] | None = None,
    *,
    is_linked: bool = True,
) -> PhysicalLight:
    """What physically is at these ends, all of them connected or none. A dead module measures nothing; one
    whose far end is dead, or that a strand does not join to it, sees no light there. With `wrong` that takes
    the place of what is wrong in truth, every strand is taken as made, and lasers as aged as is usual."""
    if not is_linked:
        return _unlinked_light_of(state, ends, at_us, state.impaired if wrong is None else wrong)
    design = design_of(state.config)
    strands, lanes = strands_between(state, ends, wrong)
    as_it_is = wrong is None or wrong is state.impaired
    known = known_light(state.seed, state.fabric, state.cubes, design, "truth" if as_it_is else "expected")
    found = known.of(ends, strands, lanes)
    shape = (len(ends), LANES_PER_LINK)
    dead, silent = state.failed[ends], state.failed[state.peer[ends]]
    if not as_it_is:
        dead, silent = np.zeros_like(dead), np.zeros_like(silent)
    made = (_lit_strands(state, ends) & ~silent[:, None]) | (not as_it_is)
    dark = np.repeat(~made, LANES_PER_LINK // STRANDS, axis=1)
    faint = dark | (found.received_dbm < DARK_DBM)  # as of a laser that is off: too little to lock on
    unread = np.where(faint | dead[:, None], np.nan, 0.0)
    nothing = np.where(dead, np.nan, 0.0)
    received_dbm = np.where(dark, -np.inf, found.received_dbm) + nothing[:, None]
    linked = (state.lit[ends] > 0) & ~state.failed[state.peer[ends]]
    amiss = ImpairedEnds(state.impaired if wrong is None else wrong, ends)
    age = bias_ageing if as_it_is else expected_bias_ageing
    warmth = (
        module_temperature_c(state.seed, state.fabric, ends, at_us, linked) + amiss.excess_temperature_k[:, 0]
    )
    return PhysicalLight(
        design.launched_dbm + lanes.near_launch_db.reshape(shape) + nothing[:, None],
        received_dbm,
        found.snr_db + unread,
        found.log10_raw_ber + unread,
        found.log10_ber + unread,
        found.interference_db + unread,
        age(state, ends, at_us) + assumed("laser_wear_bias") * amiss.worn,
        warmth + nothing,
    )


def _unlinked_light_of(
    state: TransceiversState, ends: IntArray, at_us: int, wrong: Mapping[int, Impairment]
) -> PhysicalLight:
    """Of ends without a link: lasers are on, and nothing comes in. How much more or less than the design a
    laser was made to launch is left out: nobody compares that with another's."""
    shape = (len(ends), LANES_PER_LINK)
    amiss = ImpairedEnds(wrong, ends)
    age = bias_ageing if wrong is state.impaired else expected_bias_ageing
    nothing = np.where(state.failed[ends], np.nan, 0.0) if wrong is state.impaired else np.zeros(len(ends))
    launch_loss_db = np.repeat(amiss.launch_loss_db, LANES_PER_LINK // STRANDS, axis=1)
    unlinked = np.zeros(len(ends), dtype=np.bool_)
    warmth = (
        module_temperature_c(state.seed, state.fabric, ends, at_us, unlinked)
        + amiss.excess_temperature_k[:, 0]
    )
    unread = np.full(shape, np.nan)
    return PhysicalLight(
        design_of(state.config).launched_dbm - launch_loss_db + nothing[:, None],
        np.full(shape, -np.inf) + nothing[:, None],
        *(unread, unread, unread, unread),
        age(state, ends, at_us) + assumed("laser_wear_bias") * amiss.worn,
        warmth + nothing,
    )


def _lit_strands(state: TransceiversState, ends: IntArray) -> npt.NDArray[np.bool_]:
    """Which strands of each end are made, of shape (n, strands)."""
    bits = state.lit[ends][:, None] >> np.arange(STRANDS, dtype=np.uint8)
    return (bits & 1).astype(np.bool_)
