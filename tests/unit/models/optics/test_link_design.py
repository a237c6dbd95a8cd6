"""A link element by element: against one worked by hand, seen from both ends, over the physical range, and
the statements that it is calibrated to."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.basics.checks import check_range
from shared.basics.errors import InvalidInput
from shared.models.assumptions import ASSUMPTIONS, Assumption, assumed
from shared.models.optics.lane_ber import evaluate, lane_log10_ber, received_light
from shared.models.optics.link_design import (
    FloatArray,
    LinkDesign,
    OcsPath,
    Strands,
    connector_return_db,
    dispersion_penalty_db,
    dispersion_ps_per_nm,
    lanes_nm,
)
from shared.models.optics.manufactured_modules import Lanes
from shared.models.optics.module_kinds import LANE_RATES, MODULE_KINDS, lane_rate
from shared.models.optics.path_losses import loss_db, reflections
from shared.models.optics.sensitivity import sensitivity_dbm

ROUND_NUMBERS = {
    "mux_loss_db": 1.0,
    "mux_bounce_loss_db": 0.25,
    "dirt_return_db": -300.0,
    "circulator_loss_db": 1.5,
    "circulator_crosstalk_db": -50.0,
    "circulator_return_db": -51.0,
    "connector_return_db": -53.0,
}
OCS_LOSS_DB, EXCESS_DB, RETURN_DB = st.floats(0, 30), st.floats(0, 10), st.floats(-80, -10)
SWITCHED = st.tuples(OCS_LOSS_DB, RETURN_DB, RETURN_DB)
DESIGNS = st.builds(
    LinkDesign,
    rate=st.sampled_from([*LANE_RATES.values()]),
    kind=st.sampled_from([*MODULE_KINDS.values()]),
    launch_dbm=st.floats(-10, 10),
    fibre_loss_db=st.floats(0, 5),
    length_km=st.floats(0, 2),
    mitigation=st.booleans(),
    soft_fec=st.booleans(),
)


def switched(loss: float, near_return_db: float, far_return_db: float) -> OcsPath:
    return OcsPath(np.asarray(loss), np.asarray(near_return_db), np.asarray(far_return_db))


def strand(ocs: OcsPath, near_excess_db: float = 0.0, far_excess_db: float = 0.0) -> Strands:
    return Strands(ocs, np.asarray(near_excess_db), np.asarray(far_excess_db))


def arrives(
    design: LinkDesign, ocs: OcsPath, near_excess_db: float = 0.0, far_excess_db: float = 0.0
) -> tuple[float, float]:
    """(power in dBm, interference over it in dB) of the first lane."""
    light = received_light(design, strand(ocs, near_excess_db, far_excess_db))
    return float(light.received_dbm[0]), float(light.interference_db[0])


def worst(design: LinkDesign, ocs: OcsPath, near_excess_db: float = 0.0, far_excess_db: float = 0.0) -> float:
    return float(lane_log10_ber(design, strand(ocs, near_excess_db, far_excess_db)).max())


# --- by hand ------------------------------------------------------------------------------------------------


@pytest.fixture
def by_hand(monkeypatch: pytest.MonkeyPatch) -> LinkDesign:
    for name, value in ROUND_NUMBERS.items():
        monkeypatch.setitem(ASSUMPTIONS, name, Assumption(value, "", ""))
    return LinkDesign(launch_dbm=2.0, fibre_loss_db=1.0)


def test_a_link_worked_by_hand(by_hand: LinkDesign) -> None:
    """Own light of 2 dBm: 1 behind the mux, −0.5 behind the circulator, −2 behind dirty connectors of 1 dB,
    −5 behind an OCS of 3 dB, −5.5 behind clean ones, −7 and −8 at the far end. Every reflection loses the
    same again on its way back."""
    there = strand(switched(3.0, -40.0, -45.0), 1.0)
    path = by_hand.path(there)
    assert float(loss_db(path)) == pytest.approx(1 + 1.5 + 1.5 + 3 + 0.5 + 1.5 + 1)
    expected = {
        "circulator": 2 - 2 * 1 - 50,
        "circulator port": 2 - 2 * 2.5 - 51,
        "near fibre": 2 - 2 * 2.5 - 53,
        "near OCS port": 2 - 2 * 4.0 - 40,
        "far OCS port": 2 - 2 * 7.0 - 45,
        "far fibre": 2 - 2 * 7.0 - 53,
        "far circulator port": 2 - 2 * 7.5 - 51,
    }
    assert {name: float(dbm) for name, dbm in reflections(path, 2.0)} == pytest.approx(expected)
    light = received_light(by_hand, there)
    # Each further lane bounces once more off the filters of both multiplexers.
    assert light.received_dbm.tolist() == pytest.approx([-8.0, -8.5, -9.0, -9.5])
    total_mw = math.fsum(10 ** (dbm / 10) for dbm in expected.values())
    assert light.interference_db.tolist() == pytest.approx([10 * math.log10(total_mw) + 8.0] * 4)
    strongest_mw = 10 ** (max(expected.values()) / 10)
    assert light.strongest_db.tolist() == pytest.approx([max(expected.values()) + 8.0] * 4)
    assert light.rest_db[0] == pytest.approx(10 * math.log10(total_mw - strongest_mw) + 8.0)


def test_modules_as_made_shift_their_launched_power(by_hand: LinkDesign) -> None:
    """With a far laser brighter by 1 dB and an own laser by 0.4 dB, both the signal and the interference are
    stronger. A receiver that needs 0.3 dB more has the errors of a link with 0.3 dB less of all light."""
    there = strand(switched(3.0, -40.0, -45.0), 1.0)
    ones = np.ones(4)
    made = Lanes(1.0 * ones, 0.4 * ones, 0.3 * ones, 0.1 * ones, None, None)
    found, usual = received_light(by_hand, there, made), received_light(by_hand, there)
    assert found.received_dbm == pytest.approx(usual.received_dbm + 1.0)
    assert found.interference_db == pytest.approx(usual.interference_db - 0.6)
    direct = by_hand.receiver.log10_ber(
        found.received_dbm - by_hand.penalties_db - 0.3,
        found.strongest_db + by_hand.penalties_db,
        found.rest_db + by_hand.penalties_db,
    )
    bursts = assumed("burst_error_ber") * 10**0.1
    assert lane_log10_ber(by_hand, there, made) == pytest.approx(np.log10(10**direct + bursts))


def test_one_reflection_is_launch_and_return_over_received_power() -> None:
    """[LF] 3.3.1, Appendix B: (Tx + r) − Rx for one reflector in front of everything, all else silent."""
    silent = {
        name: Assumption(-300.0, "dB", "")
        for name in ("circulator_crosstalk_db", "connector_return_db", "dirt_return_db")
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**silent, "circulator_return_db": Assumption(-300.0, "dB", "")}.items():
            patch.setitem(ASSUMPTIONS, name, value)
        for name in ("mux_loss_db", "circulator_loss_db"):
            patch.setitem(ASSUMPTIONS, name, Assumption(0.0, "dB", ""))
        design = LinkDesign(launch_dbm=1.0, fibre_loss_db=0.0)
        received_dbm, interference_db = arrives(design, switched(4.0, -38.0, -300.0))
    assert received_dbm == pytest.approx(-3.0)
    assert interference_db == pytest.approx((1.0 - 38.0) - (-3.0))


def test_dirt_reflects_a_share_of_the_light_it_absorbs() -> None:
    """3.0103 dB take half of the light. If −27 dB of that is reflected, it is −30 dB of all, next to clean
    connectors with −52 dB. Clean connectors are unaffected."""
    assert float(connector_return_db(np.asarray(0.0))) == pytest.approx(-52.0)
    half = float(connector_return_db(np.asarray(10 * math.log10(2))))
    assert 10 ** (half / 10) == pytest.approx(10**-5.2 + 0.5 * 10**-2.7)
    clean, dirty = (arrives(LinkDesign(), switched(1.5, -46.0, -46.0), dirt)[1] for dirt in (0.0, 1.0))
    assert dirty > clean + 3.0


# --- both ends, all kinds -----------------------------------------------------------------------------------


@given(DESIGNS, SWITCHED, EXCESS_DB, EXCESS_DB)
def test_both_ends_receive_as_much(
    design: LinkDesign, ocs: tuple[float, float, float], near_db: float, far_db: float
) -> None:
    here = switched(*ocs)
    there = here.reversed()
    assert there.reversed() == here
    near_dbm, near_mpi_db = arrives(design, here, near_db, far_db)
    far_dbm, far_mpi_db = arrives(design, there, far_db, near_db)
    assert near_dbm == pytest.approx(far_dbm, abs=1e-9)
    if near_db == far_db and ocs[1] == ocs[2]:
        assert near_mpi_db == pytest.approx(far_mpi_db, abs=1e-9)


@given(SWITCHED, EXCESS_DB)
def test_both_directions_of_a_symmetric_link_are_alike(
    ocs: tuple[float, float, float], excess_db: float
) -> None:
    same = switched(ocs[0], ocs[1], ocs[1])
    design = LinkDesign()
    assert worst(design, same, excess_db, excess_db) == worst(design, same.reversed(), excess_db, excess_db)


@given(SWITCHED)
def test_a_duplex_link_has_no_reflections(ocs: tuple[float, float, float]) -> None:
    """[LF] 3.3.1: an end's own light interferes only if both directions share a strand."""
    design = LinkDesign(kind=MODULE_KINDS["cwdm4-duplex"])
    with np.errstate(all="raise", under="ignore"):
        found = evaluate(design, strand(switched(*ocs)))
    assert [*reflections(design.path(strand(switched(*ocs))), design.launched_dbm)] == []
    assert np.all(found.interference_db == -math.inf)
    assert np.all(np.isfinite(found.log10_ber))
    assert np.all(found.log10_ber <= lane_log10_ber(LinkDesign(), strand(switched(*ocs))))


