"""A store with the hand-made content of a live twin of one pod, whose services are toys."""

import pytest

from services.fabric_kinds import FLEET
from services.service_names import SERVICE_NAMES
from shared.engine.message_order import ServiceProgress
from shared.runtimes.live.twin_record import write_twin
from shared.storage.store.redis_store import RedisStore
from shared.storage.store.state_store import Commit, FabricPlace
from tests.support.toy_services import CUBES_TOY, OCS_TOY

KIND = "toypod"


def toy_twin_store(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> RedisStore:
    """Return the store of a twin of one pod in partition 1; `cubes` has read all 7 messages, `ocs` 5."""
    monkeypatch.setitem(FLEET, KIND, (CUBES_TOY, OCS_TOY))
    monkeypatch.setitem(SERVICE_NAMES, KIND, ("cubes", "ocs"))
    store = RedisStore(redis_url)
    store.place("pod-1", FabricPlace(1, "pod-1", KIND))
    write_twin(store, "a" * 32, 4, "topic")
    rows = (
        ServiceProgress("cubes", "pod-1", 5_000_000, 2, 4_000_000),
        ServiceProgress("ocs", "pod-1", None, 0, 3_000_000),
    )
    store.commit(
        Commit(
            1, {}, {"cubes": 7, "ocs": 5}, progress=rows, fields={"end": "7", "fabric:pod-1": f"pod-1 {KIND}"}
        )
    )
    return store


def all_read(store: RedisStore) -> None:
    assert store.commit(Commit(1, {"ocs": 5}, {"ocs": 7}))
