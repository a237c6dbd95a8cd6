"""Closed, compressed stretches of a log: they read like the log, whatever happens to them or to their
writer."""

import errno
import itertools
import os
import shutil
import signal
from collections.abc import Callable
from hashlib import sha256
from itertools import accumulate
from pathlib import Path

import orjson
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas.envelope import Envelope, enclose
from schemas.files.log_archive import ARCHIVE_FORMAT, LogPosition
from schemas.messages.sequencer import Tick
from schemas.messages.workload import SliceReleased
from schemas.registry import encode
from shared.basics.errors import ArchiveDamaged, OperationFailed
from shared.storage.log import archive_writer as module
from shared.storage.log.archive_reader import MANIFEST, read_segments
from shared.storage.log.archive_writer import (
    TruncatedLog,
    archive_lock,
    find_archivable,
    truncated_path,
    write_segment,
)
from shared.storage.log.indexed_log import STRIDE, IndexedLog
from shared.storage.log.log_bytes import LogBytes, site_log
from shared.storage.log.log_reader import LogQuery
from shared.storage.log.read_only_log import ReadOnlyLog

POD = "pod-0"
MESSAGES = 5 * STRIDE + 77


def message(n: int) -> Envelope:
    """Cascades of three: a Tick, and two messages that followed from it."""
    root, at_us = n - n % 3, 10 * (n - n % 3)
    if n == root:
        tick = Tick(service="ocs", due_us=at_us, count=n // 3 + 1)
        return enclose(tick, fabric=POD, at_us=at_us, cause=None, source=f"tick.ocs@{POD}", seq=n // 3 + 1)
    body = SliceReleased(slice=f"{POD}/slice-{n}", reason="finished")
    return enclose(
        body, fabric=POD, at_us=at_us, cause=f"tick.ocs@{POD}/{n // 3 + 1}", source=f"workload@{POD}", seq=n
    )


LINES = [encode(message(n)) + b"\n" for n in range(MESSAGES)]
STARTS = [0, *accumulate(map(len, LINES))]
PLAIN = b"".join(LINES)


@pytest.fixture(autouse=True)
def small_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FRAME_BYTES", 9_000)


def written(folder: Path) -> LogBytes:
    folder.mkdir(exist_ok=True)
    log = site_log(folder, POD)
    log.path.write_bytes(PLAIN)
    return log


def archive(log: LogBytes, before_us: int) -> LogPosition | None:
    """As `lightwave archive` does for a twin that does not run."""
    with archive_lock(log):
        found = find_archivable(log, before_us)
        if found is None:
            return None
        write_segment(log, found)
        with TruncatedLog(log, found.end) as shorter:
            shorter.replace_log().close()
        return found.end


def archived(folder: Path, *before: int) -> LogBytes:
    """A log whose parts before these times were archived, one after the other."""
    log = written(folder)
    for before_us in before:
        archive(log, before_us)
    return log


def content(log: LogBytes) -> bytes:
    with log.opened() as stream:
        return stream.read()


def test_all_that_is_older_goes_up_to_a_root_and_the_log_reads_as_it_was(tmp_path: Path) -> None:
    log = written(tmp_path)
    found = archive(log, 10 * 1_000)
    assert found is not None
    assert (found.position, found.offset) == (1_002, STARTS[1_002])
    assert found.seqs == {f"tick.ocs@{POD}": 334, f"workload@{POD}": 1_001}
    assert content(log) == PLAIN
    assert log.path.stat().st_size < len(PLAIN) - STARTS[1_002] + 500
    assert [*log.lines()] == [line.rstrip(b"\n") for line in LINES]
    assert archive(log, 10 * 1_000) is None
    assert archive(log, 10 * 2_000) is not None
    assert archive(log, 10**9) is not None
    assert content(log) == PLAIN
    last = read_segments(log.archive).segments[-1]
    assert MESSAGES - 3 <= last.end.position < MESSAGES  # a root stays
    assert archive(log, 10**9) is None
    assert [path.name for path in log.archive.iterdir() if "part" in path.name] == []


def test_nothing_goes_where_nothing_is_older(tmp_path: Path) -> None:
    log = written(tmp_path)
    assert archive(log, 0) is None
    assert archive(log, -5) is None
    assert [path.name for path in tmp_path.iterdir()] == [log.path.name]
    log.path.write_bytes(b"")
    assert archive(log, 10**9) is None
    log.path.unlink()
    with pytest.raises(OperationFailed, match=f"{POD}.jsonl: No such file"):
        archive(log, 10**9)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_bytes_of_it_are_those_of_the_plain_log(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, 10 * MESSAGES), max_size=3)))
    log = archived(tmp_path_factory.mktemp("log"), *cuts)
    with log.opened(data.draw(st.integers(0, len(PLAIN) + 9))) as stream:
        for _ in range(6):
            offset = data.draw(st.integers(0, len(PLAIN) + 9))
            stream.seek(offset)
            length = data.draw(st.integers(0, 30_000))
            assert stream.read(length) == PLAIN[offset : offset + length]
            assert stream.tell() == min(offset + length, max(offset, len(PLAIN)))
            line = data.draw(st.integers(0, MESSAGES))
            stream.seek(STARTS[line])
            assert stream.readline() == b"".join(LINES[line : line + 1])
    assert [*log.raw_lines(STARTS[line])] == LINES[line:]


