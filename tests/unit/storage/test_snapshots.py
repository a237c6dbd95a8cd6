"""Snapshots of a site, and any time of its past rebuilt from them."""

import logging
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.config.failures import FailuresConfig
from schemas.config.pods import PodConfig, SuperpodConfig
from schemas.messages.operator import DrainCube
from schemas.registry import decode
from services.fabric_kinds import services_of
from shared.basics.errors import LogDamaged, OperationFailed, SnapshotRefused
from shared.basics.units import US_PER_DAY, US_PER_HOUR
from shared.engine.code_version import RULES
from shared.engine.replay import Replay
from shared.engine.site import Site
from shared.engine.site_driver import LabRequest
from shared.engine.state_codec import encode_instance, state_digest
from shared.storage.snapshots.site_history import ReplayedSite, SiteHistory
from shared.storage.snapshots.site_snapshot import SiteSnapshot, from_bytes, take_snapshot, to_bytes
from shared.storage.snapshots.snapshot_folder import SnapshotFolder
from tests.support.pods import POD, pod_lab

EVERY = 150
BUILD = "1.0+test"
CONFIG = SuperpodConfig(seed=5, pod=PodConfig(cubes=8), failures=FailuresConfig(host_per_day=0.05))


class Recorded:
    """A log in memory."""

    def __init__(self, lines: list[bytes]) -> None:
        self.kept = lines

    @property
    def end(self) -> int:
        return len(self.kept)

    def lines(self, start: int, most: int | None = None) -> Iterator[tuple[int, bytes]]:
        return islice(enumerate(self.kept[start:], start), most)


@cache
def lived() -> tuple[bytes, ...]:
    """Two days of a small pod, with a request on the way."""
    lines: list[bytes] = []
    lab = pod_lab(CONFIG, sink=lambda some: lines.extend(some.splitlines()))
    lab.run(2 * US_PER_DAY, [LabRequest(30 * US_PER_HOUR, POD, DrainCube(cube="pod-0/cube-3"), 1)])
    return tuple(lines)


def recorded() -> Recorded:
    return Recorded([*lived()])


def folder(place: Path, software: str = BUILD, site: str = POD) -> SnapshotFolder:
    return SnapshotFolder(place / "snapshots", site, software)


def history(place: Path, log: Recorded | None = None) -> SiteHistory:
    return SiteHistory(log or recorded(), folder(place), services_of)


def digest(site: Site) -> str:
    return state_digest((instance.source, encode_instance(instance)) for instance in site.instances)


