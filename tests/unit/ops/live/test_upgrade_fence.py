"""An upgrade that was stopped (SIGSTOP) changes nothing after another process went on with the twin."""

from collections.abc import Callable
from typing import cast

import pytest

from ops.live.settings import LiveSettings
from ops.live.upgrade import _fence, _replace_states
from ops.twin.upgrade_steps import PartitionUpgrade
from services.fabric_kinds import services_of
from shared.basics.errors import OperationFailed
from shared.engine.code_version import RULES, StateCodeVersion, code_version_values, unfinished_upgrade
from shared.runtimes.live.twin_record import TwinRecord
from shared.storage.store.fabric_registry import FabricRegistration, registration_value
from shared.storage.store.memory_store import MemoryStore
from shared.storage.store.redis_store import RedisStore
from shared.storage.store.state_store import Commit

END = 7
PLANNED = PartitionUpgrade(0, (), end=END, offsets=(END,), generation=0)
SERVICES = [service.name for service in services_of("superpod")]


def as_redis(store: MemoryStore) -> RedisStore:
    return cast(RedisStore, store)


@pytest.fixture
def store() -> MemoryStore:
    """A store whose services have read everything."""
    store = MemoryStore()
    registered = registration_value("pod-0", FabricRegistration("pod-0", "superpod"))
    fields = registered | code_version_values(StateCodeVersion(RULES, dict.fromkeys(SERVICES, ""), "1.0"))
    assert store.commit(Commit(0, {}, dict.fromkeys(SERVICES, END), fields=fields))
    return store


def replace_states(store: MemoryStore) -> None:
    """What another upgrade or a rebuild does."""
    assert store.stage(store.image(0), "")
    assert store.promote_staged(0)


def read_on(store: MemoryStore) -> None:
    """What a worker of the previous version does that another person started again."""
    assert store.commit(Commit(0, {}, {"jobs": END + 1}))


def test_a_fence_is_set_once_or_again_by_the_next_upgrade(store: MemoryStore) -> None:
    for _ in range(2):
        _fence(as_redis(store), PLANNED)
        begun = unfinished_upgrade(store.values(0))
        assert begun is not None
        assert begun[0] == RULES


def test_a_service_that_is_new_in_this_version_need_not_have_read_anything() -> None:
    store = MemoryStore()
    old = [name for name in SERVICES if name != "jobs"]
    registered = registration_value("pod-0", FabricRegistration("pod-0", "superpod"))
    fields = registered | code_version_values(StateCodeVersion(RULES, dict.fromkeys(old, ""), "1.0"))
    assert store.commit(Commit(0, {}, dict.fromkeys(old, END), fields=fields))
    _fence(as_redis(store), PLANNED)
    assert unfinished_upgrade(store.values(0)) is not None


@pytest.mark.parametrize("overtake", [replace_states, read_on])
def test_an_overtaken_upgrade_does_not_count_as_begun(
    store: MemoryStore, overtake: Callable[[MemoryStore], None]
) -> None:
    overtake(store)
    before = store.image(0)
    with pytest.raises(OperationFailed, match=r"^partition 0: another process replaced its states, or"):
        _fence(as_redis(store), PLANNED)
    assert store.image(0) == before


def test_an_overtaken_upgrade_does_not_replace_the_states(store: MemoryStore) -> None:
    _fence(as_redis(store), PLANNED)
    replace_states(store)
    store.discard_staged(0)
    before = store.image(0)
    twin = TwinRecord("a" * 32, 1, "topic")
    with pytest.raises(OperationFailed, match=r"^partition 0: another process replaced its states, or"):
        _replace_states(LiveSettings(), as_redis(store), twin, PLANNED)
    assert store.image(0) == before
    assert store.staged(0) is None
    assert store.snapshot(0, []).generation == 1
