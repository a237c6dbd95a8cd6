"""The sequencer process: one partition sequencer for every partition with a fabric, each in its own task.

Notifications from the store wake the tasks.
"""

import asyncio
import contextlib
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import partial

from shared.basics.errors import (
    LightwaveError,
    LogDamaged,
    NotFound,
    OperationFailed,
    StateRefused,
    UpgradeNeeded,
)
from shared.runtimes.live.kafka.appender import Appender
from shared.runtimes.live.live_clock import (
    LiveClock,
    is_beat_missing,
    log_pending_operations,
    read_epoch,
    write_clock_beat,
)
from shared.runtimes.live.process.process_orders import note_order
from shared.runtimes.live.refused_states import (
    close_refusal,
    note_refusal,
    open_refusals,
    readable_generation,
)
from shared.runtimes.live.sequencer.partition_sequencer import AppendCounts, PartitionSequencer
from shared.runtimes.live.sequencer.tick_readings import ReadingCounts, TickReader, TickReadings
from shared.runtimes.live.twin_record import TwinRecord
from shared.runtimes.operations_log import OperationsLog
from shared.runtimes.simulated_clock import SpeedMeter
from shared.storage.store.fabric_registry import ServiceNamesOf
from shared.storage.store.redis_store import RedisStore
from shared.storage.store.state_digests import StateDigests

POLL_S = 0.05
"""How long a partition waits for its services before it checks again without a notification."""
RECHECK_S = 1.0
"""Interval of the checks for new fabrics, and of the clock's beat."""
BACKOFF_S_MAX = 2.0
CLOCK_OPERATOR = "sequencer"
"""The author of the sequencer's clock changes on the operations log."""
STANDSTILL_S_MAX = 10.0
"""How long no partition may pass the furthest time reached before the clock waits there, so that the lag is
not made up in a jump. A partition that catches up meanwhile goes on."""
STANDSTILL = (
    "the furthest simulated time of all partitions stands still, and the clock waits for it; `lightwave live "
    "status` shows what delays it"
)
REFUSED_RECHECK_S = 1.0
"""Interval of the checks for states that were refused."""
REBUILD_RETRY_S = 30.0
"""Wait between two rebuilds."""
END_RECHECK_S = 10.0
"""How long services may leave messages unread before the end of the log is queried again."""

Outdated = Callable[[], str | None]

log = logging.getLogger("lightwave.live")


