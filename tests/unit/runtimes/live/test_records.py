"""How every reader of the live log interprets a record."""

from dataclasses import replace
from hashlib import sha256

import orjson
import pytest

from ops.sites.configuration import superpod_config
from schemas.envelope import Envelope, enclose
from schemas.messages.cubes import CubeDrained
from schemas.messages.operator import DrainCube
from schemas.registry import Unreadable, encode
from shared.runtimes.live.kafka.layout import Topics
from shared.runtimes.live.kafka.records import (
    Record,
    dead_letter_line,
    has_known_headers,
    level_of,
    open_record,
    output_headers,
    record_of,
    root_headers,
)
from tests.support.pods import first_message

TWIN = "twin-a"
OPERATOR = "operator@pod-5"
ASK = enclose(DrainCube(cube="pod-5/cube-1"), fabric="pod-5", at_us=7, cause=None, source=OPERATOR, seq=3)
SAY = enclose(CubeDrained(cube=1), fabric="pod-5", at_us=7, cause=ASK.id, source="cubes@pod-5", seq=1)


def root(offset: int = 9, off: int = 9, message: Envelope = ASK, twin: str = "twin-a") -> Record:
    headers = root_headers(message, offset=off, quiet=9, twin=twin)
    return Record(1, offset, encode(message), headers)


def saying(message: Envelope = SAY, twin: str = "twin-a") -> Record:
    return Record(1, 10, encode(message), output_headers(message.type, message.source, twin))


def test_the_topics_of_a_twin_begin_with_its_prefix() -> None:
    assert Topics("x").dead_letters == "x.dead-letters"


def test_messages_are_read_back_unchanged() -> None:
    assert open_record(root(), TWIN) == ASK
    assert open_record(saying(), TWIN) == SAY
    first = first_message(superpod_config([]), "pod-5", site="campus")
    assert open_record(root(message=first), TWIN) == first


def test_a_root_message_at_the_wrong_offset_is_void_whatever_its_content() -> None:
    assert open_record(root(offset=10), TWIN) is None
    assert open_record(replace(root(offset=10), value=b"not even JSON"), TWIN) is None


@pytest.mark.parametrize(
    ("record", "sentence"),
    [
        (replace(saying(), value=b"{"), "not JSON"),
        (saying(twin="twin-b"), "not written by this twin's sequencer"),
        (replace(saying(), headers={}), "its headers must be those of CubeDrained by cubes@pod-5"),
        (
            saying(SAY.model_copy(update={"fabric": "nowhere"})),
            "fabric: String should match pattern",
        ),
        (
            replace(root(), headers=output_headers("DrainCube", OPERATOR, "twin-a")),
            "must have expected-offset and level-at headers",
        ),
        (
            replace(saying(), headers=dict(saying().headers) | {"expected-offset": b"10", "level-at": b"10"}),
            "only a root message can have expected-offset and level-at headers",
        ),
        (
            replace(root(), headers=dict(root().headers) | {"level-at": b"soon"}),
            "a root message must have expected-offset and level-at headers",
        ),
        *(
            (replace(root(), headers=dict(root().headers) | {"level-at": level}), sentence)
            for level, sentence in (
                ("٣".encode(), "a root message must have expected-offset and level-at headers"),
                (b"9" * 5_000, "a root message must have expected-offset and level-at headers"),
                (b"-1", "a root message must have expected-offset and level-at headers"),
                (b"10", "its level-at is 10; must be at most its offset 9"),
            )
        ),
        (replace(saying(), value=b'{"type":"' + b"x" * 9_000 + b'"}'), "unknown message type 'xxx"),
    ],
)
def test_a_foreign_record_is_unreadable_with_one_sentence(record: Record, sentence: str) -> None:
    with pytest.raises(Unreadable, match=sentence):
        open_record(record, TWIN)


@pytest.mark.parametrize(
    ("headers", "known"),
    [
        (output_headers("CubeDrained", "cubes@pod-5", "x"), True),
        (output_headers("Tick", "tick.ocs@pod-0", "x"), True),
        (output_headers("MessageSkipped", "skip.ocs@pod-0", "x"), True),
        (output_headers("CubeDrained", "ocs@pod-5", "x"), False),
        (output_headers("NoSuchThing", "ocs@pod-5", "x"), False),
        ({}, False),
    ],
)
def test_headers_show_which_records_may_be_skipped_without_parsing(
    headers: dict[str, bytes], known: bool
) -> None:
    assert has_known_headers(Record(1, 0, b"", headers)) is known


def test_the_level_of_a_root_message_is_that_of_a_valid_one_only() -> None:
    assert level_of(root(), TWIN) == 9
    assert level_of(saying(), TWIN) is None
    assert level_of(root(offset=10), TWIN) is None
    assert level_of(root(twin="twin-b"), TWIN) is None
    stray = Record(1, 9, b"", {"level-at": b"soon"})
    assert level_of(stray, TWIN) is None
    assert level_of(replace(stray, headers={"level-at": b"\xff", "expected-offset": b"9"}), TWIN) is None


@pytest.mark.parametrize(
    ("value", "headers", "wanted"),
    [
        (None, None, Record(1, 9, b"", {})),
        (b"x", [("trace", None), ("type", b"Tick")], Record(1, 9, b"x", {"type": b"Tick"})),
        (b"x", [("type", b"a"), ("type", b"b"), ("type", None)], Record(1, 9, b"x", {"type": b"b"})),
        (b"\xff", [("\ufffd", b"\xff")], Record(1, 9, b"\xff", {"\ufffd": b"\xff"})),
    ],
)
def test_everything_a_client_reads_becomes_a_record(
    value: bytes | None, headers: list[tuple[str, bytes | None]] | None, wanted: Record
) -> None:
    assert record_of(1, 9, value, headers) == wanted


def test_a_dead_letter_is_small_however_large_its_record() -> None:
    for value in (b"\xff" * 8_000_000, b'{"type":"' + b"\\u0001" * 1_000_000 + b'"}'):
        record = replace(saying(), value=value)
        with pytest.raises(Unreadable) as unreadable:
            open_record(record, TWIN)
        letter = dead_letter_line(record, "cubes", str(unreadable.value))
        assert len(letter) < 20_000
        row = orjson.loads(letter)
        assert row["line_bytes"] == len(value)
        assert row["line_sha256"] == sha256(value).hexdigest()
    whole = orjson.loads(dead_letter_line(replace(saying(), value=b"x" * 2_048), "cubes", "not JSON"))
    assert whole["line"] == "x" * 2_048
    assert "line_bytes" not in whole


def test_a_dead_letter_shows_where_it_comes_from() -> None:
    letter = dead_letter_line(replace(saying(), value=b"\xff{"), "cubes", "not JSON")
    assert letter == b'{"origin":"1:10","error":"not JSON","line":"\\\\xff{","service":"cubes"}'
