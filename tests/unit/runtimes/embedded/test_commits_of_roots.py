"""Several root messages in one commit: what readers see, and what a crash loses."""

import copy
import math
import threading
import time
from pathlib import Path

import pytest

from schemas.envelope import Envelope
from schemas.messages.operator import DrainCube
from schemas.registry import decode
from shared.basics.errors import ServiceFailed, StoreUnreachable
from shared.engine.message_order import is_root
from shared.engine.service import Output, on
from shared.runtimes.embedded import uncommitted_roots
from shared.runtimes.embedded.embedded_clock import EmbeddedClock
from shared.runtimes.embedded.twin_loop import EmbeddedTwin
from shared.runtimes.embedded.uncommitted_roots import COMMIT_S_MAX, UncommittedRoots
from shared.storage.log.frame_files import TelemetryFolder
from shared.storage.store.memory_store import MemoryStore
from shared.storage.store.state_store import Commit
from tests.support.pods import SUPERPOD, first_message, next_tick
from tests.support.runner_twin import BUSY, CONFIG, RunnerTwin, check_whole, copied, run_steps, stored_data
from tests.support.toy_services import CUBES_TOY, PERIOD_US, TOYS, ToyState, toy

ROOTS = 6
MANY = 10**6


@pytest.fixture(autouse=True)
def without_haste(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow machine must not commit earlier than the others."""
    monkeypatch.setattr(uncommitted_roots, "COMMIT_S_MAX", math.inf)


def together(folder: Path, before: RunnerTwin, roots: int = MANY) -> RunnerTwin:
    """A twin that continues from another one, and commits several roots together."""
    twin = RunnerTwin(folder, before.services, copied(before.store))
    twin.path.write_bytes(before.log)
    assert twin.start(roots_per_commit=roots) == 0
    return twin


def test_a_commit_has_the_roots_of_many_and_the_same_log_and_states(tmp_path: Path) -> None:
    twin = together(tmp_path / "one", run_steps(tmp_path / "begin", 0, SUPERPOD, BUSY), ROOTS)
    for _ in range(10 * ROOTS):
        twin.step()
    assert twin.runner.commits == 10
    check_whole(twin)
    other = run_steps(tmp_path / "other", 10 * ROOTS, SUPERPOD, BUSY)
    assert twin.log == other.log
    assert stored_data(twin.store) == stored_data(other.store)


def test_nothing_of_a_root_is_visible_before_its_commit(tmp_path: Path) -> None:
    twin = run_steps(tmp_path, 3)
    frames, told = TelemetryFolder(tmp_path / "telemetry", share_max=math.inf), list[Envelope]()
    twin.start(roots_per_commit=MANY, telemetry=frames, on_append=told.extend)
    runner, log, stored = twin.runner, twin.log, copy.deepcopy(stored_data(twin.store))
    due_us = runner.due_us()
    for _ in range(ROOTS):
        twin.step()
    assert (twin.log, stored_data(twin.store), told, frames.latest("pod-0")) == (log, stored, [], None)
    assert (runner.due_us(), runner.processed_us(10**12), runner.is_quiet()) == (due_us, due_us, True)
    reached_us = runner.next_due_us()
    assert due_us is not None
    assert reached_us is not None
    assert reached_us == runner.reached_us(10**12) > due_us
    runner.commit()
    assert (runner.due_us(), runner.commits) == (reached_us, 1)
    assert [decode(line) for line in twin.log[len(log) :].splitlines()] == told
    newest = max(
        message.at_us for message in told if is_root(message) and message.source.startswith("tick.cubes")
    )
    assert frames.latest("pod-0") == f"cubes {newest} 1".encode()
    check_whole(twin)
    runner.commit()
    assert runner.commits == 1, "there is nothing to commit"


def test_a_document_is_rendered_once_per_commit(tmp_path: Path) -> None:
    class Counting(MemoryStore):
        documents = 0

        def commit(self, commit: Commit) -> bool:
            self.documents += len(commit.documents)
            return super().commit(commit)

    counts = []
    for roots in (1, 20):
        store = Counting()
        twin = RunnerTwin(tmp_path / str(roots), store=store)
        twin.start(roots_per_commit=roots)
        twin.runner.take(first_message(CONFIG))
        store.documents = 0
        for _ in range(20):
            twin.step()
        counts.append(store.documents)
    assert counts[1] == len(twin.store.all("pod-0", "toys")) < counts[0] / 3


def test_a_request_is_committed_at_once_with_the_roots_before_it(tmp_path: Path) -> None:
    twin = together(tmp_path / "one", run_steps(tmp_path / "begin", 2))
    for _ in range(3):
        twin.step()
    assert twin.runner.commits == 0
    twin.store.put(0, "pod-0", DrainCube(cube="pod-0/cube-1"))
    twin.step()
    assert (twin.runner.commits, twin.store.size(0)) == (1, 0)
    assert decode(twin.log.splitlines()[-1]).type == "CubeDrained"
    check_whole(twin)


def test_a_crash_around_any_line_of_a_commit_of_several_roots_loses_nothing(tmp_path: Path) -> None:
    """The twin dies between two roots, or while it writes their lines, or before the states are stored."""
    twin = together(tmp_path / "whole", run_steps(tmp_path / "begin", 6))
    before, start = copied(twin.store), len(twin.log)
    for _ in range(ROOTS):
        twin.step()
    twin.runner.commit()
    whole, digest, stored = twin.log, twin.runner.digest(), stored_data(twin.store)
    ends = [n + 1 for n in range(start, len(whole)) if whole[n] == ord("\n")]
    roots = [is_root(decode(line)) for line in whole[start:].splitlines()]
    assert sum(roots) == ROOTS
    cuts = {start, *(cut for end in ends for cut in (end - 1, end, end + 20) if cut <= len(whole))}
    for n, cut in enumerate(sorted(cuts)):
        crashed = RunnerTwin(tmp_path / str(n), twin.services, copied(before))
        crashed.path.write_bytes(whole[:cut])
        logged = sum(roots[: sum(end <= cut for end in ends)])
        folded = crashed.start(roots_per_commit=MANY)
        check_whole(crashed)
        assert sum(is_root(decode(line)) for line in crashed.log[start:].splitlines()) == logged
        assert folded == crashed.log[start:].count(b"\n")
        for _ in range(ROOTS - logged):
            crashed.step()
        crashed.runner.commit()
        assert (crashed.log, crashed.runner.digest()) == (whole, digest)
        assert stored_data(crashed.store) == stored
        crashed.stop()


@pytest.mark.parametrize("processed", range(ROOTS))
def test_a_twin_that_is_killed_between_roots_repeats_them(tmp_path: Path, processed: int) -> None:
    begin = run_steps(tmp_path / "begin", 4)
    killed = together(tmp_path / "one", begin, ROOTS)
    frames = TelemetryFolder(tmp_path / "telemetry", share_max=math.inf)
    killed.start(roots_per_commit=ROOTS, telemetry=frames)
    for _ in range(processed):
        killed.step()
    assert (killed.log, frames.latest("pod-0")) == (begin.log, None)
    killed.stop()
    assert killed.start(roots_per_commit=ROOTS) == 0
    for _ in range(ROOTS):
        killed.step()
    other = run_steps(tmp_path / "other", 4 + ROOTS)
    assert killed.log == other.log
    assert stored_data(killed.store) == stored_data(other.store)


def test_a_failing_service_leaves_the_roots_before_it_on_the_log(tmp_path: Path) -> None:
    def divide(state: ToyState, body: DrainCube, message: Envelope) -> list[Output]:
        raise ZeroDivisionError("division by zero")

    broken = toy("ocs", (*TOYS[1].rules, on(DrainCube, divide)), due=TOYS[1].due)
    begin = run_steps(tmp_path / "begin", 3, (CUBES_TOY, broken, TOYS[2]))
    twin, stored = together(tmp_path / "one", begin), copy.deepcopy(stored_data(begin.store))
    for _ in range(ROOTS):
        twin.step()
    twin.store.put(0, "pod-0", DrainCube(cube="pod-0/cube-1"))
    with pytest.raises(ServiceFailed):
        twin.step()
    logged = twin.log
    assert sum(is_root(decode(line)) for line in logged[len(begin.log) :].splitlines()) == ROOTS
    assert stored_data(twin.store) | {"inbox": []} == stored
    twin.stop()
    assert twin.start() == logged[len(begin.log) :].count(b"\n")
    check_whole(twin)


def test_roots_wait_for_their_commit_only_so_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uncommitted_roots, "COMMIT_S_MAX", COMMIT_S_MAX)
    now_s = [100.0]
    roots = UncommittedRoots(lambda: now_s[0])
    now_s[0] += 10.0
    assert not roots.is_overdue()
    message = next_tick(run_steps(tmp_path, 0).runner.site)
    roots.add([message], [b""])
    now_s[0] += 0.9 * COMMIT_S_MAX
    roots.add([message], [b""])
    assert not roots.is_overdue()
    now_s[0] += 0.2 * COMMIT_S_MAX
    assert roots.is_overdue()


# --- the loop -----------------------------------------------------------------------------------------------


class Looped:
    """A twin whose loop always has a due Tick, because its clock is far ahead."""

    def __init__(self, folder: Path, store: MemoryStore | None = None) -> None:
        self.twin = RunnerTwin(folder, store=store)
        self.twin.start(roots_per_commit=MANY)
        self.runner = self.twin.runner
        self.runner.take(first_message(CONFIG))
        self.clock = EmbeddedClock(speed=1e9)
        self.loop = EmbeddedTwin([self.runner], self.twin.store, self.clock, lambda: None)
        self.loop.start()
        self.thread = threading.Thread(target=self.loop.run, daemon=True)

    def run(self) -> None:
        """Start the loop; return when it has processed some roots."""
        reached_us = self.clock.reached_us() + 3 * PERIOD_US
        self.thread.start()
        while self.clock.reached_us() < reached_us:
            time.sleep(0.001)

    def end(self) -> None:
        self.loop.stop()
        self.thread.join()


def test_the_loop_commits_when_nothing_is_due(tmp_path: Path) -> None:
    twin = RunnerTwin(tmp_path)
    twin.start(roots_per_commit=MANY)
    twin.runner.take(first_message(CONFIG))
    now_s = [0.0]
    clock = EmbeddedClock(speed=1.0, wall_s=lambda: now_s[0])
    loop = EmbeddedTwin([twin.runner], twin.store, clock, lambda: None)
    loop.start()
    now_s[0] = 3.5 * PERIOD_US / 1e6
    before = twin.runner.commits
    while loop.step():
        is_due = (twin.runner.next_due_us() or 0) <= clock.clock_us()
        assert twin.runner.commits == before + (not is_due)
    assert clock.show().now_us == clock.clock_us()
    check_whole(twin)


def test_a_callback_sees_everything_committed(tmp_path: Path) -> None:
    looped = Looped(tmp_path)
    looped.run()
    assert looped.runner.commits == 1, "only its commissioning, because there was always a due Tick"
    for number in range(2, 5):
        assert looped.loop.run_when_quiet(lambda: check_whole(looped.twin)) is None
        assert looped.runner.commits == number
    looped.end()
    check_whole(looped.twin)


def test_nothing_happens_after_the_time_at_which_it_is_paused(tmp_path: Path) -> None:
    looped = Looped(tmp_path)
    looped.run()
    shown_us = looped.clock.show().now_us
    looped.clock.pause()
    paused_us, log = looped.clock.show().now_us, looped.twin.log
    assert paused_us == looped.clock.clock_us() == looped.clock.reached_us() >= shown_us + 3 * PERIOD_US
    assert decode(log.splitlines()[-1]).at_us <= paused_us
    check_whole(looped.twin)
    looped.loop.run_when_quiet(lambda: None)
    assert looped.twin.log == log
    assert looped.clock.kept()["now_us"] == paused_us
    looped.end()


def test_a_change_of_the_clock_does_not_wait_for_a_loop_that_an_error_stops(tmp_path: Path) -> None:
    looped = Looped(tmp_path)
    looped.twin.step()
    assert not looped.runner.is_committed()
    looped.loop._is_running, looped.loop.problem = True, "Redis is away"
    looped.clock.pause()
    assert looped.clock.show().paused


def test_a_commit_that_fails_is_caught_up_and_time_goes_on(tmp_path: Path) -> None:
    """The log is ahead of the store by many roots, and the clock does not go back."""

    class Failing(MemoryStore):
        fails = False

        def commit(self, commit: Commit) -> bool:
            if self.fails:
                self.fails = False
                raise StoreUnreachable("no answer")
            return super().commit(commit)

    store = Failing()
    looped = Looped(tmp_path, store)
    looped.run()
    reached_us, store.fails = looped.clock.reached_us(), True
    looped.clock.set_speed(1e8)
    while not looped.loop.recoveries:
        time.sleep(0.001)
    looped.loop.run_when_quiet(lambda: check_whole(looped.twin))
    assert looped.clock.show().now_us >= reached_us
    looped.end()
    check_whole(looped.twin)
    count = sum(is_root(decode(line)) for line in looped.twin.log.splitlines())
    assert looped.twin.log == run_steps(tmp_path / "other", count - 1).log
