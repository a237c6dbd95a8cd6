"""Dead letters and telemetry frames of a runner."""

import errno
import hashlib
import math
import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import ClassVar

import pytest

from schemas.messages.sequencer import Tick
from shared.basics.errors import OperationFailed
from shared.runtimes.embedded.dead_letter_file import DeadLetterFile
from shared.storage.log.frame_files import FRAMES_MAX, TelemetryFolder
from shared.storage.store.memory_store import MemoryStore
from shared.storage.store.state_store import Commit
from tests.support.pods import first_message, next_tick
from tests.support.runner_twin import CONFIG, RunnerTwin
from tests.support.toy_services import TOYS


def test_dead_letters_keep_line_error_and_origin_once(tmp_path: Path) -> None:
    path = tmp_path / "dead-letters.jsonl"
    letters = DeadLetterFile(path)
    assert (letters.count(), letters.read()) == (0, [])
    letters.put("pod-0:7", "not JSON", b"caf\xc3\xa9 \xff\x00")
    letters.put("pod-0:7", "not JSON", b"again")
    letters.put("pod-1:7", "another", b"")
    again = DeadLetterFile(path)
    again.put("pod-0:7", "not JSON", b"once more")
    assert again.count() == 2
    assert [(found.origin, found.error, found.line) for found in again.read()] == [
        ("pod-0:7", "not JSON", "café \\xff\x00"),
        ("pod-1:7", "another", ""),
    ]
    assert all(isinstance(found.wall_s, float) for found in again.read())


def test_a_dead_letter_of_a_long_line_keeps_its_beginning_and_its_digest(tmp_path: Path) -> None:
    letters = DeadLetterFile(tmp_path / "dead-letters.jsonl")
    letters.put("pod-0:7", "not JSON", b"\xff" * 8_000_000)
    (found,) = letters.read()
    assert found.line == "\\xff" * 2_048
    assert (found.line_bytes, found.line_sha256) == (
        8_000_000,
        hashlib.sha256(b"\xff" * 8_000_000).hexdigest(),
    )
    assert letters.path.stat().st_size < 20_000


def test_a_dead_letter_that_a_crash_cut_off_takes_no_other_with_it(tmp_path: Path) -> None:
    path = tmp_path / "dead-letters.jsonl"
    for cut in (1, 2, 20):
        path.unlink(missing_ok=True)
        letters = DeadLetterFile(path)
        for n in range(3):
            letters.put(f"pod-0:{n}", "not JSON", b"x")
        path.write_bytes(path.read_bytes()[:-cut])
        again = DeadLetterFile(path)
        assert again.count() == (3 if cut == 1 else 2)
        again.put("pod-0:2", "not JSON", b"x")
        again.put("pod-0:3", "not JSON", b"x")
        assert [letter.origin for letter in DeadLetterFile(path).read()] == [f"pod-0:{n}" for n in range(4)]


def test_dead_letters_that_cannot_be_stored_are_an_error_in_one_sentence(tmp_path: Path) -> None:
    letters = DeadLetterFile(tmp_path / "no" / "dead-letters.jsonl")
    with pytest.raises(OperationFailed, match="No such file or directory"):
        letters.put("pod-0:1", "not JSON", b"x")


def test_only_the_newest_telemetry_frames_are_kept(tmp_path: Path) -> None:
    folder = TelemetryFolder(tmp_path, share_max=math.inf)
    assert folder.latest("pod-0") is None
    for n in range(FRAMES_MAX + 10):
        folder.put("pod-0", n * 10**9, b"%d" % n)
    folder.put("pod-1", 5, b"other")
    frames = sorted((tmp_path / "pod-0").iterdir())
    assert [frame.read_bytes() for frame in frames] == [b"%d" % n for n in range(10, FRAMES_MAX + 10)]
    assert folder.latest("pod-0") == b"%d" % (FRAMES_MAX + 9)
    assert folder.latest("pod-1") == b"other"
    folder.put("pod-0", (FRAMES_MAX + 9) * 10**9, b"again")
    assert len(list((tmp_path / "pod-0").iterdir())) == FRAMES_MAX
    assert folder.latest("pod-0") == b"again"


