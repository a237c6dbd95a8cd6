"""The clock of a live twin in memory: concurrent changes all take effect and are recorded."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.fabric_kinds import services_of
from shared.basics.errors import OperationFailed
from shared.runtimes.live.live_clock import LiveClock, log_pending_operations, read_epoch
from shared.runtimes.operations_log import last_clock
from shared.runtimes.simulated_clock import ClockChange, Epoch
from shared.storage.store.memory_store import MemoryStore
from shared.storage.store.state_store import PartitionSnapshot
from tests.support.memory_operations import MemoryOperations
from tests.support.pods import pod_place

START = Epoch(0, 0, 1.0, paused=False)


class InterruptedStore(MemoryStore):
    """Lets another process act between a read of the clock and its write."""

    def __init__(self) -> None:
        self.now_s = 0.0
        super().__init__(wall_s=lambda: self.now_s)
        self.meanwhile: list[Callable[[], None]] = []

    def wall_us(self) -> int:
        self.now_s += 1e-6
        if self.meanwhile:
            self.meanwhile.pop()()
        return super().wall_us()


def clock_of(store: MemoryStore) -> LiveClock:
    return LiveClock(store, services_of, lambda: 0.0)


def started() -> InterruptedStore:
    store = InterruptedStore()
    assert clock_of(store).start(START, "init")
    return store


def noted(store: MemoryStore) -> MemoryOperations:
    operations = MemoryOperations()
    log_pending_operations(store, operations)
    return operations


def test_pause_and_speed_at_once_both_hold() -> None:
    store = started()
    store.meanwhile = [lambda: clock_of(store).set_speed(7.0, "tom")]
    clock_of(store).pause("mia")
    found = read_epoch(store)
    assert found is not None
    assert (found.speed, found.paused) == (7.0, True)


def test_a_sequencer_that_starts_does_not_undo_a_pause() -> None:
    store = started()
    store.meanwhile = [lambda: clock_of(store).pause("mia")]
    clock_of(store).anchor("sequencer")
    found = read_epoch(store)
    assert found is not None
    assert found.paused


CHANGES = st.one_of(
    st.builds(lambda speed: ClockChange(speed=speed), st.sampled_from([2.0, 60.0, 1e6])),
    st.builds(lambda paused: ClockChange(paused=paused), st.booleans()),
    st.just(ClockChange()),
)


@given(st.lists(st.lists(CHANGES, min_size=1, max_size=4), max_size=6))
def test_changes_that_interrupt_each_other_all_hold(groups: list[list[ClockChange]]) -> None:
    """Of each group every change begins while the one before has read the clock and not yet set it: so the
    last of a group is set first."""
    store = started()
    speed, paused, count = START.speed, START.paused, 1
    for group in groups:
        store.meanwhile = [lambda asked=asked: clock_of(store).change(asked, "tom") for asked in group[:0:-1]]  # type: ignore[misc]  # mypy knows no default of a lambda
        clock_of(store).change(group[0], "mia")
        for asked in reversed(group):
            speed = asked.speed or speed
            paused = paused if asked.paused is None else asked.paused
        count += len(group)
    found = read_epoch(store)
    assert found is not None
    assert (found.speed, found.paused) == (speed, paused)
    operations = noted(store)
    assert operations.end() == count
    assert last_clock(operations) == found.body()


def test_a_change_is_noted_once_and_after_a_kill_as_well() -> None:
    store = started()
    clock_of(store).pause("mia")
    operations = MemoryOperations()
    before = store.read_globals("clock")
    assert log_pending_operations(store, operations) == 2
    store.set_globals("clock", before)  # as if the sequencer had been killed before it could report it
    assert log_pending_operations(store, operations) == 2
    assert [found.who for _, found in operations.read()] == ["init", "mia"]
    assert log_pending_operations(store, operations) == 0


def test_of_two_that_begin_a_clock_one_does() -> None:
    store = started()
    assert not clock_of(store).start(Epoch(0, 0, 9.0, paused=True), "rebuild")
    found = read_epoch(store)
    assert found is not None
    assert found.speed == 1.0


def test_a_clock_that_others_keep_changing_is_an_error_in_one_sentence() -> None:
    class Busy(InterruptedStore):
        def swap_globals(self, *_: object) -> bool:
            return False

    store = Busy()
    store.set_globals("clock", started().read_globals("clock"))
    with pytest.raises(OperationFailed, match="clock: 100 concurrent changes interfered; try again"):
        clock_of(store).pause()


def test_a_change_reads_every_partition_once() -> None:
    """The counts and the progress of all services are then of one time."""
    read: list[int] = []

    class Counted(MemoryStore):
        def snapshot(
            self, partition: int, states: Sequence[tuple[str, str]], *, whole: bool = False
        ) -> PartitionSnapshot:
            read.append(partition)
            return super().snapshot(partition, states, whole=whole)

    store = Counted()
    assert clock_of(store).start(START, "init")
    for number in range(3):
        store.place(f"pod-{number}", pod_place(number % 2, f"pod-{number}"))
    clock_of(store).pause("mia")
    assert read == [0, 1]
