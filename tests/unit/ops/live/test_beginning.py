"""A partition that is folded from the snapshots of its sites equals one folded from its beginning."""

import logging
import shutil
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ops.live.parallel_fold import served_services, start_from_snapshots
from ops.local.software_version import software_version
from schemas.envelope import enclose
from schemas.messages.operator import DrainCube, InjectFault
from schemas.messages.sequencer import FabricRetired, MessageSkipped
from schemas.registry import decode, encode
from shared.basics.units import US_PER_HOUR
from shared.runtimes.dead_letter import SKIPPED
from shared.runtimes.live.kafka.layout import TWIN as TWIN_HEADER
from shared.runtimes.live.kafka.records import Record, dead_letter_line, output_headers
from shared.runtimes.live.partition_replay import PartitionReplay, ReplayStart, UnfoldedLog
from shared.storage.snapshots.snapshot_folder import SnapshotFolder
from shared.storage.store.state_store import Commit
from tests.simulation.test_live_swarm import CONFIG, PODS, SITES
from tests.support.live_swarm import TWIN, LiveSwarm
from tests.support.swarm_snapshots import keep_snapshots

JOINED = "pod-9"
FOREIGN = (
    Record(0, 0, b"no message", {}),
    Record(0, 0, b"{}", output_headers("DrainCube", "operator@pod-0", TWIN)),
    Record(0, 0, b"[1]", {"type": b"Tick", "source": b"tick.cubes@pod-0", TWIN_HEADER: b"another"}),
)


@pytest.fixture(scope="module")
def swarm() -> LiveSwarm:
    """Return a swarm whose partition 0 has two pods, a third that joins later, one that retires, and foreign
    records."""
    swarm = LiveSwarm(4, SITES)
    for hour in range(1, 5):
        swarm.now_us = hour * US_PER_HOUR
        if hour == 2:
            swarm.join("pod-2", JOINED, CONFIG)
            swarm.run_out()  # before a fault may lose the request
        for fabric in PODS:
            swarm.request(fabric, InjectFault(kind="host", target=f"{fabric}/cube-{hour}/host-1"))
            swarm.request(fabric, DrainCube(cube=f"{fabric}/cube-{hour + 3}"))
        for _ in range(300):
            swarm.step(faults=True)
        swarm.run_out()
        for foreign in FOREIGN:
            records = swarm.log.records[0]
            records.append(replace(foreign, offset=len(records)))
    swarm.request(PODS[0], FabricRetired())
    swarm.run_out()
    swarm.now_us += US_PER_HOUR
    swarm.run_out()
    return swarm


