"""A record of the log as Kafka holds it, and the message in it: the same judgement for every reader."""

from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from schemas.envelope import Envelope
from schemas.registry import TYPES, Unreadable, decode, writer_of
from shared.engine.roots import is_root
from shared.runtimes.live.kafka.layout import EXPECTED_OFFSET, LEVEL_AT, SOURCE, TWIN, TYPE

SKIPS = "MessageSkipped"
"""Written by the sequencer in answer to a person, while the log is not quiet: no root message."""


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


def root_headers(message: Envelope, *, offset: int, quiet: int, twin: str) -> dict[str, bytes]:
    """The headers of a root message that must land on `offset`, written when all stood at `quiet`."""
    marks = {EXPECTED_OFFSET: b"%d" % offset, LEVEL_AT: b"%d" % quiet}
    return output_headers(message.type, message.source, twin) | marks


def output_headers(kind: str, source: str, twin: str) -> dict[str, bytes]:
    return {TYPE: kind.encode(), SOURCE: source.encode(), TWIN: twin.encode()}


def is_known(record: Record) -> bool:
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
    if is_root(message) and not all(mark is not None and mark.isdecimal() for mark in marks):
        raise Unreadable(f"{message.type}: a root message without the marks of one")
    if not is_root(message) and marks != [None, None]:
        raise Unreadable(f"{message.type}: the marks of a root message, which it is not")
    return message


def dead_letter(record: Record, service: str, error: str) -> bytes:
    """What the dead letters hold of a record: one line of JSON {origin, error, service, line}."""
    row = {
        "origin": f"{record.partition}:{record.offset}",
        "error": error,
        "service": service,
        "line": record.value.decode("utf-8", "backslashreplace"),
    }
    return orjson.dumps(row)
