"""One contract for every state store: what anything but the twin changed in it is refused.

The digests in the store are computed again here in another way, from all that is stored.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pytest
import redis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas.messages.operator import DrainCube
from shared.basics.errors import OperationFailed, StateRefused
from shared.engine.message_order import ServiceProgress
from shared.runtimes.live.refused_states import check_partition
from shared.storage.store import redis_layout as layout
from shared.storage.store.fabric_registry import FabricRegistration, registration_value
from shared.storage.store.memory_store import MemoryStore
from shared.storage.store.redis_store import RedisStore
from shared.storage.store.sealed_commits import SealedCommits, SealedOutbox, check_states, sealed_image
from shared.storage.store.state_digests import StateDigests
from shared.storage.store.state_store import (
    Commit,
    DocumentChange,
    GuardedFields,
    OutboxEntry,
    OutboxTrim,
    PartitionSnapshot,
    StateChange,
)

Store = MemoryStore | RedisStore
FABRICS = ("pod-0", "pod-1")
SERVICES = ("cubes", "ocs")
NAMES = [(service, fabric) for service in SERVICES for fabric in FABRICS]
DIGESTS = StateDigests("a" * 32, b"secret")
OTHERS = {"twin": StateDigests("b" * 32, b"secret"), "secret": StateDigests("a" * 32, b"another")}
REGISTERED = {fabric: FabricRegistration("campus", "superpod") for fabric in FABRICS}
CODE = {"rules": "3", "software": "1.0+abc", "layout:cubes": "12ab", "layout:ocs": "34cd"}
VALUES = CODE | {k: v for name, one in REGISTERED.items() for k, v in registration_value(name, one).items()}


def entry(position: int, service: str = "ocs", line: bytes = b"{}", index: int = 0) -> OutboxEntry:
    return OutboxEntry(position, "pod-0", service, index, "OcsDown", f"{service}@pod-0", line)


def commits() -> list[Commit]:
    """Three commits of two services in two fabrics, with everything that a commit can change."""
    first = Commit(
        partition=0,
        expected={},
        positions=dict.fromkeys(SERVICES, 3),
        states=tuple(StateChange(*name, {"a": b"1", "b": b"2", "table/x": b"\x00\xff"}) for name in NAMES),
        documents=tuple(
            DocumentChange(fabric, kind, f"{fabric}/{service}", b'{"n":1}', service)
            for service, fabric in NAMES
            for kind in ("summaries", service)
        ),
        progress=tuple(ServiceProgress(*name, due_us=17, ticks=1, now_us=9, ticked_us=8) for name in NAMES),
        outbox=(entry(1), entry(2), entry(2, index=1, line=b'{"a":1}'), entry(2, "cubes")),
        fields=VALUES,
    )
    second = Commit(
        partition=0,
        expected={},
        positions={"ocs": 5},
        states=(StateChange("ocs", "pod-0", {"a": b"new", "table/y": b""}, ("table/x", "never")),),
        documents=(
            DocumentChange("pod-0", "ocs", "pod-0/ocs", None, "ocs"),
            DocumentChange("pod-0", "ocs", "pod-0/ocs-9", b"{}", "ocs"),
            DocumentChange("pod-0", "summaries", "pod-0/ocs", b'{"n":2}', "ocs"),
        ),
        progress=(ServiceProgress("ocs", "pod-0", None, 2, 12, 12),),
        outbox=(entry(4),),
    )
    return [first, second, Commit(partition=0, expected={}, positions=dict.fromkeys(SERVICES, 7))]


def fill(store: Store, digests: StateDigests = DIGESTS) -> None:
    """Commit everything, let a sequencer remove two entries, and commit once more after a restart."""
    first, second, third = commits()
    writer = SealedCommits(digests, 0)
    assert store.commit(writer.sealed(first, REGISTERED))
    assert store.commit(writer.sealed(second, REGISTERED))
    relay = SealedOutbox(digests, 0)
    relay.load(store.view(0, 1))
    store.trim(relay.sealed(OutboxTrim(0, outbox=(entry(1), entry(2, "cubes")), fields={"end": "7"})))
    again = SealedCommits(digests, 0)
    again.load(store.snapshot(0, NAMES, whole=True), SERVICES)
    assert store.commit(again.sealed(third, REGISTERED))


@dataclass
class MemoryWriter:
    """Changes a store in memory behind the twin's back."""

    store: MemoryStore

    @property
    def _kept(self) -> Any:
        return self.store._partitions[0]

    def state(self, service: str, fabric: str, field: str, value: bytes | None) -> None:
        self._put(self._kept.states[service, fabric], field, value)

    def document(self, fabric: str, kind: str, name: str, value: bytes | None) -> None:
        self._put(self._kept.documents[fabric, kind], name, value)

    def position(self, service: str, at: int | None) -> None:
        self._put(self._kept.positions, service, at)

    def progress(self, row: ServiceProgress) -> None:
        self._kept.progress[row.name, row.fabric] = row

    def outbox(self, row: OutboxEntry, *, there: bool = True) -> None:
        self._put(self._kept.outbox, row.place, row if there else None)

    def value(self, name: str, text: str | None) -> None:
        self._put(self._kept.values, name, text)

    def seal(self, service: str, text: str | None) -> None:
        self._put(self._kept.seals, service, text)

    def sums(self, service: str, fabric: str, text: str | None) -> None:
        self._put(self._kept.sums, (service, fabric), text)

    def trimmed(self, text: str) -> None:
        self._kept.trimmed = text

    @staticmethod
    def _put(rows: dict[Any, Any], name: Any, value: Any) -> None:
        if value is None:
            rows.pop(name, None)
        else:
            rows[name] = value


