"""The audit of a log in parts between snapshots equals that of a single fold."""

import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import cache, partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ops.twin.segmented_audit import (
    AuditedSite,
    LogSegment,
    SegmentResult,
    audit_segment,
    audit_segments,
    merge_results,
    plan_segments,
    usable_snapshots,
    whole_log,
)
from schemas.config.failures import FailuresConfig
from schemas.config.pods import PodConfig, SuperpodConfig
from schemas.messages.operator import DrainCube
from schemas.registry import decode, encode
from services.fabric_kinds import services_of
from shared.basics.units import US_PER_DAY, US_PER_HOUR
from shared.engine.code_version import RULES
from shared.engine.site_driver import LabRequest
from shared.storage.log.indexed_log import IndexedLog
from shared.storage.log.log_bytes import site_log
from shared.storage.snapshots.site_history import SiteHistory
from shared.storage.snapshots.site_snapshot import SiteSnapshot
from shared.storage.snapshots.snapshot_folder import SnapshotFolder
from tests.support.pods import POD, pod_lab

EVERY = 100
CONFIG = SuperpodConfig(seed=5, pod=PodConfig(cubes=4), failures=FailuresConfig(host_per_day=0.3))


def no_progress(_messages: int) -> None:
    pass


@cache
def lines() -> tuple[bytes, ...]:
    """Return two days of a small pod with two requests, and an invalid line."""
    log_lines: list[bytes] = []
    lab = pod_lab(CONFIG, sink=lambda chunk: log_lines.extend(chunk.splitlines()))
    requests = [LabRequest(h * US_PER_HOUR, POD, DrainCube(cube=f"pod-0/cube-{h % 4}"), h) for h in (9, 30)]
    lab.run(2 * US_PER_DAY, requests)
    return (*log_lines[:250], b"no message", *log_lines[250:])


