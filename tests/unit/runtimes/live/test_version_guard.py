"""A process that stood still while its twin was upgraded finds that when it continues."""

from types import SimpleNamespace

import pytest

from shared.basics.errors import StoreUnreachable, UpgradeNeeded
from shared.basics.units import US_PER_S
from shared.engine.code_version import RULES, StateCodeVersion, code_version_values, upgrade_begun_value
from shared.runtimes.live.process import version_guard
from shared.runtimes.live.process.health import BEAT_S
from shared.runtimes.live.process.process_registry import ALIVE_US_MAX
from shared.runtimes.live.process.version_guard import PAUSE_S, RECHECK_S, VersionGuard
from shared.storage.store.memory_store import MemoryStore
from shared.storage.store.state_digests import StateDigests
from shared.storage.store.state_store import Commit, PartitionSnapshot

OWN = StateCodeVersion(RULES, {"ocs": "form"}, "1")
LATER = StateCodeVersion(RULES + 1, {"ocs": "form"}, "2")
CASES: list[tuple[dict[str, str], str | None]] = [
    ({}, None),
    (code_version_values(OWN), None),
    (code_version_values(StateCodeVersion(RULES, {"ocs": "form"}, "another build")), None),
    (code_version_values(StateCodeVersion(RULES, {"cubes": "another"}, "2")), None),
    (code_version_values(LATER), "which are older: start it with that version"),
    (
        code_version_values(StateCodeVersion(RULES, {"ocs": "another"}, "2")),
        "stores those of ocs in another layout",
    ),
    (code_version_values(OWN) | upgrade_begun_value(LATER), "is not finished"),
]


class Wall:
    """A monotonic clock that a test sets, in seconds."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 100.0
        monkeypatch.setattr(version_guard, "time", SimpleNamespace(monotonic=lambda: self.now_s))


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> Wall:
    return Wall(monkeypatch)


def guard_of(store: MemoryStore) -> VersionGuard:
    return VersionGuard(store, 2, StateDigests("a" * 32, b""), OWN)


def record(store: MemoryStore, values: dict[str, str]) -> None:
    assert store.commit(Commit(1, {}, {"ocs": 1}, fields=values))


@pytest.mark.parametrize(("values", "sentence"), CASES)
def test_the_reason_is_that_of_a_start(values: dict[str, str], sentence: str | None) -> None:
    store = MemoryStore()
    record(store, values)
    reason, guard = guard_of(store)(), guard_of(store)
    if sentence is None:
        assert reason is None
        guard.check()
    else:
        assert reason is not None
        assert reason.startswith("partition 1: ")
        assert sentence in reason
        with pytest.raises(UpgradeNeeded, match=sentence):
            guard.check()


def test_a_pause_is_followed_by_a_check(wall: Wall) -> None:
    store = MemoryStore()
    record(store, code_version_values(OWN))
    guard = guard_of(store)
    assert guard() is None
    record(store, code_version_values(LATER))
    wall.now_s += BEAT_S
    assert guard() is None, "each check reads the head of every partition, so not every beat has one"
    wall.now_s += PAUSE_S + 0.1
    assert guard() is not None
    wall.now_s += BEAT_S
    assert guard() is not None, "it stays so until the next check"


def test_a_process_that_does_not_pause_checks_at_intervals(wall: Wall) -> None:
    store = MemoryStore()
    guard = guard_of(store)
    assert guard() is None
    record(store, code_version_values(LATER))
    found = []
    for _ in range(int(RECHECK_S / BEAT_S) + 2):
        wall.now_s += BEAT_S
        found.append(guard() is not None)
    assert found == sorted(found)
    assert (found[0], found[-1]) == (False, True)


def test_an_upgrade_takes_a_process_for_stopped_only_after_a_longer_pause() -> None:
    assert PAUSE_S < ALIVE_US_MAX / US_PER_S
    assert PAUSE_S > BEAT_S


def test_a_store_that_does_not_answer_is_no_reason() -> None:
    class Silent(MemoryStore):
        def snapshot(self, partition: int, states: object, *, whole: bool = False) -> PartitionSnapshot:
            raise StoreUnreachable("Redis does not answer")

    assert guard_of(Silent())() is None
