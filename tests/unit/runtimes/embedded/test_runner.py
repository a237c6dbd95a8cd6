"""One fabric of the embedded runtime: its stored data, and recovery after a crash at every point."""

import copy
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from schemas.envelope import Envelope
from schemas.messages.operator import DrainCube, InjectFault, RequestSlice
from schemas.registry import decode, encode
from services.fabric_kinds import services_of
from shared.basics.errors import LogDamaged, OperationFailed, ServiceFailed, UpgradeNeeded
from shared.engine.code_version import RULES, StateCodeVersion, recorded_code_version
from shared.engine.message_order import Request, is_root
from shared.engine.service import AnyService, Output, on
from shared.engine.state_layout import state_layouts
from shared.runtimes.embedded import site_runner as runner_module
from shared.runtimes.embedded.site_runner import Fenced
from shared.storage.store.memory_store import MemoryStore
from shared.storage.store.state_digests import StateDigests
from shared.storage.store.state_store import Commit
from tests.support.pods import POD, SUPERPOD, first_message, next_tick, pod_place
from tests.support.runner_twin import BUSY, CONFIG, RunnerTwin, check_whole, copied, run_steps, stored_data
from tests.support.toy_services import CUBES_TOY, PERIOD_US, TOYS, ToyState, toy

# --- going on -----------------------------------------------------------------------------------------------


def test_every_root_is_one_commit_of_everything(tmp_path: Path) -> None:
    services = tuple(toy(s.name, s.rules, due=s.due) for s in TOYS)
    twin = run_steps(tmp_path, 0, services)
    for n in range(8):
        twin.step()
        assert twin.runner.commits == n + 2
    assert max(row.now_us for row in twin.store.progress(0).values()) == twin.runner.site.now_us
    assert twin.runner.position == len(twin.log.splitlines())


def test_a_request_leaves_the_inbox_with_the_commit_that_took_it(tmp_path: Path) -> None:
    twin = run_steps(tmp_path, 2)
    received = twin.store.put(0, "pod-0", DrainCube(cube="pod-0/cube-1"))
    (waiting,) = twin.store.waiting(0, 10)
    twin.step()
    assert twin.store.size(0) == 0
    line = next(line for line in twin.log.splitlines() if b'"DrainCube"' in line)
    assert decode(line).id == f"operator@pod-0/{received.number}"
    before = twin.log
    assert twin.runner.step(waiting, 10**9)  # delivered once more: the log contains it already
    assert twin.log == before


@pytest.mark.parametrize("restarted", [False, True])
def test_requests_and_due_ticks_take_turns_across_restarts(tmp_path: Path, restarted: bool) -> None:
    """The clock is far ahead, so that a Tick is always due."""
    twin = run_steps(tmp_path, 0)
    for n in range(12):
        twin.store.put(0, "pod-0", DrainCube(cube=f"pod-0/cube-{n % 3}"))
    while twin.store.size(0):
        twin.runner.step(twin.store.waiting(0, 1)[0], 100 * PERIOD_US)
        if restarted:
            twin.stop()
            twin.start()
    roots = [m.type for m in map(decode, twin.log.splitlines()[1:]) if is_root(m)]
    assert roots == ["DrainCube", "Tick"] * 11 + ["DrainCube"]


def test_every_message_is_reported_once_committed(tmp_path: Path) -> None:
    twin = RunnerTwin(tmp_path)
    told: list[str] = []
    twin.start(on_append=lambda messages: told.extend(m.id for m in messages))
    runner = twin.runner
    runner.take(first_message(CONFIG))
    runner.take(next_tick(runner.site))
    assert told == [decode(line).id for line in twin.log.splitlines()]
    assert len(told) == 6


def test_a_failing_service_changes_neither_log_nor_store(tmp_path: Path) -> None:
    def divide(state: ToyState, body: DrainCube, message: Envelope) -> list[Output]:
        raise ZeroDivisionError("division by zero")

    broken = toy("ocs", (*TOYS[1].rules, on(DrainCube, divide)), due=TOYS[1].due)
    twin = run_steps(tmp_path, 3, (CUBES_TOY, broken, TOYS[2]))
    before, log = copy.deepcopy(stored_data(twin.store)), twin.log
    twin.store.put(0, "pod-0", DrainCube(cube="pod-0/cube-1"))
    with pytest.raises(ServiceFailed, match="ocs of pod-0 raised ZeroDivisionError"):
        twin.step()
    assert twin.log == log
    assert stored_data(twin.store) | {"inbox": []} == before


