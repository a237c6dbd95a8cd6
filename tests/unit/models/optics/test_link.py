"""A link element by element: against one worked by hand, seen from both ends, over the physical range, and
the statements that it is calibrated to."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.basics.checks import check_range
from shared.basics.errors import InvalidInput
from shared.models.assumptions import ASSUMPTIONS, Assumption
from shared.models.optics.link import (
    FloatArray,
    LinkDesign,
    Switched,
    arriving,
    dispersion_penalty_db,
    dispersion_ps_per_nm,
    evaluate,
    lanes_nm,
    loss_db,
    reflections,
)
from shared.models.optics.modules import LANE_RATES, MODULE_KINDS, lane_rate
from shared.models.optics.palomar import manufactured_ocses
from shared.models.optics.sensitivity import sensitivity_dbm

ROUND_NUMBERS = {
    "mux_loss_db": 1.0,
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


def switched(loss: float, near_return_db: float, far_return_db: float) -> Switched:
    return Switched(np.asarray(loss), np.asarray(near_return_db), np.asarray(far_return_db))


def worst(
    design: LinkDesign, ocs: Switched, near_excess_db: float = 0.0, far_excess_db: float = 0.0
) -> float:
    return float(evaluate(design, ocs, near_excess_db, far_excess_db).log10_ber.max())


# --- by hand ------------------------------------------------------------------------------------------------


@pytest.fixture
def by_hand(monkeypatch: pytest.MonkeyPatch) -> LinkDesign:
    for name, value in ROUND_NUMBERS.items():
        monkeypatch.setitem(ASSUMPTIONS, name, Assumption(value, "", ""))
    return LinkDesign(launch_dbm=2.0, fibre_loss_db=1.0)


def test_a_link_worked_by_hand(by_hand: LinkDesign) -> None:
    """An own light of 2 dBm: 1 is behind the mux, −0.5 behind the circulator, −2 behind dirty connectors of
    1 dB, −5 behind an OCS of 3 dB, −5.5 behind clean ones, −7 and −8 at the far end. Whatever is sent back
    loses the same once more."""
    path = by_hand.path(switched(3.0, -40.0, -45.0), near_excess_db=np.asarray(1.0))
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
    received_dbm, interference_db = arriving(by_hand, switched(3.0, -40.0, -45.0), 1.0)
    assert float(received_dbm) == pytest.approx(-8.0)
    total_mw = math.fsum(10 ** (dbm / 10) for dbm in expected.values())
    assert float(interference_db) == pytest.approx(10 * math.log10(total_mw) + 8.0)


def test_one_reflection_is_launch_and_return_over_what_is_received() -> None:
    """[LF] 3.3.1, Appendix B: (Tx + r) − Rx for one reflector in front of everything, all else silent."""
    silent = {
        name: Assumption(-300.0, "dB", "") for name in ("circulator_crosstalk_db", "connector_return_db")
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**silent, "circulator_return_db": Assumption(-300.0, "dB", "")}.items():
            patch.setitem(ASSUMPTIONS, name, value)
        for name in ("mux_loss_db", "circulator_loss_db"):
            patch.setitem(ASSUMPTIONS, name, Assumption(0.0, "dB", ""))
        design = LinkDesign(launch_dbm=1.0, fibre_loss_db=0.0)
        received_dbm, interference_db = arriving(design, switched(4.0, -38.0, -300.0))
    assert float(received_dbm) == pytest.approx(-3.0)
    assert float(interference_db) == pytest.approx((1.0 - 38.0) - (-3.0))


# --- both ends, all kinds -----------------------------------------------------------------------------------


@given(DESIGNS, SWITCHED, EXCESS_DB, EXCESS_DB)
def test_both_ends_receive_as_much(
    design: LinkDesign, ocs: tuple[float, float, float], near_db: float, far_db: float
) -> None:
    here = switched(*ocs)
    there = here.reversed()
    assert there.reversed() == here
    near_dbm, near_mpi_db = arriving(design, here, near_db, far_db)
    far_dbm, far_mpi_db = arriving(design, there, far_db, near_db)
    assert float(near_dbm) == pytest.approx(float(far_dbm), abs=1e-9)
    if near_db == far_db and ocs[1] == ocs[2]:
        assert float(near_mpi_db) == pytest.approx(float(far_mpi_db), abs=1e-9)


@given(SWITCHED, EXCESS_DB)
def test_both_directions_of_a_symmetric_link_are_alike(
    ocs: tuple[float, float, float], excess_db: float
) -> None:
    same = switched(ocs[0], ocs[1], ocs[1])
    design = LinkDesign()
    assert worst(design, same, excess_db, excess_db) == worst(design, same.reversed(), excess_db, excess_db)


@given(SWITCHED)
def test_a_duplex_link_has_no_reflections(ocs: tuple[float, float, float]) -> None:
    """[LF] 3.3.1: only where both directions share a strand does an end's own light come in beside."""
    design = LinkDesign(kind=MODULE_KINDS["cwdm4-duplex"])
    with np.errstate(all="raise", under="ignore"):
        found = evaluate(design, switched(*ocs))
    assert [*reflections(design.path(switched(*ocs)), design.launch_dbm)] == []
    assert np.all(found.interference_db == -math.inf)
    assert np.all(np.isfinite(found.log10_ber))
    bidi = evaluate(LinkDesign(), switched(*ocs))
    assert np.all(found.log10_ber < bidi.log10_ber)


