"""Jobs over several pods: the traffic of the rings, and its effect on a step."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.messages.scheduler import FULL_SPEED
from shared.basics.errors import InvalidInput
from shared.models.jobs.multislice_jobs import exchange_us, joint_speed_ppm, joint_step_us, ring_bytes

PODS = st.integers(2, 64)
BYTES = st.integers(0, 10**13)
GBPS = st.floats(0.1, 1e6)


def ring_by_hand(pods: int, gradient_bytes: int) -> int:
    """The traffic of one pod in a simulated ring all-reduce: P − 1 rounds of adding, then P − 1 of
    forwarding, a P-th of the gradient each."""
    sent = 0
    for _ in range(2 * (pods - 1)):
        sent += gradient_bytes // pods
    return sent


@given(PODS, st.integers(0, 10**9))
def test_every_pod_sends_as_much_as_a_simulated_ring(pods: int, parts: int) -> None:
    assert ring_bytes(pods, parts * pods) == ring_by_hand(pods, parts * pods)


def test_the_exchange_of_palm() -> None:
    """Two pods, 1 TB a step: at 81 Tb/s, the burst of PaLM's hosts, a tenth of a second; on a block of 256
    uplinks of 100 Gb/s a third of one, 2 % of its step of 17.6 s."""
    assert ring_bytes(2, 10**12) == 10**12
    assert exchange_us(2, 10**12, 81_000.0) == 98_766
    assert exchange_us(2, 10**12, 25_600.0) == 312_500
    assert joint_speed_ppm(FULL_SPEED, 17_600_000, 10**12, 2, 25_600.0) == 982_554


def test_one_pod_exchanges_nothing() -> None:
    assert ring_bytes(1, 10**12) == 0
    assert joint_speed_ppm(FULL_SPEED, 10**6, 10**12, 1, 1.0) == FULL_SPEED


@given(PODS, st.integers(1, 10**9), BYTES, GBPS, st.integers(1, FULL_SPEED))
def test_more_bandwidth_never_slows_and_the_slowest_slice_bounds_the_job(
    pods: int, inside_us: int, gradient: int, gbps: float, slowest: int
) -> None:
    speed = joint_speed_ppm(slowest, inside_us, gradient, pods, gbps)
    assert 1 <= speed <= joint_speed_ppm(slowest, inside_us, gradient, pods, 2 * gbps) <= slowest
    assert speed <= joint_speed_ppm(slowest, inside_us, gradient, pods, None) == slowest


@given(PODS, st.integers(1, 10**9), BYTES, GBPS)
def test_a_step_is_between_its_longer_part_and_the_sum(
    pods: int, inside_us: int, gradient: int, gbps: float
) -> None:
    across_us = exchange_us(pods, gradient, gbps)
    assert joint_step_us(inside_us, pods, gradient, gbps) == inside_us + across_us
    assert joint_step_us(inside_us, pods, gradient, gbps, hidden=1.0) == max(inside_us, across_us)
    half = joint_step_us(inside_us, pods, gradient, gbps, hidden=0.5)
    assert max(inside_us, across_us) <= half <= inside_us + across_us


def test_without_any_bandwidth_a_job_crawls() -> None:
    assert joint_speed_ppm(FULL_SPEED, 10**6, 10**9, 2, 0.0) == 1


def test_an_invalid_job_is_refused_in_one_sentence() -> None:
    with pytest.raises(InvalidInput, match=r"^pods: 0 is not allowed; must be at least 1$"):
        ring_bytes(0, 1)
    with pytest.raises(InvalidInput, match=r"^gradient_bytes -1: must be a finite number of at least 0"):
        ring_bytes(2, -1)
    with pytest.raises(InvalidInput, match=r"^gbps 0.0: must be a finite number above 0"):
        exchange_us(2, 1, 0.0)
    with pytest.raises(InvalidInput, match=r"^hidden 1.5: must be between 0 and 1; the nearest is 1"):
        joint_step_us(1, 2, 1, 1.0, hidden=1.5)
