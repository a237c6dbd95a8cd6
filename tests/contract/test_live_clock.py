"""The clock of a live twin, over a real Redis with hand-made content."""

import asyncio
import math
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from schemas.files.operations_log import RebuildBegun
from schemas.limits import SPEED_MAX
from services.fabric_kinds import services_of
from shared.basics.errors import InvalidInput, NotFound
from shared.basics.units import US_PER_S
from shared.engine.message_order import ServiceProgress
from shared.runtimes.live.live_clock import (
    BEAT_US_MAX,
    LiveClock,
    is_beat_missing,
    log_pending_operations,
    queue_operation,
    read_epoch,
)
from shared.runtimes.live.sequencer import sequencer_loop
from shared.runtimes.live.sequencer.partition_sequencer import PartitionSequencer
from shared.runtimes.live.sequencer.sequencer_loop import STANDSTILL, SequencerLoop
from shared.runtimes.live.twin_record import read_twin
from shared.runtimes.operations_log import last_clock, new_operation
from shared.runtimes.simulated_clock import Epoch
from shared.storage.store.redis_store import RedisStore
from shared.storage.store.state_store import Commit, FabricPlace
from tests.support.live_epoch import write_epoch
from tests.support.memory_operations import MemoryOperations
from tests.support.toy_twin_store import KIND, all_read, toy_twin_store


