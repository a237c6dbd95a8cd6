"""One contract for every state store: a commit is applied in full or not at all, behind a fence."""

import itertools
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypedDict, TypeVar, Unpack

import pytest
from hypothesis import HealthCheck, given, settings

from schemas.messages.operator import DrainCube
from shared.basics.errors import OperationFailed
from shared.engine.code_version import (
    StateCodeVersion,
    shared_code_values,
    unfinished_upgrade,
    upgrade_begun_value,
)
from shared.engine.message_order import Request, ServiceProgress
from shared.engine.state_codec import encode_instance, restore_instance
from shared.storage.store.memory_store import MemoryStore
from shared.storage.store.redis_layout import PAIRS_MAX
from shared.storage.store.redis_store import RedisStore
from shared.storage.store.state_store import (
    Commit,
    DocumentChange,
    FabricPlace,
    GuardedFields,
    OutboxEntry,
    OutboxTrim,
    StateChange,
)
from tests.support.pods import pod_place, with_key
from tests.support.toy_state import SERVICE, ToyState, content, instance_of, toy_states

Store = MemoryStore | RedisStore
StoreT = TypeVar("StoreT", MemoryStore, RedisStore)
DRAIN = DrainCube(cube="pod-0/cube-1")


class Parts(TypedDict, total=False):
    """The parts of a commit apart from positions."""

    states: tuple[StateChange, ...]
    documents: tuple[DocumentChange, ...]
    progress: tuple[ServiceProgress, ...]
    outbox: tuple[OutboxEntry, ...]
    dead_letters: Mapping[int, bytes]
    inbox_taken: int | None
    fields: Mapping[str, str | None]
    required_values: Mapping[str, str]
    wake_readers: tuple[str, ...]


class Everything(TypedDict):
    """The readable content of a partition."""

    positions: dict[str, int]
    values: dict[str, str]
    states: dict[tuple[str, str], dict[str, bytes]]
    progress: dict[tuple[str, str], ServiceProgress]
    view: tuple[Sequence[OutboxEntry], Mapping[int, bytes]]
    documents: dict[tuple[str, str], dict[str, bytes]]
    inbox: list[Request]


def commit(expected: int, position: int, **parts: Unpack[Parts]) -> Commit:
    """Return a commit of the reader `ocs` in partition 0."""
    return Commit(partition=0, expected={"ocs": expected}, positions={"ocs": position}, **parts)


def written(**fields: bytes) -> StateChange:
    return StateChange("ocs", "pod-0", fields)


def output_entry(
    position: int, index: int = 0, service: str = "ocs", line: bytes = b"{}", fabric: str = "pod-0"
) -> OutboxEntry:
    return OutboxEntry(position, fabric, service, index, "OcsDown", f"{service}@{fabric}", line)


def outbox_of(store: Store, partition: int = 0) -> list[OutboxEntry]:
    return list(store.view(partition, 1).outbox)


def document(name: str, text: bytes | None, kind: str = "ocs", fabric: str = "pod-0") -> DocumentChange:
    return DocumentChange(fabric, kind, name, text)


FULL = commit(
    0,
    3,
    states=(written(wanted=b"\x00\xff\n", made=b""), StateChange("cubes", "pod-0", {"health": b"[]"})),
    documents=(document("pod-0/ocs-1", b'{"a":1}'), document("pod-0/cube-1", b"{}", "cubes")),
    progress=(ServiceProgress("ocs", "pod-0", 17, 4, 99, 91), ServiceProgress("cubes", "pod-0", None, 0, 98)),
    outbox=(
        output_entry(2),
        output_entry(1, 1, line=b"a\nb"),
        output_entry(1, 0),
        output_entry(1, 0, "cubes"),
    ),
    dead_letters={2: b"what"},
    fields={"end": "123"},
)


