"""The sequencer's process: a partition sequencer for every partition that holds a fabric, each in a task of
its own, woken when there is something to do."""

import asyncio
import logging
import threading
import time
from collections import Counter

from shared.basics.errors import LightwaveError, LogDamaged, NotFound, OperationFailed, UpgradeNeeded
from shared.runtimes.live.kafka.appender import Appender
from shared.runtimes.live.live_clock import (
    LiveClock,
    is_beat_missing,
    log_pending_operations,
    read_epoch,
    write_clock_beat,
)
from shared.runtimes.live.sequencer.partition_sequencer import AppendCounts, PartitionSequencer
from shared.runtimes.live.twin_record import TwinRecord
from shared.runtimes.operations_log import OperationsLog
from shared.runtimes.simulated_clock import SpeedMeter
from shared.storage.store.fabric_registry import ServiceNamesOf
from shared.storage.store.redis_store import RedisStore

POLL_S = 0.05
"""How long a partition waits for its services before it looks again although nobody woke it."""
RECHECK_S = 1.0
"""How often the sequencer looks for new fabrics, and notes that it keeps the clock."""
BACKOFF_S_MAX = 2.0
CLOCK_OPERATOR = "sequencer"
"""Who the operations log says it was that let the clock wait."""
STANDSTILL_S_MAX = 10.0
"""How long time may stand still in every partition at once before the clock waits for it: what nobody could
keep is not made up in a jump."""
STANDSTILL = (
    "simulated time stands still in every partition, and the clock waits for it; `lightwave live status` "
    "says who holds it up"
)
END_RECHECK_S = 10.0
"""How long services may leave something unread before Kafka is asked where its log ends."""

log = logging.getLogger("lightwave.live")


