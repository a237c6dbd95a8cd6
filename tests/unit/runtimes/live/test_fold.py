"""The commit core on memory: a service that raises, and how a person lets it go on; strangers on the log."""

import json
from collections.abc import Iterable
from dataclasses import replace

import pytest

from ops.sites.configuration import superpod_config
from schemas.envelope import Envelope, enclose
from schemas.messages.operator import DrainCube, UndrainCube
from schemas.messages.sequencer import MessageSkipped, Tick
from schemas.registry import encode
from services.cubes.logic import on_drain
from services.cubes.service import SERVICE as CUBES
from services.cubes.state import CubesState
from services.ocs.service import SERVICE as OCS
from shared.basics.errors import LogDamaged, UpgradeNeeded
from shared.engine.code_version import RULES, StateCodeVersion, code_version_values
from shared.engine.service import AnyService, Output, on
from shared.engine.state_layout import state_layouts
from shared.runtimes.live.kafka.records import Record, output_headers, root_headers
from shared.runtimes.live.worker import partition_fold as fold_module
from shared.runtimes.live.worker.partition_fold import PartitionFold, StoreRolledBack
from shared.storage.store.memory_store import MemoryStore
from tests.support.pods import OPERATOR, first_message, pod_place, served_service

TWIN = "twin"
CONFIG = superpod_config(["pod.cubes=8"])


def ask(number: int, body: DrainCube | UndrainCube) -> Envelope:
    return enclose(body, fabric="pod-0", at_us=number, cause=None, source=OPERATOR, seq=number)


def as_root(offset: int, message: Envelope) -> Record:
    return Record(0, offset, encode(message), root_headers(message, offset=offset, quiet=offset, twin="twin"))


def drain(number: int, cube: int) -> Envelope:
    return ask(number, DrainCube(cube=f"pod-0/cube-{cube}"))


RECORDS = [
    as_root(0, first_message(CONFIG)),
    as_root(1, drain(1, 1)),
    as_root(2, drain(2, 2)),
    as_root(3, drain(3, 3)),
]


def raising(seq: int) -> AnyService:
    """`cubes`, with a bug that shows at one request."""

    def buggy(state: CubesState, body: DrainCube, message: Envelope) -> Iterable[Output]:
        if message.seq == seq:
            raise ZeroDivisionError("division by zero")
        return on_drain(state, body, message)

    others = (row for row in CUBES.rules if row.body is not DrainCube)
    return replace(CUBES, rules=(*others, on(DrainCube, buggy)))


def fold_of(store: MemoryStore, service: AnyService = CUBES) -> PartitionFold:
    return PartitionFold(served_service(service), 0, TWIN, store)


def drained(store: MemoryStore) -> list[str]:
    rows = store.all("pod-0", "cubes")
    return sorted(name for name, text in rows.items() if json.loads(text)["drained"])


@pytest.fixture
def store() -> MemoryStore:
    store = MemoryStore()
    store.place("pod-0", pod_place())
    return store


def test_a_service_renders_a_frame_at_the_tick_of_another_without_reading_it(store: MemoryStore) -> None:
    frames: list[tuple[str, int, bytes]] = []
    service = replace(
        OCS,
        telemetry=lambda state, tick: f"{state.now_us} {tick.at_us}".encode(),
        frames_on_ticks_of=("cubes",),
    )
    fold = PartitionFold(served_service(service), 0, TWIN, store, publish=lambda *frame: frames.append(frame))
    ticks = [
        enclose(
            Tick(service=name, due_us=9, count=1),
            fabric="pod-0",
            at_us=9,
            cause=None,
            source=f"tick.{name}@pod-0",
            seq=1,
        )
        for name in ("cubes", "scheduler")
    ]
    assert fold.take([RECORDS[0], *(as_root(1 + n, tick) for n, tick in enumerate(ticks))])
    assert frames == [("pod-0/ocs", 9, b"0 9")]
    assert fold.position == 3


@pytest.mark.parametrize("step", [1, 2, 4])
def test_batches_of_any_size_end_in_the_same_state(store: MemoryStore, step: int) -> None:
    fold = fold_of(store)
    for start in range(0, 4, step):
        assert fold.take(RECORDS[start : start + step])
    assert store.positions(0) == {"cubes": 4}
    assert drained(store) == ["pod-0/cube-1", "pod-0/cube-2", "pod-0/cube-3"]
    assert [(s.position, s.index) for s in store.view(0, 1).outbox] == [(1, 0), (2, 0), (3, 0)]


def test_records_given_again_are_passed_over(store: MemoryStore) -> None:
    fold = fold_of(store)
    fold.take(RECORDS[:3])
    fold.take(RECORDS)
    fold.take(RECORDS[:1])
    assert store.positions(0) == {"cubes": 4}
    assert len(store.view(0, 1).outbox) == 3


def test_the_second_of_two_workers_continues_after_the_first(store: MemoryStore) -> None:
    first, second = fold_of(store), fold_of(store)
    second.load()
    assert first.take(RECORDS[:3])
    assert not second.take(RECORDS)
    assert second.take(RECORDS)
    assert second.counts.refusals == 1
    assert drained(store) == ["pod-0/cube-1", "pod-0/cube-2", "pod-0/cube-3"]


