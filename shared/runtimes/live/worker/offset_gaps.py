"""Offsets of the log without a record.

Kafka uses an offset for the marker that ends a transaction, and delivers no record for it; or a record was
lost in delivery. Reading again tells the difference: an offset without a record was never a message (decision
23).
"""

from collections.abc import Callable, Sequence

from shared.basics.errors import LogDamaged
from shared.runtimes.live.kafka.brokers import Brokers
from shared.runtimes.live.kafka.partition_reader import read_partition
from shared.runtimes.live.kafka.records import Record, is_gap

FillGaps = Callable[[int, int, Sequence[Record]], Sequence[Record]]
"""(partition, next expected offset, received records in order with a gap) → one record for every offset up to
the last received. Raises LogDamaged if a message is missing."""


def refuse_gaps(partition: int, start: int, records: Sequence[Record]) -> Sequence[Record]:
    """A `FillGaps` for sources that deliver every record."""
    received = {record.offset for record in records}
    missing = next((offset for offset in range(start, records[-1].offset) if offset not in received), start)
    raise _missing_records(partition, missing, records)


def _missing_records(partition: int, offset: int, records: Sequence[Record]) -> LogDamaged:
    after = next((record.offset for record in records if record.offset > offset), offset)
    return LogDamaged(f"partition {partition}: offset {offset} is missing before {after}")


def reread_gaps(brokers: Brokers, topic: str) -> FillGaps:
    """A `FillGaps` that reads from Kafka again with another client."""

    def fill(partition: int, start: int, records: Sequence[Record]) -> Sequence[Record]:
        received = {record.offset: record for record in records}
        filled: list[Record] = []
        for batch in read_partition(brokers, topic, partition, start, records[-1].offset):
            for record in batch:
                if record.offset not in received and not is_gap(record):
                    raise _missing_records(partition, record.offset, records)
            filled += [received.get(record.offset, record) for record in batch]
        return [*filled, records[-1]]

    return fill