def answers(log: IndexedLog) -> list[object]:
    """The results of lookups in it."""
    return [
        log.end,
        log.size,
        [log.position_at(at_us) for at_us in range(0, 10 * MESSAGES, 997)],
        [log.position_of(message(n).id) for n in range(0, MESSAGES, 101)],
        log.position_of(f"workload@{POD}/99999"),
        [*log.lines(MESSAGES // 2, 40)],
        log.last_seq(f"workload@{POD}"),
        log.indexer.count(LogQuery()),
        log.indexer.find(LogQuery(types=("Tick",)), 700, newest=True),
        [log.place_at(n) for n in (0, 1, 511, 512, 1_002, MESSAGES - 1)],
    ]


@pytest.mark.parametrize("index", ["kept", "gone", "behind"])
@pytest.mark.parametrize("before", [(10 * STRIDE,), (9_000, 12_345, 20_000), (10**9,)])
def test_every_answer_is_as_before(tmp_path: Path, index: str, before: tuple[int, ...]) -> None:
    log = IndexedLog(written(tmp_path).path)
    if index != "behind":
        wanted = answers(log)
    log.close()
    for before_us in before:
        archive(log.content, before_us)
    if index == "gone":
        log.path.with_suffix(".sqlite").unlink()
    again = IndexedLog(log.path)
    plain = IndexedLog(written(tmp_path / "plain").path) if index == "behind" else None
    if plain is not None:
        wanted = answers(plain)
        plain.close()
    assert answers(again) == wanted
    more = [message(MESSAGES + n) for n in range(5)]
    again.append(more, [encode(one) for one in more])
    assert content(log.content) == PLAIN + b"".join(encode(one) + b"\n" for one in more)
    again.close()
    last = IndexedLog(log.path)
    assert last.end == MESSAGES + 5
    last.close()


# --- what may happen to who archives ------------------------------------------------------------------------

FORCED = 5
"""The number of fsyncs of an archive until the file has the log's name: stretch and folder, manifest and
folder, rest, and newly written lines; then one more for the folder."""


def of_forced(at: int, happens: Callable[[], None]) -> Callable[[int], None]:
    """An fsync; the one with this number fails."""
    sync, calls = os.fsync, itertools.count(1)

    def forced(number: int) -> None:
        if next(calls) == at:
            happens()
        sync(number)

    return forced


def full() -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def is_plain(log: LogBytes) -> None:
    """Every reader reads it as before, and it can be written to."""
    assert content(log) == PLAIN
    opened = IndexedLog(log.path)
    assert [line + b"\n" for _, line in opened.lines(0)] == LINES
    opened.close()
    file = ReadOnlyLog(log)
    assert (file.end, file.size, file.end_us) == (MESSAGES, len(PLAIN), message(MESSAGES - 1).at_us)
    assert not truncated_path(log).exists()


@pytest.mark.integration
@pytest.mark.parametrize("earlier", [(), (5_000,)])
@pytest.mark.parametrize("at", range(1, FORCED + 3))
def test_killed_at_any_step_it_is_read_as_before_and_archived_again(
    tmp_path: Path, at: int, earlier: tuple[int, ...]
) -> None:
    log = archived(tmp_path, *earlier)
    if (child := os.fork()) == 0:
        setattr(os, "fsync", of_forced(at, killed))  # noqa: B010 -- of the child alone
        archive(log, 20_000)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL
    assert content(log) == PLAIN
    is_plain(log)
    done = archive(log, 20_000)
    assert (done is None) == (at > FORCED + 1)
    assert len([*log.archive.glob("*.zst")]) == len(read_segments(log.archive).segments) == 1 + len(earlier)
    is_plain(log)


@pytest.mark.parametrize("at", range(1, FORCED + 2))
def test_a_full_disk_at_any_step_is_reported_and_leaves_the_log_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    log = archived(tmp_path, 5_000)
    before = log.path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", of_forced(at, full))
        with pytest.raises(OperationFailed, match="No space left on device"):
            archive(log, 20_000)
    assert log.path.read_bytes() == before
    is_plain(log)
    assert not [*log.archive.glob("*.part")]
    assert archive(log, 20_000) is not None
    is_plain(log)


def test_a_partly_written_stretch_is_discarded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    log = written(tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (700, hard))
    try:
        with pytest.raises(OperationFailed, match=r"archive .*\.zst: File too large"):
            archive(log, 20_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [*log.archive.iterdir()] == []
    is_plain(log)


def test_an_unfinished_archive_of_another_log_is_discarded(tmp_path: Path) -> None:
    log = written(tmp_path)
    found = find_archivable(log, 20_000)
    assert found is not None
    write_segment(log, found)  # and the file was not made shorter
    other = [line.replace(b"slice-", b"slace-") for line in LINES]
    log.path.write_bytes(b"".join(other))
    assert content(log) == b"".join(other)
    assert archive(log, 12_000) is not None
    assert content(log) == b"".join(other)
    assert len([*log.archive.glob("*.zst")]) == 1


def test_two_at_a_time_are_refused(tmp_path: Path) -> None:
    log = written(tmp_path)
    with archive_lock(log), pytest.raises(OperationFailed, match="another process is archiving them"):
        archive(log, 20_000)
    assert archive(log, 20_000) is not None


def test_a_reader_continues_while_the_log_is_archived(tmp_path: Path) -> None:
    log = written(tmp_path)
    with log.opened() as before:
        assert before.read(1_000) == PLAIN[:1_000]
        archive(log, 9_000)
        with log.opened() as between:
            assert between.read(50_000) == PLAIN[:50_000]
            archive(log, 20_000)
            assert between.read() == PLAIN[50_000:]
        assert before.read() == PLAIN[1_000:]


# --- what may happen to stretches ---------------------------------------------------------------------------


def bad_byte(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


HARMS: dict[str, Callable[[LogBytes, Path], object]] = {
    "a bad byte": lambda _log, path: bad_byte(path),
    "cut": lambda _log, path: cut_short(path),
    "missing": lambda _log, path: path.unlink(),
    "another one": lambda log, path: shutil.copy(max(log.archive.glob("*.zst")), path),
    "a folder": lambda _log, path: a_folder(path),
}


@pytest.mark.parametrize("index", ["kept", "gone"])
@pytest.mark.parametrize("harm", HARMS)
def test_a_lost_stretch_is_named_by_its_reader_and_affects_no_other(
    tmp_path: Path, harm: str, index: str
) -> None:
    log = written(tmp_path)
    first = IndexedLog(log.path)
    assert first.indexer.catch_up(60)
    first.close()
    ends = [place.position for before in (8_000, 15_000, 20_000) if (place := archive(log, before))]
    lost = sorted(log.archive.glob("*.zst"))[1]
    HARMS[harm](log, lost)
    if index == "gone":
        log.path.with_suffix(".sqlite").unlink()
    again = IndexedLog(log.path)
    assert again.end == MESSAGES
    assert again.last_seq(f"tick.ocs@{POD}") == 1 + (MESSAGES - 1) // 3
    assert [line + b"\n" for _, line in again.lines(ends[2])] == LINES[ends[2] :]
    assert [line + b"\n" for _, line in again.lines(ends[1], 9)] == LINES[ends[1] : ends[1] + 9]
    assert [line + b"\n" for _, line in again.lines(3, ends[0] - 3)] == LINES[3 : ends[0]]
    late_us = message(MESSAGES - 10).at_us
    assert again.position_at(late_us) == MESSAGES - 10 - (MESSAGES - 10) % 3
    more = [message(MESSAGES)]
    again.append(more, [encode(one) for one in more])
    assert [*again.lines(MESSAGES)] == [(MESSAGES, encode(more[0]))]
    for read in (
        lambda: [*again.lines(0)],
        lambda: [*again.lines(ends[0], ends[1] - ends[0])],
        lambda: content(log),
        lambda: [*log.lines()],
        lambda: [*ReadOnlyLog(log).lines(0)],
    ):
        with pytest.raises(OperationFailed, match=str(lost)) as refused:
            read()
        assert "\n" not in str(refused.value)
    file = ReadOnlyLog(log)
    assert (file.end, file.position_at(10**9)) == (MESSAGES + 1, MESSAGES + 1)
    again.close()


def test_a_message_whose_cause_is_in_a_lost_segment_can_be_found(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = written(tmp_path)
    first = IndexedLog(log.path)
    assert first.indexer.catch_up(60)
    first.close()
    archive(log, 8_000)
    (lost,) = log.archive.glob("*.zst")
    lost.unlink()
    again = IndexedLog(log.path)
    body = SliceReleased(slice=f"{POD}/slice-0", reason="finished")
    late = enclose(
        body,
        fabric=POD,
        at_us=message(MESSAGES).at_us,
        cause=f"tick.ocs@{POD}/1",
        source=f"workload@{POD}",
        seq=MESSAGES,
    )
    again.append([late], [encode(late)])
    assert again.indexer.find(LogQuery(), 1, newest=True) == [(MESSAGES, late)]
    assert again.indexer.count(LogQuery()) == MESSAGES + 1
    assert str(lost) in caplog.text
    again.close()


@pytest.mark.parametrize(
    "text", ["", "{}", '{"format":99,"stretches":[]}', '{"format":1,"stretches":[]}', None]
)
def test_a_lost_manifest_is_named_and_stops_no_other(tmp_path: Path, text: str | None) -> None:
    log = archived(tmp_path, 8_000, 20_000)
    path = log.archive / MANIFEST
    path.unlink()
    if text is not None:
        path.write_text(text)
    again = IndexedLog(log.path)
    assert again.end == ReadOnlyLog(log).end == MESSAGES
    begins = again.begins().position
    assert [line + b"\n" for _, line in again.lines(begins)] == LINES[begins:]
    with pytest.raises(ArchiveDamaged, match=str(path)):
        content(log)
    again.close()
    before = log.path.read_bytes()
    with pytest.raises(OperationFailed, match=str(log.archive)):
        archive(log, 10**9)
    assert log.path.read_bytes() == before


def test_a_frame_of_a_gigabyte_is_not_unpacked(tmp_path: Path) -> None:
    """Readers keep several frames in memory, so their size has a limit, even if all sizes agree."""
    log = archived(tmp_path, 8_000)
    size = 1 << 30
    packed = zstandard.ZstdCompressor().compress(bytes(1_000))
    place = LogPosition(position=MESSAGES, offset=size, at_us=0, seqs={})
    digest = sha256(packed).hexdigest()
    frame = {"plain": size, "size": len(packed), "sha256": digest}
    name = f"{0:015d}-{size:015d}.jsonl.zst"
    (log.archive / name).write_bytes(packed)
    segment = {"file": name, "start": 0, "end": place.model_dump(), "size": len(packed), "sha256": digest}
    segment |= {"frames": [frame], "commissioned": []}
    (log.archive / MANIFEST).write_bytes(orjson.dumps({"format": ARCHIVE_FORMAT, "segments": [segment]}))
    with pytest.raises(ArchiveDamaged, match="content changed since it was written"):
        content(log)


def test_a_first_line_that_shows_nothing_is_named(tmp_path: Path) -> None:
    log = archived(tmp_path, 8_000)
    log.path.write_bytes(log.path.read_bytes().replace(b'"offset"', b'"offsot"', 1))
    for read in (lambda: content(log), lambda: IndexedLog(log.path), lambda: ReadOnlyLog(log)):
        with pytest.raises(ArchiveDamaged, match="first line is not a valid header"):
            read()
