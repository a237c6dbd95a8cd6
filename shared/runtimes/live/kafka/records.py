"""A record of the log as Kafka holds it, and the message in it: the same judgement for every reader."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import orjson

from schemas.envelope import Envelope
from schemas.registry import TYPES, Unreadable, decode, writer_of
from shared.engine.roots import is_root
from shared.runtimes.dead_letter import dead_letter_fields
from shared.runtimes.live.kafka.layout import EXPECTED_OFFSET, LEVEL_AT, SOURCE, TWIN, TYPE

SKIP_TYPE = "MessageSkipped"
"""Written by the sequencer in answer to a person, while the log is not quiet: no root message."""
_GAP_HEADERS = {EXPECTED_OFFSET: b"-1"}
"""Headers of what is void wherever it stands."""
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
        """Whether this is a root message that missed its offset: another sequencer was faster."""
        wanted = self.headers.get(EXPECTED_OFFSET)
        return wanted is not None and wanted != b"%d" % self.offset


def gap_record(partition: int, offset: int) -> Record:
    """What readers take an offset for at which Kafka has no record to give, such as the mark that ends a
    transaction (decision 23): void."""
    return Record(partition, offset, b"", _GAP_HEADERS)


def is_gap(record: Record) -> bool:
    """Whether Kafka has no record there."""
    return record.headers is _GAP_HEADERS


def fill_gaps(partition: int, start: int, records: Iterable[Record], end: int) -> Iterator[Record]:
    """One record for every offset from `start` up to `end`, of those which Kafka gave when it was asked for
    all of them, in order."""
    for record in records:
        if record.offset >= end:
            break
        yield from (gap_record(partition, offset) for offset in range(start, record.offset))
        yield record
        start = record.offset + 1
    yield from (gap_record(partition, offset) for offset in range(start, end))


def has_gap(start: int, records: Sequence[Record]) -> bool:
    """Whether these records, which are in order, miss an offset between `start` and their last."""
    return bool(records) and records[-1].offset - start + 1 != len(records)


def void_headers(twin: str) -> dict[str, bytes]:
    """The headers of a record that says nothing, by the sequencer."""
    return {**_GAP_HEADERS, TWIN: twin.encode()}


def record_of(
    partition: int,
    offset: int,
    value: bytes | None,
    headers: Iterable[tuple[str, bytes | None]] | None,
) -> Record:
    """What a client of Kafka read, whoever wrote it. A missing value is an empty one, and a header without a
    value is no header; of several with one name the last counts."""
    pairs = {name: bytes(text) for name, text in headers or () if text is not None}
    return Record(partition, offset, value or b"", pairs)


def root_headers(message: Envelope, *, offset: int, quiet: int, twin: str) -> dict[str, bytes]:
    """The headers of a root message that must land on `offset`, written when all stood at `quiet`."""
    marks = {EXPECTED_OFFSET: b"%d" % offset, LEVEL_AT: b"%d" % quiet}
    return output_headers(message.type, message.source, twin) | marks


def output_headers(kind: str, source: str, twin: str) -> dict[str, bytes]:
    return {TYPE: kind.encode(), SOURCE: source.encode(), TWIN: twin.encode()}


def has_known_headers(record: Record) -> bool:
    """Whether the headers name a type of this twin and a source that may write it; a reader that does not
    handle it may then pass over it without parsing it."""
    kind, source = record.header(TYPE), record.header(SOURCE)
    model = TYPES.get(kind) if kind is not None else None
    return model is not None and source is not None and writer_of(source) == model.writer


def open_record(record: Record, twin: str) -> Envelope | None:
    """The message of a record of this twin's log; None if it is void. Unreadable with one sentence if it is
    no message, or none that belongs here."""
    if record.is_void:
        return None
    message = decode(record.value)
    if (record.header(TYPE), record.header(SOURCE)) != (message.type, message.source):
        raise Unreadable(f"{message.type}: its headers are not those of {message.type} by {message.source}")
    if record.header(TWIN) != twin:
        raise Unreadable(f"{message.type}: not written by this twin's sequencer")
    marks = [record.header(name) for name in (EXPECTED_OFFSET, LEVEL_AT)]
    if is_root(message) and not all(mark is not None and _NUMBER.fullmatch(mark) for mark in marks):
        raise Unreadable(f"{message.type}: a root message without the marks of one")
    if is_root(message) and int(record.headers[LEVEL_AT]) > record.offset:
        level = record.header(LEVEL_AT)
        raise Unreadable(
            f"{message.type}: stands at {record.offset}, and says that all stood at {level} before"
        )
    if not is_root(message) and marks != [None, None]:
        raise Unreadable(f"{message.type}: the marks of a root message, which it is not")
    return message


def level_of(record: Record, twin: str) -> int | None:
    """The position at which every service stood when this root message was written: what was said before
    it stands on the log. None if it is no root message of this twin's log, or a void one."""
    if EXPECTED_OFFSET not in record.headers:
        return None
    try:
        message = open_record(record, twin)
    except Unreadable:
        return None
    return None if message is None else int(record.headers[LEVEL_AT])


def dead_letter_line(record: Record, service: str, error: str) -> bytes:
    """What the dead letters hold of a record: one line of JSON, the fields of `letter_of` and the service."""
    letter = dead_letter_fields(f"{record.partition}:{record.offset}", error, record.value)
    return orjson.dumps(letter | {"service": service})