def test_a_service_adopts_a_fabric_that_another_one_has_noted(store: MemoryStore) -> None:
    """It knows the fabric from the store before it reads the fabric's first message."""
    both = (CUBES, OCS)
    folds = [PartitionFold(served_service(one, both), 0, TWIN, store, software="1.0+one") for one in both]
    cubes, ocs = folds
    assert cubes.take(RECORDS[:1])
    assert ocs.load() == 0
    assert ocs.take(RECORDS[:1])
    assert [*store.progress(0)] == [("cubes", "pod-0"), ("ocs", "pod-0")]
    assert store.load(0, "ocs", "pod-0")
    noted = code_version_values(StateCodeVersion(RULES, state_layouts(both), "1.0+one"))
    assert store.values(0) == {"fabric:pod-0": "pod-0 superpod"} | noted


@pytest.mark.parametrize("has_loaded", [False, True])
def test_workers_of_two_versions_are_not_mixed(
    store: MemoryStore, has_loaded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither when the second one starts, nor if both started before the first message."""
    both = (CUBES, OCS)
    cubes = PartitionFold(served_service(CUBES, both), 0, TWIN, store, software="1.0+one")
    monkeypatch.setattr(fold_module, "RULES", RULES + 1)
    ocs = PartitionFold(served_service(OCS, both), 0, TWIN, store, software="1.0+two")
    if has_loaded:
        assert ocs.load() == 0
    assert cubes.take(RECORDS[:1])
    if has_loaded:
        assert not ocs.take(RECORDS[:1])  # refused at the fence
    sentence = (
        rf"partition 0: its states are of rules {RULES}, by 1\.0\+one, and this is 1\.0\+two of rules "
        rf"{RULES + 1}: run `lightwave live upgrade` to convert them"
    )
    with pytest.raises(UpgradeNeeded, match=sentence):
        ocs.take(RECORDS[:1])
    assert not store.load(0, "ocs", "pod-0")
    assert cubes.take(RECORDS[1:2])


def test_missing_records_stop_it(store: MemoryStore) -> None:
    fold = fold_of(store)
    fold.take(RECORDS[:1])
    with pytest.raises(LogDamaged, match="partition 0: offset 1 is missing before 2"):
        fold.take(RECORDS[2:])
    with pytest.raises(LogDamaged, match="partition 0: offset 2 is missing before 3"):
        fold.take([RECORDS[1], RECORDS[3]])


def test_a_store_that_went_back_ends_it(store: MemoryStore) -> None:
    fold = fold_of(store)
    fold.take(RECORDS)
    store.erase(0)
    assert not fold.take([as_root(4, drain(4, 4))])  # refused by the fence
    with pytest.raises(StoreRolledBack, match="had reached 4, but the store is at 0"):
        fold.take([as_root(4, drain(4, 4))])


def test_a_service_that_raises_stops_before_the_message_and_reports_it(store: MemoryStore) -> None:
    fold = fold_of(store, raising(seq=2))
    assert fold.take(RECORDS)
    assert store.positions(0) == {"cubes": 2}
    assert drained(store) == ["pod-0/cube-1"]
    note = json.loads(store.values(0)["stopped:cubes"])
    assert (note["offset"], note["fabric"], note["message_id"]) == (2, "pod-0", "operator@pod-0/2")
    assert (
        "cubes of pod-0 raised ZeroDivisionError: division by zero, on operator@pod-0/2" in note["sentence"]
    )


def skip_record(offset: int, message: str = "operator@pod-0/2") -> Record:
    body = MessageSkipped(service="cubes", message=message, sentence="as it raised")
    skipped = enclose(body, fabric="pod-0", at_us=9, cause=message, source="skip.cubes@pod-0", seq=2)
    return Record(0, offset, encode(skipped), output_headers(skipped.type, skipped.source, "twin"))


@pytest.mark.parametrize("together", [True, False])
def test_a_skip_on_the_log_lets_it_continue(store: MemoryStore, together: bool) -> None:
    fold = fold_of(store, raising(seq=2))
    if together:  # as after a restart: the skip is on the log already
        assert fold.take([*RECORDS, skip_record(4)])
    else:
        assert fold.take(RECORDS)
        assert fold.take([skip_record(4)])
    assert store.positions(0) == {"cubes": 5}
    assert drained(store) == ["pod-0/cube-1", "pod-0/cube-3"]
    assert "stopped:cubes" not in store.values(0)
    letters = store.view(0, 1).dead_letters
    assert [json.loads(letter)["origin"] for letter in letters.values()] == ["0:2"]


def test_a_skip_of_another_message_changes_nothing(store: MemoryStore) -> None:
    fold = fold_of(store, raising(seq=2))
    assert fold.take([*RECORDS, skip_record(4, "operator@pod-0/3")])
    assert store.positions(0) == {"cubes": 2}


def test_strangers_become_dead_letters_and_stop_nothing(store: MemoryStore) -> None:
    strange = [
        Record(0, 2, b"{", {}),
        Record(0, 3, encode(drain(7, 7)), output_headers("DrainCube", OPERATOR, "other twin")),
        replace(
            as_root(
                4,
                enclose(
                    DrainCube(cube="pod-9/cube-1"),
                    fabric="pod-9",
                    at_us=1,
                    cause=None,
                    source=OPERATOR,
                    seq=1,
                ),
            )
        ),
    ]
    fold = fold_of(store)
    assert fold.take([*RECORDS[:2], *strange, as_root(5, drain(5, 5))])
    assert drained(store) == ["pod-0/cube-1", "pod-0/cube-5"]
    letters = {at: json.loads(letter)["error"] for at, letter in store.view(0, 1).dead_letters.items()}
    assert sorted(letters) == [2, 3, 4]
    assert "not JSON" in letters[2]
    assert "not written by this twin" in letters[3]
    assert "pod-9 was never commissioned" in letters[4]
