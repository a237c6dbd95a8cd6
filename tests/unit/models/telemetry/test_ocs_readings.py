"""Readings of OCSes against the true values: plain inputs, and results computed by hand."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.models.ocs.camera_alignment import AlignmentLoop, pointing_error_urad, pointing_loss_db
from shared.models.ocs.parts import PART, power_w
from shared.models.telemetry.ocs_fields import OCS_FIELD_BIT, OCS_FIELDS, ocs_fields_of
from shared.models.telemetry.ocs_readings import (
    ChassisState,
    OcsReadings,
    ocs_calibration,
    ocs_flags,
    ocs_unread,
    read_ocses,
)

SEED, FABRIC, COUNT, PORTS = 7, "pod-0", 48, 136
WATTS = power_w() - 2 * PART["supply"].watts


def sound(count: int = COUNT, ports: int = PORTS) -> ChassisState:
    """All circuits made, over half of the largest angle."""
    return ChassisState(
        deflection=np.full((count, 2, ports), 0.5),
        loss_db=np.zeros((count, 2, ports)),
        cameras=np.ones((count, 2), dtype=np.bool_),
        beams=np.ones((count, 2), dtype=np.bool_),
        supplies=np.ones((count, 2), dtype=np.bool_),
        fans=np.ones((count, 4), dtype=np.bool_),
        watts=np.full(count, WATTS),
        answers=np.ones(count, dtype=np.bool_),
        run=np.ones(count, dtype=np.bool_),
        loop=AlignmentLoop(),
    )


def said(chassis: ChassisState, at_us: int = 0) -> OcsReadings:
    return read_ocses(
        SEED, FABRIC, ocs_calibration(SEED, FABRIC, *chassis.deflection.shape[::2]), chassis, at_us
    )


def struck(name: str, *places: Any, by: Any = False) -> ChassisState:
    """A sound one, but for these places of an array."""
    chassis = sound()
    array = getattr(chassis, name).copy()
    for place in places:
        array[place] = by
    return replace(chassis, **{name: array})


def flags_of(readings: OcsReadings, ocs: int) -> tuple[list[str], list[str]]:
    warnings, alarms = ocs_flags(readings)
    return ocs_fields_of(int(warnings[ocs])), ocs_fields_of(int(alarms[ocs]))


def test_a_sound_chassis_reads_as_usual_and_raises_no_flag_day_after_day() -> None:
    for day in range(20):
        readings = said(sound(), day * 86_400_000_000)
        assert [array.any() for array in ocs_flags(readings)] == [False, False]
        for name, field in OCS_FIELDS.items():
            values = readings.field(name)
            assert not np.isnan(values).any()
            assert field.usual[0] <= values.min() <= values.max() <= field.usual[1], name


def test_the_drive_goes_with_the_root_of_the_angle() -> None:
    """The torque of an electrostatic drive is the square of its voltage: four times the angle, twice the
    drive."""
    quarter, whole = (
        said(replace(sound(), deflection=np.full((COUNT, 2, PORTS), angle))).mirror_drive_v
        for angle in (0.25, 1)
    )
    assert np.mean(whole) == pytest.approx(100.0, rel=0.002)
    assert np.mean(quarter) == pytest.approx(50.0, rel=0.002)
    # Each mirror has its own spring: half a volt at half the drive is a volt at all of it.
    assert np.corrcoef(quarter.ravel(), whole.ravel())[0, 1] > 0.99
    assert said(replace(sound(), deflection=np.zeros((COUNT, 2, PORTS)))).mirror_drive_v.max() < 0.5


def test_a_controlled_mirror_shows_image_noise_and_loop_jitter() -> None:
    tilt = np.hypot(10.0, AlignmentLoop().jitter_urad)
    readings = said(sound())
    assert np.sqrt(np.mean(readings.mirror_error_urad**2)) == pytest.approx(np.sqrt(2) * tilt, rel=0.01)


@pytest.mark.parametrize("loss_db", [0.3, 0.6, 5.0])
def test_a_mirror_that_drifts_reads_the_error_that_its_loss_shows(loss_db: float) -> None:
    readings = said(struck("loss_db", (3, 1, 7), by=loss_db))
    true_urad = 1e3 * np.sqrt(loss_db / 10.0)
    assert readings.mirror_error_urad[3, 1, 7] == pytest.approx(true_urad, rel=0.25)
    others = np.delete(readings.mirror_error_urad.ravel(), (3 * 2 + 1) * PORTS + 7)
    assert others.max() < 24.0
    expected = ["mirror_error_urad"]
    assert flags_of(readings, 3) == (expected, expected if loss_db > 0.4 else [])
    assert flags_of(readings, 2) == ([], [])


@given(st.floats(0.0, 20.0))
def test_error_and_loss_are_each_other_s_inverse(loss_db: float) -> None:
    error = pointing_error_urad(np.array([loss_db]))
    assert pointing_loss_db(np.array([error]))[0] == pytest.approx(loss_db, abs=1e-4)


@pytest.mark.parametrize("name", ["cameras", "beams"])
def test_an_array_without_its_camera_or_its_beam_shows_no_error(name: str) -> None:
    readings = said(struck(name, (5, 0)))
    assert np.isnan(readings.mirror_error_urad[5, 0]).all()
    assert not np.isnan(readings.mirror_error_urad[5, 1]).any()
    assert not np.isnan(readings.mirror_drive_v[5]).any()
    assert np.isnan(readings.camera_snr_db[5]).tolist() == [True, False]
    assert (readings.monitor_power_dbm[5, 0] == -40.0) == (name == "beams")
    assert flags_of(readings, 5)[1] == (["monitor_power_dbm"] if name == "beams" else [])
    unread = ocs_unread(readings, struck(name, (5, 0)))
    assert ocs_fields_of(int(unread[5])) == ["mirror_error_urad", "camera_snr_db"]
    assert np.count_nonzero(unread) == 1


def test_a_field_that_cannot_be_read_is_not_reported_as_unread() -> None:
    of_no_circuit = replace(sound(), deflection=np.full((COUNT, 2, PORTS), np.nan))
    assert not ocs_unread(said(of_no_circuit), of_no_circuit).any()
    without_cameras = replace(sound(), loop=None)
    assert not ocs_unread(said(without_cameras), without_cameras).any()
    dumb = struck("answers", 3)
    assert ocs_fields_of(int(ocs_unread(said(dumb), dumb)[3])) == list(OCS_FIELDS)
    by_fibre = replace(without_cameras, answers=dumb.answers)
    missing = ocs_fields_of(int(ocs_unread(said(by_fibre), by_fibre)[3]))
    assert missing == [name for name, field in OCS_FIELDS.items() if field.of not in ("mirror", "array")]


def test_one_supply_carries_all_where_the_other_is_out() -> None:
    readings = said(struck("supplies", (9, 1)))
    assert readings.supply_v[9, 1] == readings.supply_a[9, 1] == 0.0
    assert readings.supply_a[9, 0] == pytest.approx(WATTS / 12.0, abs=0.2)
    assert readings.supply_a[8].sum() == pytest.approx(WATTS / 12.0, abs=0.2)
    assert flags_of(readings, 9) == (["supply_v", "supply_a"], ["supply_v"])


def test_a_stopped_fan_warms_the_core_and_not_the_inlet() -> None:
    before, after = said(sound()), said(struck("fans", (9, 2)))
    assert after.fan_rpm[9, 2] == 0.0
    assert after.temperature_c[9] - before.temperature_c[9] == pytest.approx(15.0 / 3, abs=0.1)
    assert after.inlet_c[9] == before.inlet_c[9]
    assert flags_of(after, 9) == (["fan_rpm"], ["fan_rpm"])


def test_without_an_answer_nothing_is_read_and_without_the_fpga_nothing_of_mirrors() -> None:
    silent = said(struck("answers", (9,)))
    assert all(np.isnan(silent.field(name)[9]).all() for name in OCS_FIELDS)
    assert flags_of(silent, 9) == ([], [])
    stopped = said(struck("run", (9,)))
    unread = {name for name in OCS_FIELDS if np.isnan(stopped.field(name)[9]).all()}
    assert unread == {"mirror_drive_v", "mirror_error_urad", "camera_snr_db"}


def test_mirrors_without_a_circuit_read_nothing_and_the_worst_is_of_those_that_do() -> None:
    chassis = struck("deflection", (4, 0), (4, 1, slice(1, None)), by=np.nan)
    readings = said(chassis)
    assert np.isfinite(readings.mirror_error_urad[4]).sum() == 1
    assert readings.worst("mirror_error_urad")[4] == readings.mirror_error_urad[4, 1, 0]


@pytest.mark.parametrize(
    ("noise_urad", "flags"), [(20.0, []), (31.0, ["camera_snr_db"]), (45.0, ["camera_snr_db"])]
)
def test_worse_images_show_where_alignment_begins_to_suffer(noise_urad: float, flags: list[str]) -> None:
    warnings, alarms = flags_of(said(replace(sound(), loop=AlignmentLoop(camera_noise_urad=noise_urad))), 0)
    assert [name for name in warnings if name == "camera_snr_db"] == flags
    assert ("camera_snr_db" in alarms) is (noise_urad > 40)


def test_switches_without_a_camera_have_no_mirrors_to_read() -> None:
    readings = said(replace(sound(), loop=None))
    unread = {name for name in OCS_FIELDS if np.isnan(readings.field(name)).all()}
    assert unread == {"mirror_drive_v", "mirror_error_urad", "camera_snr_db", "monitor_power_dbm"}


def test_a_reading_depends_on_the_time_and_on_no_other_device() -> None:
    few, all_of = said(sound(3)), said(sound())
    struck_too = said(struck("loss_db", (1, 0, 0), by=2.0))
    for name in OCS_FIELDS:
        assert np.array_equal(few.field(name), all_of.field(name)[:3])
        assert np.array_equal(struck_too.field(name)[2:], all_of.field(name)[2:])
    later = said(sound(), 900_000_000)
    assert (later.mirror_error_urad != all_of.mirror_error_urad).mean() > 0.9


def test_readings_are_quantized() -> None:
    readings = said(sound())
    for name, field in OCS_FIELDS.items():
        if name != "monitor_power_dbm":
            steps = readings.field(name) / field.step
            assert np.abs(steps - np.rint(steps)).max() < 1e-6, name


def test_every_field_has_thresholds_outside_its_normal_range() -> None:
    for name, field in OCS_FIELDS.items():
        low, high = field.usual
        bounds = [bound for bound in (field.low_alarm, field.low_warning) if bound is not None]
        assert bounds == sorted(bounds), name
        assert all(bound < low for bound in bounds), name
        bounds = [bound for bound in (field.high_warning, field.high_alarm) if bound is not None]
        assert bounds == sorted(bounds), name
        assert all(bound > high for bound in bounds), name
        assert ocs_fields_of(OCS_FIELD_BIT[name]) == [name]
