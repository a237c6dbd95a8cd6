"""When a worker must end, by plain values."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.basics.errors import OperationFailed, StoreUnreachable
from shared.runtimes.live.kafka.kafka_errors import LogUnreachable
from shared.runtimes.live.worker.service_stop import ServiceStop
from shared.runtimes.live.worker.watchdog import (
    STALL_S_MAX,
    TOPIC_EVERY_S,
    UNSEEN_S_MAX,
    PartitionStall,
    WorkerWatchdog,
    next_stall,
    restart_reason,
)
from shared.runtimes.live.worker.worker_folds import PartitionPosition
from shared.storage.store.memory_store import MemoryStore
from shared.storage.store.state_store import Commit, FabricPlace, PartitionSnapshot

STOPPED = ServiceStop(10, "pod-0", "tick.ocs@pod-0/1", "ocs of pod-0 raised")
offsets = st.integers(0, 1_000)
looks = st.lists(
    st.tuples(st.floats(0, UNSEEN_S_MAX), st.integers(0, 3), st.sampled_from("owo?")), max_size=60
)


@given(offsets, offsets)
def test_a_store_behind_the_committed_position_went_back(position: int, stored: int) -> None:
    found = restart_reason("ocs", 3, PartitionPosition(position, 0.0, None), stored, None)
    assert (found is not None and "rolled back" in found) == (stored < position)


def seen(
    fold_progress: PartitionPosition, stored: int, end: int | None, moments: list[float]
) -> PartitionStall | None:
    """The stall reported after inspections at these times, between which nothing moved."""
    stall = None
    for now_s in moments:
        stall = next_stall(stall, fold_progress, stored, end, now_s)
    return stall


class TestStall:
    HERE = PartitionPosition(10, 0.0, None)

    def test_nothing_committed_for_half_a_minute_with_something_to_read(self) -> None:
        moments = [100.0 + n for n in range(32)]
        assert restart_reason("ocs", 3, self.HERE, 10, seen(self.HERE, 10, 11, moments[:31])) is None
        found = restart_reason("ocs", 3, self.HERE, 10, seen(self.HERE, 10, 11, moments))
        assert found == (
            "partition 3: ocs is at 10 and has more to read, but committed nothing for 31 s; restarting"
        )

    def test_a_message_after_a_quiet_hour_is_given_its_time(self) -> None:
        """The last commit is long ago because there was nothing to commit."""
        quiet = seen(self.HERE, 10, 10, [3_600.0])
        stall = next_stall(quiet, self.HERE, 10, 11, 3_601.0)
        assert restart_reason("ocs", 3, self.HERE, 10, stall) is None

    def test_an_overtaken_worker_stops_when_the_other_one_does_not_continue_either(self) -> None:
        """It may own the partition again without knowing it; a restarted worker queries."""
        stall = None
        for now_s in range(100):
            stall = next_stall(stall, self.HERE, 12 + now_s, 1_000, float(now_s))
            assert restart_reason("ocs", 3, self.HERE, 12 + now_s, stall) is None
        stall = seen(self.HERE, 112, 1_000, [float(now_s) for now_s in range(200, 240)])
        assert "is at 112" in (restart_reason("ocs", 3, self.HERE, 112, stall) or "")

    def test_a_worker_that_is_stopped_at_a_message_does_not_exit(self) -> None:
        fold_progress = replace(self.HERE, stopped=STOPPED)
        assert seen(fold_progress, 10, 100, [float(n) for n in range(100)]) is None

    def test_a_fresh_assignment_begins_again(self) -> None:
        stall = seen(self.HERE, 10, 11, [float(n) for n in range(29)])
        taken_up = PartitionPosition(10, 28.5, None)
        for n in range(29, 59):
            stall = next_stall(stall, taken_up, 10, 11, float(n))
            assert restart_reason("ocs", 3, taken_up, 10, stall) is None
        assert restart_reason("ocs", 3, taken_up, 10, next_stall(stall, taken_up, 10, 11, 60.0)) is not None

    def test_time_without_a_possible_inspection_does_not_count(self) -> None:
        """The process was stopped by a signal, or the store did not answer, so no worker could commit."""
        stall = seen(self.HERE, 10, 11, [float(n) for n in range(20)])
        stall = next_stall(stall, self.HERE, 10, 11, 20.0 + UNSEEN_S_MAX)
        assert stall is not None
        assert stall.since_s == 20.0 + UNSEEN_S_MAX

    def test_an_end_that_the_sequencer_requests_just_now_does_not_begin_again(self) -> None:
        """It queries every few seconds while a message is unread, and finds none meanwhile."""
        stall = None
        for n in range(32):
            stall = next_stall(stall, self.HERE, 10, None if n % 10 == 9 else 11, float(n))
        assert restart_reason("ocs", 3, self.HERE, 10, stall) is not None
        assert seen(self.HERE, 10, None, [float(n) for n in range(100)]) is None

    @given(looks)
    def test_it_ends_if_and_only_if_something_was_unread_and_nothing_moved_for_so_long(
        self, steps: list[tuple[float, int, str]]
    ) -> None:
        """Against the history itself. `o`: nothing is left to read, `w`: something is, `?`: unknown."""
        now_s, stored = 0.0, 10
        began_s: float | None = None
        stall = None
        for pause_s, moved, shown in steps:
            now_s += pause_s
            stored += moved
            if shown == "o":
                began_s = None
            elif (began_s is None and shown == "w") or (began_s is not None and moved):
                began_s = now_s
            end = {"o": stored, "w": stored + 5, "?": None}[shown]
            fold_progress = PartitionPosition(stored, 0.0, None)
            stall = next_stall(stall, fold_progress, stored, end, now_s)
            stalls = began_s is not None and now_s - began_s > STALL_S_MAX
            assert (restart_reason("ocs", 3, fold_progress, stored, stall) is not None) == stalls


class Unsteady(MemoryStore):
    """A store that may not answer."""

    away = False

    def snapshot(self, partition: int, states: object, *, whole: bool = False) -> PartitionSnapshot:
        if self.away:
            raise StoreUnreachable("Redis at x does not answer")
        return super().snapshot(partition, [])


class TestWorkerWatch:
    @pytest.fixture(autouse=True)
    def surroundings(self) -> None:
        self.store = Unsteady()
        self.store.commit(Commit(0, {}, {"ocs": 5}, fields={"end": "5"}))
        self.now_s = 0.0
        self.owned = {0: PartitionPosition(5, 0.0, None)}
        self.topic: str | Exception = "the one"
        self.asked = 0

    def topic_id(self) -> str:
        self.asked += 1
        if isinstance(self.topic, Exception):
            raise self.topic
        return self.topic

    def watch(self) -> WorkerWatchdog:
        return WorkerWatchdog(
            "ocs",
            self.store,  # type: ignore[arg-type]  # of which the watch asks only for snapshots
            lambda: self.owned,
            self.topic_id,
            "the one",
            {"superpod"},
            wall_s=lambda: self.now_s,
        )

    def looks(self, watch: WorkerWatchdog, seconds: int) -> str | None:
        """One inspection a second, until it reports a stall."""
        for _ in range(seconds):
            self.now_s += 1.0
            if (found := watch.check()) is not None:
                return found
        return None

    def test_all_is_well_and_kafka_is_requested_now_and_then(self) -> None:
        assert self.looks(self.watch(), 100) is None
        assert self.asked == 100 / TOPIC_EVERY_S

    @staticmethod
    def shown(watch: WorkerWatchdog) -> list[str]:
        return list(watch.problems)

    def place(self, partition: int, read: int, end: int, **fields: str) -> None:
        self.store.place(f"pod-{partition}", FabricPlace(partition, "campus", "superpod"))
        self.store.commit(Commit(partition, {}, {"ocs": read}, fields={"end": str(end), **fields}))

    def test_a_partition_that_no_worker_reads_ends_it(self) -> None:
        """Kafka's group assigned it to this worker, which never started, or to none."""
        for held in ({0: PartitionPosition(5, 0.0, None)}, {}):
            self.owned = held
            self.place(1, 7, 9)
            watch = self.watch()
            assert self.looks(watch, 10) is None
            assert not self.shown(watch)
            assert self.looks(watch, 20) is None
            assert self.shown(watch) == ["partition 1: ocs has more to read, but no worker reads it"]
            assert "partition 1: ocs is at 7" in (self.looks(watch, 30) or "")

    def test_a_partition_read_by_another_worker_is_no_stall(self) -> None:
        watch = self.watch()
        for read in range(7, 27):
            self.place(1, read, 30)
            assert self.looks(watch, 10) is None
            assert not self.shown(watch)

    @pytest.mark.parametrize("why", ["all read", "stopped", "not its"])
    def test_a_partition_where_there_is_nothing_to_do_is_no_reason(self, why: str) -> None:
        if why == "not its":
            self.store.place("pod-1", FabricPlace(1, "campus", "static-pod"))
            self.store.commit(Commit(1, {}, {"cubes": 3}, fields={"end": "9"}))
        else:
            self.place(
                1, 9 if why == "all read" else 7, 9, **({"stopped:ocs": "{}"} if why == "stopped" else {})
            )
        assert self.looks(self.watch(), 200) is None

    def test_a_recreated_topic_is_another_log(self) -> None:
        watch = self.watch()
        assert self.looks(watch, 15) is None
        self.topic = "another"
        assert "deleted and created again" in (self.looks(watch, 10) or "")

    def test_a_topic_that_is_gone_ends_the_worker_and_a_kafka_that_is_away_does_not(self) -> None:
        watch = self.watch()
        self.topic = LogUnreachable("Kafka at x: away")
        assert self.looks(watch, 100) is None
        self.topic = OperationFailed("topic t.log: not on Kafka at x")
        assert self.looks(watch, 10) == "topic t.log: not on Kafka at x"

    def test_a_store_that_forgot_ends_the_worker(self) -> None:
        self.owned = {0: PartitionPosition(6, 0.0, None)}
        assert "rolled back" in (self.looks(self.watch(), 1) or "")

    def test_a_store_that_does_not_answer_is_no_reason_and_its_time_does_not_count(self) -> None:
        watch = self.watch()
        self.store.commit(Commit(0, {}, {}, fields={"end": "9"}))
        assert self.looks(watch, 25) is None
        self.store.away = True
        assert self.looks(watch, 600) is None
        self.store.away = False
        assert self.looks(watch, 30) is None
        assert "committed nothing" in (self.looks(watch, 2) or "")

    def test_a_partition_that_moved_away_and_back_starts_again(self) -> None:
        watch = self.watch()
        self.store.commit(Commit(0, {}, {}, fields={"end": "9"}))
        assert self.looks(watch, 25) is None
        held, self.owned = self.owned, {}
        assert self.looks(watch, 1) is None
        self.owned = held
        assert self.looks(watch, 30) is None
        assert "committed nothing" in (self.looks(watch, 2) or "")
