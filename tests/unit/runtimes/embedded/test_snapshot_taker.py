"""Snapshots as a living site takes them by the way."""

import logging
from pathlib import Path

import pytest

from schemas.config.failures import FailuresConfig
from schemas.config.pods import PodConfig, SuperpodConfig
from services.fabric_kinds import services_of
from shared.runtimes.embedded.dead_letter_file import DeadLetterFile
from shared.runtimes.embedded.site_runner import SiteRunner
from shared.runtimes.embedded.snapshot_taker import SnapshotTaker
from shared.storage.log.indexed_log import IndexedLog
from shared.storage.snapshots.site_history import SiteHistory
from shared.storage.snapshots.snapshot_folder import SnapshotFolder
from shared.storage.store.memory_store import MemoryStore
from tests.support.pods import POD, first_message

EVERY = 60
CONFIG = SuperpodConfig(seed=5, pod=PodConfig(cubes=4), failures=FailuresConfig(host_per_day=0.5))


class Living:
    """A small pod that keeps snapshots."""

    def __init__(self, folder: Path, store: MemoryStore | None = None) -> None:
        self.store = store or MemoryStore()
        self.log = IndexedLog(folder / "pod-0.jsonl")
        self.snapshots = SnapshotFolder(folder / "snapshots", POD, "build")
        newest = next(SiteHistory(self.log, self.snapshots, services_of).matching_snapshots(), None)
        self.taker = SnapshotTaker(self.snapshots, 0 if newest is None else newest.position, EVERY)
        self.runner = SiteRunner(
            POD,
            0,
            services_of,
            store=self.store,
            place=self.store.place,
            log=self.log,
            dead_letters=DeadLetterFile(folder / "dead-letters.jsonl"),
            snapshots=self.taker,
        )
        if not self.runner.recover() and not self.log.end:
            self.runner.take(first_message(CONFIG))

    def live(self, messages: int) -> None:
        until = self.log.end + messages
        while self.log.end < until:
            due_us = self.runner.due_us()
            assert due_us is not None
            self.runner.step(None, due_us)

    def end(self) -> None:
        self.taker.close()
        self.log.close()


def test_each_snapshot_equals_the_fold_of_the_log(tmp_path: Path) -> None:
    twin = Living(tmp_path)
    twin.live(600)
    twin.end()
    assert (
        len(twin.snapshots.positions()) >= 2
    )  # of ten: a snapshot that is due while another is written is left out
    without = SiteHistory(twin.log, SnapshotFolder(tmp_path / "none", POD, "build"), services_of)
    for snapshot in twin.snapshots.good():
        assert without.at(snapshot.position).snapshot("build") == snapshot


def test_a_twin_that_begins_again_takes_the_next_where_it_would_have(tmp_path: Path) -> None:
    first = Living(tmp_path)
    first.live(100)
    first.end()
    (before,) = first.snapshots.positions()
    again = Living(tmp_path, first.store)
    again.live(100)
    again.end()
    kept = again.snapshots.positions()
    assert kept[0] == before
    assert before + EVERY <= kept[1] < before + 2 * EVERY


def test_if_no_snapshot_can_be_written_the_twin_continues_and_reports_it_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "snapshots").write_text("in the way")
    twin = Living(tmp_path)
    with caplog.at_level(logging.WARNING):
        twin.live(400)
        twin.end()
    assert twin.log.end >= 400
    assert twin.taker.problem is not None
    assert "no snapshots until writes succeed" in twin.taker.problem
    assert len([record for record in caplog.records if "no snapshot" in record.message]) == 1


def test_of_a_log_that_is_shorter_than_the_newest_they_are_taken_again(tmp_path: Path) -> None:
    first = Living(tmp_path)
    first.live(300)
    first.end()
    (tmp_path / "pod-0.jsonl").unlink()
    (tmp_path / "pod-0.sqlite").unlink()
    second = Living(tmp_path)
    second.live(100)
    second.end()
    (position, *_) = second.snapshots.positions()
    found = second.snapshots.read(position)
    none = SnapshotFolder(tmp_path / "none", POD, "build")
    assert found == SiteHistory(second.log, none, services_of).at(position).snapshot("build")