@dataclass
class RedisWriter:
    """Changes a Redis behind the twin's back."""

    store: RedisStore

    def _put(self, part: str, field: str, value: bytes | str | None) -> None:
        with redis.Redis.from_url(self.store.url) as client:
            if value is None:
                client.hdel(layout.key(0, part), field)
            else:
                client.hset(layout.key(0, part), field, value)

    def state(self, service: str, fabric: str, field: str, value: bytes | None) -> None:
        self._put(f"state:{service}@{fabric}", field, value)

    def document(self, fabric: str, kind: str, name: str, value: bytes | None) -> None:
        self._put(f"docs:{fabric}:{kind}", name, value)

    def position(self, service: str, at: int | None) -> None:
        self._put("progress", f"at:{service}", None if at is None else str(at))

    def progress(self, row: ServiceProgress) -> None:
        source = f"{row.name}@{row.fabric}"
        due = "" if row.due_us is None else str(row.due_us)
        fields = {"due": due, "ticks": row.ticks, "now": row.now_us, "ticked": row.ticked_us}
        for word, value in fields.items():
            self._put("progress", f"{word}:{source}", str(value))

    def outbox(self, row: OutboxEntry, *, there: bool = True) -> None:
        value = f"{row.kind} {row.source}\n".encode() + row.line
        self._put("outbox", layout.outbox_field(row), value if there else None)

    def value(self, name: str, text: str | None) -> None:
        self._put("progress", f"value:{name}", text)

    def seal(self, service: str, text: str | None) -> None:
        self._put("progress", f"seal:{service}", text)

    def sums(self, service: str, fabric: str, text: str | None) -> None:
        self._put("progress", f"sums:{service}@{fabric}", text)

    def trimmed(self, text: str) -> None:
        self._put("progress", "trimmed", text)


Writer = MemoryWriter | RedisWriter
Change = Callable[[Writer, PartitionSnapshot], None]


def swap_fields(writer: Writer, found: PartitionSnapshot) -> None:
    stored = found.states["ocs", "pod-0"]
    writer.state("ocs", "pod-0", "a", stored["b"])
    writer.state("ocs", "pod-0", "b", stored["a"])


def swap_fabrics(writer: Writer, found: PartitionSnapshot) -> None:
    for one, other in (("pod-0", "pod-1"), ("pod-1", "pod-0")):
        for field in {*found.states["ocs", one], *found.states["ocs", other]}:
            writer.state("ocs", one, field, found.states["ocs", other].get(field))


def move_state(writer: Writer, found: PartitionSnapshot) -> None:
    for field in {*found.states["ocs", "pod-0"], *found.states["cubes", "pod-0"]}:
        writer.state("cubes", "pod-0", field, found.states["ocs", "pod-0"].get(field))


def swap_sums(writer: Writer, found: PartitionSnapshot) -> None:
    """States and their sums: only the seal notices."""
    swap_fabrics(writer, found)
    writer.sums("ocs", "pod-0", found.sums["ocs", "pod-1"])
    writer.sums("ocs", "pod-1", found.sums["ocs", "pod-0"])