@cache
def from_zero() -> dict[int, str]:
    """Position of every quiet point → digest of the states, folded without any snapshot."""
    found = {0: digest(Site(POD, services_of))}

    def note(moment: ReplayedSite) -> None:
        found[moment.position] = digest(moment.site)

    SiteHistory(recorded(), folder(Path("/nowhere")), services_of).at(len(lived()), note)
    return found


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the snapshots of the log are."""
    place = tmp_path_factory.mktemp("kept")
    made = history(place).take_due_snapshots(EVERY)
    assert made == len(folder(place).positions()) > 5
    return place


def some_snapshot() -> SiteSnapshot:
    moment = SiteHistory(recorded(), folder(Path("/nowhere")), services_of).at(300)
    return moment.snapshot(BUILD)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_the_state_at_any_time_equals_the_fold_from_the_start(kept: Path, data: st.DataObject) -> None:
    position = data.draw(st.integers(0, len(lived())))
    moment = history(kept).at(position)
    assert moment.position == min(quiet for quiet in from_zero() if quiet >= position)
    assert digest(moment.site) == from_zero()[moment.position]
    assert moment.folded < EVERY + 2 * max(b - a for a, b in pairwise(sorted(from_zero())))


def test_a_restored_site_continues_as_the_original(kept: Path) -> None:
    """From every snapshot, the rest of the log message for message, and the states at its end."""
    for snapshot in folder(kept).good():
        site = snapshot.restored(services_of)
        assert site.now_us == snapshot.at_us == decode(lived()[snapshot.position - 1]).at_us
        replay = Replay(site, may_repeat=False)
        rest = recorded().lines(snapshot.position)
        assert [found for at, line in rest if (found := replay.feed(at, decode(line))) is not None] == []
        assert digest(site) == from_zero()[len(lived())]


def test_snapshots_are_at_quiet_points_at_the_configured_distance_and_are_made_once(kept: Path) -> None:
    positions = folder(kept).positions()
    assert set(positions) <= from_zero().keys()
    gaps = [b - a for a, b in pairwise([0, *positions])]
    assert min(gaps) >= EVERY
    before = {path: path.stat().st_mtime_ns for path in (kept / "snapshots").iterdir()}
    assert history(kept).take_due_snapshots(EVERY) == 0
    assert before == {path: path.stat().st_mtime_ns for path in (kept / "snapshots").iterdir()}


@settings(max_examples=200, deadline=None)
@given(at=st.floats(0, 1, exclude_max=True), flipped=st.integers(1, 255))
def test_a_changed_byte_is_detected(at: float, flipped: int) -> None:
    data = bytearray(to_bytes(_snapshot()))
    data[int(at * len(data))] ^= flipped
    with pytest.raises(SnapshotRefused):
        from_bytes(bytes(data))


_snapshot = cache(some_snapshot)


@settings(max_examples=100, deadline=None)
@given(length=st.floats(0, 1, exclude_max=True))
def test_a_torn_one_is_found_and_a_whole_one_is_as_it_was(length: float) -> None:
    data = to_bytes(_snapshot())
    assert from_bytes(data) == _snapshot()
    with pytest.raises(SnapshotRefused):
        from_bytes(data[: int(length * len(data))])


@pytest.mark.parametrize("data", [b"", b"\n", b"{}\n", b"[]\nx", b"null\n", b'{"format":2,"sha256":""}\n'])
def test_a_file_that_is_not_a_snapshot_is_refused(data: bytes) -> None:
    with pytest.raises(SnapshotRefused):
        from_bytes(data)


def test_a_damaged_one_is_reported_and_an_older_one_is_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    history(tmp_path).take_due_snapshots(EVERY)
    *_, before, last = folder(tmp_path).positions()
    path = tmp_path / "snapshots" / f"{last:012d}.snapshot"
    path.write_bytes(path.read_bytes()[:-1])
    with caplog.at_level(logging.WARNING):
        moment = history(tmp_path).at(last + 1)
    assert moment.position - moment.folded == before
    assert digest(moment.site) == from_zero()[moment.position]
    assert f"snapshot {path}: content changed since it was written: its digest differs" in caplog.text
    assert history(tmp_path).take_due_snapshots(EVERY) == 1
    assert folder(tmp_path).read(last).position == last


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"rules": RULES + 1}, f"rules is {RULES + 1}; must be {RULES}"),
        ({"site": "pod-9"}, "site is 'pod-9'; must be 'pod-0'"),
        ({"position": 7}, "position is 7; must be 301"),
    ],
)
def test_one_of_something_else_is_refused(tmp_path: Path, change: dict[str, Any], sentence: str) -> None:
    place = folder(tmp_path)
    foreign = SiteSnapshot(
        **{name: getattr(_snapshot(), name) for name in SiteSnapshot.__dataclass_fields__} | change
    )
    place.folder.mkdir()
    (place.folder / "000000000301.snapshot").write_bytes(to_bytes(foreign))
    with pytest.raises(SnapshotRefused, match=re.escape(sentence)):
        place.read(301)
    assert place.newest() is None
    assert history(tmp_path).at(350).folded >= 350


def test_a_failed_write_is_reported_in_one_sentence_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "snapshots").write_text("a file")
    with pytest.raises(OperationFailed, match="snapshot"):
        folder(tmp_path).put(_snapshot())
    with pytest.raises(OperationFailed, match="snapshots"):
        folder(tmp_path).positions()


def test_other_files_are_no_snapshots(tmp_path: Path) -> None:
    place = folder(tmp_path)
    place.put(_snapshot())
    for name in ("x", "000000000001.part", "1.snapshot"):
        (place.folder / name).touch()
    assert place.positions() == [_snapshot().position]
    assert place.discard_after(_snapshot().position) == 0  # but the remains of a killed writer are removed
    assert sorted(path.name for path in place.folder.iterdir()) == [
        f"{_snapshot().position:012d}.snapshot",
        "1.snapshot",
        "x",
    ]


def test_lines_that_are_no_messages_count_and_are_passed_over(tmp_path: Path) -> None:
    log = Recorded([lived()[0], b"no message", *lived()[1:]])
    moment = history(tmp_path, log).at(log.end)
    assert moment.position == log.end == len(lived()) + 1
    assert digest(moment.site) == from_zero()[len(lived())]


def test_a_log_that_is_not_the_folds_is_reported(tmp_path: Path) -> None:
    log = Recorded([*lived()[:200], *lived()[201:]])
    with pytest.raises(LogDamaged, match="position 200: expected"):
        history(tmp_path, log).at(log.end)


def test_of_a_log_that_ends_within_a_cascade_the_rest_is_reported_too(tmp_path: Path) -> None:
    quiet = sorted(from_zero())
    before, after = next(pair for pair in pairwise(quiet) if pair[1] > pair[0] + 2)
    log = Recorded([*lived()[: before + 1]])
    moment = history(tmp_path, log).at(log.end)
    assert moment.position == after
    assert digest(moment.site) == from_zero()[after]


def test_a_snapshot_does_not_change_with_its_site() -> None:
    lab = pod_lab(CONFIG)
    lab.run(US_PER_DAY)
    take = partial(take_snapshot, lab.site, 1, b"", software=BUILD, kinds={POD: "superpod"})
    first = take()
    lab.run(2 * US_PER_DAY)
    assert first.digest != take().digest
    assert digest(first.restored(services_of)) == first.digest


def test_a_snapshot_of_another_log_is_skipped(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """As after an older copy of the log was restored, and the twin has continued differently."""
    history(tmp_path).take_due_snapshots(EVERY)
    lines: list[bytes] = []
    lab = pod_lab(CONFIG, sink=lambda some: lines.extend(some.splitlines()))
    lab.run(2 * US_PER_DAY, [LabRequest(10 * US_PER_HOUR, POD, DrainCube(cube="pod-0/cube-3"), 1)])
    at_us = [decode(line).at_us for line in lines]
    parted = next(n for n, at in enumerate(at_us) if at >= 10 * US_PER_HOUR)
    with caplog.at_level(logging.WARNING):
        moment = history(tmp_path, Recorded(lines)).at(len(lines))
    assert digest(moment.site) == digest(lab.site)
    assert moment.position - moment.folded <= parted + 1
    assert "belongs to another log; using an older one" in caplog.text


def test_a_snapshot_of_another_build_of_the_same_rules_is_used(kept: Path) -> None:
    other = SiteHistory(recorded(), folder(kept, software="1.0+other"), services_of)
    assert other.at(350).folded < EVERY
    assert other.nearest(350).started_from == BUILD


def test_a_snapshot_in_another_format_is_skipped(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    layouts = {**_snapshot().layouts, "cubes": "another"}
    folder(tmp_path).put(replace(_snapshot(), layouts=layouts))
    assert history(tmp_path).at(350).folded >= 350
    assert "are of 1.0+test: cubes: no migration leads from states of layout another" in caplog.text


def test_a_snapshot_of_a_build_that_folded_differently_is_skipped(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The golden logs did not show that its rules differ."""
    key = ("scheduler", POD)
    book = orjson.loads(_snapshot().states[key]["_counters"])
    book["emitted"] += 1
    states = {**_snapshot().states, key: {**_snapshot().states[key], "_counters": orjson.dumps(book)}}
    folder(tmp_path).put(replace(_snapshot(), software="1.0+other", states=states))
    end = recorded().end
    assert history(tmp_path).at(end).folded == end
    assert "folding again without snapshots of other builds" in caplog.text