@pytest.fixture
def store(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[RedisStore]:
    store = toy_twin_store(redis_url, monkeypatch)
    yield store
    store.close()


class TestClockAnchor:
    """The sequencer's clock anchor while time cannot advance."""

    @pytest.fixture
    def loop(self, store: RedisStore, monkeypatch: pytest.MonkeyPatch) -> SequencerLoop:
        monkeypatch.setattr(sequencer_loop, "STANDSTILL_S_MAX", 0.0)
        appender: Any = None  # nothing is appended
        loop = SequencerLoop(read_twin(store), services_of, store, appender, MemoryOperations())
        loop.sequencers[1] = PartitionSequencer(1, "a" * 32, services_of, store, appender)
        loop.sequencers[1].end = 7
        return loop

    def test_time_during_which_no_site_could_advance_is_not_caught_up(
        self, store: RedisStore, loop: SequencerLoop
    ) -> None:
        all_read(store)
        write_epoch(store, Epoch(0, store.wall_us() - 9 * US_PER_S, 60.0, paused=False))
        loop._keep_clock()
        loop._keep_clock()
        epoch = read_epoch(store)
        assert epoch is not None
        assert (epoch.anchor_us, epoch.speed) == (5_000_000, 60.0), "up to the time at which cubes is due"
        assert STANDSTILL in loop.standstill_problems

    def test_a_stopped_clock_keeps_its_time(self, store: RedisStore, loop: SequencerLoop) -> None:
        """However long the sequencer was away, the time until the anchor is still to be simulated."""
        all_read(store)
        before = Epoch(60_000_000, store.wall_us(), 60.0, paused=True)
        write_epoch(store, before)
        store.set_globals("clock", {"beat_us": str(store.wall_us() - BEAT_US_MAX - 1)})
        loop._keep_clock()
        assert read_epoch(store) == before

    @pytest.mark.parametrize(("end", "waits"), [(1, True), (2, False)])
    def test_the_clock_of_a_new_twin_waits_for_its_workers(
        self, store: RedisStore, loop: SequencerLoop, end: int, waits: bool
    ) -> None:
        """The clock waits however late the workers start after `live init`. A longer log belongs to a twin
        that is being rebuilt."""
        store.erase(1)
        loop.sequencers[1].end = end
        write_epoch(store, Epoch(0, store.wall_us() - 9 * US_PER_S, 60.0, paused=False))
        loop._keep_clock()
        epoch = read_epoch(store)
        assert epoch is not None
        assert (epoch.clock_us(store.wall_us()) < 60 * 5 * US_PER_S) == waits

    def test_a_partition_that_catches_up_does_not_keep_the_clock_going(
        self, store: RedisStore, loop: SequencerLoop
    ) -> None:
        """Otherwise the others would make up in a jump what the clock has advanced meanwhile."""
        write_epoch(store, Epoch(0, store.wall_us() - 9 * US_PER_S, 60.0, paused=False))
        behind = loop.sequencers[1]
        behind.has_started = True
        appender: Any = None
        ahead = loop.sequencers[2] = PartitionSequencer(2, "a" * 32, services_of, store, appender)
        ahead.processed_us = 50_000_000
        for at_us in (1, 2, 3):
            behind.processed_us = at_us
            loop._keep_clock()
        moved_s = loop._moved_s
        behind.processed_us = 4
        loop._keep_clock()
        assert loop._moved_s == moved_s
        ahead.processed_us += 1
        loop._keep_clock()
        assert loop._moved_s > moved_s

    def test_advancing_time_is_not_anchored_again(self, store: RedisStore, loop: SequencerLoop) -> None:
        before = Epoch(0, store.wall_us() - 9 * US_PER_S, 60.0, paused=False)
        write_epoch(store, before)
        for at_us in (1, 2, 3):
            loop._moved_s = math.inf  # as if time had just advanced
            loop.sequencers[1].processed_us = at_us
            loop.sequencers[1].has_started = True
            loop._keep_clock()
        assert read_epoch(store) == before

    def test_the_clock_is_kept_while_the_operations_log_cannot_be_written(
        self, store: RedisStore, loop: SequencerLoop, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sequencer_loop, "RECHECK_S", 0.01)
        written = threading.Event()
        beats: list[str | None] = []
        queue_operation(store, new_operation(RebuildBegun(software="1"), "mia"))
        monkeypatch.setattr(loop._operations, "append", lambda _: written.wait(20))
        monkeypatch.setattr(loop, "_listen", lambda _: None)  # nothing is woken

        async def run() -> None:
            running = asyncio.create_task(loop.run())
            for _ in range(500):
                if len(set(beats)) > 2:
                    break
                await asyncio.sleep(0.01)
                beats.append(store.read_globals("clock").get("beat_us"))
            written.set()
            loop.stop()
            await running

        write_epoch(store, Epoch(0, store.wall_us(), 1.0, paused=True))
        store.forget_fabrics()  # no partition is started
        asyncio.run(run())
        assert len(set(beats)) > 2

    def test_an_emptied_store_gets_no_clock(self, store: RedisStore, loop: SequencerLoop) -> None:
        store.flush()
        loop._keep_clock()
        assert store.read_globals("clock") == {}


class TestClock:
    def clock(self, store: RedisStore) -> LiveClock:
        return LiveClock(store, services_of, lambda: 3.0)

    def test_while_messages_are_unread_time_is_that_of_the_last_processed_message(
        self, store: RedisStore
    ) -> None:
        write_epoch(store, Epoch(60_000_000, store.wall_us(), 1.0, paused=True))
        shown = self.clock(store).show()
        assert (shown.now_us, shown.lag_us, shown.paused, shown.achieved_speed) == (
            4_000_000,
            56_000_000,
            True,
            0.0,
        )

    def test_when_all_messages_are_read_time_is_that_of_the_next_due_event(self, store: RedisStore) -> None:
        all_read(store)
        write_epoch(store, Epoch(60_000_000, store.wall_us(), 1.0, paused=True))
        assert self.clock(store).show().now_us == 5_000_000
        write_epoch(store, Epoch(4_500_000, store.wall_us(), 1.0, paused=True))
        assert self.clock(store).show().now_us == 4_500_000

    def test_a_clock_change_anchors_at_the_last_processed_time(self, store: RedisStore) -> None:
        all_read(store)
        write_epoch(store, Epoch(60_000_000, store.wall_us(), 1.0, paused=True))
        self.clock(store).set_speed(50.0)
        epoch = read_epoch(store)
        assert epoch is not None
        assert (epoch.anchor_us, epoch.speed, epoch.paused) == (5_000_000, 50.0, True)
        self.clock(store).resume()
        epoch = read_epoch(store)
        assert epoch is not None
        assert (epoch.anchor_us, epoch.paused) == (5_000_000, False)
        with pytest.raises(InvalidInput, match=r"^speed: 0 is not allowed"):
            self.clock(store).set_speed(0)

    def test_a_site_that_is_ahead_does_not_wait_for_the_clock(self, store: RedisStore) -> None:
        """At full speed, each site runs as fast as it can. Afterwards, a pause shows the time of the slower
        site, and a resume continues from that of the faster one."""
        ahead_us = 900_000_000
        store.place("pod-2", FabricPlace(2, "pod-2", KIND))
        ahead = ServiceProgress("cubes", "pod-2", ahead_us + 1, 2, ahead_us)
        fields = {"end": "3", "fabric:pod-2": f"pod-2 {KIND}"}
        store.commit(Commit(2, {}, {"cubes": 3, "ocs": 3}, progress=(ahead,), fields=fields))
        write_epoch(store, Epoch(10**12, store.wall_us(), SPEED_MAX, paused=False))

        def anchor_us() -> int:
            epoch = read_epoch(store)
            assert epoch is not None
            return epoch.anchor_us

        self.clock(store).set_speed(2.0)
        assert anchor_us() == ahead_us
        self.clock(store).pause()
        assert anchor_us() == 4_000_000
        assert self.clock(store).show().lag_us == 0
        self.clock(store).resume()
        assert anchor_us() == ahead_us
        store.set_globals("clock", dict.fromkeys(store.read_globals("clock")))
        assert self.clock(store).start(Epoch(0, 0, 2.0, paused=False), "rebuild")
        assert anchor_us() == ahead_us

    def test_without_a_clock_no_clock_change_is_accepted(self, store: RedisStore) -> None:
        assert read_epoch(store) is None
        assert self.clock(store).show().paused
        with pytest.raises(NotFound, match="live rebuild"):
            self.clock(store).pause()

    def test_a_clock_that_no_sequencer_kept_has_not_advanced(self, store: RedisStore) -> None:
        write_epoch(store, Epoch(0, store.wall_us(), 1.0, paused=False))
        assert not is_beat_missing(store)
        store.set_globals("clock", {"beat_us": str(store.wall_us() - BEAT_US_MAX - 1)})
        assert is_beat_missing(store)

    def test_simulated_time_is_wall_time_times_speed(self) -> None:
        epoch = Epoch(1_000, 500, 60.0, paused=False)
        assert epoch.clock_us(500 + 10) == 1_000 + 600
        assert epoch.clock_us(0) == 1_000
        assert epoch.wall_s_until(1_000 + 60 * US_PER_S, 500) == pytest.approx(1.0)


class TestConcurrentClockChanges:
    def test_a_pause_and_a_speed_change_over_two_gateways_both_take_effect(
        self, store: RedisStore, redis_url: str
    ) -> None:
        """Before updates were compared and swapped, about half of 60 pairs lost one update."""
        other = RedisStore(redis_url)
        clocks = [LiveClock(at, services_of, lambda: 0.0) for at in (store, other)]
        assert clocks[0].start(Epoch(0, 0, 1.0, paused=False), "init")
        for pair in range(1, 61):
            clocks[0].resume()
            orders = [
                threading.Thread(target=clocks[0].pause, args=("mia",)),
                threading.Thread(target=clocks[1].set_speed, args=(1.0 + pair, "tom")),
            ]
            for order in orders:
                order.start()
            for order in orders:
                order.join()
            epoch = read_epoch(store)
            assert epoch is not None
            assert (epoch.speed, epoch.paused) == (1.0 + pair, True)
        operations = MemoryOperations()
        assert log_pending_operations(store, operations) == 1 + 3 * 60
        last = last_clock(operations)
        assert last is not None
        assert (last.speed, last.paused) == (61.0, True)
        other.close()