def test_lanes_are_on_the_grid_of_their_kind() -> None:
    """20 nm apart as ITU-T G.694.2 has them for CWDM4, 10 nm for CWDM8; both fill 80 nm ([LF] 3.3.1)."""
    assert lanes_nm(MODULE_KINDS["cwdm4-bidi"]).tolist() == [1271.0, 1291.0, 1311.0, 1331.0]
    assert lanes_nm(MODULE_KINDS["cwdm8-bidi"]).tolist() == [1271.0 + 10 * n for n in range(8)]


def test_many_links_at_once_are_independent() -> None:
    drawn = np.random.default_rng(3)
    limits = ((0, 9), (-60, -30), (-60, -30))
    ends = OcsPath(*(drawn.uniform(low, high, 7) for low, high in limits))
    near_db, far_db = drawn.uniform(0, 3, (2, 7))
    launched, own, needs, bursts = (drawn.normal(0.0, 0.4, (7, 8)) for _ in range(4))
    ratios, offsets = drawn.choice([4.5, 5.0, 5.5], (7, 8)), drawn.normal(0, 30, (7, 8))
    made = Lanes(launched, own, needs, bursts, ratios, offsets)
    design = LinkDesign(kind=MODULE_KINDS["cwdm8-bidi"], length_km=2.0)
    found = evaluate(design, Strands(ends, near_db, far_db), made)
    for end in range(7):
        ocs = switched(
            *(float(array[end]) for array in (ends.loss_db, ends.near_return_db, ends.far_return_db))
        )
        here = strand(ocs, float(near_db[end]), float(far_db[end]))
        whole = evaluate(design, here, made.part(end))
        numbers = np.full(8, end), np.arange(8)
        single = evaluate(design, Strands(ends, near_db, far_db).part(numbers[0]), made.single(*numbers))
        for name in ("received_dbm", "interference_db", "penalty_db", "raw_ber", "ber", "log10_ber"):
            array: FloatArray = getattr(found, name)
            assert array.shape == (7, 8)
            assert array[end] == pytest.approx(getattr(whole, name), rel=1e-12), name
            assert array[end] == pytest.approx(getattr(single, name)[:, 0], rel=1e-12), name
        assert found.margin[end] == pytest.approx(math.log10(2e-4) - whole.log10_ber)
        assert found.post_fec_ber[end] == pytest.approx(whole.post_fec_ber, rel=1e-9)


