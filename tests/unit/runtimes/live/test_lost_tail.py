"""The sequencer detects that Kafka lost the end of a log, also if no service has read the lost part."""

import asyncio
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import cast

import pytest

from shared.basics.errors import LogDamaged, UpgradeNeeded
from shared.engine.code_version import RULES, StateCodeVersion, code_version_values, upgrade_begun_value
from shared.runtimes.live.kafka.appender import Entry
from shared.runtimes.live.sequencer import sequencer_loop as relay
from shared.runtimes.live.sequencer.partition_sequencer import PartitionSequencer, root_entry
from shared.runtimes.live.sequencer.sequencer_loop import SequencerLoop
from shared.runtimes.live.twin_record import TwinRecord
from shared.runtimes.simulated_clock import Epoch
from shared.storage.store.fabric_registry import FabricRegistration, registration_value
from shared.storage.store.redis_store import RedisStore
from shared.storage.store.state_store import Commit, OutboxTrim
from tests.support.live_swarm import PARTITIONS, TWIN, FakeLog, FlakyStore
from tests.support.memory_operations import MemoryOperations
from tests.support.pods import KIND, POD, first_message, fleet_of, pod_place
from tests.support.toy_services import CUBES_TOY, OCS_TOY

SERVICES_OF = fleet_of((CUBES_TOY, OCS_TOY))
EPOCH = Epoch(0, 0, 1.0, paused=True)
WRITTEN = 5


class Store(FlakyStore):
    """Also answers the other queries of a relay to Redis, besides the partitions."""

    def __init__(self) -> None:
        super().__init__(random.Random(0))
        self.place(POD, pod_place())

    def read_globals(self, name: str) -> dict[str, str]:
        return {}

    def set_globals(self, name: str, fields: Mapping[str, str | None]) -> None:
        return

    def wall_us(self) -> int:
        return 0

    @contextmanager
    def woken(self, partitions: Iterable[int]) -> Iterator[Callable[[float], set[int]]]:
        yield lambda _seconds: set()


@pytest.fixture
def log() -> FakeLog:
    """One pod's first message, and more that came after it."""
    found = FakeLog(random.Random(0))
    first = root_entry(POD, first_message(), TWIN, offset=0, quiet=0)
    for entry in (first, *(Entry("pod-0", b"said", {}) for _ in range(WRITTEN - 1))):
        found.put(0, entry)
    return found


@pytest.fixture
def store() -> Store:
    """Its sequencer noted how far it wrote; one service has not read the last of it."""
    found = Store()
    noted = registration_value(POD, FabricRegistration(POD, KIND))
    found.commit(Commit(0, {}, {"cubes": WRITTEN - 2, "ocs": WRITTEN - 3}, fields=noted))
    found.trim(OutboxTrim(0, fields={"end": str(WRITTEN)}))
    return found


def sequencer(store: Store, log: FakeLog) -> PartitionSequencer:
    return PartitionSequencer(0, TWIN, SERVICES_OF, store, log)


def test_a_whole_log_is_continued(store: Store, log: FakeLog) -> None:
    found = sequencer(store, log)
    assert asyncio.run(found.step(EPOCH)) is False
    assert found.end == WRITTEN


def test_the_loss_of_unread_records_is_detected(store: Store, log: FakeLog) -> None:
    del log.records[0][WRITTEN - 1 :]
    with pytest.raises(LogDamaged, match="partition 0: 5 messages were written, but the log has only 4"):
        asyncio.run(sequencer(store, log).step(EPOCH))


def test_records_of_a_faster_second_sequencer_are_not_a_loss(store: Store, log: FakeLog) -> None:
    """It appends and records it after this one has queried Kafka, and before this one reads the store."""

    class Overtaken(FakeLog):
        asked = 0

        async def end(self, partition: int) -> int:
            self.asked += 1
            return WRITTEN - 1 if self.asked == 1 else WRITTEN

    late = Overtaken(random.Random(0))
    late.records = log.records
    found = sequencer(store, late)
    assert asyncio.run(found.step(EPOCH)) is False
    assert found.end == WRITTEN


def test_services_that_read_nothing_for_long_make_the_sequencer_query_again(
    store: Store, log: FakeLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The services wait for the lost part, and the sequencer, which has nothing to append, would wait for
    them."""
    monkeypatch.setattr(relay, "END_RECHECK_S", 0.05)

    class Shortened(FakeLog):
        """Loses its end after the first query; stops the relay when the loss must be known."""

        asked = 0

        async def end(self, partition: int) -> int:
            self.asked += 1
            if self.asked == 2:
                del self.records[partition][WRITTEN - 1 :]
            if self.asked == 4:
                found.stop()
            return len(self.records[partition])

    short = Shortened(random.Random(0))
    short.records = log.records
    twin = TwinRecord(TWIN, PARTITIONS, "topic")
    found = SequencerLoop(twin, SERVICES_OF, cast(RedisStore, store), short, MemoryOperations())
    asyncio.run(asyncio.wait_for(found.run(), 20))
    assert "Kafka lost its end" in found.problems[0]


def test_one_of_other_rules_appends_nothing(store: Store, log: FakeLog) -> None:
    noted = code_version_values(StateCodeVersion(RULES + 1, {}, "1.0+two"))
    store.commit(Commit(0, {}, {"cubes": WRITTEN, "ocs": WRITTEN}, fields=noted))
    sentence = r"partition 0: its states are of rules .*, by 1\.0\+two, and this"
    with pytest.raises(UpgradeNeeded, match=sentence):
        asyncio.run(sequencer(store, log).step(EPOCH))
    assert len(log.records[0]) == WRITTEN


def test_while_an_upgrade_is_under_way_nothing_is_appended(store: Store, log: FakeLog) -> None:
    """Not by code of its rules, either: the states are those of before."""
    begun = upgrade_begun_value(StateCodeVersion(RULES, {}, "1.0+two"))
    store.commit(Commit(0, {}, {"cubes": WRITTEN, "ocs": WRITTEN}, fields=begun))
    sentence = rf"an upgrade to rules {RULES} by 1\.0\+two is not finished"
    with pytest.raises(UpgradeNeeded, match=sentence):
        asyncio.run(sequencer(store, log).step(EPOCH))
    assert len(log.records[0]) == WRITTEN