def test_lanes_are_on_the_grid_of_their_kind() -> None:
    """20 nm apart as ITU-T G.694.2 has them for CWDM4, 10 nm for CWDM8; both fill 80 nm ([LF] 3.3.1)."""
    assert lanes_nm(MODULE_KINDS["cwdm4-bidi"]).tolist() == [1271.0, 1291.0, 1311.0, 1331.0]
    assert lanes_nm(MODULE_KINDS["cwdm8-bidi"]).tolist() == [1271.0 + 10 * n for n in range(8)]


def test_many_links_at_once_are_each_by_itself() -> None:
    drawn = np.random.default_rng(3)
    ends = Switched(*(drawn.uniform(low, high, (7, 1)) for low, high in ((0, 9), (-60, -30), (-60, -30))))
    near_db, far_db = drawn.uniform(0, 3, (2, 7, 1))
    design = LinkDesign(kind=MODULE_KINDS["cwdm8-bidi"], length_km=2.0)
    found = evaluate(design, ends, near_db, far_db)
    for end in range(7):
        ocs = switched(
            *(float(array[end, 0]) for array in (ends.loss_db, ends.near_return_db, ends.far_return_db))
        )
        for lane, nm in enumerate(lanes_nm(design.kind)):
            one = evaluate(design, ocs, float(near_db[end, 0]), float(far_db[end, 0]), np.asarray(nm))
            for name in ("received_dbm", "interference_db", "penalty_db", "raw_ber", "ber", "log10_ber"):
                array: FloatArray = getattr(found, name)
                assert array.shape == (7, 8)
                assert array[end, lane] == pytest.approx(float(getattr(one, name)), rel=1e-12), name
            assert found.margin[end, lane] == pytest.approx(math.log10(2e-4) - float(one.log10_ber))
            assert found.post_fec_ber[end, lane] == pytest.approx(float(one.post_fec_ber), rel=1e-9)


# --- over the physical range --------------------------------------------------------------------------------


@given(DESIGNS, SWITCHED, EXCESS_DB, EXCESS_DB)
def test_no_physical_link_overflows(
    design: LinkDesign, ocs: tuple[float, float, float], near_db: float, far_db: float
) -> None:
    with np.errstate(all="raise", under="ignore"):
        found = evaluate(design, switched(*ocs), near_db, far_db)
    for rates in (found.raw_ber, found.ber, found.post_fec_ber):
        assert np.all((rates >= 0) & (rates <= 0.5))
    assert np.all(found.ber <= found.raw_ber)
    assert np.all(found.post_fec_ber <= found.ber)
    assert np.all(np.isfinite(found.log10_ber))
    assert np.all(found.penalty_db >= 0)


@given(DESIGNS, SWITCHED, st.floats(0.01, 20))
def test_no_loss_and_no_reflection_ever_helps(
    design: LinkDesign, ocs: tuple[float, float, float], more_db: float
) -> None:
    here = worst(design, switched(*ocs))
    loss, near_db, far_db = ocs
    assert worst(design, switched(loss, near_db + more_db, far_db)) >= here
    assert worst(design, switched(loss, near_db, far_db + more_db)) >= here
    assert worst(design, switched(loss, near_db, far_db), far_excess_db=more_db) >= here


@given(SWITCHED, st.floats(0.01, 10))
def test_dirt_at_the_far_end_costs_at_least_as_much_as_here(
    ocs: tuple[float, float, float], dirt_db: float
) -> None:
    """Both take the same of the signal; this end's own light meets its own dirt first, there and back."""
    here, there = (
        arriving(LinkDesign(), switched(*ocs), near_db, far_db)
        for near_db, far_db in ((dirt_db, 0.0), (0.0, dirt_db))
    )
    assert float(here[0]) == pytest.approx(float(there[0]))
    assert float(there[1]) >= float(here[1])