def test_an_invalid_frame_in_the_folder_is_ignored(tmp_path: Path) -> None:
    folder = TelemetryFolder(tmp_path, share_max=math.inf)
    folder.put("pod-0", 1, b"frame")
    for name in ("foreign.arrows", f"{7:020d}.part", "٣" * 20 + ".arrows"):
        (tmp_path / "pod-0" / name).write_bytes(b"strange")
    assert folder.latest("pod-0") == b"frame"
    assert list(folder.after("pod-0", -1)) == [(1, b"frame")]


def test_a_frame_that_does_not_fit_leaves_nothing_and_the_oldest_make_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = TelemetryFolder(tmp_path, share_max=math.inf)
    for n in range(FRAMES_MAX):
        folder.put("pod-0", n, b"frame")

    def full(_path: Path, _target: Path) -> Path:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", full)
        with pytest.raises(OperationFailed, match="No space left on device"):
            folder.put("pod-0", FRAMES_MAX, b"more")
    names = sorted(path.name for path in (tmp_path / "pod-0").iterdir())
    assert names == [f"{n:020d}.arrows" for n in range(1, FRAMES_MAX)]


def test_a_frame_that_cannot_be_written_is_an_error_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OperationFailed, match="Not a directory"):
        TelemetryFolder(tmp_path / "file").put("pod-0", 1, b"x")


def test_every_tick_of_a_service_with_telemetry_publishes_its_frame(tmp_path: Path) -> None:
    twin = RunnerTwin(tmp_path)
    folder = TelemetryFolder(tmp_path / "telemetry", share_max=math.inf)
    twin.start(telemetry=folder)
    runner = twin.runner
    runner.take(first_message(CONFIG))
    assert folder.latest("pod-0") is None
    runner.take(next_tick(runner.site))
    assert folder.latest("pod-0") == b"cubes 10000000 1"


def test_a_service_may_render_a_frame_at_the_tick_of_another_service(tmp_path: Path) -> None:
    cubes, ocs, *others = TOYS
    beside = replace(ocs, frames_on_ticks_of=("cubes",), frames_suffix="ocs")
    twin = RunnerTwin(tmp_path, (cubes, beside, *others))
    folder = TelemetryFolder(tmp_path / "telemetry", share_max=math.inf)
    twin.start(telemetry=folder)
    twin.runner.take(first_message(CONFIG))
    ticked: list[str] = []
    while len(set(ticked)) < 2:
        tick = next_tick(twin.runner.site)
        ticked.append(tick.body.service if isinstance(tick.body, Tick) else "")
        twin.runner.take(tick)
    frames = [frame for _, frame in folder.after("pod-0/ocs", -1)]
    assert ticked == ["cubes", "ocs"]
    assert [frame[:13] for frame in frames] == [b"ocs 10000000 "]
    assert (folder.latest("pod-0") or b"").startswith(b"cubes 10000000 ")