@pytest.fixture(scope="module")
def kept(swarm: LiveSwarm, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with snapshots of both sites of the partition, at different positions."""
    folder = tmp_path_factory.mktemp("kept")
    for site, every in (("pod-0", 40), ("pod-2", 55)):
        assert len(keep_snapshots(swarm, site, folder, every, software_version())) > 3
    return folder


def start_of(
    swarm: LiveSwarm, folder: Path, end: int | None = None
) -> tuple[UnfoldedLog, ReplayStart | None]:
    """Return the records read from the log, and the start of its fold."""
    records = swarm.log.records[0][:end]
    past = UnfoldedLog(0, TWIN, served_services())
    for start in range(0, len(records), 100):
        past.take(records[start : start + 100])

    def line_before(offset: int) -> bytes:
        return records[offset - 1].value if offset <= len(records) else b""

    return past, start_from_snapshots(line_before, 0, past.sites, folder, folder / "upgrades")[0]


def folded(swarm: LiveSwarm, start: ReplayStart | None = None, end: int | None = None) -> Commit:
    replay = PartitionReplay(0, TWIN, served_services(), start)
    records = swarm.log.records[0][:end]
    for first in range(replay.end, len(records), 100):
        replay.take(records[first : first + 100])
    return replay.image()


def all_of(image: Commit, letters: Mapping[int, bytes]) -> dict[str, Any]:
    """Return the content of an image, independent of the order of its parts."""
    content = asdict(image)
    content["states"] = {(each.service, each.fabric): dict(each.written) for each in image.states}
    content["documents"] = {(each.fabric, each.kind, each.name): each.text for each in image.documents}
    content["progress"] = {(each.name, each.fabric): each for each in image.progress}
    content["dead_letters"] = {**image.dead_letters, **letters}
    return content


@pytest.mark.slow("drawn lives of a live twin, folded twice")
@settings(max_examples=15)
@given(data=st.data())
def test_an_image_from_snapshots_is_the_one_from_the_beginning(
    swarm: LiveSwarm, kept: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """The images are equal for any stored snapshots of each site, and for any end of the log, even within a
    cascade."""
    folder = tmp_path_factory.mktemp("some")
    for site in ("pod-0", "pod-2"):
        paths = sorted((kept / site).iterdir())
        (folder / site).mkdir()
        for path in paths[: data.draw(st.integers(0, len(paths)))]:
            shutil.copy(path, folder / site)
    end = data.draw(st.integers(1, len(swarm.log.records[0])))
    past, start = start_of(swarm, folder, end)
    assert all_of(folded(swarm, start, end), past.letters()) == all_of(folded(swarm, end=end), {})


def test_a_log_that_ends_with_a_snapshot_is_not_folded(swarm: LiveSwarm, kept: Path) -> None:
    folder = SnapshotFolder(kept / "pod-0", "pod-0", software_version())
    for position in folder.positions():
        end = folder.read(position).offset
        past, start = start_of(swarm, kept, end)
        assert all_of(folded(swarm, start, end), past.letters()) == all_of(folded(swarm, end=end), {})


def test_only_records_after_the_snapshots_are_folded(swarm: LiveSwarm, kept: Path) -> None:
    _, start = start_of(swarm, kept)
    assert start is not None
    assert start.offset > len(swarm.log.records[0]) / 2
    assert len(start.commits) == 2
    assert {name for commit in start.commits for name in commit.fields} == {
        f"fabric:{fabric}" for fabric in ("pod-0", "pod-2", JOINED)
    }


def test_a_damaged_or_foreign_snapshot_is_reported_and_an_older_one_is_used(
    swarm: LiveSwarm, kept: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shutil.copytree(kept, tmp_path / "x")
    positions = {}
    for site in ("pod-0", "pod-2"):
        folder = SnapshotFolder(tmp_path / "x" / site, site, software_version())
        *_, third, second, last = folder.positions()
        path = folder.folder / f"{last:012d}.snapshot"
        path.write_bytes(path.read_bytes()[:-7])
        folder.put(replace(folder.read(second), last_sha256="0" * 64))
        folder.put(replace(folder.read(third), states={key: {"x": b""} for key in folder.read(third).states}))
        positions[site] = third
    with caplog.at_level(logging.WARNING):
        past, start = start_of(swarm, tmp_path / "x")
    assert all_of(folded(swarm, start), past.letters()) == all_of(folded(swarm), {})
    for site, third in positions.items():
        logged = [record.getMessage() for record in caplog.records if site in record.getMessage()]
        assert "its digest differs; using an older one" in logged[0]
        assert logged[1].startswith(f"{site}, snapshot of position {third}: ")
    assert caplog.text.count("belongs to another log; using an older one") == 2


def test_without_snapshots_the_fold_begins_with_the_log(swarm: LiveSwarm, tmp_path: Path) -> None:
    assert start_of(swarm, tmp_path)[1] is None


def test_skipped_records_are_dead_letters(swarm: LiveSwarm) -> None:
    past = UnfoldedLog(0, TWIN, served_services())
    records = swarm.log.records[0][:40]
    past.take(records)
    request = decode(records[1].value)
    body = MessageSkipped(service="cubes", message=request.id, sentence="x")
    skipped = enclose(
        body, fabric=request.fabric, at_us=0, cause=request.id, source=f"skip.cubes@{request.fabric}", seq=1
    )
    headers = output_headers(skipped.type, skipped.source, TWIN)
    past.take([Record(0, len(records), encode(skipped), headers)])
    assert past.letters_of_skips([records]) == {1: dead_letter_line(records[1], "cubes", SKIPPED)}