def test_a_full_disk_leaves_the_store_behind_no_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    twin = run_steps(tmp_path, 3)
    before = copy.deepcopy(stored_data(twin.store))

    def full(*_: object) -> None:
        raise OperationFailed("log file: No space left on device")

    monkeypatch.setattr(twin.runner._log, "append", full)
    with pytest.raises(OperationFailed, match="No space left"):
        twin.step()
    assert stored_data(twin.store) == before
    monkeypatch.undo()
    assert twin.runner.recover() == 0
    twin.step()
    twin.stop()
    other = run_steps(tmp_path / "other", 4)
    assert other.log == twin.log
    assert other.runner.digest() == twin.runner.digest()


# --- recovery -----------------------------------------------------------------------------------------------


def check_recovery(
    folder: Path,
    twin: RunnerTwin,
    before: MemoryStore,
    start: int,
    cuts: list[int],
    again: Callable[[RunnerTwin], None],
) -> None:
    """`twin` wrote its last cascade from byte `start` on, when the store contained `before`. Cut its log
    after each of `cuts` bytes, as a crash may, and recover. If the root itself was lost, continue with
    `again`."""
    whole, digest, instance = twin.log, twin.runner.digest(), stored_data(twin.store)
    root_end = whole.index(b"\n", start) + 1
    for n, cut in enumerate(cuts):
        crashed = RunnerTwin(folder / str(n), twin.services, copied(before))
        crashed.path.write_bytes(whole[:cut])
        folded = crashed.start()
        if cut < root_end:
            assert folded == 0
            assert crashed.log == whole[:start]
            again(crashed)
        else:
            assert folded == whole[start:].count(b"\n")
        assert crashed.log == whole, cut
        assert crashed.runner.digest() == digest
        assert stored_data(crashed.store) == instance
        crashed.stop()


@pytest.mark.parametrize("root", ["tick", "request"])
def test_a_crash_after_any_byte_of_the_log_loses_nothing(tmp_path: Path, root: str) -> None:
    twin = run_steps(tmp_path / "whole", 6)
    while twin.runner.site.earliest() is not twin.runner.site.instance(POD, "cubes"):
        twin.step()
    if root == "request":
        twin.store.put(0, "pod-0", DrainCube(cube="pod-0/cube-1"))
    before, start = copied(twin.store), len(twin.log)
    twin.step()
    end = len(twin.log)
    assert end - start > 300
    check_recovery(tmp_path, twin, before, start, [*range(start, end + 1)], RunnerTwin.step)
    check_whole(twin)


def test_the_real_services_lose_nothing_around_any_line_of_a_long_cascade(tmp_path: Path) -> None:
    twin = run_steps(tmp_path / "whole", 60, SUPERPOD, BUSY)
    for body in (
        RequestSlice(shape=(4, 4, 8), duration_us=10**9),
        InjectFault(kind="ocs", target="pod-0/ocs-17"),
        InjectFault(kind="ocs", target="pod-0/ocs-1"),
    ):
        twin.store.put(0, "pod-0", body)
        before, start = copied(twin.store), len(twin.log)
        twin.step()
    check_whole(twin)
    ends = [n + 1 for n in range(start, len(twin.log)) if twin.log[n] == ord("\n")]
    assert len(ends) >= 4
    cuts = sorted(
        {cut for end in [start, *ends] for cut in (end - 1, end, end + 20) if start <= cut <= ends[-1]}
    )
    check_recovery(tmp_path, twin, before, start, cuts, RunnerTwin.step)


