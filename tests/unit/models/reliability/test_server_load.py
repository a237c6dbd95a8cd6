"""The load of technicians, the growth of their backlog, and their relaxation time."""

import math

import numpy as np
import pytest

from shared.models.reliability.server_load import ServerLoad


def load(rho: float, servers: float, work_days: float = 1.0) -> ServerLoad:
    return ServerLoad("technicians", servers, rho * servers / work_days, work_days)


@pytest.mark.parametrize(("rho", "servers", "days"), [(0.51, 4, 3.0), (0.68, 3, 11.0), (0.97, 2, 2_200.0)])
def test_relaxation_times(rho: float, servers: float, days: float) -> None:
    assert load(rho, servers).relaxation_days == pytest.approx(days, rel=0.05)


@pytest.mark.parametrize(("rho", "servers", "work"), [(1.0, 1, 1.0), (1.13, 2, 1.0), (2.05, 1, 0.5)])
def test_an_overloaded_queue_grows_by_what_cannot_be_done(rho: float, servers: float, work: float) -> None:
    one = load(rho, servers, work)
    assert one.is_overloaded
    assert one.growth_per_day == pytest.approx((rho - 1.0) * servers / work)
    assert one.relaxation_days == math.inf
    assert not one.is_long_enough(1e9)


@pytest.mark.parametrize(("rho", "servers"), [(0.0, 3), (0.3, 1), (0.999, 2)])
def test_below_1_it_does_not_grow(rho: float, servers: float) -> None:
    one = load(rho, servers)
    assert not one.is_overloaded
    assert one.growth_per_day == 0.0
    assert one.is_long_enough(20.001 * one.relaxation_days)
    assert rho == 0.0 or not one.is_long_enough(19.999 * one.relaxation_days)


def test_no_people_and_no_work() -> None:
    assert ServerLoad("nobody", 0.0, 0.0, 0.0).load == 0.0
    assert ServerLoad("nobody", 0.0, 1.0, 1.0).load == math.inf
    assert ServerLoad("nobody", 0.0, 1.0, 1.0).growth_per_day == 1.0
    assert ServerLoad("idle", 3.0, 0.0, 0.0).is_long_enough(0.001)


def test_the_relaxation_time_is_that_of_the_birth_death_chain() -> None:
    """The slowest decay of the M/M/1 queue, from the spectrum of its generator."""
    rho, size = 0.5, 80
    rates = np.zeros((size, size))
    for n in range(size - 1):
        rates[n, n + 1], rates[n + 1, n] = rho, 1.0
    np.fill_diagonal(rates, -rates.sum(axis=1))
    slowest = np.sort(-np.linalg.eigvals(rates).real)[1]
    assert 1.0 / slowest == pytest.approx(load(rho, 1).relaxation_days, rel=0.05)


@pytest.mark.parametrize("servers", [1, 2, 4, 10, 100, 1_000])
@pytest.mark.parametrize("rho", [0.05, 0.3, 0.5, 0.8])
def test_a_memory_is_never_taken_for_shorter_than_that_of_the_exact_queue(servers: int, rho: float) -> None:
    """The spectral gap of M/M/c with work of a day, from the symmetric form of its generator."""
    from scipy.linalg import eigh_tridiagonal

    size = 3 * servers + 400
    done = np.minimum(np.arange(size), servers).astype(float)
    asked = np.full(size, rho * servers)
    asked[-1] = 0.0
    found = eigh_tridiagonal(
        asked + done,
        -np.sqrt(rho * servers * done[1:]),
        eigvals_only=True,
        select="i",
        select_range=(1, 1),
    )
    exact_days = 1.0 / float(found[0])
    assert 0.95 * exact_days <= load(rho, servers).relaxation_days <= 3.0 * exact_days


def test_work_that_pauses_between_shifts_is_remembered_for_its_calendar_time() -> None:
    one = ServerLoad("technicians", 1_000.0, 1.0, 2.0, lasts_days=6.72)
    assert one.relaxation_days == 6.72
    assert ServerLoad("technicians", 1_000.0, 1.0, 2.0).relaxation_days == 2.0
