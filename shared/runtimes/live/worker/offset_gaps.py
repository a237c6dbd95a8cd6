"""Offsets of the log of which no record comes.

Kafka gives one to the mark that ends a transaction, and hands that to nobody; or a record was lost on its way
here. Reading again tells: what Kafka has nothing to give for was never a message (decision 23).
"""

from collections.abc import Callable, Sequence

from shared.basics.errors import LogDamaged
from shared.runtimes.live.kafka.brokers import Brokers
from shared.runtimes.live.kafka.partition_reader import read_partition
from shared.runtimes.live.kafka.records import Record, is_gap

FillGaps = Callable[[int, int, Sequence[Record]], Sequence[Record]]
"""Partition, the offset that should come next, the records that came, in order and with a gap → one record
for every offset from there to the last that came. Raises LogDamaged if a message was passed over."""


def refuse_gaps(partition: int, start: int, records: Sequence[Record]) -> Sequence[Record]:
    """A `Fill` for whoever gives every record."""
    given = {record.offset for record in records}
    missing = next((offset for offset in range(start, records[-1].offset) if offset not in given), start)
    raise _missing_records(partition, missing, records)


def _missing_records(partition: int, offset: int, records: Sequence[Record]) -> LogDamaged:
    after = next((record.offset for record in records if record.offset > offset), offset)
    return LogDamaged(f"partition {partition}: {offset} did not come, but {after}: messages are missing")


def reread_gaps(brokers: Brokers, topic: str) -> FillGaps:
    """A `Fill` that asks Kafka again, by another client."""

    def fill(partition: int, start: int, records: Sequence[Record]) -> Sequence[Record]:
        given = {record.offset: record for record in records}
        found: list[Record] = []
        for batch in read_partition(brokers, topic, partition, start, records[-1].offset):
            for record in batch:
                if record.offset not in given and not is_gap(record):
                    raise _missing_records(partition, record.offset, records)
            found += [given.get(record.offset, record) for record in batch]
        return [*found, records[-1]]

    return fill
