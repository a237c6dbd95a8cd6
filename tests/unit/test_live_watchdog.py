"""When a worker must end, by plain values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.live.fold import Stopped
from shared.live.watchdog import STALL_S_MAX, WorkerWatch, verdict
from shared.live.worker import Standing
from shared.state.memory import MemoryStore
from shared.state.store import Commit

STOPPED = Stopped(10, "pod-0", "tick.ocs@pod-0/1", "ocs of pod-0 raised")
offsets = st.integers(0, 1_000)


@given(offsets, offsets, offsets, st.floats(0, 100))
def test_a_store_behind_what_was_committed_went_back(
    position: int, stored: int, end: int, now_s: float
) -> None:
    found = verdict("ocs", 3, Standing(position, 0.0, None), stored, end, now_s)
    assert (found is not None and "went back" in found) == (stored < position)


@given(offsets, offsets, st.floats(0, 100))
def test_nothing_committed_for_half_a_minute_with_something_to_read(
    position: int, end: int, now_s: float
) -> None:
    found = verdict("ocs", 3, Standing(position, 0.0, None), position, end, now_s)
    assert (found is not None) == (end > position and now_s > STALL_S_MAX)


@pytest.mark.parametrize(
    ("standing", "stored"),
    [(Standing(10, 0.0, STOPPED), 10), (Standing(10, 0.0, None), 12)],
)
def test_who_is_stopped_or_was_overtaken_by_another_worker_need_not_end(
    standing: Standing, stored: int
) -> None:
    assert verdict("ocs", 3, standing, stored, 100, 1_000.0) is None


class TestWorkerWatch:
    def watch(self, ids: list[str], position: int = 5) -> WorkerWatch:
        store = MemoryStore()
        store.commit(Commit(0, {}, {"ocs": 5}, fields={"end": "5"}))
        times = iter(range(0, 10_000, 11))
        return WorkerWatch(
            "ocs",
            store,
            lambda: {0: Standing(position, 0.0, None)},
            lambda: ids.pop(0),
            "the one",
            wall_s=lambda: float(next(times)),
        )

    def test_all_is_well(self) -> None:
        watch = self.watch(["the one", "the one"])
        assert [watch.look(), watch.look()] == [None, None]

    def test_a_topic_that_was_made_again_is_another_log(self) -> None:
        watch = self.watch(["the one", "another"])
        assert watch.look() is None
        assert "deleted and made again" in (watch.look() or "")

    def test_a_store_that_forgot_ends_the_worker(self) -> None:
        assert "went back" in (self.watch([], position=6).look() or "")
