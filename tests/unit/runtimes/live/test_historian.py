"""The historian's reports of differing states, for how long, and if it cannot write."""

import json
import logging
from functools import partial
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from services.fabric_kinds import services_of
from shared.runtimes.live.historian import Historian, difference_text
from shared.runtimes.live.live_status import historian_findings
from shared.runtimes.live.process.process_registry import ProcessState
from shared.storage.log.offset_file import OffsetFile
from shared.storage.snapshots.shadow_fold import StateComparison, StateDifference
from shared.storage.snapshots.snapshot_folder import SnapshotFolder
from shared.storage.store.change_tracking import DocumentDifference
from tests.support.pods import POD
from tests.unit.storage.test_snapshots import some_snapshot

KEY = ("cubes", "pod-0")


def difference(expected: bytes | None, found: bytes | None) -> StateDifference:
    return StateDifference(*KEY, "health/3", 40, expected, found)


def place(offset: int, _: StateDifference) -> tuple[int, int]:
    return 0, offset


def historian(folder: Path) -> Historian:
    mirror = MagicMock(lag_records=lambda: 0, problem=None)
    return Historian(
        MagicMock(),
        mirror,
        services_of,
        partitions=1,
        folder_of=lambda site: SnapshotFolder(folder, site, "1.0"),
    )


def row(one: Historian) -> ProcessState:
    """Of its process, as others read it."""
    report = one.report()
    answer = {"name": "historian-a", "kind": "historian", "alive": True, "problems": report.problems}
    found: ProcessState = json.loads(json.dumps(answer | {"extra": report.extra}))
    return found


def test_a_sentence_shows_where_two_values_part() -> None:
    text = difference_text(difference(b"a" * 100 + b"b" + b"c" * 100, b"a" * 100 + b"d" + b"c" * 100), 2, 77)
    assert text.startswith(
        "cubes@pod-0: health/3 in Redis differs from the fold of the log at offset 77 of partition 2: "
    )
    assert f"…'{'a' * 20}d{'c' * 39}'… (201 bytes), must be …'{'a' * 20}b{'c' * 39}'… (201 bytes)" in text
    assert "`lightwave live rebuild`" in text


@pytest.mark.parametrize(
    ("expected", "found", "shown"),
    [(None, b"{}", "'{}' (2 bytes), must be nothing"), (b"1", None, "nothing, must be '1' (1 bytes)")],
)
def test_a_field_that_is_missing_is_nothing(expected: bytes | None, found: bytes | None, shown: str) -> None:
    assert shown in difference_text(difference(expected, found), 0, 1)


def test_a_wrong_state_is_reported_once_as_it_was_found_and_until_it_is_right(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    one = historian(tmp_path)
    with caplog.at_level(logging.WARNING):
        for offset in (7, 8, 9):
            one._note((KEY,), (difference(b"1", b"2"),), partial(place, offset))
        (problem,) = one.report().problems
        assert "at offset 7 of partition 0" in problem
        one._note((), (), partial(place, 10))
        assert one.report().problems == (problem,), "what is not compared is as it was"
        assert historian_findings([row(one)]) == ([f"historian-a: {problem}"], [])
        assert historian_findings([row(one) | {"alive": False}]) == ([], [])
        one._note((KEY,), (), partial(place, 11))
    assert one.report().problems == ()
    samples = {sample.name: sample.value for sample in one.report().samples}
    assert (samples["state_differences_total"], samples["states_wrong"]) == (1, 0)
    assert [record.message for record in caplog.records] == [
        problem,
        "the state of cubes@pod-0 matches the log again",
    ]


def test_a_wrong_document_is_reported_until_it_is_right(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    one = historian(tmp_path)
    document = DocumentDifference(*KEY, "cubes", "pod-0/cube-3", b'{"a":1}', b'{"a":2}')
    added = DocumentDifference("", "pod-0", "cubes", "pod-0/cube-99", None, b"{}")
    with caplog.at_level(logging.WARNING):
        for offset in (7, 8):
            one._note_documents("pod-0", StateComparison((KEY,), (), (document, added)), 0, {"cubes": offset})
        first, second = one.report().problems
        assert first.startswith(
            "cubes@pod-0: the document pod-0/cube-3 of kind cubes in Redis differs from the fold of the log "
            "at offset 7 of partition 0: is '"
        )
        assert second.startswith(
            "no service@pod-0: the document pod-0/cube-99 of kind cubes in Redis differs"
        )
        samples = {sample.name: sample.value for sample in one.report().samples}
        assert (samples["document_differences_total"], samples["documents_wrong"]) == (2, 2)
        one._note_documents("pod-0", StateComparison((KEY,)), 0, {"cubes": 9})
    assert one.report().problems == ()
    assert [record.message for record in caplog.records] == [
        first,
        second,
        "the documents of pod-0 match the log again",
    ]


def test_a_snapshot_that_cannot_be_written_is_reported_and_the_next_may_be(tmp_path: Path) -> None:
    folder = tmp_path / "snapshots"
    folder.write_text("no folder")
    one = historian(folder)
    one._keep(some_snapshot())
    (problem,) = one.report().problems
    assert problem.endswith("; no snapshots until writes succeed")
    assert historian_findings([row(one)]) == ([], [f"historian-a: {problem}"])
    folder.unlink()
    one._keep(some_snapshot())
    assert one.report().problems == ()
    assert one.counts.snapshots == 1


def test_offsets_are_found_by_position_and_back_and_written_over_where_the_log_was_not(
    tmp_path: Path,
) -> None:
    file = OffsetFile(tmp_path / f"{POD}.offsets")
    file.put(0, [0, 3, 4, 9])
    file.put(2, [5, 6])  # the last two had no lines
    assert [file.at(position) for position in range(file.count)] == [0, 3, 5, 6]
    assert [file.below(offset) for offset in (0, 1, 3, 4, 6, 7, 100)] == [0, 1, 1, 2, 3, 4, 4]
    file.close()
    again = OffsetFile(tmp_path / f"{POD}.offsets")
    assert again.count == 4
    again.close()
