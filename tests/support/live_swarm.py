"""The live runtime in one process, driven by a seed: folds and sequencers, with a log and a store that fail
at random.

It uses no wall clock, no Kafka and no Redis. The seed determines the order of events.
"""

import asyncio
import copy
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field

from schemas.body import Body
from schemas.config.pods import FabricConfig
from schemas.envelope import Envelope
from schemas.messages.sequencer import FabricCommissioned
from schemas.names import fabric_order
from services.fabric_kinds import FLEET
from shared.basics.errors import StoreUnreachable
from shared.engine.service import AnyService
from shared.runtimes.live.kafka.appender import Entry
from shared.runtimes.live.kafka.kafka_errors import LogUnreachable
from shared.runtimes.live.kafka.records import Record, open_record
from shared.runtimes.live.sequencer.partition_sequencer import PartitionSequencer, root_entry
from shared.runtimes.live.sequencer.tick_readings import ReadingCounts, TickReader, TickReadings
from shared.runtimes.live.worker.partition_fold import PartitionFold, ServedService, StoreRolledBack
from shared.runtimes.simulated_clock import Epoch
from shared.storage.store.memory_store import MemoryStore
from shared.storage.store.state_digests import LIVE_ADVICE, StateDigests
from shared.storage.store.state_store import Commit, FabricPlace
from tests.support.pods import commissioned, first_message

PARTITIONS = 2
TWIN = "7" * 32
DIGESTS = StateDigests(TWIN, b"secret", advice=LIVE_ADVICE)
"""Every fold and sequencer checks what it loads."""
Sites = Mapping[str, Mapping[str, FabricConfig]]
"""Site → fabric → configuration."""


class FakeLog:
    """The log as the sequencer sees it. An append may raise, whether or not it has written its records."""

    def __init__(self, chance: random.Random) -> None:
        self.records: dict[int, list[Record]] = defaultdict(list)
        self.buried: list[bytes] = []
        self.fail = 0.0
        self._chance = chance

    async def append(self, partition: int, entries: Sequence[Entry]) -> list[int]:
        accepted = len(entries)
        if self._chance.random() < self.fail:
            accepted = self._chance.randint(0, len(entries))
        offsets = [self.put(partition, entry) for entry in entries[:accepted]]
        if accepted < len(entries) or self._chance.random() < self.fail:
            raise LogUnreachable("fake: no answer")
        return offsets

    async def dead_letter(self, rows: Sequence[Entry]) -> None:
        self.buried += [row.value for row in rows]

    async def end(self, partition: int) -> int:
        return len(self.records[partition])

    async def begin(self, partition: int) -> int:
        return 0

    async def read(self, partition: int, start: int, end: int) -> AsyncIterator[list[Record]]:
        yield self.records[partition][start:end]

    def put(self, partition: int, entry: Entry) -> int:
        offset = len(self.records[partition])
        self.records[partition].append(Record(partition, offset, entry.value, entry.headers))
        return offset


class FlakyStore(MemoryStore):
    """A store whose commits may raise, before or after they are written."""

    def __init__(self, chance: random.Random) -> None:
        numbers = iter(range(1_000, 10**9))
        super().__init__(numbers.__next__, wall_s=lambda: 0.0)
        self.fail = 0.0
        self._chance = chance

    def commit(self, commit: Commit) -> bool:
        fate = self._chance.random()
        if fate < self.fail / 2:
            raise StoreUnreachable("fake: gone")
        done = super().commit(commit)
        if fate < self.fail:
            raise StoreUnreachable("fake: gone after the commit")
        return done

    def picture(self, partition: int) -> object:
        """Return a copy of a partition, to roll back to."""
        return copy.deepcopy(self._partitions[partition])

    def roll_back(self, partition: int, picture: object) -> None:
        self._partitions[partition] = copy.deepcopy(picture)  # type: ignore[assignment]  # from `picture`
        known = self._partitions[partition].keys
        for key, claim in list(self._claims.items()):
            if claim.partition == partition and key not in known:
                del self._claims[key]