# --- over the physical range --------------------------------------------------------------------------------


@given(DESIGNS, SWITCHED, EXCESS_DB, EXCESS_DB)
def test_no_physical_link_overflows(
    design: LinkDesign, ocs: tuple[float, float, float], near_db: float, far_db: float
) -> None:
    with np.errstate(all="raise", under="ignore"):
        found = evaluate(design, strand(switched(*ocs), near_db, far_db))
    for rates in (found.raw_ber, found.ber, found.post_fec_ber):
        assert np.all((rates >= 0) & (rates <= 0.5))
    assert np.all(found.ber <= found.raw_ber * (1 + 1e-9))
    assert np.all(found.post_fec_ber <= found.ber)
    assert np.all(np.isfinite(found.log10_ber))
    assert np.all(found.penalty_db >= 0)


@given(DESIGNS, st.tuples(st.floats(0, 6), st.floats(-80, -30), st.floats(-80, -30)), st.floats(0.01, 6))
def test_no_loss_and_no_reflection_ever_helps(
    design: LinkDesign, ocs: tuple[float, float, float], more_db: float
) -> None:
    """Within the range that slicers can read at all, and to the precision of so few phases."""
    here = worst(design, switched(*ocs))
    loss, near_db, far_db = ocs
    assert worst(design, switched(loss, near_db + more_db, far_db)) >= here - 0.01
    assert worst(design, switched(loss, near_db, far_db + more_db)) >= here - 0.01
    assert worst(design, switched(loss, near_db, far_db), far_excess_db=more_db) >= here - 0.01


