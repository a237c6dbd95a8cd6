"""Machine repair and alternating renewal: against generator matrices, insensitivity and simulation."""

import heapq
import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm

from shared.basics.errors import InvalidInput
from shared.models.availability import AlternatingRenewal, binomial, machine_repair

rates = st.floats(1e-3, 1e3)
times = st.floats(1e-3, 1e3)


def generator(machines: int, crews: int, failure: float, repair: float) -> npt.NDArray[np.float64]:
    """The generator matrix of the birth-death chain of machines down, rows summing to 0."""
    matrix = np.zeros((machines + 1, machines + 1))
    for down in range(machines + 1):
        if down < machines:
            matrix[down, down + 1] = (machines - down) * failure
        if down > 0:
            matrix[down, down - 1] = min(down, crews) * repair
    return matrix - np.diag(matrix.sum(axis=1))


# --- machine repair -----------------------------------------------------------------------------------------


@given(st.integers(1, 20), st.integers(1, 25), st.floats(0.01, 10.0), st.floats(0.01, 10.0))
def test_the_steady_state_solves_the_generator(
    machines: int, crews: int, failure: float, repair: float
) -> None:
    found = machine_repair(machines, crews, failure, repair)
    matrix = generator(machines, crews, failure, repair)
    assert np.abs(found.down @ matrix).max() < 1e-10 * np.abs(matrix).max()
    assert found.down.sum() == pytest.approx(1.0)
    equations = np.vstack([matrix.T / np.abs(matrix).max(), np.ones(machines + 1)])
    solved, *_ = np.linalg.lstsq(equations, np.append(np.zeros(machines + 1), 1.0), rcond=None)
    np.testing.assert_allclose(found.down, solved, atol=1e-8)


@given(st.integers(1, 500), st.integers(0, 100), rates, rates)
def test_with_a_crew_for_every_machine_the_number_down_is_binomial(
    machines: int, more: int, failure: float, repair: float
) -> None:
    found = machine_repair(machines, machines + more, failure, repair)
    np.testing.assert_allclose(
        found.down, binomial(machines, failure / (failure + repair)), rtol=1e-7, atol=1e-200
    )
    assert found.availability == pytest.approx(repair / (failure + repair))
    assert (found.mean_waiting, found.mean_wait) == (0.0, 0.0)


@given(st.integers(1, 2_000), st.integers(1, 100), rates, rates)
def test_flows_balance(machines: int, crews: int, failure: float, repair: float) -> None:
    found = machine_repair(machines, crews, failure, repair)
    failing = failure * (machines - found.mean_down)
    assert found.failures_per_time == pytest.approx(failing, rel=1e-6, abs=1e-9 * machines * failure)
    assert found.mean_down == pytest.approx(found.mean_busy_crews + found.mean_waiting)
    assert found.availability == pytest.approx(1.0 - found.mean_down / machines, abs=1e-12)
    # Little: the number of waiting machines is the rate of failures times the wait.
    assert found.mean_waiting == pytest.approx(found.failures_per_time * found.mean_wait, rel=1e-9)


def test_one_machine_alternates() -> None:
    found = machine_repair(1, 1, 0.25, 2.0)
    assert found.availability == pytest.approx(AlternatingRenewal(4.0, 0.5).availability)


def test_a_simulation_finds_the_same_mean_number_down() -> None:
    machines, crews, failure, repair, until = 12, 2, 0.1, 0.5, 20_000.0
    draw = np.random.default_rng(1)
    due = [(float(draw.exponential(1 / failure)), 1) for _ in range(machines)]
    heapq.heapify(due)
    down = busy = 0
    now = area = 0.0
    while now < until:
        at, change = heapq.heappop(due)
        area, now, down = area + down * (at - now), at, down + change
        busy -= change < 0
        if change < 0:
            heapq.heappush(due, (now + float(draw.exponential(1 / failure)), 1))
        if busy < min(down, crews):
            busy += 1
            heapq.heappush(due, (now + float(draw.exponential(1 / repair)), -1))
    assert area / now == pytest.approx(machine_repair(machines, crews, failure, repair).mean_down, rel=0.03)


# --- alternating renewal ------------------------------------------------------------------------------------


@given(times, times, times)
def test_interval_figures_are_integrals_of_the_matrix_exponential(
    up: float, down: float, time: float
) -> None:
    process = AlternatingRenewal(up, down)
    time = min(time, 40.0 / process.relaxation)
    matrix = np.array([[-1 / up, 1 / up], [1 / down, -1 / down]])
    nodes, weights = np.polynomial.legendre.leggauss(60)
    points = [float(expm(matrix * t)[0, 0]) for t in time * (nodes + 1) / 2]
    mean = float(weights @ points) / 2
    assert process.interval_availability(time) == pytest.approx(mean, abs=1e-9)
    assert process.failures(time) == pytest.approx(mean * time / up, rel=1e-8)


@given(times, times)
def test_limits(up: float, down: float) -> None:
    process = AlternatingRenewal(up, down)
    long = 1e9 / process.relaxation
    assert process.availability == pytest.approx(up / (up + down))
    assert process.failures(0.0) == 0.0
    assert process.interval_availability(long) == pytest.approx(process.availability, abs=1e-8)


# --- what is out of range -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ((0, 1, 1.0, 1.0), "machines 0: must be between 1 and 100,000; the nearest is 1"),
        ((1, 0, 1.0, 1.0), "crews 0: must be between 1 and 100,000"),
        ((1, 1, 0.0, 1.0), "failure-rate 0.0: must be a finite number above 0"),
        ((1, 1, 1.0, math.inf), "repair-rate inf: must be a finite number above 0"),
    ],
)
def test_machine_repair_shows_the_allowed_values(
    values: tuple[int, int, float, float], sentence: str
) -> None:
    with pytest.raises(InvalidInput) as error:
        machine_repair(*values)
    assert sentence in str(error.value)


def test_rates_at_the_ends_of_floating_point_overflow_nothing() -> None:
    idle = machine_repair(10, 2, 1e-320, 1e300)
    assert (idle.availability, idle.mean_wait) == (1.0, 0.0)


def test_alternating_renewal_shows_the_allowed_values() -> None:
    with pytest.raises(InvalidInput, match=r"mean-up -1\.0: must be a finite number above 0"):
        AlternatingRenewal(-1.0, 1.0)
    with pytest.raises(InvalidInput, match="mean-down nan: must be a finite number above 0"):
        AlternatingRenewal(1.0, math.nan)
    process = AlternatingRenewal(1.0, 1.0)
    with pytest.raises(InvalidInput, match=r"time 0\.0: must be a finite number above 0"):
        process.interval_availability(0.0)


def test_spans_too_short_and_too_long_for_a_float_have_their_limits() -> None:
    slow, quick = AlternatingRenewal(1e200, 1e200), AlternatingRenewal(1e-200, 1e-200)
    assert slow.interval_availability(1e-200) == 1.0
    assert slow.failures(1e-200) == 0.0
    assert quick.interval_availability(1e200) == 0.5