def older_head(writer: Writer, found: PartitionSnapshot) -> None:
    """The position of an earlier commit with its seal, but later sums."""
    writer.position("ocs", 3)
    writer.seal("ocs", SealedCommits(DIGESTS, 0).sealed(commits()[0], REGISTERED).seals["ocs"])


def swap_lines(writer: Writer, _found: PartitionSnapshot) -> None:
    writer.outbox(entry(2, index=1))
    writer.outbox(entry(2, line=b'{"a":1}'))


def change_value(name: str, text: str | None, writer: Writer, _found: PartitionSnapshot) -> None:
    writer.value(name, text)


def remove_value(name: str, writer: Writer, _found: PartitionSnapshot) -> None:
    writer.value(name, None)
    writer.value(f"digest:{name}", None)


def swap_registrations(writer: Writer, found: PartitionSnapshot) -> None:
    """A valid registration in the place of a retired one, with its digest."""
    writer.value("fabric:pod-0", found.values["fabric:pod-1"])
    writer.value("digest:fabric:pod-0", found.values["digest:fabric:pod-1"])


VALUE_CHANGES = [
    ("fabric:pod-0", "campus static-pod", "of another kind", "the registration of fabric pod-0"),
    ("fabric:pod-0", "campus foo", "of an unknown kind", "the registration of fabric pod-0"),
    ("fabric:pod-0", "campus superpod 5", "retired", "the registration of fabric pod-0"),
    ("fabric:pod-1", "other superpod", "of another site", "the registration of fabric pod-1"),
    ("fabric:pod-1", "other", "of another form", "the registration of fabric pod-1"),
    ("fabric:pod-1", "", "emptied", "the registration of fabric pod-1"),
    ("fabric:pod-1", None, "removed", "the registration of fabric pod-1"),
    ("fabric:pod-7", "campus superpod", "added", "the registration of fabric pod-7"),
    ("fabric:dcn-0", "campus dcn", "added", "the registration of fabric dcn-0"),
    ("rules", "2", "lowered", "the number of the rules"),
    ("rules", "99", "raised", "the number of the rules"),
    ("rules", "x", "of another form", "the number of the rules"),
    ("rules", None, "removed", "the number of the rules"),
    ("software", "0.9", "changed", "the build"),
    ("software", None, "removed", "the build"),
    ("layout:ocs", "00", "changed", "the state layout of ocs"),
    ("layout:ocs", None, "removed", "the state layout of ocs"),
    ("layout:jobs", "00", "added", "the state layout of jobs"),
]
"""(name, text, what it is, how it is called)."""

