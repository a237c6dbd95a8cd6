"""Availability of fabrics, slices and placement: against enumeration, exact fractions, scipy and the
papers."""

import itertools
import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ops.models.availability.charts import goodput_chart
from ops.models.availability.stated_figures import LF_15B, T4_4, StatedGoodput, stated_goodput
from shared.basics.errors import InvalidInput
from shared.models.availability import (
    at_least,
    fabric_ocs,
    goodput_figure,
    placement_curve,
    promised_goodput,
)
from shared.models.availability.binomial import binomial, tails
from shared.models.availability.fabric_availability import fabric_availability
from shared.models.availability.promised_goodput import figure_slices
from shared.models.optics.module_kinds import MODULE_KINDS

probabilities = st.floats(0.0, 1.0, allow_subnormal=False)


def exact_tail(trials: int, success: Fraction, least: int) -> Fraction:
    """P(at least `least` of `trials`), without rounding."""
    return sum(
        (
            math.comb(trials, k) * success**k * (1 - success) ** (trials - k)
            for k in range(max(least, 0), trials + 1)
        ),
        Fraction(0),
    )


# --- binomial -----------------------------------------------------------------------------------------------


@given(st.integers(0, 9), probabilities)
def test_the_binomial_is_the_sum_over_all_outcomes(trials: int, success: float) -> None:
    expected = np.zeros(trials + 1)
    for outcome in itertools.product((0, 1), repeat=trials):
        up = sum(outcome)
        expected[up] += success**up * (1.0 - success) ** (trials - up)
    np.testing.assert_allclose(binomial(trials, success), expected, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("success", [0.0, 1e-9, 0.2, 0.5, 0.852, 0.999, 1 - 1e-12, 1.0])
@pytest.mark.parametrize("trials", [1, 16, 64, 144])
def test_tails_are_those_of_exact_fractions(trials: int, success: float) -> None:
    tail, short = tails(trials, success)
    assert (at_least(trials, success) == tail).all()
    for least in range(0, trials + 1, 1 + trials // 24):
        exact = exact_tail(trials, Fraction(success), least)
        assert tail[least] == pytest.approx(float(exact), rel=1e-12, abs=1e-300)
        assert short[least] == pytest.approx(float(1 - exact), rel=1e-11, abs=1e-300)


@given(st.integers(1, 3_000), st.floats(1e-6, 1 - 1e-6))
def test_tails_are_those_of_scipy(trials: int, success: float) -> None:
    numbers = np.arange(trials + 1)
    np.testing.assert_allclose(
        at_least(trials, success), stats.binom.sf(numbers - 1, trials, success), rtol=1e-8, atol=1e-200
    )
    np.testing.assert_allclose(
        tails(trials, success)[1], stats.binom.cdf(numbers - 1, trials, success), rtol=1e-8, atol=1e-200
    )


@given(st.integers(0, 100_000), probabilities)
def test_the_binomial_is_a_distribution_at_any_size(trials: int, success: float) -> None:
    exactly = binomial(trials, success)
    assert np.isfinite(exactly).all()
    assert (exactly >= 0.0).all()
    assert exactly.sum() == pytest.approx(1.0, abs=1e-12)
    assert exactly @ np.arange(trials + 1) == pytest.approx(trials * success, rel=1e-9, abs=1e-9)


# --- fabric -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "ocs", "stated"),
    [("cwdm4-duplex", 96, 0.90), ("cwdm4-bidi", 48, 0.95), ("cwdm8-bidi", 24, 0.98)],
)
def test_fabrics_are_as_available_as_figure_15a_shows(kind: str, ocs: int, stated: float) -> None:
    assert fabric_ocs(kind) == ocs
    found = fabric_availability(0.999, ocs)
    assert found == pytest.approx(float(at_least(ocs, 0.999)[ocs]), rel=1e-12)
    assert found == pytest.approx(stated, abs=0.01)


def test_the_kinds_of_modules_are_those_of_the_optics() -> None:
    assert {kind: fabric_ocs(kind) for kind in MODULE_KINDS} == {
        name: kind.ocs_count for name, kind in MODULE_KINDS.items()
    }


# --- goodput ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "chips", "fabric", "ocs", "stated"),
    [
        (0.999, 1024, "static", None, 0.25),
        (0.999, 1024, "static", 0.999, 0.25),
        (0.999, 1024, "reconfigurable", None, 0.75),
        (0.999, 1024, "reconfigurable", 0.999, 0.75),
        (0.995, 1024, "reconfigurable", None, 0.75),
        (0.995, 1024, "reconfigurable", 0.999, 0.75),
        (0.990, 1024, "reconfigurable", None, 0.75),  # [T4] Figure 4
        (0.990, 1024, "reconfigurable", 0.999, 0.50),  # [LF] 4.2.2: the hold-back exceeds 1,024 chips
        *((host, 2048, "reconfigurable", None, 0.50) for host in (0.99, 0.995, 0.999)),
        *((host, 2048, "reconfigurable", 0.999, 0.50) for host in (0.99, 0.995, 0.999)),
        *((host, 3072, "reconfigurable", None, 0.75) for host in (0.99, 0.995, 0.999)),
    ],
)
def test_goodput_matches_both_papers(
    host: float, chips: int, fabric: str, ocs: float | None, stated: float
) -> None:
    found = promised_goodput(host, chips, fabric, ocs_availability=ocs)
    assert found.goodput == stated
    assert found.probability >= 0.97
    assert found.slices * chips // 64 + found.held_back_cubes == 64


