"""The peer of the scheduler's benchmark decides as the scheduler does, so that times can be compared."""

import pytest

from services.scheduler.cycle import next_firm
from tools.bench.full_pod import FullPod
from tools.bench.scheduler import LONG_QUEUE, free_one_cube, plain_easy


@pytest.mark.parametrize("cubes", [8, 64])
def test_a_plain_scheduler_starts_the_same_slices_and_promises_the_same(cubes: int) -> None:
    pod = FullPod(cubes, 60, LONG_QUEUE, tiers=("research",), smallest_chips=64)
    passed = 0
    for _ in range(40):
        pod.live(1)
        state = free_one_cube(pod.state)
        decision = next_firm(state)
        slice_, promises = plain_easy(state)
        assert slice_ == (None if decision.offer is None else decision.offer.row.number)
        assert promises == decision.promises
        passed += slice_ is not None and slice_ not in promises and bool(promises)
    assert passed > 5


def test_a_full_pod_has_as_many_waiting_as_it_was_requested() -> None:
    pod = FullPod(8, 30, LONG_QUEUE, tiers=("research",))
    pod.live(50)
    assert 20 < pod.state.queued < 40
    assert 50 <= len(pod.decided_s) < 60
    assert pod.lose(range(4)) > 0
    assert len(pod.state.unhealthy) == 4