CHANGES: dict[str, tuple[Change, str]] = {
    "a value": (lambda w, _: w.state("ocs", "pod-0", "a", b"2"), "ocs of pod-0: its state"),
    "a value emptied": (lambda w, _: w.state("ocs", "pod-0", "a", b""), "ocs of pod-0: its state"),
    "a field removed": (lambda w, _: w.state("cubes", "pod-1", "b", None), "cubes of pod-1: its state"),
    "a row removed": (lambda w, _: w.state("ocs", "pod-0", "table/y", None), "ocs of pod-0: its state"),
    "a field added": (lambda w, _: w.state("ocs", "pod-1", "c", b""), "ocs of pod-1: its state"),
    "an old field returned": (lambda w, _: w.state("ocs", "pod-0", "table/x", b"\x00\xff"), "ocs of pod-0"),
    "two values swapped": (swap_fields, "ocs of pod-0: its state"),
    "states of fabrics swapped": (swap_fabrics, "ocs of pod-[01]: its state"),
    "the state of another service": (move_state, "cubes of pod-0: its state"),
    "states with sums swapped": (swap_sums, "ocs of pod-0, pod-1 in partition 0: its position, progress"),
    "a position": (lambda w, _: w.position("ocs", 6), "ocs of pod-0, pod-1 in partition 0: its position"),
    "a position removed": (lambda w, _: w.position("cubes", None), "cubes of pod-0, pod-1"),
    "an older position with its seal": (older_head, "ocs of pod-0, pod-1"),
    "a due time": (
        lambda w, f: w.progress(replace(f.progress["ocs", "pod-1"], due_us=18)),
        "ocs of pod-0, pod-1 in partition 0: its position, progress",
    ),
    "a due time removed": (lambda w, f: w.progress(replace(f.progress["ocs", "pod-1"], due_us=None)), "ocs"),
    "a time": (lambda w, f: w.progress(replace(f.progress["cubes", "pod-0"], now_us=10)), "cubes"),
    "ticks": (lambda w, f: w.progress(replace(f.progress["cubes", "pod-0"], ticks=0)), "cubes"),
    **{
        f"value {name} {what}": (partial(change_value, name, text), f"partition 0: {called} in Redis was")
        for name, text, what, called in VALUE_CHANGES
    },
    "a value with its digest removed": (
        partial(remove_value, "rules"),
        "partition 0: the number of the rules in Redis",
    ),
    "a registration with its digest removed": (
        partial(remove_value, "fabric:pod-0"),
        "cubes of pod-0, pod-1 in partition 0: its position",
    ),
    "registrations with digests swapped": (swap_registrations, "the registration of fabric pod-0"),
    "the digest of a value": (lambda w, _: w.value("digest:rules", "0" * 32), "the number of the rules"),
    "the digest of no value": (
        lambda w, _: w.value("digest:fabric:pod-9", "0" * 32),
        "the registration of fabric pod-9",
    ),
    "a seal": (lambda w, _: w.seal("ocs", "0" * 32), "ocs of pod-0, pod-1"),
    "a seal removed": (lambda w, _: w.seal("ocs", None), "ocs of pod-0, pod-1"),
    "sums removed": (lambda w, _: w.sums("ocs", "pod-1", None), "ocs of pod-0, pod-1"),
    "sums of another form": (lambda w, _: w.sums("ocs", "pod-1", "what"), "ocs of pod-0, pod-1"),
    "a document removed": (
        lambda w, _: w.document("pod-1", "cubes", "pod-1/cubes", None),
        "cubes of pod-1: documents of kind cubes",
    ),
    "a document added": (
        lambda w, _: w.document("pod-1", "ocs", "pod-1/ocs-1", b"{}"),
        "ocs of pod-1: documents of kind ocs",
    ),
    "a document of a shared kind removed": (
        lambda w, _: w.document("pod-0", "summaries", "pod-0/cubes", None),
        "cubes, ocs of pod-0: documents of kind summaries",
    ),
    "documents of a kind that no service has": (
        lambda w, _: w.document("pod-0", "links", "pod-0/link", b"{}"),
        "no service of pod-0: documents of kind links",
    ),
    "an outbox entry": (lambda w, _: w.outbox(entry(4, line=b"{ }")), r"an outbox entry \(ocs of pod-0\)"),
    "the kind of an entry": (lambda w, _: w.outbox(replace(entry(4), kind="OcsUp")), "an outbox entry"),
    "the source of an entry": (lambda w, _: w.outbox(replace(entry(4), source="x@pod-0")), "an outbox entry"),
    "an entry removed": (lambda w, _: w.outbox(entry(2), there=False), "an outbox entry"),
    "an entry added": (lambda w, _: w.outbox(entry(6)), "an outbox entry"),
    "an appended entry returned": (lambda w, _: w.outbox(entry(1)), "an outbox entry"),
    "lines of entries swapped": (swap_lines, "an outbox entry"),
    "the digest of removed entries": (lambda w, _: w.trimmed("0" * 65), "the digest of its outbox"),
    "the digest of removed entries emptied": (lambda w, _: w.trimmed(""), "an outbox entry"),
}


