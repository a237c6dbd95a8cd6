"""States rebuilt from a snapshot and the rest of the log equal the fold of the whole log."""

import copy
import logging
import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.config.failures import FailuresConfig
from schemas.config.pods import PodConfig, SuperpodConfig
from schemas.messages.operator import DrainCube, InjectFault, RequestSlice
from schemas.messages.sequencer import FabricCommissioned, FabricRetired
from services.fabric_kinds import services_of
from shared.basics.errors import LogDamaged
from shared.runtimes.embedded.dead_letter_file import DeadLetterFile
from shared.runtimes.embedded.site_runner import SiteRunner
from shared.runtimes.embedded.snapshot_taker import SnapshotTaker
from shared.storage.log.indexed_log import IndexedLog
from shared.storage.snapshots.site_history import SiteHistory
from shared.storage.snapshots.site_snapshot import SiteSnapshot, to_bytes
from shared.storage.snapshots.snapshot_folder import SnapshotFolder
from shared.storage.store.memory_store import MemoryStore
from tests.support.pods import POD, first_message, with_key

EVERY = 60
CONFIG = SuperpodConfig(seed=5, pod=PodConfig(cubes=4), failures=FailuresConfig(host_per_day=0.5))


class Kept:
    """A site's folder, with a store that may hold nothing of it yet."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = MemoryStore(count(1).__next__, wall_s=lambda: 0.0)
        self.log = IndexedLog(folder / "pod-0.jsonl")
        self.snapshots = SnapshotFolder(folder / "snapshots", POD, "build")
        self.letters = DeadLetterFile(folder / "dead-letters.jsonl")

    def runner(self, taker: SnapshotTaker | None = None) -> SiteRunner:
        return SiteRunner(
            POD,
            0,
            services_of,
            store=self.store,
            place=self.store.place,
            log=self.log,
            dead_letters=self.letters,
            snapshots=taker,
        )

    def close(self) -> None:
        self.log.close()

    def starts(self) -> list[SiteSnapshot]:
        return [*SiteHistory(self.log, self.snapshots, services_of).matching_snapshots()]


def live(folder: Path) -> None:
    """Two pods on one log. The second joins later and retires, with requests throughout."""
    with closing(Kept(folder)) as kept:
        taker = SnapshotTaker(kept.snapshots, interval_messages=EVERY)
        runner = kept.runner(taker)
        runner.recover()
        runner.take(first_message(CONFIG))
        request = {
            80: (POD, with_key("a", DrainCube(cube="pod-0/cube-1"))),
            120: ("pod-1", with_key("b", FabricCommissioned(site=POD, config=CONFIG))),
            200: ("pod-1", InjectFault(kind="host", target="pod-1/cube-2/host-1")),
            260: (POD, with_key("c", RequestSlice(shape=(4, 4, 4)))),
            420: ("pod-1", with_key("d", FabricRetired())),
            520: (POD, with_key("e", DrainCube(cube="pod-0/cube-9"))),
        }
        while kept.log.end < 700:
            for at in [at for at in request if at <= kept.log.end]:
                kept.store.put(0, *request.pop(at))
            waiting = kept.store.waiting(0, 1)
            due_us = runner.due_us()
            assert due_us is not None
            runner.step(waiting[0] if waiting else None, due_us if not waiting else runner.site.now_us + 5)
        assert not request
        taker.close()


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lived")
    live(folder)
    return folder


def held_by(store: MemoryStore) -> dict[str, Any]:
    kept = store._partitions[0]
    return {
        "positions": kept.positions,
        "values": kept.values,
        "states": {key: dict(stored) for key, stored in kept.states.items()},
        "documents": {key: dict(stored) for key, stored in kept.documents.items() if stored},
        "progress": kept.progress,
        "inbox": kept.inbox,
        "last_number": kept.last_number,
        "keys": kept.keys,
        "claims": store._claims,
        "fabrics": store.fabrics(),
    }


def rebuilt(
    lived: Path,
    folder: Path,
    start_of: Callable[[list[SiteSnapshot]], SiteSnapshot | None],
    end: int | None = None,
) -> tuple[dict[str, Any], int, bytes]:
    """(all contents of the store, messages folded, the log) after the rebuild of a copy that keeps the given
    number of messages."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(lived, folder)
    path = folder / "pod-0.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:end]))
    (folder / "pod-0.sqlite").unlink()
    with closing(Kept(folder)) as kept:
        folded = kept.runner().rebuild(start_of(kept.starts()))
        return copy.deepcopy(held_by(kept.store)), folded, path.read_bytes()


