"""Log files: written and read in every form, found by time and by id, mended after a crash."""

import gzip
import os
import re
import sqlite3
from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

import orjson
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas.envelope import Envelope, enclose
from schemas.messages.sequencer import Tick
from schemas.messages.workload import SliceReleased
from schemas.registry import decode, encode
from shared.basics.errors import InvalidInput, NotFound, OperationFailed
from shared.storage.log import indexed_log as indexed
from shared.storage.log import log_index
from shared.storage.log.indexed_log import STRIDE, IndexedLog
from shared.storage.log.log_bytes import site_log
from shared.storage.log.log_lines import LineWriter
from shared.storage.log.log_reader import LogQuery
from tests.support.log_checks import read_lines


def message(n: int, at_us: int) -> Envelope:
    """The n-th message: Ticks and slice events alternate, each source with its own count."""
    if n % 2:
        body = SliceReleased(slice=f"pod-0/slice-{n}", reason="finished")
        return enclose(
            body, fabric="pod-0", at_us=at_us, cause="x@pod-0/1", source="workload@pod-0", seq=n // 2 + 1
        )
    tick = Tick(service="ocs", due_us=at_us, count=n // 2 + 1)
    return enclose(tick, fabric="pod-0", at_us=at_us, cause=None, source="tick.ocs@pod-0", seq=n // 2 + 1)


def fill(log: IndexedLog, times: list[int], start: int = 0) -> list[Envelope]:
    messages = [message(start + n, at_us) for n, at_us in enumerate(times)]
    log.append(messages, [encode(m) for m in messages])
    return messages


def test_a_sieve_sees_the_line_and_spares_decoding(tmp_path: Path) -> None:
    log = IndexedLog(tmp_path / "pod-0.jsonl")
    messages = fill(log, list(range(0, 6_000, 5)))
    seen: list[bytes] = []

    def line_filter(line: bytes) -> bool:
        seen.append(line)
        return b'"SliceReleased"' in line

    found = list(log.read(600, 100, line_filter))
    assert seen == [encode(m) for m in messages[600:700]]
    assert found == [(n, messages[n]) for n in range(600, 700) if messages[n].type == "SliceReleased"]
    log.close()


def test_readers_see_all_of_an_append_or_nothing(tmp_path: Path) -> None:
    log = IndexedLog(tmp_path / "pod-0.jsonl")
    seen: list[int] = []

    class Lines(list[bytes]):
        def __iter__(self) -> Iterator[bytes]:
            for line in super().__iter__():
                seen.append(log.end)
                yield line

    messages = [message(n, n) for n in range(3)]
    log.append(messages, Lines(encode(m) for m in messages))
    assert (set(seen), log.end) == ({0}, 3)
    log.close()


@pytest.mark.parametrize("suffix", [".jsonl", ".gz", ".zst"])
def test_a_log_is_readable_with_standard_tools(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"log{suffix}"
    writer = LineWriter(path)
    writer.write(b'{"a":1}\n{"b":2}\n')
    writer.write(b'{"c":3}\n')
    writer.close()
    raw = path.read_bytes()
    plain = {
        ".jsonl": lambda: raw,
        ".gz": lambda: gzip.decompress(raw),
        ".zst": lambda: zstandard.ZstdDecompressor().decompressobj().decompress(raw),
    }[suffix]()
    assert plain == b'{"a":1}\n{"b":2}\n{"c":3}\n'
    assert list(read_lines(path)) == [b'{"a":1}', b'{"b":2}', b'{"c":3}']


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_concatenated_parts_read_as_one(tmp_path: Path, suffix: str) -> None:
    whole = tmp_path / f"whole{suffix}"
    for n in range(3):
        part = tmp_path / f"part{n}{suffix}"
        writer = LineWriter(part)
        writer.write(b"%d\n" % n)
        writer.close()
        whole.write_bytes((whole.read_bytes() if whole.exists() else b"") + part.read_bytes())
    assert list(read_lines(whole)) == [b"0", b"1", b"2"]


def test_an_unreadable_or_unwritable_log_is_an_error_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no such file"):
        list(read_lines(tmp_path / "none.jsonl"))
    broken = tmp_path / "broken.gz"
    broken.write_bytes(gzip.compress(b"x\n" * 1000)[:-20])
    with pytest.raises(InvalidInput, match="damaged compressed data"):
        list(read_lines(broken))
    with pytest.raises(OperationFailed, match="No such file or directory"):
        LineWriter(tmp_path / "no" / "folder.jsonl")
    full = LineWriter(Path("/dev/full"))
    with pytest.raises(OperationFailed, match="No space left on device"):
        full.write(b"x" * 100_000)


TIMES = st.lists(st.integers(0, 50), min_size=1, max_size=60).map(sorted)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(times=TIMES, at_us=st.integers(-1, 55), stride=st.integers(1, 9))
def test_a_time_and_an_id_are_found_as_by_reading_everything(
    tmp_path_factory: pytest.TempPathFactory, times: list[int], at_us: int, stride: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(indexed, "STRIDE", stride)
        log = IndexedLog(tmp_path_factory.mktemp("log") / "pod-0.jsonl")
        messages = fill(log, times)
        assert log.position_at(at_us) == bisect_left(times, at_us)
        assert [log.position_of(m.id) for m in messages] == list(range(len(times)))
        assert log.position_of("workload@pod-0/999") is None
        assert log.position_of("nobody@pod-0/1") is None
        assert log.position_of("no id at all") is None
        assert list(log.read(3, 4)) == list(enumerate(messages))[3:7]
        log.close()


def test_finding_a_place_reads_a_small_part_of_a_long_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = IndexedLog(tmp_path / "pod-0.jsonl")
    messages = fill(log, list(range(40 * STRIDE)))
    parsed = 0
    loads = orjson.loads

    def counting(line: bytes) -> object:
        nonlocal parsed
        parsed += 1
        return loads(line)

    monkeypatch.setattr(orjson, "loads", counting)
    assert log.position_at(31 * STRIDE + 17) == 31 * STRIDE + 17
    assert log.position_of(messages[35 * STRIDE + 5].id) == 35 * STRIDE + 5
    assert parsed <= 4 * STRIDE
    log.close()


STRANGE_STRIDES = ["5", "null", '[0,"a"]', '{"x": "y"}', "\xff"]
"""Invalid contents of a stride, where the preceding seqs should be."""


def indexed_log(path: Path, count: int) -> list[Envelope]:
    """A log whose index has seen all of it."""
    log = IndexedLog(path)
    messages = fill(log, list(range(count)))
    assert log.indexer.catch_up(60)
    log.close()
    return messages


@pytest.mark.parametrize("seqs", STRANGE_STRIDES)
def test_invalid_strides_are_rebuilt(tmp_path: Path, seqs: str) -> None:
    path = tmp_path / "pod-0.jsonl"
    messages = indexed_log(path, 3 * STRIDE)
    with sqlite3.connect(path.with_suffix(".sqlite")) as base:
        base.execute("UPDATE strides SET seqs = ? WHERE position = ?", (seqs, STRIDE))
    base.close()
    again = IndexedLog(path)
    assert again.last_seq("workload@pod-0") == messages[-1].seq
    assert again.indexer.count(LogQuery()) == len(messages)
    again.close()


@pytest.mark.parametrize(
    "harm",
    [
        *("none", "torn line", "no index", "torn index", "no database", "a folder", "foreign index"),
        *("other version", "index ahead", "index behind", "no table", "cut log"),
    ],
)
def test_it_opens_again_after_any_harm_to_its_end_or_index(tmp_path: Path, harm: str) -> None:
    path = tmp_path / "pod-0.jsonl"
    messages = indexed_log(path, 3 * STRIDE + 10)
    base_file = path.with_suffix(".sqlite")
    if harm == "torn line":
        with path.open("ab") as file:
            file.write(b'{"id":"tick.ocs@pod-0/77","ty')
    elif harm == "no index":
        base_file.unlink()
    elif harm == "torn index":
        base_file.write_bytes(base_file.read_bytes()[:-5_000])
    elif harm == "no database":
        base_file.write_bytes(b"[0,0,0,{}]\n" * 100)
    elif harm == "a folder":
        base_file.unlink()
        base_file.mkdir()
    elif harm == "foreign index":
        other = tmp_path / "other" / "pod-0.jsonl"
        log = IndexedLog(other)
        fill(log, list(range(7, 7 + 2 * STRIDE)), start=1)
        assert log.indexer.catch_up(60)
        log.close()
        other.with_suffix(".sqlite").rename(base_file)
    elif harm == "cut log":
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(lines[: 2 * STRIDE + 5]))
        messages = messages[: 2 * STRIDE + 5]
    elif harm != "none":
        with sqlite3.connect(base_file) as base:
            base.execute(
                {
                    "other version": "UPDATE meta SET value = 99 WHERE name = 'version'",
                    "index ahead": "UPDATE meta SET value = value + 5 WHERE name = 'end'",
                    "index behind": "UPDATE meta SET value = value - 5 WHERE name = 'offset'",
                    "no table": "DROP TABLE things",
                }[harm]
            )
        base.close()
    again = IndexedLog(path)
    assert again.end == len(messages)
    assert again.last_seq("workload@pod-0") == max(m.seq for m in messages if m.source == "workload@pod-0")
    more = fill(again, [10**6, 10**6 + 1], start=len(messages))
    assert [m for _, m in again.read(0)] == messages + more
    assert again.position_at(10**6) == len(messages)
    assert again.position_of(messages[2 * STRIDE + 1].id) == 2 * STRIDE + 1
    released = [(n, m) for n, m in enumerate(messages + more) if m.type == "SliceReleased"]
    assert again.indexer.find(LogQuery(types=("SliceReleased",)), 10_000, newest=False) == released
    again.close()


def test_a_log_left_behind_its_index_is_caught_up_and_names_are_found(tmp_path: Path) -> None:
    path = tmp_path / "pod-0.jsonl"
    messages = indexed_log(path, 700)
    log = IndexedLog(path)
    log.indexer.subjects_of = lambda fields: [fields["body"]["slice"]]
    messages += fill(log, [10**6 + n for n in range(1_500)], start=700)
    assert log.indexer.count(LogQuery()) == len(messages)
    assert log.indexer.find(LogQuery(about=("pod-0/slice-901",)), 5, newest=True) == [(901, messages[901])]
    assert log.indexer.count(LogQuery(about=("pod-0/slice-901", "pod-0/slice-903"))) == 2
    log.close()


def test_a_full_disk_takes_the_index_into_memory_and_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "pod-0.jsonl"
    log = IndexedLog(path)
    messages = fill(log, list(range(600)))
    made = log_index._create

    def full(place: Path | None) -> sqlite3.Connection:
        connection = made(place)
        if place is not None:
            connection.execute("PRAGMA max_page_count = 9")
        return connection

    monkeypatch.setattr(log_index, "_create", full)
    log.indexer._index.reset()
    assert log.indexer.find(LogQuery(types=("Tick",)), 3, newest=False) == [
        (n, messages[n]) for n in (0, 2, 4)
    ]
    assert log.indexer.count(LogQuery(start=100, end=200)) == 100
    log.close()


def test_lines_that_are_no_messages_keep_their_place_and_stop_nothing(tmp_path: Path) -> None:
    path = tmp_path / "pod-0.jsonl"
    first = message(0, 5)
    path.write_bytes(encode(first) + b"\nnot json\n{}\n[1]\n")
    log = IndexedLog(path)
    assert log.end == 4
    after = fill(log, [7], start=2)
    assert list(log.read(0)) == [(0, first), (4, after[0])]
    assert log.position_at(6) == 4
    log.close()


def test_a_full_disk_leaves_whole_lines_only(tmp_path: Path) -> None:
    import resource

    path = tmp_path / "pod-0.jsonl"
    log = IndexedLog(path)
    messages = fill(log, [1, 2, 3])
    size = path.stat().st_size
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 50, hard))
    try:
        with pytest.raises(OperationFailed, match="File too large"):
            fill(log, [4, 5], start=3)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.stat().st_size == size
    assert log.end == 3
    fill(log, [4], start=3)
    assert [decode(line).at_us for _, line in log.lines(0)] == [1, 2, 3, 4]
    assert messages[0].at_us == 1
    log.close()


def test_a_pipe_without_a_reader_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OperationFailed, match="pipe"):
        LineWriter(tmp_path / "pipe")


def test_a_log_is_read_from_any_offset_and_sought_by_offsets_of_it(tmp_path: Path) -> None:
    log = IndexedLog(tmp_path / "pod-0.jsonl")
    lines = [encode(one) + b"\n" for one in fill(log, [10 * n for n in range(40)])]
    log.close()
    content, starts = site_log(tmp_path, "pod-0"), [0, *accumulate(map(len, lines))]
    assert starts[-1] == log.size
    for number, offset in enumerate(starts):
        with content.opened(offset) as stream:
            assert list(stream) == lines[number:]
            stream.seek(starts[7])
            assert stream.readline() == lines[7]
        assert [*content.lines(offset)] == [line.rstrip(b"\n") for line in lines[number:]]


def test_no_other_knows_in_which_files_a_log_lies() -> None:
    """Every reader of a log opens it by `LogBytes`, so that it may be stored elsewhere one day."""
    root = Path(__file__).parents[3]
    sources = [path for room in ("shared", "services", "ops") for path in (root / room).rglob("*.py")]
    naming = re.compile(r"site\}\.jsonl|\*\.jsonl\"")
    assert [str(path) for path in sources if naming.search(path.read_text())] == []