def test_frames_that_would_hold_up_the_twin_are_passed_over_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A frame of 20 ms is followed by 180 ms without frames, and by 380 ms if there are two fabrics. All
    frames together take a tenth of the time."""
    now_s = [100.0]
    monkeypatch.setattr("shared.storage.log.frame_files.time.perf_counter", lambda: now_s[0])
    folder = TelemetryFolder(tmp_path)

    def slow() -> bytes:
        now_s[0] += 0.02
        return b"frame"

    folder.make("pod-0", 1, slow)
    now_s[0] += 0.1799
    folder.make("pod-0", 2, slow)
    assert (folder.not_rendered, len(list((tmp_path / "pod-0").iterdir()))) == (1, 1)
    folder.make("pod-1", 2, slow)
    assert folder.latest("pod-1") == b"frame"
    folder.make("pod-0", 3, slow)
    assert [path.name[-8:] for path in sorted((tmp_path / "pod-0").iterdir())] == ["1.arrows", "3.arrows"]
    now_s[0] += 0.37
    for fabric in ("pod-0", "pod-1"):
        folder.make(fabric, 4, slow)
    assert folder.not_rendered == 2, "that of pod-0; pod-1 has waited for as long, and longer ago"
    for at_us in (5, 6):
        now_s[0] += 1.0
        folder.make("pod-0", at_us, lambda: None)
        folder.make("pod-0", at_us, lambda: b"cheap")
    assert (folder.not_rendered, folder.latest("pod-0")) == (2, b"cheap")


def test_the_last_frame_that_is_due_is_never_skipped_and_a_skipped_one_can_be_made_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = [100.0]
    monkeypatch.setattr("shared.storage.log.frame_files.time.perf_counter", lambda: now_s[0])
    folder = TelemetryFolder(tmp_path)

    def slow(content: bytes) -> Callable[[], bytes]:
        def render() -> bytes:
            now_s[0] += 0.02
            return content

        return render

    folder.make("pod-0", 1, slow(b"1"))
    folder.make("pod-0", 2, slow(b"2"))
    assert folder.latest("pod-0") == b"1"
    folder.make("pod-0", 3, slow(b"3"), is_last_due=True)
    assert folder.latest("pod-0") == b"3"
    for at_us in (4, 5):
        content = b"%d" % at_us
        folder.make("pod-0", at_us, slow(content), freeze=partial(slow, content))
    assert (folder.latest("pod-0"), folder.not_rendered) == (b"3", 3)
    folder.render_deferred()
    assert (folder.latest("pod-0"), folder.not_rendered) == (b"5", 2)
    folder.make("pod-0", 6, slow(b"6"), freeze=lambda: slow(b"6"))
    folder.make("pod-0", 7, slow(b"7"), is_last_due=True)
    folder.render_deferred()
    assert [path.name[-8:-7] for path in sorted((tmp_path / "pod-0").iterdir())] == ["1", "3", "5", "7"]


def test_a_frame_that_cannot_be_written_is_reported_and_counted_and_the_twin_continues(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    twin = RunnerTwin(tmp_path)
    folder = TelemetryFolder(tmp_path / "telemetry", share_max=math.inf)
    twin.start(telemetry=folder)
    runner = twin.runner
    runner.take(first_message(CONFIG))
    (tmp_path / "telemetry").write_text("in its place")
    for _ in range(2):
        runner.take(next_tick(runner.site))
    problem = (
        f"telemetry folder {tmp_path / 'telemetry' / 'pod-0'}: Not a directory; telemetry frames are lost "
        "until writes succeed"
    )
    assert (folder.problems, folder.lost) == ([problem], 2)
    assert [record.getMessage() for record in caplog.records] == [problem]
    (tmp_path / "telemetry").unlink()
    runner.take(next_tick(runner.site))
    assert (folder.problems, folder.lost) == ([], 2)
    assert (folder.latest("pod-0") or b"").startswith(b"cubes ")


def test_a_tick_is_due_until_its_messages_are_committed(tmp_path: Path) -> None:
    """A client that waits for the clock must not read the earlier documents."""

    class Watching(MemoryStore):
        dues: ClassVar[list[int | None]] = []

        def commit(self, commit: Commit) -> bool:
            self.dues.append(twin.runner.due_us())
            return super().commit(commit)

    twin = RunnerTwin(tmp_path, store=Watching())
    twin.start()
    twin.runner.take(first_message(CONFIG))
    before_us = twin.runner.due_us()
    Watching.dues.clear()
    twin.step()
    assert [before_us] == Watching.dues
    after_us = twin.runner.due_us()
    assert before_us is not None
    assert after_us is not None
    assert after_us > before_us
