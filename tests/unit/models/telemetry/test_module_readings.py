"""Readings of modules against the true values: within calibration and noise, and with broken sensors."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from shared.basics.units import US_PER_HOUR, US_PER_S
from shared.models.assumptions import assumed
from shared.models.telemetry.module_fields import MODULE_FIELD_BIT, MODULE_FIELDS, module_fields_of
from shared.models.telemetry.module_readings import (
    PhysicalLight,
    Readings,
    Sensors,
    module_calibration,
    module_flags,
    read_modules,
)
from shared.models.telemetry.registers import DARK_DBM

ENDS = np.arange(96 * 8)
COUNT = len(ENDS)
GBPS = 50.0
AT_US = 900 * US_PER_S


def light(**changed: float) -> PhysicalLight:
    usual = {
        "launched_dbm": 0.4,
        "received_dbm": -6.0,
        "snr_db": 21.5,
        "log10_raw_ber": -5.5,
        "log10_ber": -6.0,
        "interference_db": -39.0,
        "wear": 0.0,
    } | changed
    temperature = usual.pop("temperature_c", 50.0)
    lanes = {name: np.full((COUNT, 8), value) for name, value in usual.items()}
    return PhysicalLight(**lanes, temperature_c=np.full(COUNT, temperature))


def readings(
    at: PhysicalLight, at_us: int = AT_US, sensors: Sensors | None = None, seed: int = 7
) -> Readings:
    made = module_calibration(seed, "pod-0", COUNT)
    return read_modules(seed, "pod-0", made, ENDS, at, at_us, GBPS, sensors)


def with_field(said: Readings, name: str, values: Any) -> Readings:
    return dataclasses.replace(said, **{name: values})


def same(one: Readings, other: Readings) -> bool:
    return all(np.array_equal(one.field(name), other.field(name), equal_nan=True) for name in MODULE_FIELDS)


# --- sound modules ------------------------------------------------------------------------------------------


def test_a_reading_is_a_function_of_seed_end_and_time() -> None:
    first = readings(light())
    assert same(first, readings(light()))
    assert not same(first, readings(light(), AT_US + 1))
    assert not same(first, readings(light(), seed=8))
    alone = read_modules(
        7, "pod-0", module_calibration(7, "pod-0", COUNT), ENDS[5:6], _rows(light(), [5]), AT_US, GBPS
    )
    for name in MODULE_FIELDS:
        assert alone.field(name)[0].tolist() == first.field(name)[5].tolist(), "no other end decides"


def _rows(whole: PhysicalLight, rows: list[int]) -> PhysicalLight:
    return PhysicalLight(*(getattr(whole, field.name)[rows] for field in dataclasses.fields(whole)))


@pytest.mark.parametrize(
    ("name", "true", "sigma"),
    [("rx_power_dbm", -6.0, "reading_rx_power_sigma_db"), ("tx_power_dbm", 0.4, "reading_tx_power_sigma_db")],
)
def test_power_is_off_by_a_calibration_that_stays_and_a_noise_that_does_not(
    name: str, true: float, sigma: str
) -> None:
    frames = np.array([readings(light(), AT_US * n).field(name) for n in range(1, 41)])
    off = frames.mean(axis=0) - true
    assert off.std() == pytest.approx(assumed(sigma), rel=0.05)
    assert abs(off).max() < 3.0, "what CMIS allows"
    assert frames.std(axis=0).mean() == pytest.approx(assumed("reading_power_noise_db"), rel=0.1)


def test_many_errors_are_counted_nearly_exactly_and_one_in_years_not_at_all() -> None:
    said = readings(light(log10_ber=-6.0, log10_raw_ber=-15.0))
    window_bits = assumed("reading_window_s") * GBPS * 1e9
    scatter = (said.ber * window_bits - 1e-6 * window_bits) / np.sqrt(1e-6 * window_bits)
    assert abs(said.ber / 1e-6 - 1.0).max() < 0.03
    assert scatter.std() == pytest.approx(1.0, abs=0.05)
    assert (said.raw_ber > 0).mean() < 1e-3


def test_bias_shows_of_wear_and_of_warmth() -> None:
    new, worn, warm = (readings(light(**at)) for at in ({}, {"wear": 0.4}, {"temperature_c": 60.0}))
    assert (worn.bias_ma / new.bias_ma).mean() == pytest.approx(1.4, rel=1e-3)
    assert (warm.bias_ma / new.bias_ma).mean() == pytest.approx(
        1 + 10 * assumed("laser_bias_per_k"), rel=1e-3
    )


def test_a_dead_module_reads_nothing_and_one_without_light_reads_dark() -> None:
    nan, dark = np.nan, -np.inf
    unmeasured = {"snr_db": nan, "log10_raw_ber": nan, "log10_ber": nan, "interference_db": nan}
    dead = readings(light(launched_dbm=nan, received_dbm=nan, temperature_c=nan, wear=nan, **unmeasured))
    assert all(np.isnan(dead.field(name)).all() for name in MODULE_FIELDS)
    assert module_flags(dead)[0].tolist() == [0] * COUNT
    blind = readings(light(received_dbm=dark, **unmeasured))
    assert set(blind.rx_power_dbm.ravel().tolist()) == {DARK_DBM}
    assert np.isnan(blind.ber).all()
    assert not np.isnan(blind.bias_ma).any()
    assert [module_fields_of(one) for one in set(module_flags(blind)[1].tolist())] == [["rx_power_dbm"]]


def test_mpi_is_reported_down_to_a_floor() -> None:
    said = readings(light(interference_db=-np.inf)).mpi_db
    assert set(said.ravel().tolist()) == {assumed("reading_mpi_floor_db")}


def test_the_worst_lane_represents_all() -> None:
    said = readings(light())
    for name, field in MODULE_FIELDS.items():
        values = said.field(name)
        if field.by_lane:
            expected = values.min(axis=1) if field.worst == "low" else values.max(axis=1)
            assert said.worst(name).tolist() == expected.tolist()


# --- flags --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODULE_FIELDS)
def test_flags_are_raised_beyond_thresholds_and_not_before(name: str) -> None:
    field = MODULE_FIELDS[name]
    said = readings(light())
    for bounds, place in ((field.warnings, 0), (field.alarms, 1)):
        for bound, outwards in zip(bounds, (-1, 1), strict=True):
            if bound is None:
                continue
            beyond = said.field(name).copy()
            beyond[3] = bound + outwards * 1e-3 * (abs(bound) or 1.0)
            changed = with_field(said, name, beyond)
            raised = module_flags(changed)[place]
            assert raised[3] == MODULE_FIELD_BIT[name]
            assert np.flatnonzero(raised).tolist() == [3]
            beyond[3] = bound
            assert not module_flags(with_field(said, name, beyond))[place].any()


def test_normal_readings_raise_no_flag_and_thresholds_are_ordered() -> None:
    for field in MODULE_FIELDS.values():
        bounds = [
            *(bound for bound in (field.low_alarm, field.low_warning) if bound is not None),
            *field.usual,
            *(bound for bound in (field.high_warning, field.high_alarm) if bound is not None),
        ]
        assert bounds == sorted(bounds), field.name


# --- broken sensors -----------------------------------------------------------------------------------------


def broken(**changed: Any) -> Sensors:
    return dataclasses.replace(Sensors.sound(COUNT), **changed)


def test_a_wrong_calibration_changes_only_the_received_power() -> None:
    sound = readings(light())
    assert same(sound, readings(light(), sensors=Sensors.sound(COUNT)))
    off = readings(light(), sensors=broken(rx_offset_db=np.where(ENDS == 4, -2.5, 0.0)))
    moved = off.rx_power_dbm - sound.rx_power_dbm
    assert moved[4] == pytest.approx(np.full(8, -2.5), abs=0.01)
    assert not np.delete(moved, 4, axis=0).any()
    assert same(dataclasses.replace(off, rx_power_dbm=sound.rx_power_dbm), sound)


def test_a_stuck_sensor_repeats_its_reading() -> None:
    then_us = 7 * US_PER_HOUR
    stuck = broken(stuck_at_us=np.where(ENDS % 2 == 0, then_us, -1))
    for at_us in (8 * US_PER_HOUR, 9 * US_PER_HOUR):
        said, then, now = (
            readings(light(), at_us, stuck),
            readings(light(), then_us),
            readings(light(), at_us),
        )
        assert said.rx_power_dbm[::2].tolist() == then.rx_power_dbm[::2].tolist()
        assert said.rx_power_dbm[1::2].tolist() == now.rx_power_dbm[1::2].tolist()
        assert set(said.at_us[::2].tolist()) == {then_us}


def test_a_late_sensor_shows_earlier_readings_with_their_time() -> None:
    late = broken(late_us=np.where(ENDS == 9, US_PER_HOUR, 0))
    at_us = 8 * US_PER_HOUR
    said, before = readings(light(), at_us, late), readings(light(), at_us - US_PER_HOUR)
    assert said.at_us[9] == at_us - US_PER_HOUR
    assert said.snr_db[9].tolist() == before.snr_db[9].tolist()
    assert readings(light(), 0, late).at_us[9] == 0, "there is no time before the first"


def test_a_lying_sensor_shows_plausible_readings_whatever_the_truth() -> None:
    liars = broken(lying=ENDS < 50)
    bad = light(received_dbm=-14.0, log10_ber=-3.0, log10_raw_ber=-2.0, snr_db=13.0, interference_db=-25.0)
    said = readings(bad, sensors=liars)
    warnings, _ = module_flags(said)
    assert not warnings[:50].any()
    assert warnings[50:].all()
    again = readings(light(), 2 * AT_US, liars)
    assert said.rx_power_dbm[:50] == pytest.approx(again.rx_power_dbm[:50], abs=0.8), (
        "about the same for ever"
    )
    assert not np.array_equal(said.rx_power_dbm[:50], again.rx_power_dbm[:50])
