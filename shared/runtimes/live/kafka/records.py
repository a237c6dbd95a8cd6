"""A record of the log on Kafka, and the message in it. Every reader applies the same checks."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import orjson

from schemas.envelope import Envelope
from schemas.message_writers import may_write, writer_of
from schemas.registry import TYPES, Unreadable, decode
from shared.engine.message_order import is_root
from shared.runtimes.dead_letter import dead_letter_fields
from shared.runtimes.live.kafka.layout import EXPECTED_OFFSET, LEVEL_AT, SOURCE, TWIN, TYPE

SKIP_TYPE = "MessageSkipped"
"""Written by the sequencer on an operator's order, while the log is not quiet; not a root message."""
_GAP_HEADERS = {EXPECTED_OFFSET: b"-1"}
"""Headers that make a record void at any offset."""
_NUMBER = re.compile(r"[0-9]{1,18}")
"""An offset in a header."""


@dataclass(frozen=True, slots=True)
class Record:
    """One record of one partition; headers by name."""

    partition: int
    offset: int
    value: bytes
    headers: Mapping[str, bytes]

    def header(self, name: str) -> str | None:
        value = self.headers.get(name)
        return None if value is None else value.decode("utf-8", "replace")

    @property
    def is_void(self) -> bool:
        """Whether this is a root message that missed its offset, because another sequencer was faster."""
        wanted = self.headers.get(EXPECTED_OFFSET)
        return wanted is not None and wanted != b"%d" % self.offset


def gap_record(partition: int, offset: int) -> Record:
    """A void record for an offset without one on Kafka, such as the marker that ends a transaction (decision
    23)."""
    return Record(partition, offset, b"", _GAP_HEADERS)


def is_gap(record: Record) -> bool:
    """Whether Kafka has no record there."""
    return record.headers is _GAP_HEADERS


def fill_gaps(partition: int, start: int, records: Iterable[Record], end: int) -> Iterator[Record]:
    """One record for every offset from `start` up to `end`. `records` are all that Kafka has there, in
    order."""
    for record in records:
        if record.offset >= end:
            break
        yield from (gap_record(partition, offset) for offset in range(start, record.offset))
        yield record
        start = record.offset + 1
    yield from (gap_record(partition, offset) for offset in range(start, end))


def has_gap(start: int, records: Sequence[Record]) -> bool:
    """Whether these ordered records miss an offset between `start` and their last."""
    return bool(records) and records[-1].offset - start + 1 != len(records)


def void_headers(twin: str) -> dict[str, bytes]:
    """The headers of an empty record of the sequencer."""
    return {**_GAP_HEADERS, TWIN: twin.encode()}


def record_of(
    partition: int,
    offset: int,
    value: bytes | None,
    headers: Iterable[tuple[str, bytes | None]] | None,
) -> Record:
    """A record as a client of Kafka read it. A missing value becomes empty, and headers without a value are
    dropped. If a name repeats, its last header counts."""
    pairs = {name: bytes(text) for name, text in headers or () if text is not None}
    return Record(partition, offset, value or b"", pairs)


def root_headers(message: Envelope, *, offset: int, quiet: int, twin: str) -> dict[str, bytes]:
    """The headers of a root message that must get `offset`, written when all services were at `quiet`."""
    marks = {EXPECTED_OFFSET: b"%d" % offset, LEVEL_AT: b"%d" % quiet}
    return output_headers(message.type, message.source, twin) | marks


def output_headers(kind: str, source: str, twin: str) -> dict[str, bytes]:
    return {TYPE: kind.encode(), SOURCE: source.encode(), TWIN: twin.encode()}


def has_known_headers(record: Record) -> bool:
    """Whether the headers name a type of this twin and a source that may write it. A reader that does not
    handle it can then skip it without parsing."""
    kind, source = record.header(TYPE), record.header(SOURCE)
    model = TYPES.get(kind) if kind is not None else None
    return model is not None and source is not None and may_write(writer_of(source), model)


def open_record(record: Record, twin: str) -> Envelope | None:
    """The message in a record of this twin's log; None if the record is void. Unreadable, with one sentence,
    if it is not a valid message of this log."""
    if record.is_void:
        return None
    message = decode(record.value)
    if (record.header(TYPE), record.header(SOURCE)) != (message.type, message.source):
        raise Unreadable(f"{message.type}: its headers must be those of {message.type} by {message.source}")
    if record.header(TWIN) != twin:
        raise Unreadable(f"{message.type}: not written by this twin's sequencer")
    marks = [record.header(name) for name in (EXPECTED_OFFSET, LEVEL_AT)]
    if is_root(message) and not all(mark is not None and _NUMBER.fullmatch(mark) for mark in marks):
        raise Unreadable(f"{message.type}: a root message must have {EXPECTED_OFFSET} and {LEVEL_AT} headers")
    if is_root(message) and int(record.headers[LEVEL_AT]) > record.offset:
        level = record.header(LEVEL_AT)
        raise Unreadable(
            f"{message.type}: its {LEVEL_AT} is {level}; must be at most its offset {record.offset}"
        )
    if not is_root(message) and marks != [None, None]:
        raise Unreadable(
            f"{message.type}: only a root message can have {EXPECTED_OFFSET} and {LEVEL_AT} headers"
        )
    return message


def level_of(record: Record, twin: str) -> int | None:
    """The position of every service when this root message was written: everything emitted before is on the
    log. None if it is not a root message of this twin's log, or void."""
    if EXPECTED_OFFSET not in record.headers:
        return None
    try:
        message = open_record(record, twin)
    except Unreadable:
        return None
    return None if message is None else int(record.headers[LEVEL_AT])


def dead_letter_line(record: Record, service: str, error: str) -> bytes:
    """The dead letter of a record: one line of JSON, with the fields of `dead_letter_fields` and the
    service."""
    letter = dead_letter_fields(f"{record.partition}:{record.offset}", error, record.value)
    return orjson.dumps(letter | {"service": service})