@settings(max_examples=12, deadline=None)
@given(end=st.integers(1, 700), chosen=st.integers(0, 20))
def test_a_rebuilt_store_equals_the_fold_of_the_whole_log(
    lived: Path, tmp_path_factory: pytest.TempPathFactory, end: int, chosen: int
) -> None:
    """Wherever the log ends, also within a cascade, and whichever snapshot the fold starts from."""
    folder = tmp_path_factory.mktemp("anew")
    began: list[int] = []

    def start(found: list[SiteSnapshot]) -> SiteSnapshot | None:
        began.extend([found[chosen % len(found)].position] if found else [])
        return found[chosen % len(found)] if found else None

    by_snapshot = rebuilt(lived, folder / "by", start, end)
    from_zero = rebuilt(lived, folder / "zero", lambda _: None, end)
    assert by_snapshot[0] == from_zero[0]
    assert by_snapshot[1] == from_zero[1] - sum(began)
    assert by_snapshot[2] == from_zero[2]


def test_only_the_log_behind_the_newest_snapshot_is_folded(lived: Path, tmp_path: Path) -> None:
    held, folded, _ = rebuilt(lived, tmp_path / "x", lambda found: found[0])
    assert folded < 2 * EVERY
    assert sorted(held["keys"]) == ["a", "b", "c", "d", "e"]
    assert held["fabrics"]["pod-1"].retired_us > 0


def test_a_rebuilt_twin_continues_as_the_original_does(lived: Path, tmp_path: Path) -> None:
    logs = []
    for by_snapshot in (True, False):
        folder = tmp_path / f"by-{by_snapshot}"
        shutil.copytree(lived, folder)
        with closing(Kept(folder)) as kept:
            runner = kept.runner()
            runner.rebuild(kept.starts()[0] if by_snapshot else None)
            for _ in range(40):
                due_us = runner.due_us()
                assert due_us is not None
                runner.step(None, due_us)
            logs.append(((folder / "pod-0.jsonl").read_bytes(), runner.digest()))
    assert logs[0] == logs[1]


def test_a_snapshot_that_does_not_match_the_log_is_reported_and_all_is_folded(
    lived: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The snapshot is wrong in itself, which no digest can detect."""

    def wrong(found: list[SiteSnapshot]) -> SiteSnapshot:
        states = {key: dict(stored) for key, stored in found[1].states.items()}
        book = states["cubes", POD]["_counters"]
        assert b'"ticks":' in book
        states["cubes", POD]["_counters"] = book.replace(b'"ticks":', b'"ticks":1')
        return replace(found[1], states=states)

    with caplog.at_level(logging.WARNING):
        held, folded, _ = rebuilt(lived, tmp_path / "x", wrong)
    assert (held, folded) == rebuilt(lived, tmp_path / "y", lambda _: None)[:2]
    (told,) = [record.getMessage() for record in caplog.records]
    assert ", folding the whole log: pod-0: " in told


def test_a_snapshot_with_a_field_that_cannot_be_read_is_reported_and_all_is_folded(
    lived: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def emptied(found: list[SiteSnapshot]) -> SiteSnapshot:
        return replace(found[0], states={key: {"x": b""} for key in found[0].states})

    with caplog.at_level(logging.WARNING):
        held, folded, _ = rebuilt(lived, tmp_path / "x", emptied)
    assert (held, folded) == rebuilt(lived, tmp_path / "y", lambda _: None)[:2]
    assert "field" in caplog.text


def test_a_log_that_is_not_the_folds_is_refused_with_a_snapshot_too(lived: Path, tmp_path: Path) -> None:
    folder = tmp_path / "x"
    shutil.copytree(lived, folder)
    path = folder / "pod-0.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:-3], *lines[-2:]]))
    with closing(Kept(folder)) as kept:
        runner = kept.runner()
        with pytest.raises(LogDamaged, match="differs from what its services emit: position"):
            runner.rebuild(kept.starts()[0])
        assert not kept.store.positions(0)


def test_snapshots_of_a_longer_log_are_removed(lived: Path, tmp_path: Path) -> None:
    """The twin will continue differently, and its log may contain an identical line there."""
    shutil.copytree(lived / "snapshots", tmp_path / "snapshots")
    folder = SnapshotFolder(tmp_path / "snapshots", POD, "build")
    before = folder.positions()
    assert folder.discard_after(before[2]) == len(before) - 3
    assert folder.positions() == before[:3]
    assert folder.discard_after(before[2]) == 0


def test_one_that_cannot_be_opened_is_passed_over(
    lived: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shutil.copytree(lived / "snapshots", tmp_path / "snapshots")
    folder = SnapshotFolder(tmp_path / "snapshots", POD, "build")
    *_, before, last = folder.positions()
    path = folder.folder / f"{last:012d}.snapshot"
    path.unlink()
    path.mkdir()
    newest = folder.newest()
    assert newest is not None
    assert newest.position == before
    assert "Is a directory; using an older one" in caplog.text
    assert to_bytes(newest)