@given(SWITCHED, st.floats(0.01, 10))
def test_dirt_on_either_end_takes_as_much_of_the_signal(
    ocs: tuple[float, float, float], dirt_db: float
) -> None:
    here, there = (
        arrives(LinkDesign(), switched(*ocs), near_db, far_db)
        for near_db, far_db in ((dirt_db, 0.0), (0.0, dirt_db))
    )
    assert here[0] == pytest.approx(there[0])


# --- dispersion ---------------------------------------------------------------------------------------------


def test_dispersion_is_that_of_itu_t_g652() -> None:
    """Zero at the zero-dispersion wavelength, at most 3.5 ps/(nm km) from 1288 to 1339 nm and 5.3 from 1271
    to 1360, about 17 at 1550; the slope at the zero is at most 0.092 ps/(nm² km)."""

    def per_km(nm: float) -> float:
        return float(dispersion_ps_per_nm(np.asarray(nm), 1.0))

    assert per_km(1312.0) == pytest.approx(0.0, abs=1e-9)
    assert max(abs(per_km(nm)) for nm in np.linspace(1288, 1339, 52)) <= 3.5
    assert max(abs(per_km(nm)) for nm in np.linspace(1271, 1360, 90)) <= 5.3
    assert per_km(1550.0) == pytest.approx(17.0, abs=0.5)
    assert (per_km(1312.5) - per_km(1311.5)) == pytest.approx(0.092, rel=1e-3)
    assert per_km(1271.0) < 0 < per_km(1331.0)
    assert float(dispersion_ps_per_nm(np.asarray(1271.0), 0.1)) == pytest.approx(0.1 * per_km(1271.0))


@given(st.sampled_from([10.3125, 25.78125, 26.5625, 53.125]), st.floats(1271, 1351), st.floats(0, 20))
def test_the_penalty_of_dispersion_grows_with_length_and_rate(
    gbd: float, nm: float, length_km: float
) -> None:
    def penalty_db(symbol_gbd: float, km: float) -> float:
        return float(dispersion_penalty_db(symbol_gbd, np.asarray(nm), km))

    here = penalty_db(gbd, length_km)
    assert 0.0 <= here <= 40.0 + 1e-9
    assert penalty_db(gbd, 0.0) == 0.0
    assert penalty_db(gbd, 1.1 * length_km) >= here
    assert penalty_db(1.1 * gbd, length_km) >= here


