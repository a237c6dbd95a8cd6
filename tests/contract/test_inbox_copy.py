"""An inbox that is copied into another Redis stays the same."""

import pytest
import redis

from schemas.config.pods import SuperpodConfig
from schemas.files.backup_manifest import WaitingRequest
from schemas.messages.operator import DrainCube
from shared.basics.errors import InvalidInput, OperationFailed, RateLimited
from shared.storage.inbox.inbox_backup import InboxBackup
from shared.storage.inbox.request_inbox import WAITING_MAX, CancelOutcome, LoggedRequest
from shared.storage.store.redis_store import RedisStore
from tests.support.pods import commissioned, with_key

SITES = ("campus", "pod-7")
DRAIN = DrainCube(cube="pod-7/cube-1")
JOIN = with_key("join", commissioned(SuperpodConfig(), "campus"))


def restore_backup(url: str, copy: InboxBackup) -> None:
    """Restore the inboxes from a backup into an empty Redis, and check that they are the same."""
    waiting, cancelled = copy.waiting(), copy.cancelled()
    with redis.Redis.from_url(url) as client:
        client.flushall()
    copy.fill(waiting, cancelled)
    assert (copy.waiting(), copy.cancelled()) == (waiting, cancelled)


def test_waiting_requests_keep_their_numbers_and_keys(redis_url: str) -> None:
    store, copy = RedisStore(redis_url), InboxBackup(redis_url, SITES)
    store.claim("pod-5", "campus")
    first = store.put(0, "pod-5", JOIN).number
    drains = [store.put(1, "pod-7", with_key(f"drain-{n}", DRAIN)).number for n in range(3)]
    nameless = store.put(1, "pod-7", DRAIN).number
    gone = store.put(1, "pod-7", with_key("gone", DRAIN)).number
    assert store.cancel(1, gone) == CancelOutcome.DONE
    known = [store.find(key) for key in ("join", "drain-0", "drain-2", "gone")]
    waited = [store.waiting(partition, 10) for partition in (0, 1)]
    restore_backup(redis_url, copy)
    assert [store.waiting(partition, 10) for partition in (0, 1)] == waited
    assert [store.find(key) for key in ("join", "drain-0", "drain-2", "gone")] == known
    assert store.put(1, "pod-7", with_key("drain-1", DRAIN)).number == drains[1]
    assert store.put(0, "pod-5", JOIN).number == first
    with pytest.raises(InvalidInput, match="pod-5: is already a fabric of campus, or requested as one"):
        store.put(0, "pod-5", with_key("other", commissioned(SuperpodConfig(seed=2), "campus")))
    assert store.claim("pod-5", "elsewhere") == "campus"
    with pytest.raises(InvalidInput, match="'gone': its request was cancelled"):
        store.put(1, "pod-7", with_key("gone", DRAIN))
    with pytest.raises(InvalidInput, match="'drain-0': was used for another request"):
        store.put(0, "pod-5", with_key("drain-0", DRAIN))
    assert store.put(1, "pod-7", DRAIN).number > nameless
    assert store.cancel(1, drains[0]) == CancelOutcome.DONE
    store.record_logged(1, [LoggedRequest(drains[1], 5, "pod-7", with_key("drain-1", DRAIN))])
    assert [request.number for request in store.waiting(1, 2)] == [drains[2], nameless]
    store.close()
    copy.close()


def test_clients_keep_the_rest_of_their_limit(redis_url: str) -> None:
    store, copy = RedisStore(redis_url), InboxBackup(redis_url, SITES)
    drain_of_mia = DRAIN.model_copy(update={"asked_by": "mia"})
    for _ in range(WAITING_MAX):
        store.put(1, "pod-7", drain_of_mia)
    restore_backup(redis_url, copy)
    with pytest.raises(RateLimited):
        store.put(1, "pod-7", drain_of_mia)
    store.put(1, "pod-7", DRAIN)
    store.close()
    copy.close()


def test_an_unreadable_request_is_named(redis_url: str) -> None:
    copy = InboxBackup(redis_url, SITES)
    row = WaitingRequest(site="pod-7", number=4, fabric="pod-7", type="DrainMoon", body="{}")
    with pytest.raises(OperationFailed, match=r"waiting request 4 of pod-7 \(DrainMoon\): this version"):
        copy.fill([row], [])
    copy.close()
