"""What every reader of the live log makes of a record."""

from dataclasses import replace

import pytest

from ops.common.configuration import settings
from schemas.cubes import CubeDrained
from schemas.envelope import Envelope, enclose
from schemas.operator import DrainCube
from schemas.registry import Unreadable, encode
from shared.runtimes.live.kafka.layout import Topics
from shared.runtimes.live.kafka.records import (
    Record,
    dead_letter,
    is_known,
    open_record,
    output_headers,
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


def test_messages_come_back_as_they_were() -> None:
    assert open_record(root(), TWIN) == ASK
    assert open_record(saying(), TWIN) == SAY
    first = first_message(settings([]), "pod-5", site="campus")
    assert open_record(root(message=first), TWIN) == first


def test_a_root_message_that_missed_its_offset_is_void_whatever_it_says() -> None:
    assert open_record(root(offset=10), TWIN) is None
    assert open_record(replace(root(offset=10), value=b"not even JSON"), TWIN) is None


@pytest.mark.parametrize(
    ("record", "sentence"),
    [
        (replace(saying(), value=b"{"), "not JSON"),
        (saying(twin="twin-b"), "not written by this twin's sequencer"),
        (replace(saying(), headers={}), "its headers are not those of CubeDrained by cubes@pod-5"),
        (
            saying(SAY.model_copy(update={"fabric": "nowhere"})),
            "fabric: String should match pattern",
        ),
        (replace(root(), headers=output_headers("DrainCube", OPERATOR, "twin-a")), "without the marks"),
        (
            replace(saying(), headers=dict(saying().headers) | {"expected-offset": b"10", "level-at": b"10"}),
            "the marks of a root message, which it is not",
        ),
        (
            replace(root(), headers=dict(root().headers) | {"level-at": b"soon"}),
            "a root message without the marks of one",
        ),
    ],
)
def test_what_does_not_belong_is_unreadable_with_one_sentence(record: Record, sentence: str) -> None:
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
def test_headers_tell_what_may_be_passed_over_without_parsing(headers: dict[str, bytes], known: bool) -> None:
    assert is_known(Record(1, 0, b"", headers)) is known


def test_a_dead_letter_says_where_it_comes_from() -> None:
    letter = dead_letter(replace(saying(), value=b"\xff{"), "cubes", "not JSON")
    assert letter == b'{"origin":"1:10","error":"not JSON","service":"cubes","line":"\\\\xff{"}'