def test_the_penalty_against_a_pulse_worked_by_hand() -> None:
    """26.5625 GBd at 1271 nm over 2 km: −3.96 ps/(nm km); 0.143 nm wide by modulation, 0.160 by a chirp of ½;
    4 B D σ = 0.1347, so 0.0397 dB."""
    found = float(dispersion_penalty_db(26.5625, np.asarray(1271.0), 2.0))
    width_nm = 1271e-9**2 * 26.5625e9 / 299_792_458 * 1e9 * math.sqrt(1.25)
    spread = 4 * 26.5625e9 * 2 * 3.96e-12 * width_nm
    assert found == pytest.approx(-5 * math.log10(1 - spread**2), rel=0.01)
    assert evaluate(LinkDesign(), strand(switched(2, -46, -46))).penalty_db.max() < 0.001


# --- what comes out by itself -------------------------------------------------------------------------------


def test_mitigation_and_the_inner_code_gain_the_measured_values_of_the_paper() -> None:
    """[LF] 4.1.2, Figures 11 and 12: more than 1 dB, and 1.6 dB by soft FEC alone (its decoder loss is
    calibrated to that), for 50 Gb/s PAM4 at an MPI of −32 dB and a BER of 2×10⁻⁴."""
    plain_dbm = sensitivity_dbm("50G-PAM4", -32.0, 2e-4)
    assert 1.0 < plain_dbm - sensitivity_dbm("50G-PAM4", -32.0, 2e-4, mitigation=True) < 1.2
    assert plain_dbm - sensitivity_dbm("50G-PAM4", -32.0, 2e-4, soft_fec=True) == pytest.approx(1.6, abs=0.05)


def test_ports_at_the_specification_make_the_interference_that_the_aids_were_tried_at() -> None:
    """[LF] 4.1.1 and Figures 11 and 12: −38 dB, over an OCS with its maximum loss, is −32 dB relative to the
    signal."""
    assert arrives(LinkDesign(), switched(3.0, -38.0, -38.0))[1] == pytest.approx(-32.0, abs=1.5)


@pytest.mark.parametrize(("value", "nearest"), [(31.0, 30), (-0.5, 0), (math.inf, 30), (-math.inf, 0)])
def test_a_value_out_of_range_is_an_error_in_one_sentence(value: float, nearest: float) -> None:
    with pytest.raises(
        InvalidInput, match=rf"loss-db {value:g} dB: must be between 0 and 30 dB; the nearest is {nearest}$"
    ):
        check_range("loss-db", value, 0.0, 30.0, "dB")
    assert check_range("loss-db", 30.0, 0.0, 30.0, "dB") == 30.0


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (40.0, r"did you mean -40\?"),
        (5.0, "the nearest is -10"),
        (90.0, "the nearest is -10"),
        (-5.0, "the nearest is -10"),
        (-90.0, "the nearest is -80"),
        (0.0, "the nearest is -10"),
    ],
)
def test_of_negative_decibels_a_sign_may_have_been_forgotten(value: float, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=rf"must be between -80 and -10 dB; {sentence}$"):
        check_range("return-loss-db", value, -80.0, -10.0, "dB")


def test_nothing_is_nearest_to_nan() -> None:
    with pytest.raises(InvalidInput, match=r"^mpi-db nan: not a number; must be between -80 and 0 dB$"):
        check_range("mpi-db", math.nan, -80.0, 0.0, "dB")


def test_faster_lanes_need_more_light() -> None:
    typical = switched(2.0, -46.0, -46.0)
    rates = [worst(LinkDesign(rate=lane_rate(name), launch_dbm=0.4), typical) for name in LANE_RATES]
    assert rates == sorted(rates)