class StateDigestsContract:
    """What every store must do. A store plugs in with the fixtures `store` and `writer`."""

    def test_unchanged_content_is_accepted(self, store: Store) -> None:
        fill(store)
        check_partition(store, DIGESTS, 0)
        check_states(DIGESTS, 0, store.snapshot(0, NAMES))
        SealedOutbox(DIGESTS, 0).load(store.view(0, 1))
        assert [one.place[0] for one in store.view(0, 1).outbox] == [2, 2, 4]

    @pytest.mark.parametrize("change", CHANGES)
    def test_a_change_is_refused_with_its_place(self, store: Store, writer: Writer, change: str) -> None:
        apply, sentence = CHANGES[change]
        fill(store)
        apply(writer, store.snapshot(0, NAMES, whole=True))
        with pytest.raises(StateRefused, match=sentence):
            check_partition(store, DIGESTS, 0)

    @pytest.mark.parametrize("other", OTHERS)
    def test_states_of_another_twin_or_key_are_refused(self, store: Store, other: str) -> None:
        fill(store, OTHERS[other])
        with pytest.raises(StateRefused, match=r"or ha(s|ve) another key"):
            check_partition(store, DIGESTS, 0)

    def test_states_without_digests_are_refused(self, store: Store) -> None:
        for commit in commits():
            assert store.commit(commit)
        with pytest.raises(StateRefused, match="has no digests, because"):
            check_states(DIGESTS, 0, store.snapshot(0, NAMES))

    def test_states_of_another_partition_are_refused(self, store: Store) -> None:
        writer = SealedCommits(DIGESTS, 1)
        for commit in commits():
            assert store.commit(writer.sealed(commit, REGISTERED))
        with pytest.raises(StateRefused, match="in partition 0: its position"):
            check_partition(store, DIGESTS, 0)

    def test_the_digests_are_those_of_all_that_is_stored(self, store: Store) -> None:
        fill(store)
        check_oracle(store.snapshot(0, NAMES, whole=True), removed=(entry(1), entry(2, "cubes")))

    def test_an_image_has_the_digests_of_its_content(self, store: Store) -> None:
        memory = MemoryStore()
        for commit in commits():
            assert memory.commit(commit)
        fill(store)
        assert store.stage(sealed_image(DIGESTS, memory.image(0)), "")
        assert store.promote_staged(0)
        check_partition(store, DIGESTS, 0)
        check_oracle(store.snapshot(0, NAMES, whole=True))

    def test_of_two_sequencers_one_removes_entries(self, store: Store) -> None:
        fill(store)
        one, other = SealedOutbox(DIGESTS, 0), SealedOutbox(DIGESTS, 0)
        for relay in (one, other):
            relay.load(store.view(0, 1))
        store.trim(one.sealed(OutboxTrim(0, outbox=(entry(2),))))
        store.trim(other.sealed(OutboxTrim(0, outbox=(entry(2), entry(4)), fields={"end": "8"})))
        assert [row.place[0] for row in store.view(0, 1).outbox] == [2, 4]
        assert store.values(0)["end"] == "8"
        check_partition(store, DIGESTS, 0)

    def test_a_reader_that_begins_is_sealed(self, store: Store, writer: Writer) -> None:
        relay = SealedOutbox(DIGESTS, 0)
        relay.load(store.view(0, 1))
        guarded = tuple(GuardedFields(name, None, {name: text}) for name, text in VALUES.items())
        store.trim(relay.sealed(OutboxTrim(0, begin={"ocs": 4}, guarded=guarded)))
        assert VALUES.items() <= store.values(0).items()
        check_partition(store, DIGESTS, 0)
        writer.position("ocs", 5)
        with pytest.raises(StateRefused, match="ocs of no fabric in partition 0"):
            check_partition(store, DIGESTS, 0)

    # The test empties the store itself; the executors differ because a contract has many classes.
    @settings(
        max_examples=40,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
    )
    @given(data=st.data())
    def test_any_history_has_its_digests_and_any_single_change_is_refused(
        self, store: Store, writer: Writer, data: st.DataObject
    ) -> None:
        store.erase(0)
        sealed = SealedCommits(DIGESTS, 0)
        for position in range(1, data.draw(st.integers(1, 5)) + 1):
            commit = data.draw(random_commits(position))
            assert store.commit(sealed.sealed(commit, REGISTERED))
            if data.draw(st.booleans()):  # a restart
                sealed = SealedCommits(DIGESTS, 0)
                names = sorted(store.snapshot(0, []).sums)
                sealed.load(store.snapshot(0, names, whole=True), SERVICES)
        found = store.snapshot(0, sorted(store.snapshot(0, []).sums), whole=True)
        check_oracle(found)
        check_partition(store, DIGESTS, 0)
        service, fabric = data.draw(st.sampled_from(NAMES))
        field = data.draw(FIELDS)
        before = found.states.get((service, fabric), {}).get(field)
        value = data.draw(st.one_of(st.none(), st.binary(max_size=3)).filter(lambda new: new != before))
        writer.state(service, fabric, field, value)
        if (service, fabric) in found.sums:
            with pytest.raises(StateRefused, match=f"{service} of {fabric}"):
                check_partition(store, DIGESTS, 0)


