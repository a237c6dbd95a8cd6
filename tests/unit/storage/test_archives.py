"""Closed stretches of a log, compressed: read as the log was, whatever happens to them or to who writes
them."""

from itertools import accumulate
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas.archive import LogPlace
from schemas.envelope import Envelope, enclose
from schemas.registry import encode
from schemas.sequencer import Tick
from schemas.workload import SliceReleased
from shared.basics.errors import OperationFailed
from shared.storage.log import archiving as module
from shared.storage.log.archive import read_stretches
from shared.storage.log.archiving import ShorterLog, archiving, closed, compress
from shared.storage.log.indexed import STRIDE, IndexedLog
from shared.storage.log.log_bytes import LogBytes, log_of
from shared.storage.log.reader import LogQuery

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
    monkeypatch.setattr(module, "FRAME", 9_000)


def written(folder: Path) -> LogBytes:
    folder.mkdir(exist_ok=True)
    log = log_of(folder, POD)
    log.path.write_bytes(PLAIN)
    return log


def archive(log: LogBytes, before_us: int) -> LogPlace | None:
    """As `lightwave archive` does for a twin that does not run."""
    with archiving(log):
        found = closed(log, before_us)
        if found is None:
            return None
        compress(log, found)
        with ShorterLog(log, found.end) as shorter:
            shorter.take_name().close()
        return found.end


def archived(folder: Path, *before: int) -> LogBytes:
    """A log of which what is of before these times was archived, one after the other."""
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
    last = read_stretches(log.archive).stretches[-1]
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
    """What people find in it."""
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