def everything(store: Store, partition: int = 0) -> Everything:
    """Return the readable content of a partition with the fabrics pod-0 and pod-1."""
    names = [("ocs", "pod-0"), ("cubes", "pod-0"), ("ocs", "pod-1"), ("cubes", "pod-1")]
    return {
        "positions": store.positions(partition),
        "values": store.values(partition),
        "states": {name: store.load(partition, *name) for name in names},
        "progress": store.progress(partition),
        "view": (store.view(partition, 1).outbox, store.view(partition, 1).dead_letters),
        "documents": {
            (fabric, kind): store.all(fabric, kind)
            for fabric in ("pod-0", "pod-1")
            for kind in ("ocs", "cubes")
        },
        "inbox": store.waiting(partition, 100),
    }


class StateStoreContract:
    """The behaviour of every store. A store plugs in with the fixture `store`, where both fabrics are in
    partition 0."""

    def test_is_empty_at_first(self, store: Store) -> None:
        content_now = everything(store)
        assert (content_now["positions"], content_now["values"], content_now["progress"]) == ({}, {}, {})
        assert content_now["view"] == ((), {})
        assert content_now["inbox"] == []
        assert not any(store.load(0, "ocs", fabric) for fabric in ("pod-0", "pod-1"))

    def test_keeps_all_parts_of_a_commit(self, store: Store) -> None:
        assert store.commit(FULL)
        assert store.positions(0) == {"ocs": 3}
        assert store.values(0) == {"end": "123"}
        assert store.load(0, "ocs", "pod-0") == {"wanted": b"\x00\xff\n", "made": b""}
        assert store.load(0, "cubes", "pod-0") == {"health": b"[]"}
        assert store.progress(0) == {(row.name, row.fabric): row for row in FULL.progress}
        view = store.view(0, 1)
        assert view.outbox == (
            output_entry(1, 0, "cubes"),
            output_entry(1, 0),
            output_entry(1, 1, line=b"a\nb"),
            output_entry(2),
        )
        assert view.dead_letters == {2: b"what"}
        assert view.positions == store.positions(0)
        assert view.values == store.values(0)
        assert view.progress == store.progress(0)
        assert store.all("pod-0", "ocs") == {"pod-0/ocs-1": b'{"a":1}'}
        assert store.one("pod-0", "cubes", "pod-0/cube-1") == b"{}"

    def test_partitions_and_fabrics_are_separate(self, store: Store) -> None:
        assert store.commit(FULL)
        assert store.load(0, "ocs", "pod-1") == {}
        assert store.all("pod-1", "ocs") == {}
        for other in (1, 10):
            assert store.positions(other) == {}
            assert store.load(other, "ocs", "pod-0") == {}
            assert outbox_of(store, other) == []

    def test_commits_that_conflict_with_shared_values_are_refused(self, store: Store) -> None:
        first_values, other_values = {"rules": "1", "layout:ocs": "a"}, {"rules": "1", "layout:ocs": "b"}
        assert store.commit(commit(0, 1, required_values=first_values))
        assert store.commit(commit(1, 2, required_values=first_values, fields=first_values))
        assert store.commit(commit(2, 3, required_values=first_values))
        before = everything(store)
        assert not store.commit(
            commit(3, 4, required_values=other_values, fields=other_values, states=(written(made=b"b"),))
        )
        assert everything(store) == before
        assert store.commit(commit(3, 4, required_values={"rules": "1"}))

    def test_commits_are_refused_while_an_upgrade_is_unfinished(self, store: Store) -> None:
        required_values = shared_code_values(StateCodeVersion(1, {"ocs": "a"}, "1.0+one"))
        assert store.commit(commit(0, 1, required_values=required_values))
        begun = upgrade_begun_value(StateCodeVersion(2, {}, "1.0+two"))
        assert store.commit(Commit(0, {}, {}, fields=begun))
        assert unfinished_upgrade(store.values(0)) == (2, "1.0+two")
        before = everything(store)
        assert not store.commit(commit(1, 2, required_values=required_values))
        assert everything(store) == before
        assert store.stage(Commit(0, {}, {"ocs": 1}, fields={"rules": "2"}), "")
        assert store.promote_staged(0)
        assert unfinished_upgrade(store.values(0)) is None
        generation = store.snapshot(0, []).generation
        required_values = shared_code_values(StateCodeVersion(2, {}, "1.0+two"))
        assert store.commit(
            Commit(0, {"ocs": 1}, {"ocs": 2}, required_values=required_values, generation=generation)
        )

    def test_a_second_commit_changes_only_its_own_parts(self, store: Store) -> None:
        assert store.commit(FULL)
        change = StateChange("ocs", "pod-0", {"made": b"new", "row/1": b"1"}, ("wanted", "never there"))
        assert store.commit(
            commit(
                3,
                5,
                states=(change,),
                progress=(ServiceProgress("ocs", "pod-0", None, 5, 100),),
                fields={"x": "y"},
            )
        )
        assert store.positions(0) == {"ocs": 5}
        assert store.values(0) == {"end": "123", "x": "y"}
        assert store.load(0, "ocs", "pod-0") == {"made": b"new", "row/1": b"1"}
        assert store.load(0, "cubes", "pod-0") == {"health": b"[]"}
        assert store.progress(0) == {
            ("ocs", "pod-0"): ServiceProgress("ocs", "pod-0", None, 5, 100),
            ("cubes", "pod-0"): FULL.progress[1],
        }
        assert len(outbox_of(store)) == 4

    @pytest.mark.parametrize(
        "fence", [{"ocs": 2}, {"ocs": 4}, {"ocs": 3, "cubes": 1}, {"cubes": 1, "ocs": 3}, {"ocs": 0}]
    )
    def test_a_refused_commit_changes_nothing_at_all(self, store: Store, fence: dict[str, int]) -> None:
        assert store.commit(FULL)
        store.put(0, "pod-0", with_key("key", DRAIN))
        before = everything(store)
        refused = Commit(
            partition=0,
            expected=fence,
            positions={"ocs": 9, "cubes": 9},
            states=(StateChange("ocs", "pod-0", {"wanted": b"changed", "new": b"1"}, ("made",)),),
            documents=(document("pod-0/ocs-1", None), document("pod-0/ocs-2", b"{}")),
            progress=(ServiceProgress("ocs", "pod-0", 1, 1, 1),),
            outbox=(output_entry(9),),
            dead_letters={9: b"never"},
            inbox_taken=2**50,
            fields={"end": "0"},
        )
        assert not store.commit(refused)
        assert everything(store) == before

    def test_a_reader_that_never_committed_is_at_position_zero(self, store: Store) -> None:
        assert not store.commit(Commit(partition=0, expected={"new": 1}, positions={"new": 2}))
        assert store.commit(Commit(partition=0, expected={"new": 0, "other": 0}, positions={"new": 2}))
        assert store.positions(0) == {"new": 2}
        assert store.commit(Commit(partition=0, expected={"other": 0, "new": 2}, positions={"other": 1}))
        assert store.positions(0) == {"new": 2, "other": 1}

    def test_of_two_commits_from_the_same_position_one_wins(self, store: Store) -> None:
        barrier, won = threading.Barrier(4), []

        def race(n: int) -> None:
            barrier.wait()
            if store.commit(commit(0, 1, states=(written(winner=str(n).encode()),))):
                won.append(n)

        threads = [threading.Thread(target=race, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(won) == 1
        assert store.load(0, "ocs", "pod-0") == {"winner": str(won[0]).encode()}

    def test_documents_are_set_replaced_and_removed(self, store: Store) -> None:
        first = [document(f"pod-0/ocs-{n}", b"%d" % n) for n in range(3)]
        assert store.commit(commit(0, 1, documents=tuple(first)))
        changes = (document("pod-0/ocs-0", None), document("pod-0/ocs-1", b"new"), document("none", None))
        assert store.commit(commit(1, 2, documents=changes))
        assert store.all("pod-0", "ocs") == {"pod-0/ocs-1": b"new", "pod-0/ocs-2": b"2"}
        assert store.one("pod-0", "ocs", "pod-0/ocs-0") is None
        assert store.one("pod-0", "links", "pod-0/ocs-1") is None

    def test_documents_of_an_unknown_fabric_are_refused(self, store: Store) -> None:
        with pytest.raises(OperationFailed, match="fabric pod-7: not in this store"):
            store.all("pod-7", "ocs")
        with pytest.raises(OperationFailed, match="fabric pod-7: not in this store"):
            store.one("pod-7", "ocs", "pod-7/ocs-1")

    def test_fabrics_are_listed_by_number_with_their_partitions(self, store: Store) -> None:
        campus = [("pod-10", "superpod"), ("pod-2", "superpod"), ("dcn-0", "toynet")]
        for fabric, kind in campus:
            store.place(fabric, FabricPlace(2, "campus", kind))
        assert list(store.fabrics().items()) == [
            ("dcn-0", FabricPlace(2, "campus", "toynet")),
            ("pod-0", FabricPlace(0, "pod-0", "superpod")),
            ("pod-1", FabricPlace(0, "pod-1", "superpod")),
            ("pod-2", FabricPlace(2, "campus", "superpod")),
            ("pod-10", FabricPlace(2, "campus", "superpod")),
        ]

    def test_a_fabric_that_retired_is_placed_with_its_time(self, store: Store) -> None:
        store.place("pod-1", FabricPlace(0, "pod-1", "superpod", 7_200_000_001))
        assert store.fabrics() == {
            "pod-0": pod_place(),
            "pod-1": FabricPlace(0, "pod-1", "superpod", 7_200_000_001),
        }

    def test_outputs_are_ordered_by_cause_service_and_index(self, store: Store) -> None:
        places = [(100, "ocs", 0), (9, "ocs", 2), (9, "ocs", 10), (10, "cubes", 0), (9, "workload", 1)]
        entries = [output_entry(at, index, service) for at, service, index in places]
        assert store.commit(commit(0, 1, outbox=tuple(entries)))
        assert [(s.position, s.service, s.index) for s in outbox_of(store)] == sorted(places)

    def test_outputs_of_several_fabrics_for_one_message_are_ordered_by_fabric(self, store: Store) -> None:
        """They are ordered by the fabric's number. Outputs of two services of one name are next to each
        other."""
        places = [
            (fabric, service, index)
            for fabric in ("dcn-0", "pod-2", "pod-10")
            for service in ("agent", "clerk")
            for index in (0, 1)
        ]
        entries = [
            output_entry(5, index, service, fabric=fabric) for fabric, service, index in reversed(places)
        ]
        assert store.commit(commit(0, 1, outbox=tuple(entries)))
        assert [(s.fabric, s.service, s.index) for s in outbox_of(store)] == places
        store.trim(OutboxTrim(0, tuple(entry for entry in entries if entry.fabric == "pod-2")))
        assert {s.fabric for s in outbox_of(store)} == {"dcn-0", "pod-10"}

    def test_outputs_of_two_services_for_one_message_are_both_kept(self, store: Store) -> None:
        assert store.commit(commit(0, 1, outbox=(output_entry(5),)))
        assert store.commit(commit(1, 1, outbox=(output_entry(5, service="cubes"),)))
        assert [s.service for s in outbox_of(store)] == ["cubes", "ocs"]

    def test_an_output_that_is_stored_twice_is_kept_once(self, store: Store) -> None:
        assert store.commit(
            commit(0, 1, outbox=(output_entry(5, line=b"first"),), dead_letters={5: b"first"})
        )
        assert store.commit(
            commit(1, 2, outbox=(output_entry(5, line=b"second"),), dead_letters={5: b"second"})
        )
        assert outbox_of(store) == [output_entry(5, line=b"second")]
        assert store.view(0, 1).dead_letters == {5: b"second"}

    def test_a_settlement_removes_only_the_named_outputs(self, store: Store) -> None:
        numbers = [store.put(0, "pod-0", DRAIN).number for _ in range(3)]
        outbox = (output_entry(1), output_entry(1, 1), output_entry(2))
        dead = {1: b"a", 2: b"b"}
        assert store.commit(commit(0, 3, outbox=outbox, dead_letters=dead, fields={"end": "3", "x": "y"}))
        trim = OutboxTrim(0, outbox[:2], (1,), (numbers[0], numbers[2]), {"end": "5", "x": None, "new": "1"})
        for _ in range(2):  # removing an entry twice is not an error
            store.trim(trim)
            view = store.view(0, 10)
            assert view.outbox == outbox[2:]
            assert view.dead_letters == {2: b"b"}
            assert [waiting.number for waiting in view.waiting] == [numbers[1]]
            assert view.values == {"end": "5", "new": "1"}
        store.trim(OutboxTrim(0))
        assert replace(store.view(0, 10), wall_us=view.wall_us) == view

    def test_the_oldest_requests_of_a_time_are_returned(self, store: Store) -> None:
        numbers = [store.put(0, "pod-0", DRAIN).number for _ in range(3)]
        assert [waiting.number for waiting in store.view(0, 2).waiting] == numbers[:2]

    def test_a_snapshot_is_consistent(self, store: Store) -> None:
        names = [("ocs", "pod-0"), ("cubes", "pod-0"), ("ocs", "pod-1")]
        done = threading.Event()

        def step() -> None:
            for n in range(150):
                value = str(n + 1).encode()
                states = tuple(StateChange(*name, {"n": value}) for name in names)
                due = (ServiceProgress("ocs", "pod-0", n + 1, n + 1, n + 1),)
                assert store.commit(
                    commit(n, n + 1, states=states, progress=due, fields={"n": value.decode()})
                )
            done.set()

        thread = threading.Thread(target=step)
        thread.start()
        samples = 0
        while not done.is_set() or not samples:
            if isinstance(store, MemoryStore):
                thread.join()  # the memory store supports only one thread
            snapshot = store.snapshot(0, names)
            position = snapshot.positions.get("ocs", 0)
            if position:
                samples += 1
                assert snapshot.values == {"n": str(position)}
                assert snapshot.progress == {
                    ("ocs", "pod-0"): ServiceProgress("ocs", "pod-0", position, position, position)
                }
                assert dict(snapshot.states) == {name: {"n": b"%d" % position} for name in names}
        thread.join()
        assert store.snapshot(0, []).positions == {"ocs": 150}
        assert store.snapshot(0, [("none", "pod-0")]).states == {("none", "pod-0"): {}}

    def test_erase_removes_everything_except_the_inbox(self, store: Store) -> None:
        assert store.commit(FULL)
        other = Commit(partition=10, expected={}, positions={"ocs": 1}, outbox=(output_entry(0),))
        assert store.commit(other)
        first = store.put(0, "pod-0", with_key("key", DRAIN))
        waiting = store.waiting(0, 10)
        store.erase(0)
        content_now = everything(store)
        assert (content_now["positions"], content_now["values"], content_now["progress"]) == ({}, {}, {})
        assert content_now["view"] == ((), {})
        assert not any(content_now["states"].values())
        assert not any(content_now["documents"].values())
        assert content_now["inbox"] == waiting
        assert store.put(0, "pod-0", with_key("key", DRAIN)).number == first.number
        assert store.put(0, "pod-0", DRAIN).number > first.number
        assert store.fabrics() == {"pod-0": pod_place(0), "pod-1": pod_place(0, "pod-1")}
        assert outbox_of(store, 10) == [output_entry(0)]
        assert store.commit(FULL)
        store.erase(5)

    def test_the_end_of_the_log_is_not_set_back_by_a_sequencer_that_was_stopped(self, store: Store) -> None:
        store.trim(OutboxTrim(0, end=("", 7)))
        assert store.view(0, 1).values == {"end": "7"}
        store.trim(OutboxTrim(0, end=("7", 9)))
        store.trim(OutboxTrim(0, end=("7", 8)))  # it saw the store before the other one
        assert store.view(0, 1).values == {"end": "9"}
        store.trim(OutboxTrim(0, end=("", 12)))
        assert store.view(0, 1).values == {"end": "12"}
        store.trim(OutboxTrim(0, end=("12", 10)))  # something else set a wrong end, which it saw
        assert store.view(0, 1).values == {"end": "10"}

    def test_a_registration_is_not_set_back_by_a_sequencer_that_was_stopped(self, store: Store) -> None:
        active, retired = (
            {"fabric:pod-1": text, "digest:fabric:pod-1": text[-1]} for text in ("a s", "a s 7")
        )
        commissions = GuardedFields("fabric:pod-1", None, active)
        retires = GuardedFields("fabric:pod-1", "a s", retired)
        other = GuardedFields("fabric:pod-2", None, {"fabric:pod-2": "a s"})
        store.trim(OutboxTrim(0, guarded=(retires,)))  # it saw a registration that a rebuild has removed
        assert store.view(0, 1).values == {}
        store.trim(OutboxTrim(0, end=("", 1), guarded=(commissions,)))
        assert store.view(0, 1).values == {"end": "1", **active}
        store.trim(OutboxTrim(0, end=("1", 9), guarded=(retires,)))
        store.trim(OutboxTrim(0, end=("", 1), guarded=(commissions, other)))  # stopped before its first trim
        assert store.view(0, 1).values == {"end": "9", **retired, "fabric:pod-2": "a s"}

    def test_an_image_replaces_everything_that_the_log_can_rebuild(self, store: Store) -> None:
        assert store.commit(FULL)
        received = store.put(0, "pod-0", with_key("key", DRAIN))
        store.trim(OutboxTrim(0, fields={"skip:ocs": "operator@pod-0/9"}))
        before = everything(store)
        memory = MemoryStore()
        stored = StateChange("ocs", "pod-0", {"table": b"new"})
        document = DocumentChange("pod-0", "ocs", "pod-0/ocs-7", b"{}")
        memory.commit(Commit(0, {}, {"ocs": 3}, states=(stored,), documents=(document,), fields={"end": "3"}))
        assert not store.promote_staged(0)
        assert store.stage(memory.image(0), "a mark")
        assert store.staged(0) == "a mark"
        assert (everything(store), store.snapshot(0, []).generation) == (before, 0)
        for generation in (1, 2):  # the image is kept, so that a killed process can promote it again
            assert store.promote_staged(0)
            assert store.positions(0) == {"ocs": 3}
            assert store.values(0) == {"end": "3", "skip:ocs": "operator@pod-0/9"}
            assert store.load(0, "ocs", "pod-0") == {"table": b"new"}
            assert store.load(0, "cubes", "pod-0") == {}
            assert store.all("pod-0", "ocs") == {"pod-0/ocs-7": b"{}"}
            assert (store.view(0, 1).outbox, store.view(0, 1).dead_letters, store.progress(0)) == ((), {}, {})
            assert store.snapshot(0, []).generation == generation
        assert not store.promote_staged(0, 1)
        assert store.snapshot(0, []).generation == 2
        assert store.promote_staged(0, 2)
        assert [request.number for request in store.waiting(0, 5)] == [received.number]
        assert store.put(0, "pod-0", with_key("key", DRAIN)).repeated
        store.discard_staged(0)
        assert store.staged(0) is None
        assert not store.promote_staged(0)

    def test_a_reader_from_before_a_rebuild_changes_nothing(self, store: Store) -> None:
        """Even at exactly its start position, because the state that it would change is gone."""
        assert store.commit(Commit(0, {"ocs": 0}, {"ocs": 5}))
        assert store.stage(Commit(0, {}, {"ocs": 5}), "")
        assert store.promote_staged(0)
        late = Commit(0, {"ocs": 5}, {"ocs": 6}, states=(StateChange("ocs", "pod-0", {"table": b"old"}),))
        assert not store.commit(late)
        assert store.load(0, "ocs", "pod-0") == {}
        assert store.commit(replace(late, generation=1))

    def test_a_note_is_swapped_only_if_it_has_the_expected_value(self, store: Store) -> None:
        assert store.swap_globals("clock", "version", None, {"version": "1", "speed": "2", "odd": "x y"})
        assert not store.swap_globals("clock", "version", None, {"speed": "3"})
        assert not store.swap_globals("clock", "version", "2", {"speed": "3"})
        assert store.read_globals("clock") == {"version": "1", "speed": "2", "odd": "x y"}
        assert store.swap_globals("clock", "version", "1", {"version": "2", "speed": "4", "odd": None})
        assert store.read_globals("clock") == {"version": "2", "speed": "4"}

    def test_a_large_commit_is_one_commit(self, store: Store) -> None:
        """It has more fields, documents and outbox entries than one command can carry. All are set and then
        all removed."""
        count = 2 * PAIRS_MAX + 7
        fields = {f"row/{n}": b"%d" % n for n in range(count)}
        documents = tuple(document(f"pod-0/ocs-{n}", b"%d" % n) for n in range(count))
        entries = tuple(output_entry(n) for n in range(count))
        assert store.commit(commit(0, 1, states=(written(**fields),), documents=documents, outbox=entries))
        assert store.load(0, "ocs", "pod-0") == fields
        assert len(store.all("pod-0", "ocs")) == len(outbox_of(store)) == count
        gone = StateChange("ocs", "pod-0", {"rest": b"1"}, tuple(fields))
        removed = tuple(document(row.name, None) for row in documents)
        assert store.commit(commit(1, 2, states=(gone,), documents=removed))
        assert store.load(0, "ocs", "pod-0") == {"rest": b"1"}
        assert store.all("pod-0", "ocs") == {}

    def test_all_bytes_and_names_are_read_back_unchanged(self, store: Store) -> None:
        every = bytes(range(256)) * 300
        fields = {"a b": every, "größe/Ω": b"", "x:y{z}*": b"\r\n", "_counters": b"{}"}
        assert store.commit(commit(0, 1, states=(written(**fields),), fields={"größe": "Ω"}))
        assert store.load(0, "ocs", "pod-0") == fields
        assert store.values(0) == {"größe": "Ω"}

    # The test itself empties the store. The executors differ because a contract has many classes.
    @settings(
        max_examples=60,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
    )
    @given(state=toy_states())
    def test_every_state_is_read_back_exactly(self, store: Store, state: ToyState) -> None:
        stored = encode_instance(instance_of(state))
        store.erase(0)
        assert store.commit(commit(0, 1, states=(StateChange("toy", "pod-0", stored),)))
        loaded = store.load(0, "toy", "pod-0")
        assert loaded == stored
        restored = restore_instance(SERVICE, "pod-0", loaded)
        assert isinstance(restored.state, ToyState)
        assert content(restored.state) == content(state)


class TestMemoryStore(StateStoreContract):
    @pytest.fixture
    def store(self) -> MemoryStore:
        return placed(MemoryStore(itertools.count(1).__next__))


def placed(store: StoreT) -> StoreT:
    for fabric in ("pod-0", "pod-1"):
        store.place(fabric, pod_place(0, fabric))
    return store