class SequencerLoop:
    """Runs until `stop`. `problems` says why time stands still, by partition."""

    def __init__(
        self,
        twin: TwinRecord,
        services_of: ServiceNamesOf,
        store: RedisStore,
        appender: Appender,
        operations: OperationsLog,
        software: str = "",
    ) -> None:
        self.written = AppendCounts()
        self.problems: dict[int, str] = {}
        self.sequencers: dict[int, PartitionSequencer] = {}
        self._software = software
        self._twin = twin
        self._services_of = services_of
        self._store = store
        self._appender = appender
        self._clock = LiveClock(store, services_of, self.achieved_speed)
        self._operations = operations
        self._woken: dict[int, asyncio.Event] = {}
        self._stopping = asyncio.Event()
        self.stalled_s = 0.0
        """Wall time for which simulated time should have advanced and did not."""
        self._meter = SpeedMeter()
        self._speed = 0.0
        self._last_processed_us: dict[int, int] = {}
        """Partition → simulated time, as last measured."""
        self._moved_s = self._anchored_s = time.monotonic()
        """When the time of some partition was last seen to come on, and when the clock was set to wait."""

    def stop(self) -> None:
        self._stopping.set()
        for woken in self._woken.values():
            woken.set()

    async def run(self) -> None:
        """Raises what nobody but a person can mend and which is not one partition's trouble alone."""
        listener = threading.Thread(target=self._listen, args=(asyncio.get_running_loop(),), daemon=True)
        async with asyncio.TaskGroup() as tasks:
            listener.start()
            tasks.create_task(self._note_changes())
            while not self._stopping.is_set():
                try:
                    self._keep_clock()
                    for partition in sorted({place.partition for place in self._store.fabrics().values()}):
                        if partition not in self.sequencers:
                            tasks.create_task(self._run_partition(self._begin(partition)))
                except (OperationFailed, NotFound) as error:  # the latter of an emptied store
                    log.warning("%s", error)
                self._measure()
                await self._pause(self._stopping, RECHECK_S)

    async def _note_changes(self) -> None:
        """By itself: while Kafka is away it takes many seconds, and the clock must be kept meanwhile."""
        while not self._stopping.is_set():
            try:
                await asyncio.to_thread(log_pending_operations, self._store, self._operations)
            except OperationFailed as error:
                log.warning("%s", error)
            await self._pause(self._stopping, RECHECK_S)

    def achieved_speed(self) -> float:
        """Simulated over wall time, as held over the last seconds."""
        return self._speed

    @property
    def standstill_problems(self) -> tuple[str, ...]:
        """Why time stands still, in one sentence each."""
        still = (STANDSTILL,) if time.monotonic() - self._moved_s > 2 * STANDSTILL_S_MAX else ()
        return (*(problem for _, problem in sorted(self.problems.copy().items())), *still)

    def _keep_clock(self) -> None:
        """Note that this sequencer keeps the clock. If none did for a while, or if time could come on nowhere
        (no worker is there yet, Kafka is away), the clock goes on from where time stands. One that stands
        keeps its moment: nothing is made up there, and what is left until then is still to be done."""
        now_s, epoch = time.monotonic(), read_epoch(self._store)
        if epoch is None:
            return
        if not epoch.paused and self._is_new():
            self._clock.hold_at_start()
            self._moved_s = now_s
            return
        is_still = now_s - max(self._moved_s, self._anchored_s) > STANDSTILL_S_MAX
        is_stopped = epoch.paused and epoch.until_us is None
        if not is_stopped and (is_beat_missing(self._store) or is_still):
            self._clock.anchor(CLOCK_OPERATOR)
            self._anchored_s = now_s
        write_clock_beat(self._store)
        clock_us = epoch.clock_us(self._store.wall_us())
        processed_us_by_partition = {
            partition: one.processed_us for partition, one in self.sequencers.items()
        }
        moved = any(
            at_us > self._last_processed_us.get(partition, -1)
            for partition, at_us in processed_us_by_partition.items()
        )
        if moved or epoch.paused or clock_us <= min(processed_us_by_partition.values(), default=clock_us):
            self._moved_s = now_s
        self._last_processed_us = processed_us_by_partition

    def _is_new(self) -> bool:
        """Whether nobody has begun with a twin whose log holds no more than its fabrics' beginnings. States
        alone would not tell: a rebuild begins without them."""
        homes = Counter(place.partition for place in self._store.fabrics().values())
        return bool(self.sequencers) and not any(
            one.has_started or one.end is None or one.end > homes[partition]
            for partition, one in self.sequencers.items()
        )

    def _begin(self, partition: int) -> PartitionSequencer:
        found = PartitionSequencer(
            partition,
            self._twin.twin,
            self._services_of,
            self._store,
            self._appender,
            self.written,
            self._software,
        )
        self.sequencers[partition] = found
        self._woken[partition] = asyncio.Event()
        return found

    async def _run_partition(self, sequencer: PartitionSequencer) -> None:
        """Step through one partition; what goes wrong is shown, and tried again."""
        partition, woken = sequencer.partition, self._woken[sequencer.partition]
        backoff_s = POLL_S
        moved_s = time.monotonic()
        while not self._stopping.is_set():
            woken.clear()
            try:
                busy = await sequencer.step(read_epoch(self._store))
            except (OperationFailed, LogDamaged, UpgradeNeeded) as error:
                self._show(partition, str(error))
                sequencer.end = None  # somebody may mend it: ask Kafka again
                backoff_s = min(2 * backoff_s, BACKOFF_S_MAX)
                await self._pause(self._stopping, backoff_s)
                continue
            backoff_s = POLL_S
            self._show(partition, None)
            if busy or sequencer.is_quiet:
                moved_s = time.monotonic()
            elif time.monotonic() - moved_s > END_RECHECK_S:
                sequencer.end = None  # services may wait for what Kafka has lost: ask it
                moved_s = time.monotonic()
            if not busy:
                await self._pause(woken, min(POLL_S, max(sequencer.wait_s, 0.0005)))

    def _show(self, partition: int, problem: str | None) -> None:
        before = self.problems.get(partition)
        if problem is None:
            self.problems.pop(partition, None)
        else:
            self.problems[partition] = problem
            if problem != before:
                log.error("%s; time stands still there", problem, extra={"partition": partition})
        if before is not None and problem is None:
            log.info("partition %d goes on", partition)

    def _listen(self, loop: asyncio.AbstractEventLoop) -> None:
        """A thread: who commits last, and who puts a request into the inbox, wakes the partition."""
        while not self._stopping.is_set():
            try:
                partitions = range(self._twin.partitions)
                with self._store.woken(partitions) as wait:
                    while not self._stopping.is_set():
                        for partition in wait(0.5):
                            loop.call_soon_threadsafe(self._wake, partition)
            except LightwaveError:
                time.sleep(0.5)
            except RuntimeError:
                return  # the loop has ended

    def _wake(self, partition: int) -> None:
        if partition in self._woken:
            self._woken[partition].set()

    def _measure(self) -> None:
        if not self.sequencers:
            return
        now_s = time.monotonic()
        processed_us = min(s.processed_us for s in self.sequencers.values())
        last_s, last_us = self._meter.last or (now_s, -1)
        if last_us == processed_us and any(sequencer.lag_us for sequencer in self.sequencers.values()):
            self.stalled_s += now_s - last_s
        self._speed = self._meter.measure(now_s, processed_us) or 0.0

    @staticmethod
    async def _pause(event: asyncio.Event, seconds: float) -> None:
        try:
            await asyncio.wait_for(event.wait(), seconds)
        except TimeoutError:
            return
