"""Unused offsets in Kafka: how folds treat a gap, and how the sequencer treats one at the end of the log."""

import asyncio
import random
from collections.abc import Iterator

import pytest

from shared.basics.errors import LogDamaged
from shared.runtimes.live.kafka.brokers import Brokers
from shared.runtimes.live.kafka.records import (
    Record,
    fill_gaps,
    gap_record,
    has_gap,
    is_gap,
    open_record,
    void_headers,
)
from shared.runtimes.live.worker import offset_gaps
from shared.runtimes.live.worker.offset_gaps import refuse_gaps, reread_gaps
from tests.support.live_swarm import TWIN, FakeLog
from tests.unit.runtimes.live.test_lost_tail import EPOCH, WRITTEN, Store, log, sequencer, store

__all__ = ["log", "store"]


def some(*offsets: int) -> list[Record]:
    return [Record(0, offset, b"%d" % offset, {}) for offset in offsets]


def test_an_offset_without_a_record_is_void() -> None:
    assert open_record(gap_record(0, 7), TWIN) is None
    assert is_gap(gap_record(0, 7))
    assert not is_gap(Record(0, 7, b"", void_headers(TWIN)))
    assert open_record(Record(0, 7, b"", void_headers(TWIN)), TWIN) is None


@pytest.mark.parametrize(
    ("start", "given", "end", "void"),
    [
        (0, (0, 1, 2), 3, ()),
        (0, (), 2, (0, 1)),
        (3, (5, 7), 9, (3, 4, 6, 8)),
        (0, (0, 1, 2, 3), 2, ()),
    ],
)
def test_there_is_a_record_for_every_offset(
    start: int, given: tuple[int, ...], end: int, void: tuple[int, ...]
) -> None:
    found = [*fill_gaps(0, start, some(*given), end)]
    assert [record.offset for record in found] == [*range(start, end)]
    assert tuple(record.offset for record in found if is_gap(record)) == void
    assert has_gap(start, some(*given)) is (len(given) != (given[-1] + 1 - start if given else 0))


class TestReadingAgain:
    @pytest.fixture(autouse=True)
    def kafka(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Contains records at offsets 3, 4, 7 and 8."""

        def read(
            _brokers: Brokers, _topic: str, _partition: int, start: int, end: int
        ) -> Iterator[list[Record]]:
            inside = [record for record in some(3, 4, 7, 8) if start <= record.offset < end]
            yield [*fill_gaps(0, start, inside, end)]

        monkeypatch.setattr(offset_gaps, "read_partition", read)

    def test_a_gap_without_a_record_is_void(self) -> None:
        given = some(3, 4, 7, 8)
        found = reread_gaps(Brokers("nowhere"), "")(0, 2, given)
        assert [(r.offset, is_gap(r)) for r in found] == [
            (2, True),
            (3, False),
            (4, False),
            (5, True),
            (6, True),
            (7, False),
            (8, False),
        ]
        assert [r for r in found if not is_gap(r)] == given

    @pytest.mark.parametrize("given", [(4, 7), (3, 7), (3, 4, 8)])
    def test_a_record_that_a_second_read_returns_was_lost_in_transit(self, given: tuple[int, ...]) -> None:
        with pytest.raises(LogDamaged, match=r"partition 0: offset \d is missing before \d"):
            reread_gaps(Brokers("nowhere"), "")(0, 2, some(*given))

    def test_a_reader_that_returns_every_record_has_no_gaps(self) -> None:
        with pytest.raises(LogDamaged, match="partition 0: offset 5 is missing before 7"):
            refuse_gaps(0, 3, some(3, 4, 7))


def test_a_gap_at_the_end_gets_a_void_record_behind_it(store: Store, log: FakeLog) -> None:
    log.records[0].append(gap_record(0, WRITTEN))
    found = sequencer(store, log)
    assert asyncio.run(found.step(EPOCH)) is False
    assert found.end == WRITTEN + 2
    last = log.records[0][-1]
    assert (last.offset, last.value, is_gap(last)) == (WRITTEN + 1, b"", False)
    assert open_record(last, TWIN) is None
    again = sequencer(store, log)
    assert asyncio.run(again.step(EPOCH)) is False
    assert again.end == WRITTEN + 2, "nobody waits there any more"


def test_a_gap_before_the_end_gets_nothing(store: Store, log: FakeLog) -> None:
    log.records[0][-2] = gap_record(0, WRITTEN - 2)
    found = sequencer(store, log)
    assert asyncio.run(found.step(EPOCH)) is False
    assert found.end == WRITTEN


def test_a_log_that_begins_later_without_a_root_message_is_reported(store: Store, log: FakeLog) -> None:
    class Shortened(FakeLog):
        async def begin(self, partition: int) -> int:
            return 1

    short = Shortened(random.Random(0))
    short.records[0] = [gap_record(0, 0), *log.records[0][1:]]
    with pytest.raises(LogDamaged, match="partition 0: starts at 1, and has no root message"):
        asyncio.run(sequencer(store, short).step(EPOCH))