class SequencerLoop:
    """Runs until `stop`. `problems` says why time stands still, by partition. `rebuild` rebuilds all states
    from the log, in a thread, and returns early when its argument returns True; OperationFailed if it fails.
    It is called when digests show that states were changed outside of the twin. `outdated`, one for each
    thread, return why this version must not act any more, or None: then nothing but steps is done, and each
    step checks the version itself. `tick_reader` answers the queries of services at their Ticks."""

    def __init__(
        self,
        twin: TwinRecord,
        services_of: ServiceNamesOf,
        store: RedisStore,
        appender: Appender,
        operations: OperationsLog,
        software: str = "",
        digests: StateDigests | None = None,
        rebuild: Callable[[Callable[[], bool]], None] = lambda _is_stopping: None,
        outdated: tuple[Outdated, Outdated] = (lambda: None, lambda: None),
        tick_reader: TickReader | None = None,
    ) -> None:
        self._tick_reader = tick_reader
        self._is_outdated, self._may_not_rebuild = outdated
        self._digests = digests
        self._rebuild = rebuild
        self.written = AppendCounts()
        self.read = ReadingCounts()
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
        self._last_furthest_us = -1
        """The furthest time of all partitions, as last measured."""
        self._moved_s = self._anchored_s = time.monotonic()
        """When the furthest time of all partitions last advanced, and when the clock was last anchored."""

    def stop(self) -> None:
        self._stopping.set()
        for woken in self._woken.values():
            woken.set()

    async def run(self) -> None:
        """Run until `stop`. Raises errors that need a person and affect more than one partition."""
        listener = threading.Thread(target=self._listen, args=(asyncio.get_running_loop(),), daemon=True)
        async with asyncio.TaskGroup() as tasks:
            listener.start()
            tasks.create_task(self._log_operations())
            tasks.create_task(self._rebuild_refused())
            while not self._stopping.is_set():
                try:
                    if self._is_outdated() is None:
                        self._keep_clock()
                    for partition in sorted({place.partition for place in self._store.fabrics().values()}):
                        if partition not in self.sequencers:
                            tasks.create_task(self._run_partition(self._begin(partition)))
                except (OperationFailed, NotFound) as error:  # NotFound: the store was emptied
                    log.warning("%s", error)
                self._measure()
                await self._pause(self._stopping, RECHECK_S)

    async def _log_operations(self) -> None:
        """A separate task: without Kafka this takes many seconds, and the clock needs its beat meanwhile."""
        while not self._stopping.is_set():
            try:
                await asyncio.to_thread(log_pending_operations, self._store, self._operations)
            except OperationFailed as error:
                log.warning("%s", error)
            await self._pause(self._stopping, RECHECK_S)

    async def _rebuild_refused(self) -> None:
        """Start a rebuild from the log if a process refused what Redis has."""
        while not self._stopping.is_set():
            pause_s = REFUSED_RECHECK_S
            try:
                refused = await asyncio.to_thread(self._still_refused)
                if refused:
                    log.warning("%s; starting a rebuild from the log", refused)
                    await asyncio.to_thread(self._rebuild, self._stopping.is_set)
                    pause_s = REBUILD_RETRY_S
            except LightwaveError as error:
                log.error("%s", error)  # noqa: TRY400 -- the sentence is complete
                pause_s = REBUILD_RETRY_S
            await self._pause(self._stopping, pause_s)

    def _still_refused(self) -> str | None:
        """The sentence of the first partition whose states were not replaced since something of them was
        refused; forgets the others. None if another version must do that."""
        if self._may_not_rebuild() is not None:
            return None
        for partition, refusal in open_refusals(self._store).items():
            if readable_generation(self._store, partition) == refusal.generation:
                return refusal.sentence.partition(";")[0]
            close_refusal(self._store, partition, rebuilt=False)
        return None

    def achieved_speed(self) -> float:
        """Simulated over wall time in the last seconds."""
        return self._speed

    @property
    def standstill_problems(self) -> tuple[str, ...]:
        """Why time stands still, in one sentence each."""
        still = (STANDSTILL,) if time.monotonic() - self._moved_s > 2 * STANDSTILL_S_MAX else ()
        return (*(problem for _, problem in sorted(self.problems.copy().items())), *still)

    def _keep_clock(self) -> None:
        """Record that this sequencer keeps the clock. If none did for a while, or if no partition gets
        further than the furthest (no worker yet, Kafka is down), anchor the clock where time stands. A paused
        clock keeps its time: there is nothing to make up, and a run to a set time is still completed."""
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
        processed_us = [sequencer.processed_us for sequencer in self.sequencers.values()]
        furthest_us = max(processed_us, default=-1)
        moved = furthest_us > self._last_furthest_us
        if moved or epoch.paused or clock_us <= min(processed_us, default=clock_us):
            self._moved_s = now_s
        self._last_furthest_us = furthest_us

    def _is_new(self) -> bool:
        """Whether the twin has not been used yet: its log contains only commissionings. States alone would
        not tell, because a rebuild starts without them."""
        fabric_counts = Counter(place.partition for place in self._store.fabrics().values())
        return bool(self.sequencers) and not any(
            sequencer.has_started or sequencer.end is None or sequencer.end > fabric_counts[partition]
            for partition, sequencer in self.sequencers.items()
        )

    def _begin(self, partition: int) -> PartitionSequencer:
        readings = None
        if self._tick_reader is not None:
            readings = TickReadings(partition, self._store, self._tick_reader, self._digests, self.read)
        sequencer = PartitionSequencer(
            partition,
            self._twin.twin,
            self._services_of,
            self._store,
            self._appender,
            self.written,
            self._software,
            self._digests,
            readings,
            partial(note_order, self._store),
        )
        self.sequencers[partition] = sequencer
        self._woken[partition] = asyncio.Event()
        return sequencer

    async def _run_partition(self, sequencer: PartitionSequencer) -> None:
        """Step through one partition; errors are shown, and retried."""
        partition, woken = sequencer.partition, self._woken[sequencer.partition]
        backoff_s = POLL_S
        moved_s = time.monotonic()
        while not self._stopping.is_set():
            woken.clear()
            try:
                busy = await sequencer.step(read_epoch(self._store))
            except (OperationFailed, LogDamaged, UpgradeNeeded) as error:
                self._show(partition, str(error))
                if isinstance(error, StateRefused) and self._digests is not None:
                    with contextlib.suppress(OperationFailed):
                        note_refusal(self._store, partition, str(error))
                sequencer.end = None  # it may have been repaired: query the end again
                backoff_s = min(2 * backoff_s, BACKOFF_S_MAX)
                await self._pause(self._stopping, backoff_s)
                continue
            backoff_s = POLL_S
            self._show(partition, None)
            if busy or sequencer.is_quiet:
                moved_s = time.monotonic()
            elif time.monotonic() - moved_s > END_RECHECK_S:
                sequencer.end = None  # Kafka may have lost what services wait for: query the end again
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
                log.error("%s; its time stands still", problem, extra={"partition": partition})
        if before is not None and problem is None:
            log.info("partition %d continues", partition)

    def _listen(self, loop: asyncio.AbstractEventLoop) -> None:
        """A thread that receives notifications of commits and new requests, and wakes their partitions."""
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
        processed_us = min(sequencer.processed_us for sequencer in self.sequencers.values())
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