def write(folder: Path, some: tuple[bytes, ...]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "pod-0.jsonl"
    path.write_bytes(b"".join(line + b"\n" for line in some))
    return path


def snapshots(folder: Path) -> SnapshotFolder:
    return SnapshotFolder(folder / "snapshots", POD, "build")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a log and its snapshots."""
    folder = tmp_path_factory.mktemp("kept")
    log = IndexedLog(write(folder, lines()))
    history = SiteHistory(log, snapshots(folder), services_of)
    assert history.take_due_snapshots(EVERY) >= 5
    end = history.at(log.end)
    assert end.position == log.end
    (folder / "states").mkdir()
    SnapshotFolder(folder / "states", POD, "build").put(end.snapshot("build"))
    log.close()
    return folder


def audited(folder: Path) -> AuditedSite:
    snapshot = SnapshotFolder(folder / "states", POD, "build").newest()
    assert snapshot is not None
    return AuditedSite(
        POD, (POD,), site_log(folder, POD), snapshots(folder), dict(snapshot.states), snapshot.position
    )


def comparable(folded: SegmentResult) -> dict[str, object]:
    return asdict(folded) | {"wrong": None}


def in_parts(site: AuditedSite, jobs: int = 1) -> SegmentResult:
    return merge_results(audit_segments(site, usable_snapshots(site).offsets, jobs, no_progress))


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_clean_log_is_clean_in_parts(kept: Path, jobs: int) -> None:
    site = audited(kept)
    whole, parts = audit_segment(site, whole_log(site)), in_parts(site, jobs)
    assert parts == whole
    assert (whole.messages, whole.requests, whole.dead_letters) == (len(lines()), 2, 1)
    assert (whole.difference, whole.differing, whole.wrong) == (None, [], {})


@given(part=st.floats(0, 1, exclude_max=True), how=st.sampled_from(["later", "gone", "twice", "no message"]))
@settings(max_examples=25, deadline=None)
def test_a_changed_log_is_reported_as_by_one_fold(
    kept: Path, tmp_path_factory: pytest.TempPathFactory, part: float, how: str
) -> None:
    folder = tmp_path_factory.mktemp("other")
    shutil.copytree(kept, folder, dirs_exist_ok=True)
    at, some = max(1, int(part * len(lines()))), [*lines()]
    line = some[at]
    if how == "later" and line != b"no message":
        message = decode(line)
        some[at] = encode(message.model_copy(update={"at_us": message.at_us + 1}))
    else:
        some[at : at + 1] = {"later": [], "gone": [], "twice": [line, line], "no message": [b"{}"]}[how]
    write(folder, tuple(some))
    site = audited(folder)
    assert comparable(in_parts(site)) == comparable(audit_segment(site, whole_log(site)))


def test_parts_begin_at_snapshots_and_all_snapshots_are_compared() -> None:
    offsets = {at: 10 * at for at in (100, 210, 300, 405, 500)}
    parts = plan_segments(offsets, 600, 3)
    assert [(part.start, part.offset, part.end) for part in parts] == [
        (0, 0, 210),
        (210, 2_100, 405),
        (405, 4_050, None),
    ]
    assert [at for part in parts for at in part.marks] == [*offsets]
    assert len(plan_segments(offsets, 600, 50)) == 6
    assert plan_segments({}, 600, 3) == [LogSegment(0, 0, None, ())]


def changed(folder: Path, place: int, change: Callable[[SiteSnapshot], SiteSnapshot]) -> int:
    """Replace a snapshot by a complete one with its own digest; return its position."""
    position = snapshots(folder).positions()[place]
    snapshots(folder).put(change(snapshots(folder).read(position)))
    return position


def changed_counters(snapshot: SiteSnapshot) -> SiteSnapshot:
    states = {key: dict(stored) for key, stored in snapshot.states.items()}
    states["cubes", POD]["_counters"] = states["cubes", POD]["_counters"].replace(b'"ticks":', b'"ticks":1')
    return replace(snapshot, states=states)


def without(snapshot: SiteSnapshot) -> SiteSnapshot:
    return replace(snapshot, states={key: {} for key in snapshot.states})


@pytest.mark.parametrize("place", [0, 1, 2, 3, -1])
@pytest.mark.parametrize("change", [changed_counters, without])
def test_a_snapshot_that_is_wrong_is_reported_and_the_log_is_not(
    kept: Path, tmp_path: Path, place: int, change: Callable[[SiteSnapshot], SiteSnapshot]
) -> None:
    """The result is the same whether a part begins there or only passes it."""
    shutil.copytree(kept, tmp_path, dirs_exist_ok=True)
    position = changed(tmp_path, place, change)
    site = audited(tmp_path)
    result = in_parts(site)
    assert comparable(result) == comparable(audit_segment(site, whole_log(site)))
    assert [*result.wrong] == [position]
    assert f"snapshot of position {position}: differs from the fold of the log (" in result.wrong[position]
    assert "the snapshot is wrong, not the log" in result.wrong[position]


def test_with_only_wrong_snapshots_the_log_is_folded_as_one(kept: Path, tmp_path: Path) -> None:
    shutil.copytree(kept, tmp_path, dirs_exist_ok=True)
    positions = [
        changed(tmp_path, place, changed_counters) for place in range(len(snapshots(kept).positions()))
    ]
    site = audited(tmp_path)
    result = in_parts(site)
    assert [*result.wrong] == positions
    assert comparable(result) == comparable(audit_segment(site, whole_log(site)))


def test_differing_states_are_reported_in_parts_too(kept: Path) -> None:
    site = audited(kept)
    other = {key: dict(stored) for key, stored in site.states.items()} | {
        ("cubes", POD): {"_counters": b"{}"}
    }
    site = replace(site, states=other)
    result = in_parts(site)
    assert "cubes@pod-0: _counters" in result.differing
    assert comparable(result) == comparable(audit_segment(site, whole_log(site)))


def test_an_unusable_snapshot_is_skipped_and_reported(kept: Path, tmp_path: Path) -> None:
    shutil.copytree(kept, tmp_path, dirs_exist_ok=True)
    first, second, third, *rest = snapshots(tmp_path).positions()
    path = tmp_path / "snapshots" / f"{first:012d}.snapshot"
    path.write_bytes(path.read_bytes()[:-1])
    changed(tmp_path, 1, partial(replace, rules=RULES + 1))
    changed(tmp_path, 2, partial(replace, last_sha256="0" * 64))
    usable = usable_snapshots(audited(tmp_path))
    assert [*usable.offsets] == rest
    damaged, foreign, elsewhere = usable.refused
    assert "content changed since it was written" in damaged
    assert f"rules is {RULES + 1}; must be {RULES}" in foreign
    assert elsewhere == f"snapshot of position {third}: belongs to another log"
    assert second
    assert in_parts(audited(tmp_path)) == audit_segment(audited(tmp_path), LogSegment(0, 0, None, ()))