@given(
    st.integers(1, 12),
    st.integers(1, 12),
    st.sampled_from(["reconfigurable", "static"]),
    st.fractions(Fraction(9, 10), 1),
    st.fractions(Fraction(1, 2), Fraction(999, 1000)),
)
@settings(deadline=None)
def test_goodput_is_the_most_slices_of_exact_fractions(
    cubes: int, size: int, fabric: str, host: Fraction, target: Fraction
) -> None:
    size = min(size, cubes)
    host, target = Fraction(float(host)), Fraction(float(target))
    cube = host**16
    trials, success, step = (
        (cubes, cube, size) if fabric == "reconfigurable" else (cubes // size, cube**size, 1)
    )
    tails = [exact_tail(trials, success, k * step) for k in range(cubes // size + 1)]
    found = promised_goodput(float(host), 64 * size, fabric, target=float(target), cubes=cubes)
    most = max(k for k, tail in enumerate(tails) if tail >= target)
    near = min(abs(tail - target) for tail in tails)
    assert found.slices == most or near < Fraction(1, 10**12)
    assert found.probability == pytest.approx(float(tails[found.slices]), abs=1e-12)
    assert found.goodput == found.slices * size / cubes


def test_goodput_matches_a_small_simulation() -> None:
    works = np.random.default_rng(5).random((20_000, 64, 16)) < 0.995
    cubes = works.all(axis=2)
    for chips in (64, 256, 1024):
        size = chips // 64
        for fabric, made in (
            ("reconfigurable", cubes.sum(axis=1) // size),
            ("static", cubes.reshape(-1, 64 // size, size).all(axis=2).sum(axis=1)),
        ):
            found = promised_goodput(0.995, chips, fabric, target=0.9)
            assert float((made >= found.slices).mean()) == pytest.approx(found.probability, abs=0.01)


@given(st.floats(0.9, 1.0), st.integers(1, 64), st.floats(0.5, 0.999), st.floats(0.99, 1.0))
def test_a_reconfigurable_pod_never_promises_less_than_a_static_one(
    host: float, size: int, target: float, ocs: float
) -> None:
    free = promised_goodput(host, 64 * size, "reconfigurable", target=target)
    assert free.slices >= promised_goodput(host, 64 * size, "static", target=target).slices
    held = promised_goodput(host, 64 * size, "reconfigurable", target=target, ocs_availability=ocs)
    assert held.slices <= free.slices


def test_a_slice_of_one_cube_needs_the_fabric_for_its_wrap_around() -> None:
    """As in the placement of slices and in the lab."""
    free = promised_goodput(0.99, 64, "reconfigurable")
    assert free == promised_goodput(0.99, 64, "static")
    held = promised_goodput(0.99, 64, "reconfigurable", ocs_availability=0.999)
    assert held.held_back_cubes == free.held_back_cubes + 2
    assert held.probability == pytest.approx(0.999**24 * exact_tail(64, Fraction(0.99) ** 16, held.slices))
    placed = placement_curve(0.9, 0.999)[0]
    assert placed.without_fault_routing == pytest.approx(0.999**48)


def test_a_fabric_below_the_target_promises_nothing() -> None:
    """The reason why 24 OCSes are counted by default."""
    found = promised_goodput(0.999, 1024, "reconfigurable", ocs_availability=0.999, kind="cwdm4-bidi")
    assert (found.slices, found.goodput, found.held_back_cubes) == (0, 0.0, 64)
    assert found.probability == 1.0
    assert promised_goodput(0.5, 4096, "static").probability == 1.0


def test_extremes_of_hosts_and_targets() -> None:
    assert promised_goodput(1.0, 4096, "static", target=1.0).goodput == 1.0
    assert promised_goodput(0.0, 64, "reconfigurable").goodput == 0.0
    assert promised_goodput(0.5, 4096, "reconfigurable", target=0.0).goodput == 1.0
    assert promised_goodput(1.0, 128, "reconfigurable", target=0.0, ocs_availability=0.0).slices == 32
    assert promised_goodput(0.1, 64, "static", target=1e-20).slices == 1
    assert promised_goodput(1 - 1e-9, 4096, "reconfigurable", target=1.0).goodput == 0.0


def test_the_figure_has_every_curve_and_size() -> None:
    points = goodput_figure()
    assert figure_slices(64) == [64, 128, 256, 512, 1024, 2048, 3072, 4096]
    assert len(points) == len({(p.fabric, p.host_availability, p.slice_chips) for p in points}) == 2 * 3 * 8
    assert all(
        promised_goodput(p.host_availability, p.slice_chips, p.fabric).goodput == p.goodput for p in points
    )
    assert figure_slices(1) == [64]
    assert figure_slices(6) == [64, 128, 256, 384]


def circled(**chosen: Any) -> set[tuple[int, float]]:
    """The points of [LF] Figure 15b in a chart of these curves."""
    chart = goodput_chart(goodput_figure(ocs_availability=0.999, **chosen), LF_15B, "")
    marks = [trace for trace in chart.data if trace.name == "stated in the papers"]
    return {point for trace in marks for point in zip(trace.x, trace.y, strict=True)}


def test_only_published_points_of_the_curves_are_marked() -> None:
    assert circled() == {(1024, 0.75), (1024, 0.5), (1024, 0.25), (2048, 0.5)}
    assert circled(fabrics=("static",)) == {(1024, 0.25)}
    assert circled(fabrics=("static",), host_availabilities=(0.99,)) == set()
    assert circled(host_availabilities=(0.95,)) == set()
    assert circled(fabrics=("reconfigurable",), host_availabilities=(0.99,)) == {(1024, 0.5), (2048, 0.5)}


def test_a_paper_is_circled_only_with_its_parameters() -> None:
    stated = partial(stated_goodput, target=0.97, cubes=64, ocs_availability=None, kind="cwdm8-bidi")
    assert stated() == T4_4
    assert stated(ocs_availability=0.999) == LF_15B
    assert [stated(target=0.9), stated(cubes=63), stated(ocs_availability=0.99)] == [()] * 3


@pytest.mark.parametrize(("points", "ocs"), [(T4_4, None), (LF_15B, 0.999)])
def test_the_points_circled_lie_on_the_curves(points: tuple[StatedGoodput, ...], ocs: float | None) -> None:
    for host, fabric, chips, stated in points:
        assert promised_goodput(host, chips, fabric, ocs_availability=ocs).goodput == stated


# --- placement ----------------------------------------------------------------------------------------------

DIGITISED = {50: 0.99, 53: 0.93, 55: 0.78, 57: 0.51, 59: 0.22, 61: 0.05}


def test_placement_follows_the_published_curves() -> None:
    curve = placement_curve(0.882, 1.0 / (1.0 + 0.0004 * 3))
    for cubes, stated in DIGITISED.items():
        assert curve[cubes - 1].with_fault_routing == pytest.approx(stated, abs=0.02)
    for point in curve[:49]:
        assert point.without_fault_routing == pytest.approx(0.94, abs=0.01)


@given(st.integers(1, 144), probabilities, st.floats(0.9, 1.0), st.integers(0, 24))
def test_placement_is_the_product_of_two_binomials(
    cubes: int, cube: float, ocs: float, tolerated: int
) -> None:
    curve = placement_curve(cube, ocs, cubes=cubes, kind="cwdm8-bidi", faults_tolerated=tolerated)
    assert [point.slice_cubes for point in curve] == list(range(1, cubes + 1))
    enough = stats.binom.sf(np.arange(cubes), cubes, cube)
    around = stats.binom.cdf(tolerated, 24, 1 - ocs)
    routed = [point.with_fault_routing for point in curve]
    fatal = [point.without_fault_routing for point in curve]
    np.testing.assert_allclose(routed, enough * around, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(fatal, enough * ocs**24, rtol=1e-8, atol=1e-12)


# --- what is out of range -----------------------------------------------------------------------------------


PROBABILITY = "must be a probability from 0 to 1"


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"host_availability": 1.01}, f"host-availability 1.01: {PROBABILITY}; the nearest is 1"),
        ({"host_availability": math.nan}, f"host-availability nan: {PROBABILITY}"),
        ({"target": -0.1}, f"target -0.1: {PROBABILITY}; the nearest is 0"),
        ({"ocs_availability": 2.0}, f"ocs-availability 2.0: {PROBABILITY}"),
        ({"ocs_availability": 2.0, "fabric": "static"}, f"ocs-availability 2.0: {PROBABILITY}"),
        ({"slice_chips": 0}, "slice-chips: 0 is not allowed; must be a multiple of 64 up to 4,096"),
        ({"slice_chips": 1000}, "the nearest is 1024"),
        ({"slice_chips": 95}, "the nearest is 64"),
        ({"slice_chips": 4160}, "the nearest is 4096"),
        ({"slice_chips": -64}, "the nearest is 64"),
        ({"cubes": 0}, "cubes 0: must be between 1 and 144; the nearest is 1"),
        ({"cubes": 145}, "the nearest is 144"),
        ({"fabric": "clos"}, "fabric: 'clos' is not a known fabric; must be one of reconfigurable, static"),
        (
            {"kind": "lr4"},
            "kind: 'lr4' is not a known kind of module; must be one of cwdm4-duplex, cwdm4-bidi, cwdm8",
        ),
    ],
)
def test_goodput_shows_the_allowed_values(wrong: dict[str, Any], sentence: str) -> None:
    asked: dict[str, Any] = {"host_availability": 0.99, "slice_chips": 1024, "fabric": "reconfigurable"}
    with pytest.raises(InvalidInput) as error:
        promised_goodput(**(asked | wrong))
    assert sentence in str(error.value)


def test_a_fabric_has_no_fewer_than_no_ocses() -> None:
    with pytest.raises(InvalidInput, match="ocs -3: must be between 0 and 100,000; the nearest is 0"):
        fabric_availability(0.999, -3)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"cube_availability": 1.5}, f"cube-availability 1.5: {PROBABILITY}"),
        ({"ocs_availability": -1.0}, f"ocs-availability -1.0: {PROBABILITY}"),
        ({"cubes": 200}, "cubes 200: must be between 1 and 144"),
        (
            {"faults_tolerated": 49},
            "faults-tolerated 49: must be between 0 and 48; the nearest is 48",
        ),
        ({"kind": "cwdm"}, "kind: 'cwdm' is not a known kind of module"),
    ],
)
def test_placement_shows_the_allowed_values(wrong: dict[str, Any], sentence: str) -> None:
    asked: dict[str, Any] = {"cube_availability": 0.9, "ocs_availability": 0.999}
    with pytest.raises(InvalidInput) as error:
        placement_curve(**(asked | wrong))
    assert sentence in str(error.value)