@pytest.mark.parametrize("stride", [1, 3, 10, 2_000])
@pytest.mark.parametrize("behind", [1, 2, 7, 20])
def test_a_store_that_is_many_roots_behind_catches_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stride: int, behind: int
) -> None:
    monkeypatch.setattr(runner_module, "REBUILD_STRIDE", stride)
    twin = run_steps(tmp_path, 0)
    stores = []
    for n in range(20):
        stores.append(copied(twin.store))
        if n % 4 == 3:
            twin.store.put(0, "pod-0", DrainCube(cube=f"pod-0/cube-{n % 3}"))
        twin.step()
    log, digest, instance = twin.log, twin.runner.digest(), copy.deepcopy(stored_data(twin.store))
    twin.stop()
    twin.store = stores[-behind]
    twin.store.place(POD, pod_place())
    missing = len(log.splitlines()) - twin.store.positions(0)["cubes"]
    assert twin.start() == missing
    assert twin.log == log
    assert twin.runner.digest() == digest
    assert stored_data(twin.store) == instance
    assert twin.runner.commits >= (missing // 6 if stride == 1 else 1)
    check_whole(twin)


@pytest.mark.parametrize("services", [TOYS, SUPERPOD], ids=["toys", "superpod"])
@pytest.mark.parametrize("how", ["empty", "rebuild"])
def test_all_states_are_rebuilt_from_the_log_alone(
    tmp_path: Path, services: tuple[AnyService, ...], how: str
) -> None:
    twin = run_steps(tmp_path, 60, services, BUSY)
    log, digest, instance = twin.log, twin.runner.digest(), copy.deepcopy(stored_data(twin.store))
    if how == "empty":
        twin.stop()
        twin.store = MemoryStore()
        twin.store.place(POD, pod_place())
        assert twin.start() == len(log.splitlines())
    else:
        twin.store._partitions[0].documents["pod-0", "toys"]["stale"] = b"{}"
        assert twin.runner.rebuild() == len(log.splitlines())
    assert twin.log == log
    assert twin.runner.digest() == digest
    assert stored_data(twin.store) == instance
    check_whole(twin)
    twin.step()
    check_whole(twin)


def test_requests_that_wait_survive_a_rebuild(tmp_path: Path) -> None:
    twin = run_steps(tmp_path, 5)
    twin.store.put(0, "pod-0", DrainCube(cube="pod-0/cube-1"))
    twin.runner.rebuild()
    assert twin.store.size(0) == 1
    twin.step()
    assert b'"CubeDrained"' in twin.log
    assert twin.store.size(0) == 0


# --- log and states that do not belong together -------------------------------------------------------------


def test_a_log_that_is_shorter_than_the_states_is_reported(tmp_path: Path) -> None:
    twin = run_steps(tmp_path, 5)
    twin.stop()
    lines = twin.log.splitlines(keepends=True)
    twin.path.write_bytes(b"".join(lines[:-2]))
    with pytest.raises(
        LogDamaged,
        match=rf"^pod-0: its states have read {len(lines)} messages, but .*pod-0\.jsonl contains only "
        rf"{len(lines) - 2}: the log lost its end; `lightwave up --rebuild` accepts it as it is$",
    ):
        twin.start()
    twin.runner.rebuild()
    # The missing part of the last cascade was written again, unchanged.
    assert twin.log == b"".join(lines)
    check_whole(twin)


def test_a_tail_that_its_services_do_not_emit_is_reported(tmp_path: Path) -> None:
    twin = run_steps(tmp_path, 6)
    before = copied(twin.store)
    twin.step()
    twin.stop()
    lines = twin.log.splitlines(keepends=True)
    message = decode(lines[-1])
    lines[-1] = encode(message.model_copy(update={"at_us": message.at_us + 1})) + b"\n"
    twin.path.write_bytes(b"".join(lines))
    twin.store = before
    with pytest.raises(
        LogDamaged,
        match=rf"differs from what its services emit: position {len(lines) - 1}: expected \{{.*, found \{{",
    ):
        twin.start()


def test_services_at_different_positions_are_reported(tmp_path: Path) -> None:
    twin = run_steps(tmp_path, 6)
    twin.stop()
    position = twin.runner.position
    assert twin.store.commit(Commit(0, {}, {"ocs": position - 1}))
    with pytest.raises(
        LogDamaged, match=rf"pod-0: its services are at different positions \[{position - 1}, {position}\]"
    ):
        twin.start()


def test_a_state_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    twin = run_steps(tmp_path, 6)
    twin.stop()
    twin.store._partitions[0].states["ocs", "pod-0"]["readings"] = b"rubbish"
    with pytest.raises(LogDamaged, match="field readings is missing or unreadable"):
        twin.start()
    digest = twin.runner.digest()
    twin.runner.rebuild()
    assert twin.runner.digest() != digest
    check_whole(twin)


GARBAGE = [b"not json", b"{}", b"", b"[1,2]", b'{"type":"Nonsense"}', b"\xff\xfe\x00", b'"' + b"x" * 5_000]


def test_garbage_in_the_log_goes_to_dead_letters_and_stops_nothing(tmp_path: Path) -> None:
    """At any position: before the first message, between cascades, and in the middle of one."""
    clean = run_steps(tmp_path / "clean", 12)
    digest, lines = clean.runner.digest(), clean.log.splitlines()
    clean.stop()
    dirty = RunnerTwin(tmp_path / "dirty")
    places = [0, 1, 3, 7, 8, len(lines) - 1, len(lines)]
    mixed = [*lines]
    for place, line in reversed([*zip(places, GARBAGE, strict=True)]):
        mixed.insert(place, line)
    dirty.path.write_bytes(b"".join(line + b"\n" for line in mixed))
    assert dirty.start() == len(mixed)
    assert dirty.runner.digest() == digest
    assert dirty.letters.count() == len(GARBAGE)
    origins = [f"pod-0:{n}" for n, line in enumerate(mixed) if line in GARBAGE]
    assert [letter.origin for letter in dirty.letters.read()] == origins
    assert dirty.log.splitlines() == mixed
    dirty.step()
    dirty.runner.rebuild()
    assert dirty.letters.count() == len(GARBAGE)
    check_whole(dirty)


# --- somebody else commits ----------------------------------------------------------------------------------


def test_a_runner_is_fenced_when_another_one_committed(tmp_path: Path) -> None:
    one = run_steps(tmp_path / "one", 4)
    other = RunnerTwin(tmp_path / "other", store=one.store)
    other.path.write_bytes(one.log)
    other.start()
    other.step()
    instance = copy.deepcopy(stored_data(one.store))
    position = one.runner.position
    with pytest.raises(Fenced, match=f"pod-0: the store is no longer at position {position}"):
        one.step()
    assert stored_data(one.store) == instance
    # Its log contains the same cascade, because nothing else could follow.
    assert one.runner.recover() == 0
    assert one.log == other.log
    check_whole(one)


def test_a_store_that_went_back_is_noticed_and_caught_up(tmp_path: Path) -> None:
    """A killed server may have lost data that it had not written yet."""
    twin, other = run_steps(tmp_path / "one", 4), run_steps(tmp_path / "other", 9)
    older = copied(twin.store)
    for _ in range(3):
        twin.step()
    twin.store._partitions = older._partitions
    with pytest.raises(Fenced):
        twin.step()
    assert twin.runner.recover() > 0
    twin.step()
    assert twin.log == other.log
    assert twin.runner.digest() == other.runner.digest()
    check_whole(twin)


@pytest.mark.parametrize("steps", [1, 7])
def test_an_emptied_store_is_rebuilt_with_a_note(tmp_path: Path, steps: int) -> None:
    """At the next start, and while the twin runs. Only a twin that was killed at its very first commit starts
    without states by itself."""
    digests, notes = StateDigests("", b"secret"), list[str]()
    twin = run_steps(tmp_path / "one", steps)
    twin.start(digests=digests, on_refused=notes.append)
    notes.clear()  # its states had no digests
    before = twin.runner.digest()
    sentence = f"pod-0: Redis had no states, although its log has {twin.runner.position} messages; its states"
    for restarts in (True, False):
        twin.store._partitions.clear()
        if restarts:
            twin.start(digests=digests, on_refused=notes.append)
        else:
            with pytest.raises(Fenced):
                twin.step()
            twin.runner.recover()
            sentence = sentence.replace(" messages", f" {twin.runner.position}").split(" has ")[0]
        assert [note for note in notes if note.startswith(sentence)] == notes
        assert len(notes) == 1
        notes.clear()
        check_whole(twin)
        if restarts:
            assert twin.runner.digest() == before


def test_a_twin_killed_at_its_first_commit_is_no_emptied_one(tmp_path: Path) -> None:
    notes = list[str]()
    twin = run_steps(tmp_path / "one", 0)
    twin.store._partitions.clear()
    twin.start(digests=StateDigests("", b"secret"), on_refused=notes.append)
    assert twin.runner.position > 0
    assert notes == []


def test_a_service_put_back_to_an_earlier_commit_with_its_digests_is_rebuilt(tmp_path: Path) -> None:
    digests, notes = StateDigests("", b"secret"), list[str]()
    twin = run_steps(tmp_path / "one", 3)
    twin.start(digests=digests)
    twin.step()
    older = copied(twin.store)._partitions[0]
    for _ in range(4):
        twin.step()
    before = twin.runner.digest()
    for number, service in enumerate(sorted(older.positions), start=1):
        kept = copied(twin.store)._partitions[0]
        for part in ("states", "progress", "sums"):
            rows = getattr(older, part)
            getattr(kept, part).update({key: rows[key] for key in rows if key[0] == service})
        kept.positions[service], kept.seals[service] = older.positions[service], older.seals[service]
        twin.store._partitions[0] = kept
        twin.start(digests=digests, on_refused=notes.append)
        assert len(notes) == number, service
        assert twin.runner.digest() == before
        check_whole(twin)


def test_a_dropped_request_is_logged_and_later_ones_are_taken(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """One whose number is not above those on the log. It must not block or drop what is sent later."""
    twin = run_steps(tmp_path / "one", 1)
    body = DrainCube(cube="pod-0/cube-1")
    last = twin.store.put(0, POD, body).number
    twin.step()
    assert not twin.store.waiting(0, 1)
    twin.store._partitions[0].last_number = 0
    twin.store._partitions[0].inbox.append(Request(last - 1, POD, body))
    twin.step()
    assert not twin.store.waiting(0, 1)
    assert f"dropping request {last - 1} (DrainCube)" in caplog.text
    assert twin.store.put(0, POD, body).number > last


# --- which code made the states -----------------------------------------------------------------------------


def test_states_of_another_build_of_the_same_rules_are_continued(tmp_path: Path) -> None:
    twin = RunnerTwin(tmp_path)
    twin.start(software="1.0+one")
    twin.runner.take(first_message(CONFIG))
    assert recorded_code_version(twin.store.values(0)) == StateCodeVersion(
        RULES, state_layouts(TOYS), "1.0+one"
    )
    twin.stop()
    twin.start(software="1.0+two")
    twin.step()
    assert recorded_code_version(twin.store.values(0)) == StateCodeVersion(
        RULES, state_layouts(TOYS), "1.0+two"
    )


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"rules": str(RULES - 1)}, f"are of rules {RULES - 1}, by 1.0+one, and this is 1.0+two of rules"),
        ({"rules": str(RULES + 1)}, "which are older: start it with that version"),
        (
            {"layout:cubes": "another"},
            "1.0+two stores those of cubes in another layout: run `lightwave upgrade`",
        ),
        ({"rules": None}, "were written before rules had a number"),
    ],
)
def test_states_of_other_rules_or_another_format_are_refused_until_rebuilt(
    tmp_path: Path, values: dict[str, str | None], sentence: str
) -> None:
    twin = RunnerTwin(tmp_path, tuple(services_of("superpod")))
    twin.start(software="1.0+one")
    twin.runner.take(first_message(CONFIG))
    position = twin.runner.position
    at = dict.fromkeys(twin.store.positions(0), position)
    assert twin.store.commit(Commit(0, at, at, fields=values))
    before = copy.deepcopy(stored_data(twin.store))
    twin.stop()
    with pytest.raises(UpgradeNeeded, match=re.escape(sentence)):
        twin.start(software="1.0+two")
    assert stored_data(twin.store) == before
    assert twin.runner.rebuild() == position
    assert recorded_code_version(twin.store.values(0)) == StateCodeVersion(
        RULES, state_layouts(twin.services), "1.0+two"
    )