@dataclass
class LiveSwarm:
    """Several sites, spread over two partitions. `fleet` maps a kind of fabric to its services. `tick_reader`
    answers the queries of services."""

    seed: int
    sites: Sites
    fleet: Mapping[str, Sequence[AnyService]] = field(default_factory=lambda: FLEET)
    now_us: int = 0
    tick_reader: TickReader | None = None
    read: ReadingCounts = field(default_factory=ReadingCounts)
    folds: dict[tuple[int, str, int], PartitionFold] = field(default_factory=dict)
    sequencers: dict[tuple[int, int], PartitionSequencer] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.log = FakeLog(self.chance)
        self.store = FlakyStore(self.chance)
        self.pictures: dict[int, list[object]] = defaultdict(list)
        self.partitions = {site: n % PARTITIONS for n, site in enumerate(self.sites)}
        names = sorted({service.name for services in self.fleet.values() for service in services})
        self.served = [self._served(name) for name in names]
        for site, fabrics in self.sites.items():
            partition = self.partitions[site]
            for fabric in sorted(fabrics, key=fabric_order):
                config = fabrics[fabric]
                self.place(site, fabric, config)
                offset = len(self.log.records[partition])
                message = first_message(config, fabric, site=site)
                self.log.put(partition, root_entry(site, message, TWIN, offset=offset, quiet=0))

    def place(self, site: str, fabric: str, config: FabricConfig) -> None:
        """Record the site and partition of a fabric, as its creator does."""
        self.store.place(fabric, FabricPlace(self.partitions[site], site, config.kind))

    def services_of(self, kind: str) -> Sequence[AnyService]:
        return self.fleet[kind]

    def _served(self, name: str) -> ServedService:
        by_kind = {kind: s for kind, services in self.fleet.items() for s in services if s.name == name}
        return ServedService(name, by_kind, self.services_of)

    # --- events ---------------------------------------------------------------------------------------------

    def step(self, *, faults: bool) -> None:
        """Run one event that the seed chooses."""
        self.log.fail = self.store.fail = 0.05 if faults else 0.0
        partition = self.chance.randrange(PARTITIONS)
        if self.chance.random() < 0.3:
            self._sequence(partition, self.chance.randrange(2) if faults else 0)
        else:
            service = self.chance.choice(self.served)
            self._read(partition, service, self.chance.randrange(2) if faults else 0)
        if faults and self.chance.random() < 0.05:
            self._strike(partition)

    def run_out(self) -> None:
        """Run without faults until nothing more happens at the current time."""
        idle = 0
        while idle < 3:
            before = (len(self.log.records[0]), len(self.log.records[1]))
            for partition in range(PARTITIONS):
                self.log.fail = self.store.fail = 0.0
                self._guard(partition)
                for service in self.served:
                    self._read(partition, service, 0, most=10**6)
                self._sequence(partition, 0)
            idle = idle + 1 if before == (len(self.log.records[0]), len(self.log.records[1])) else 0

    def _guard(self, partition: int) -> None:
        """Drop the folds of idle workers whose store has been rolled back."""
        positions = self.store.positions(partition)
        for place, fold in list(self.folds.items()):
            if place[0] == partition and (fold.position or 0) > positions.get(place[1], 0):
                del self.folds[place]

    def request(self, fabric: str, body: Body) -> int:
        """Put a request to a fabric into the inbox; return its number."""
        return self.store.put(self.store.fabrics()[fabric].partition, fabric, body).number

    def join(self, site: str, fabric: str, config: FabricConfig) -> int:
        """Request one more fabric in a site; return the request's number."""
        self.place(site, fabric, config)
        return self.request(fabric, commissioned(config, site))

    def _sequence(self, partition: int, replica: int) -> None:
        sequencer = self.sequencers.get((partition, replica))
        if sequencer is None:
            readings = None
            if self.tick_reader is not None:
                readings = TickReadings(partition, self.store, self.tick_reader, DIGESTS, self.read)
            sequencer = PartitionSequencer(
                partition, TWIN, self.services_of, self.store, self.log, digests=DIGESTS, readings=readings
            )
            self.sequencers[partition, replica] = sequencer
        try:
            asyncio.run(sequencer.step(Epoch(self.now_us, 0, 1.0, paused=True)))
        except (LogUnreachable, StoreUnreachable):
            if self.chance.random() < 0.5:
                del self.sequencers[partition, replica]

    def _read(self, partition: int, service: ServedService, replica: int, most: int | None = None) -> None:
        place = (partition, service.name, replica)
        fold = self.folds.get(place)
        try:
            if fold is None:
                fold = PartitionFold(service, partition, TWIN, self.store, digests=DIGESTS)
                self.folds[place] = fold
            start = fold.position if fold.position is not None else fold.load()
            first = max(0, start - self.chance.randint(0, 5))
            last = start + (most or self.chance.choice((1, 2, 5, 50)))
            records = self.log.records[partition][first:last]
            while not fold.take(records):
                pass
        except (StoreUnreachable, StoreRolledBack):
            self.folds.pop(place, None)

    def _strike(self, partition: int) -> None:
        kind = self.chance.choice(("worker", "sequencer", "picture", "roll back"))
        if kind == "worker":
            self.folds.pop(self.chance.choice([*self.folds, (0, "none", 0)]), None)
        elif kind == "sequencer":
            self.sequencers.pop((partition, self.chance.randrange(2)), None)
        elif kind == "picture":
            self.pictures[partition].append(self.store.picture(partition))
        elif self.pictures[partition]:
            # Pictures that are newer than this one are gone: a rolled-back store does not get them back.
            del self.pictures[partition][self.chance.randrange(len(self.pictures[partition])) + 1 :]
            self.store.roll_back(partition, self.pictures[partition][-1])
            for place in [p for p in self.folds if p[0] == partition]:
                # An idle worker notices the rollback by its guard, one that reads by the fence.
                if self.chance.random() < 0.5:
                    del self.folds[place]

    # --- results -----------------------------------------------------------------------------------------

    def messages(self, site: str) -> list[Envelope]:
        """Return the site's log as a reader sees it: without void, unreadable and repeated records."""
        seen: dict[str, int] = {}
        messages = []
        fabrics: set[str] = set()
        for record in self.log.records[self.partitions[site]]:
            message = open_record(record, TWIN)
            if message is None or message.seq <= seen.get(message.source, -1):
                continue
            if isinstance(message.body, FabricCommissioned) and message.body.site == site:
                fabrics.add(message.fabric)
            if message.fabric in fabrics:
                seen[message.source] = message.seq
                messages.append(message)
        return messages