FIELDS = st.sampled_from(["a", "b", "t/1", "t/11", "1"])


@st.composite
def random_commits(draw: st.DrawFn, position: int) -> Commit:
    """A commit of any part of two services in two fabrics."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True))
    states = []
    documents = []
    for service, fabric in names:
        written = draw(st.dictionaries(FIELDS, st.binary(max_size=3)))
        removed = draw(st.lists(FIELDS, unique=True))
        gone = tuple(name for name in removed if name not in written)
        states.append(StateChange(service, fabric, written, gone))
        for name in draw(st.lists(FIELDS, unique=True, max_size=2)):
            text = draw(st.none() | st.binary(max_size=3))
            documents.append(DocumentChange(fabric, service, name, text, service))
    return Commit(
        partition=0,
        expected={},
        positions=dict.fromkeys(SERVICES, position),
        states=tuple(states),
        documents=tuple(documents),
        progress=tuple(ServiceProgress(*name, position, position, position, 0) for name in names),
        fields=VALUES,
        outbox=tuple(
            OutboxEntry(position, fabric, service, 0, "Any", "x", draw(st.binary(max_size=3)))
            for service, fabric in names
        ),
    )


# --- the digests in another way ---

KEY = hashlib.blake2b(b"a" * 32, key=b"secret", digest_size=64).digest()


def hashed(content: bytes) -> int:
    return int.from_bytes(hashlib.sha256(KEY + content).digest()[:16], "little")


def framed(*parts: str) -> bytes:
    return b"".join(b"%d:%b" % (len(part), part.encode()) for part in parts)


def total(place: tuple[str, ...], rows: dict[str, bytes]) -> int:
    return sum(hashed(framed(*place) + framed(name) + value) for name, value in rows.items()) % 2**128


def of_entry(row: OutboxEntry) -> int:
    place = ("outbox", str(row.position), row.fabric, row.service, str(row.index), row.kind, row.source)
    return hashed(framed(*place) + framed("") + row.line)


def check_oracle(found: PartitionSnapshot, removed: tuple[OutboxEntry, ...] = ()) -> None:
    """Check every digest in a snapshot against all that is stored; `removed` are the appended entries."""
    assert found.documents is not None
    assert found.outbox is not None
    kinds: dict[tuple[str, str], int] = {}
    for key, text in found.sums.items():
        service, fabric = key
        state, emitted, software, *documents = text.split(" ")
        assert software == "-"
        assert int(state, 16) == total(("state", *key), dict(found.states[key]))
        own = [row for row in (*found.outbox, *removed) if (row.service, row.fabric) == key]
        assert int(emitted, 16) == sum(map(of_entry, own)) % 2**128
        for kind, _, number in (pair.partition("=") for pair in documents):
            kinds[fabric, kind] = kinds.get((fabric, kind), 0) + int(number)
    assert {place: n for place, n in kinds.items() if n} == {
        place: len(rows) for place, rows in found.documents.items()
    }
    for name, text in found.values.items():
        if name.startswith(("fabric:", "layout:")) or name in {"rules", "software"}:
            place = "".join(f"{len(part)}:{part}" for part in ("value", "0", name))
            assert found.values[f"digest:{name}"] == f"{hashed(f'{place}0:{text}'.encode()):032x}"
    for service, at in found.positions.items():
        lines = 0
        for (name, fabric), row in found.progress.items():
            if name == service:
                where = f"{service} {fabric} {found.values[f'fabric:{fabric}']}"
                times = f"{row.due_us} {row.ticks} {row.now_us} {row.ticked_us}"
                lines += hashed(f"line {where} {times} {found.sums[name, fabric]}".encode())
        assert found.seals[service] == f"{hashed(f'seal 0 {service} {at} {lines % 2**128}'.encode()):032x}"
    gone = sum(map(of_entry, removed)) % 2**128
    assert found.trimmed == (f"{gone:032x} {hashed(f'trimmed 0 {gone}'.encode()):032x}" if removed else "")


def each(*command: str, texts: Sequence[str | bytes]) -> list[list[str | bytes]]:
    return [[*command, text] for text in texts]


HEAD = layout.key(0, "progress")
UNREADABLE: list[list[str | bytes]] = [
    *each("HSET", HEAD, "generation", texts=("inf", "nan", "abc", "1_0", "07", "", "1e3", b"\xff")),
    ["HSET", HEAD, "at:ocs", "07"],
    ["HSET", HEAD, "at:ocs", "x"],
    ["HSET", HEAD, "value:end", "abc"],
    ["HSET", HEAD, "at:ocs", b"\xff"],
    ["HSET", HEAD, "due:ocs@pod-0", "soon"],
    ["HSET", HEAD, "ticks:ocs@pod-0", "02"],
    ["HDEL", HEAD, "due:ocs@pod-0"],
    ["HSET", HEAD, b"value:\xff", "1"],
    ["HSET", HEAD, "value:fabric:pod-0", b"\xff"],
    ["HSET", HEAD, "sums:ocs@pod-0", b"\xff"],
    ["HSET", layout.state_key(0, "ocs", "pod-0"), b"\xff", "1"],
    ["HSET", layout.documents_key(0, "pod-0", "ocs"), b"\xff", "1"],
    ["HSET", layout.key(0, "docs:\xff"), "a", "1"],
    ["HSET", layout.key(0, "outbox"), "what", "1"],
    ["HSET", layout.key(0, "outbox"), b"\xff", b"\xff"],
    ["SET", HEAD, "x"],
    ["SET", layout.key(0, "outbox"), "x"],
    ["SET", layout.state_key(0, "ocs", "pod-0"), "x"],
    ["SET", layout.documents_key(0, "pod-0", "ocs"), "x"],
]
INBOX = layout.key(0, "inbox")


def added_drain(number: str) -> list[str | bytes]:
    """The command that adds a request to the inbox under this number."""
    return ["XADD", INBOX, number, "type", "DrainCube", "body", '{"cube":"pod-0/cube-1"}', "fabric", "pod-0"]


INBOX_ROWS: list[list[str | bytes]] = [
    ["XADD", INBOX, "NEXT-0", "type", b"\xff", "body", "{}"],
    ["XADD", INBOX, "NEXT-0", "type", "DrainCube", "body", b"\xff", "fabric", "pod-0"],
    ["XADD", INBOX, "NEXT-0", "type", "DrainCube", "body", "{}", "fabric", b"\xff"],
    ["XADD", INBOX, "NEXT-0", "none", "x"],
    *(
        added_drain(number)
        for number in (
            "NEXT-5",
            f"{2**53 - 2**40 - 1}-0",
            f"{2**53}-0",
            f"{2**64 - 1}-0",
            f"{2**64 - 1}-{2**64 - 1}",
        )
    ),
    *each("SET", layout.key(0, "inbox:last"), texts=("abc", "inf", "nan", "9" * 16, "9" * 40, "-1")),
    ["HSET", layout.key(0, "inbox:keys"), "k", "v"],
    ["HSET", layout.key(0, "inbox:keys"), "k2", "v"],
    ["HSET", layout.key(0, "inbox:keys"), b"\xff", b"\xff"],
    *each("HSET", layout.key(0, "inbox:askers"), "", texts=("abc", "inf", "-5", "1e3")),
]


class TestMemoryStore(StateDigestsContract):
    """In memory, as the reference."""

    @pytest.fixture
    def store(self) -> MemoryStore:
        return MemoryStore()

    @pytest.fixture
    def writer(self, store: MemoryStore) -> MemoryWriter:
        return MemoryWriter(store)


class TestRedisStore(StateDigestsContract):
    """On Redis."""

    @pytest.fixture
    def store(self, redis_url: str) -> Iterator[RedisStore]:
        store = RedisStore(redis_url)
        yield store
        store.close()

    @pytest.fixture
    def writer(self, store: RedisStore) -> RedisWriter:
        return RedisWriter(store)

    @pytest.mark.parametrize("command", UNREADABLE, ids=str)
    def test_what_no_commit_writes_is_refused_and_replaced(
        self, store: RedisStore, command: list[str | bytes]
    ) -> None:
        """With one sentence for readers. A rebuild replaces it, with a generation that no process has."""
        fill(store)
        image = sealed_image(DIGESTS, memory_image())
        change(store, command)
        with pytest.raises(StateRefused, match=r"^.+; `lightwave .+ from the log.*$") as refused:
            check_partition(store, DIGESTS, 0)
        assert "Error(" not in str(refused.value)
        assert store.stage(image, "")
        assert store.promote_staged(0)
        store.discard_staged(0)
        check_partition(store, DIGESTS, 0)
        generation = store.snapshot(0, []).generation
        assert generation > 0
        at = dict(store.positions(0))
        assert store.commit(Commit(0, at, at, generation=generation))

    def test_a_whole_snapshot_has_documents_that_a_scan_misses(
        self, store: RedisStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A commit may write the first document of a kind during the scan. Nothing blocks the server."""
        fill(store)
        change(store, ["CONFIG", "RESETSTAT"])
        whole = store.snapshot(0, NAMES, whole=True)
        with redis.Redis.from_url(store.url) as client:
            assert "cmdstat_keys" not in client.info("commandstats")
        assert {("pod-0", "summaries"), ("pod-0", "ocs")} <= {*(whole.documents or {})}
        monkeypatch.setattr(store, "_document_keys", lambda _: [])
        assert store.snapshot(0, NAMES, whole=True) == whole
        check_partition(store, DIGESTS, 0)

    def test_a_pointer_of_another_type_does_not_block_a_rebuild(self, store: RedisStore) -> None:
        fill(store)
        change(store, ["SET", layout.key(0, "staged"), "x"])
        assert store.stage(sealed_image(DIGESTS, memory_image()), "")
        assert store.promote_staged(0)
        check_partition(store, DIGESTS, 0)

    @pytest.mark.parametrize("command", INBOX_ROWS, ids=str)
    def test_what_something_else_wrote_into_the_inbox_never_stops_commits(
        self, store: RedisStore, command: list[str | bytes]
    ) -> None:
        """What the inbox cannot have made is removed; numbers and keys are counted on."""
        first = store.put(0, "pod-0", request("k1"))
        entry = f"{first.number + 1}-"
        change(store, [part.replace("NEXT-", entry) if isinstance(part, str) else part for part in command])
        assert failure(lambda: store.put(0, "pod-0", request("k2"))) == ""
        second = store.put(0, "pod-0", request("k2")).number
        assert [row.number for row in store.waiting(0, 9)] == [first.number, second]
        assert [row.number for row in store.view(0, 9).waiting] == [first.number, second]
        assert store.size(0) == 2
        store.record_logged(0, [])
        store.raise_last_number(0, 5)
        store.discard_after(0, lambda: 0)
        assert store.commit(Commit(0, {}, {}, inbox_taken=first.number))
        assert store.put(0, "pod-0", request("k2")).number == second > first.number
        assert store.put(0, "pod-0", request("k3")).number > second

    @pytest.mark.parametrize("command", [one for one in INBOX_ROWS if one[0] == "XADD"], ids=str)
    def test_readers_remove_what_the_inbox_cannot_have_made(
        self, store: RedisStore, command: list[str | bytes], caplog: pytest.LogCaptureFixture
    ) -> None:
        first = store.put(0, "pod-0", request("k1"))
        entry = f"{first.number + 1}-"
        change(store, [part.replace("NEXT-", entry) if isinstance(part, str) else part for part in command])
        assert [row.number for row in store.waiting(0, 9)] == [first.number]
        assert "inbox lightwave:{0}:inbox: removed request" in caplog.text
        assert store.size(0) == 1
        assert store.put(0, "pod-0", request("k2")).number > first.number

    def test_a_row_of_fabrics_that_cannot_be_read_is_named(self, store: RedisStore) -> None:
        for text in ("garbage", b"\xff", "0 pod-0 superpod x", "a pod-0 superpod", ""):
            change(store, ["HSET", layout.FABRICS, "pod-0", text])
            with pytest.raises(
                OperationFailed, match="lightwave:fabrics in Redis has a row that the twin did"
            ):
                store.fabrics()


def change(store: RedisStore, command: list[str | bytes]) -> None:
    """Run a command behind the twin's back, in place of what has that key if it sets a string."""
    with redis.Redis.from_url(store.url) as client:
        client.execute_command(*command)


def request(key: str) -> DrainCube:
    return DrainCube(cube="pod-0/cube-1", key=key)


def failure(operation: Callable[[], object]) -> str:
    """What OperationFailed says; empty if the operation succeeds."""
    try:
        operation()
    except OperationFailed as failed:
        return str(failed)
    return ""


def memory_image() -> Commit:
    memory = MemoryStore()
    for commit in commits():
        assert memory.commit(commit)
    return memory.image(0)