# --- dispersion ---------------------------------------------------------------------------------------------


def test_dispersion_is_that_of_itu_t_g652() -> None:
    """None at the zero, at most 3.5 ps/(nm km) from 1288 to 1339 nm and 5.3 from 1271 to 1360, about 17 at
    1550; the slope at the zero at most 0.092 ps/(nm² km)."""

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
    """26.5625 GBd at 1271 nm over 2 km: −3.96 ps/(nm km), 0.143 nm wide; 4 B D σ = 0.1205, so 0.0317 dB."""
    found = float(dispersion_penalty_db(26.5625, np.asarray(1271.0), 2.0))
    spread = 4 * 26.5625e9 * 2 * 3.96e-12 * (1271e-9**2 * 26.5625e9 / 299_792_458 * 1e9)
    assert found == pytest.approx(-5 * math.log10(1 - spread**2), rel=0.01)
    assert evaluate(LinkDesign(), switched(2, -46, -46)).penalty_db.max() < 0.001


# --- calibration --------------------------------------------------------------------------------------------


def test_mitigation_and_soft_fec_gain_what_they_are_calibrated_to() -> None:
    """[LF] 4.1.2, Figures 11 and 12: more than 1 dB, and 1.6 dB by soft FEC alone, for 50 Gb/s PAM4 at an MPI
    of −32 dB and a BER of 2×10⁻⁴."""
    plain_dbm = sensitivity_dbm("50G-PAM4", -32.0, 2e-4)
    assert 1.0 < plain_dbm - sensitivity_dbm("50G-PAM4", -32.0, 2e-4, mitigation=True) < 1.6
    assert plain_dbm - sensitivity_dbm("50G-PAM4", -32.0, 2e-4, soft_fec=True) == pytest.approx(1.6, abs=0.2)


def test_a_typical_link_has_two_orders_of_margin_and_not_one_without_its_aids() -> None:
    """[LF] Figure 13. Typical: the median pair of ports, return losses of −46 dB. Ports that send back −30 dB
    ([LF] 4.1.1 allows −38) leave nothing of it."""
    median_db = float(np.median(manufactured_ocses(1, "pod-0").insertion_loss_db()))
    typical = switched(median_db, -46.0, -46.0)
    assert -math.log10(2e-4) + worst(LinkDesign(), typical) == pytest.approx(-2.0, abs=0.5)
    assert worst(LinkDesign(mitigation=False, soft_fec=False), typical) > math.log10(2e-4) - 1.0
    assert worst(LinkDesign(mitigation=False, soft_fec=False), switched(2.0, -38.0, -38.0)) > math.log10(2e-4)
    assert worst(LinkDesign(), switched(2.0, -30.0, -30.0)) > math.log10(2e-4)
    assert worst(LinkDesign(), switched(2.0, -38.0, -38.0)) < math.log10(2e-4)


@pytest.mark.parametrize(("value", "nearest"), [(31.0, 30), (-0.5, 0), (math.inf, 30), (-math.inf, 0)])
def test_a_value_out_of_range_is_one_sentence(value: float, nearest: float) -> None:
    with pytest.raises(
        InvalidInput, match=rf"loss-db {value:g} dB: allowed are 0 to 30 dB; the nearest is {nearest}$"
    ):
        check_range("loss-db", value, 0.0, 30.0, "dB")
    assert check_range("loss-db", 30.0, 0.0, 30.0, "dB") == 30.0


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (40.0, r"did you mean -40\?"),
        (5.0, "the nearest is -10"),
        (90.0, "the nearest is -10"),
        (-5.0, "the nearest is -10"),
        (-90.0, "the nearest is -80"),
        (0.0, "the nearest is -10"),
    ],
)
def test_of_negative_decibels_a_sign_may_have_been_forgotten(value: float, said: str) -> None:
    with pytest.raises(InvalidInput, match=rf"allowed are -80 to -10 dB; {said}$"):
        check_range("return-loss-db", value, -80.0, -10.0, "dB")


def test_nothing_is_nearest_to_what_is_not_a_number() -> None:
    with pytest.raises(InvalidInput, match=r"^mpi-db nan: not a number; allowed are -80 to 0 dB$"):
        check_range("mpi-db", math.nan, -80.0, 0.0, "dB")


def test_faster_lanes_need_more_light() -> None:
    typical = switched(2.0, -46.0, -46.0)
    rates = [worst(LinkDesign(rate=lane_rate(name)), typical) for name in LANE_RATES]
    assert rates == sorted(rates)
