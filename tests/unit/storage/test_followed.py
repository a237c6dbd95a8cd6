"""Following a site: fold and log, fold and store, at every possible position of the store."""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import orjson
import pytest

from schemas.envelope import Envelope
from schemas.registry import decode
from services.fabric_kinds import services_of
from shared.basics.units import US_PER_DAY
from shared.engine.dispatch import ServiceInstance
from shared.engine.replay import Replay
from shared.engine.site import Site
from shared.engine.state_codec import encode_instance
from shared.storage.snapshots.shadow_fold import (
    Documents,
    ShadowFold,
    StateComparison,
    StateDifference,
)
from shared.storage.snapshots.site_snapshot import SiteSnapshot
from shared.storage.snapshots.snapshot_folder import SnapshotFolder
from tests.support.pods import POD, pod_lab
from tests.unit.storage.test_snapshots import BUILD, CONFIG, Recorded

EVERY = 60
Held = dict[tuple[str, str], dict[str, bytes]]


@cache
def lived() -> tuple[bytes, ...]:
    lines: list[bytes] = []
    pod_lab(CONFIG, sink=lambda some: lines.extend(some.splitlines())).run(US_PER_DAY // 2)
    return tuple(lines)


@cache
def read_through() -> dict[str, list[tuple[int, dict[str, bytes]]]]:
    """Service → (position read so far, its state then), for every message that it reads. Each service goes
    through the log as its worker would, independently of the others."""
    found: dict[str, list[tuple[int, dict[str, bytes]]]] = {}
    placed = {decode(line).id: at for at, line in enumerate(lived())}

    def note(instance: ServiceInstance, message: Envelope) -> None:
        found.setdefault(instance.name, []).append((placed[message.id] + 1, encode_instance(instance)))

    replay = Replay(Site(POD, services_of), note, may_repeat=False)
    assert all(replay.feed(at, decode(line)) is None for at, line in enumerate(lived()))
    return found


def held_at(positions: Mapping[str, int]) -> Held:
    """The contents of a store whose services are at these positions."""
    found: Held = {}
    for service, position in positions.items():
        before = [stored for at, stored in read_through()[service] if at <= position]
        found[service, POD] = dict(before[-1]) if before else {}
    return found


def all_at(position: int) -> dict[str, int]:
    return dict.fromkeys(read_through(), position)


class Follower:
    """A site that is followed, with the snapshots that it took."""

    def __init__(self, place: Path, log: Recorded | None = None) -> None:
        self.folder = SnapshotFolder(place / "snapshots", POD, BUILD)
        self.log = log or Recorded([*lived()])
        self.site = ShadowFold(
            self.log, self.folder, services_of, offset_after=lambda position: 10 * position, every=EVERY
        )

    def compare(self, positions: Mapping[str, int], held: Held | None = None) -> StateComparison:
        return self.site.compare(positions, held or held_at(positions), keep=self.folder.put)


def quiet_positions() -> Iterator[int]:
    roots = [at for at, line in enumerate(lived()) if decode(line).cause is None]
    return iter([*roots[1:], len(lived())])


def test_at_quiet_points_every_state_is_compared_and_none_differs(tmp_path: Path) -> None:
    follower = Follower(tmp_path)
    for position in quiet_positions():
        compared = follower.compare(all_at(position))
        assert len(compared.states) == len(read_through())
        assert compared.differences == ()
        assert follower.site.position == position


def test_documents_are_compared_with_those_of_the_fold(tmp_path: Path) -> None:
    follower, end = Follower(tmp_path), len(lived())

    def compared(documents: Documents) -> list[tuple[str, str, str]]:
        found = follower.site.compare(
            all_at(end), held_at(all_at(end)), keep=follower.folder.put, documents=documents
        )
        return [(row.service, row.kind, row.name) for row in found.documents]

    missing = follower.site.compare(
        all_at(end), held_at(all_at(end)), keep=follower.folder.put, documents={}
    ).documents
    assert {row.service for row in missing} == {*read_through()}
    documents: dict[tuple[str, str], dict[str, bytes]] = {}
    for row in missing:
        assert row.expected is not None
        documents.setdefault((row.fabric, row.kind), {})[row.name] = row.expected
    assert compared(documents) == []
    documents[POD, "cubes"][f"{POD}/cube-1"] += b" "
    documents[POD, "ocs"][f"{POD}/ocs-99"] = b"{}"
    del documents[POD, "summaries"][f"{POD}/jobs"]
    documents["pod-9", "cubes"] = {"pod-9/cube-1": b"{}"}  # of another site
    assert compared(documents) == [
        ("cubes", "cubes", f"{POD}/cube-1"),
        ("jobs", "summaries", f"{POD}/jobs"),
        ("", "ocs", f"{POD}/ocs-99"),
    ]


def test_snapshots_are_taken_on_the_way_and_know_where_the_log_continues(tmp_path: Path) -> None:
    follower = Follower(tmp_path)
    follower.compare(all_at(len(lived())))
    taken = [*follower.folder.good()]
    assert len(taken) > 3
    assert all(one.offset == 10 * one.position for one in taken)
    again = Follower(tmp_path)
    assert again.site.position == taken[0].position
    assert again.compare(all_at(len(lived()))).differences == ()


def test_services_may_be_anywhere_in_a_cascade(tmp_path: Path) -> None:
    """Each service reads the log on its own, some far ahead. Comparable states never differ, and some states
    of every service can be compared."""
    follower = Follower(tmp_path)
    names = sorted(read_through())
    seen: dict[str, int] = dict.fromkeys(names, 0)
    for position in range(1, len(lived())):
        root = max(at for at in range(position) if decode(lived()[at]).cause is None)
        positions = {name: max(root, position - n % 3) for n, name in enumerate(names)}
        compared = follower.compare(positions)
        assert compared.differences == ()
        for service, _ in compared.states:
            seen[service] += 1
    assert min(seen.values()) > len(lived()) / 5


def test_the_first_wrong_byte_is_named_with_its_place(tmp_path: Path) -> None:
    follower = Follower(tmp_path)
    position = list(quiet_positions())[20]
    held = held_at(all_at(position))
    field = max(held["cubes", POD], key=lambda name: len(held["cubes", POD][name]))
    value = held["cubes", POD][field]
    held["cubes", POD][field] = value[:-1] + bytes([value[-1] ^ 1])
    (found,) = follower.compare(all_at(position), held).differences
    assert found == StateDifference("cubes", POD, field, position, value, held["cubes", POD][field])


@pytest.mark.parametrize("change", ["missing", "more"])
def test_a_field_too_few_or_too_many_is_named(tmp_path: Path, change: str) -> None:
    position = list(quiet_positions())[20]
    held = held_at(all_at(position))
    stored = held["scheduler", POD]
    if change == "more":
        stored["jobs/x"] = b"{}"
        wanted: tuple[Any, ...] = ("jobs/x", None, b"{}")
    else:
        name = next(iter(stored))
        wanted = (name, stored.pop(name), None)
    (found,) = Follower(tmp_path).compare(all_at(position), held).differences
    assert (found.field, found.expected, found.found) == wanted


def test_a_log_that_differs_from_its_services_is_reported_once_and_not_folded_further(
    tmp_path: Path,
) -> None:
    lines = [*lived()]
    at = next(n for n, line in enumerate(lines) if n > 100 and decode(line).cause is not None)
    row = orjson.loads(lines[at])
    lines[at] = orjson.dumps(row | {"at_us": row["at_us"] + 1})
    follower = Follower(tmp_path, Recorded(lines))
    assert follower.compare(all_at(len(lines)), held_at(all_at(len(lines)))) == StateComparison()
    difference = follower.site.difference
    assert difference is not None
    assert difference.position == at
    assert follower.compare(all_at(len(lines))) == StateComparison()
    assert all(position <= at for position in follower.folder.positions())


def test_a_store_that_went_back_is_not_compared_until_it_has_come_again(tmp_path: Path) -> None:
    follower = Follower(tmp_path)
    *_, before, last = quiet_positions()
    follower.compare(all_at(last))
    behind = follower.compare(all_at(before - 30), held_at(all_at(before - 30)))
    assert behind.differences == ()
    assert len(follower.compare(all_at(last)).states) == len(read_through())


def test_the_follower_waits_for_messages_that_are_not_on_the_log_yet(tmp_path: Path) -> None:
    """The log grows in the middle of cascades, and services have read all of it."""
    log = Recorded([])
    follower = Follower(tmp_path, log)
    for end in range(7, len(lived()), 7):
        log.kept = [*lived()[:end]]
        assert follower.compare(all_at(end)).differences == ()
        assert follower.site.position == end


def test_a_snapshot_that_is_damaged_is_passed_over_for_an_older_one(tmp_path: Path) -> None:
    follower = Follower(tmp_path)
    follower.compare(all_at(len(lived())))
    older, newest = follower.folder.positions()[-2:]
    path = follower.folder.folder / f"{newest:012d}.snapshot"
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(data)
    again = Follower(tmp_path)
    assert again.site.position == older
    assert again.compare(all_at(len(lived()))).differences == ()


def test_a_snapshot_goes_through_bytes_with_its_offset(tmp_path: Path) -> None:
    kept: list[SiteSnapshot] = []
    follower = Follower(tmp_path)
    follower.site.compare(all_at(len(lived())), held_at(all_at(len(lived()))), keep=kept.append)
    follower.folder.put(kept[0])
    assert follower.folder.read(kept[0].position) == kept[0]
