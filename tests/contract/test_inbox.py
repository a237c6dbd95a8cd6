"""One contract for every inbox: requests are numbered in order of arrival, and none is lost or stored
twice."""

import contextlib
import itertools
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from schemas.config.pods import FabricConfig, StaticPodConfig, SuperpodConfig
from schemas.messages.operator import DrainCube, ReleaseSlice, RequestSlice, UndrainCube
from schemas.request_metadata import RequestBody
from shared.basics.errors import (
    InvalidInput,
    OperationFailed,
    RateLimited,
    StoreUnreachable,
    UpgradeNeeded,
)
from shared.engine.code_version import (
    RULES,
    StateCodeVersion,
    code_version_values,
    shared_code_values,
    upgrade_begun_value,
)
from shared.engine.message_order import Request
from shared.runtimes.embedded.valkey_server import EmbeddedValkey
from shared.storage.inbox.inbox_backup import InboxBackup
from shared.storage.inbox.redis_inbox import PUT
from shared.storage.inbox.request_inbox import (
    WAITING_MAX,
    CancelOutcome,
    Inbox,
    InboxReceipt,
    LoggedRequest,
)
from shared.storage.store.memory_store import MemoryStore
from shared.storage.store.redis_store import RedisStore
from shared.storage.store.state_store import Commit, OutboxTrim
from tests.support.pods import commissioned, with_key

Store = MemoryStore | RedisStore
BODIES: list[RequestBody] = [
    RequestSlice(shape=(4, 4, 8), twisted=True, priority=-3, duration_us=10**12),
    DrainCube(cube="pod-0/cube-1"),
    ReleaseSlice(slice="pod-0/slice-0"),
    UndrainCube(cube="pod-0/cube-1"),
]


DRAIN = DrainCube(cube="pod-0/cube-1")


def drain_by(name: str) -> DrainCube:
    return DrainCube(cube="pod-0/cube-1", asked_by=name)


def take(store: Store, number: int) -> bool:
    return store.commit(Commit(partition=0, expected={}, positions={}, inbox_taken=number))


class InboxContract:
    """The behaviour of every inbox. A store plugs in with the fixture `store`."""

    def test_is_empty_at_first(self, store: Store) -> None:
        inbox: Inbox = store
        assert inbox.waiting(0, 10) == []
        assert inbox.size(0) == 0

    def test_keeps_requests_unchanged_in_order_of_their_numbers(self, store: Store) -> None:
        received = [store.put(0, f"pod-{n}", body) for n, body in enumerate(BODIES)]
        numbers = [r.number for r in received]
        assert numbers == sorted(set(numbers))
        assert min(numbers) > 0
        assert not any(r.repeated for r in received)
        assert store.waiting(0, 10) == [
            Request(number, f"pod-{n}", body)
            for n, (number, body) in enumerate(zip(numbers, BODIES, strict=True))
        ]
        assert store.size(0) == len(BODIES)

    def test_never_assigns_a_number_that_is_on_the_log(self, store: Store) -> None:
        """After a rebuild, the log may contain numbers that this store has never assigned."""
        first = store.put(0, "pod-0", BODIES[0]).number
        logged = first + 10**12
        store.raise_last_number(0, logged)
        assert store.put(0, "pod-0", BODIES[1]).number == logged + 1
        store.raise_last_number(0, first)
        assert store.put(0, "pod-0", BODIES[1]).number == logged + 2
        assert store.put(1, "pod-1", BODIES[0]).number < logged, "another partition counts for itself"

    def test_returns_at_most_the_requested_number_oldest_first(self, store: Store) -> None:
        numbers = [store.put(0, "pod-0", BODIES[1]).number for _ in range(5)]
        assert [w.number for w in store.waiting(0, 2)] == numbers[:2]
        assert [w.number for w in store.waiting(0, 5)] == numbers

    def test_the_same_request_without_a_key_is_a_new_request(self, store: Store) -> None:
        first, second = (store.put(0, "pod-0", BODIES[0]) for _ in range(2))
        assert first.number < second.number
        assert store.size(0) == 2

    def test_a_repeated_key_returns_the_first_number_and_stores_nothing(self, store: Store) -> None:
        first = store.put(0, "pod-0", with_key("a key", BODIES[0]))
        store.put(0, "pod-0", with_key("another key", BODIES[1]))
        again = store.put(0, "pod-0", with_key("a key", BODIES[0].model_copy()))
        assert (again.number, again.repeated) == (first.number, True)
        assert store.size(0) == 2
        store.record_logged(0, [LoggedRequest(first.number, 7, "pod-0", with_key("a key", BODIES[0]))])
        assert take(store, first.number)
        assert store.put(0, "pod-0", with_key("a key", BODIES[0])) == again
        assert store.size(0) == 1

    @pytest.mark.parametrize(
        ("fabric", "body"),
        [
            ("pod-0", RequestSlice(shape=(4, 4, 4))),
            ("pod-0", BODIES[1]),
            ("pod-1", BODIES[0]),
        ],
    )
    def test_the_same_key_for_another_request_is_refused(
        self, store: Store, fabric: str, body: RequestBody
    ) -> None:
        store.put(0, "pod-0", with_key("a key", BODIES[0]))
        with pytest.raises(InvalidInput, match="Idempotency-Key 'a key': was used for another request"):
            store.put(0, fabric, with_key("a key", body))
        assert store.size(0) == 1

    def test_a_key_is_unique_across_partitions(self, store: Store) -> None:
        store.put(0, "pod-0", with_key("a key", BODIES[0]))
        for call in (store.put, store.find_repeat):
            with pytest.raises(InvalidInput, match="'a key': was used for another request"):
                call(1, "pod-1", with_key("a key", BODIES[0]))
        assert (store.size(0), store.size(1)) == (1, 0)

    def test_another_requester_or_reason_does_not_make_a_new_request(self, store: Store) -> None:
        first = store.put(0, "pod-0", with_key("k", BODIES[0]))
        again = BODIES[0].model_copy(update={"key": "k", "asked_by": "ann", "comment": "cutover"})
        assert store.put(0, "pod-0", again) == InboxReceipt(first.number, repeated=True)
        assert store.waiting(0, 9) == [Request(first.number, "pod-0", with_key("k", BODIES[0]))]

    def test_a_request_is_found_by_its_key(self, store: Store) -> None:
        assert store.find("k") is None
        number = store.put(3, "pod-3", with_key("k", BODIES[1])).number
        row = store.find("k")
        assert row is not None
        assert (row.partition, row.number, row.place, row.fabric) == (3, number, None, "pod-3")
        assert row.message_id("pod-3") == f"operator@pod-3/{number}"
        store.record_logged(3, [LoggedRequest(number, 17, "pod-3", with_key("k", BODIES[1]))])
        row = store.find("k")
        assert row is not None
        assert (row.number, row.place, row.kind) == (number, 17, "DrainCube")

    # --- requests on the log -------------------------------------------------------------------------------

    def test_a_request_on_the_log_is_known_to_a_store_that_never_saw_it(self, store: Store) -> None:
        body = with_key("k", BODIES[1])
        store.record_logged(0, [LoggedRequest(2 * 10**15, 5, "pod-0", body)])
        assert store.put(0, "pod-0", body) == InboxReceipt(2 * 10**15, repeated=True)
        assert store.find_repeat(0, "pod-0", body) == InboxReceipt(2 * 10**15, repeated=True)
        for partition, fabric, other in ((0, "pod-0", BODIES[0]), (1, "pod-1", BODIES[1])):
            with pytest.raises(InvalidInput, match="was used for another request"):
                store.put(partition, fabric, with_key("k", other))
        assert store.put(0, "pod-0", BODIES[0]).number > 2 * 10**15
        assert store.size(0) == 1

    def test_a_waiting_request_whose_key_is_on_the_log_is_dropped(self, store: Store) -> None:
        """The store was restored, and received the request again before it learned of the log."""
        first = store.put(0, "pod-0", BODIES[0]).number
        again = store.put(0, "pod-0", with_key("k", BODIES[1])).number
        assert store.take(0, [again]) == [again]
        logged = [LoggedRequest(first - 7, 4, "pod-0", with_key("k", BODIES[1]))]
        for _ in range(2):
            store.record_logged(0, logged)
            assert [request.number for request in store.waiting(0, 9)] == [first]
            assert store.put(0, "pod-0", with_key("k", BODIES[1])) == InboxReceipt(first - 7, repeated=True)
        assert store.take(0, [again]) == []

    def test_a_request_on_the_log_does_not_wait(self, store: Store) -> None:
        numbers = [store.put(0, "pod-0", body).number for body in BODIES]
        store.record_logged(0, [LoggedRequest(numbers[1], 4, "pod-0", BODIES[1])])
        assert [r.number for r in store.waiting(0, 9)] == [numbers[0], *numbers[2:]]

    def test_the_first_occurrence_on_the_log_counts(self, store: Store) -> None:
        for place in (9, 4, 6):
            store.record_logged(0, [LoggedRequest(3, place, "pod-0", with_key("k", BODIES[1]))])
        row = store.find("k")
        assert row is not None
        assert row.place == 4

    def test_a_commissioning_is_known_by_its_key(self, store: Store) -> None:
        body = with_key("k", commissioned(SuperpodConfig(), "campus"))
        waiting = store.put(0, "pod-5", body).number
        store.record_logged(0, [LoggedRequest(1, 4, "pod-5", body)])
        assert waiting not in [request.number for request in store.waiting(0, 9)]
        assert store.put(0, "pod-5", body).repeated
        row = store.find("k")
        assert row is not None
        assert row.message_id("campus") == "sequencer@pod-5/1"

    def test_a_request_that_the_log_lost_can_be_repeated(self, store: Store) -> None:
        bodies = [with_key(f"k{n}", DrainCube(cube=f"pod-0/cube-{n}")) for n in range(4)]
        numbers = [store.put(0, "pod-0", body).number for body in bodies]
        rows = zip(numbers[:3], (10, 20, 30), bodies, strict=False)
        store.record_logged(0, [LoggedRequest(number, place, "pod-0", body) for number, place, body in rows])
        store.discard_after(0, lambda: 20)
        assert [store.put(0, "pod-0", body).repeated for body in bodies] == [True, False, False, True]
        assert store.size(0) == 3
        assert store.put(0, "pod-0", with_key("k1", bodies[1])).repeated

    def test_a_key_whose_request_is_lost_can_be_used_again(self, store: Store) -> None:
        """The waiting request is gone and is not on the log, because the store's file was truncated."""
        body = with_key("k", BODIES[1])
        first = store.put(0, "pod-0", body).number
        store.trim(OutboxTrim(0, requests=(first,)))
        assert store.find_repeat(0, "pod-0", body) is None
        assert not store.put(0, "pod-0", body).repeated
        assert store.size(0) == 1

    # --- cancelling ---------------------------------------------------------------------------------------

    def test_a_waiting_request_is_cancelled_once(self, store: Store) -> None:
        numbers = [store.put(0, "pod-0", body).number for body in BODIES[:2]]
        assert store.cancel(0, numbers[0]) is CancelOutcome.DONE
        assert store.cancel(0, numbers[0]) is CancelOutcome.UNKNOWN
        assert store.cancel(1, numbers[1]) is CancelOutcome.UNKNOWN
        assert [r.number for r in store.waiting(0, 9)] == numbers[1:]
        assert store.take(0, numbers) == numbers[1:]

    def test_a_taken_request_cannot_be_cancelled(self, store: Store) -> None:
        number = store.put(0, "pod-0", with_key("k", BODIES[1])).number
        assert store.take(0, [number]) == [number]
        assert store.cancel(0, number) is CancelOutcome.TOO_LATE
        assert store.take(0, [number]) == [number], "the sequencer that took it may have exited since"
        assert store.put(0, "pod-0", with_key("k", BODIES[1])).repeated

    def test_the_key_of_a_cancelled_request_is_refused(self, store: Store) -> None:
        body = with_key("k", BODIES[1])
        assert not store.was_cancelled("k")
        number = store.put(0, "pod-0", body).number
        assert not store.was_cancelled("k")
        assert store.cancel(0, number) is CancelOutcome.DONE
        assert store.was_cancelled("k")
        for call in (store.put, store.find_repeat):
            with pytest.raises(
                InvalidInput, match="Idempotency-Key 'k': its request was cancelled; use a new key"
            ):
                call(0, "pod-0", body)
        assert store.find("k") is None

    def test_a_cancelled_commissioning_can_be_requested_again(self, store: Store) -> None:
        body = commissioned(SuperpodConfig(), "campus")
        store.claim("pod-5", "campus")
        assert store.cancel(0, store.put(0, "pod-5", body).number) is CancelOutcome.DONE
        assert store.claim("pod-5", "annex") == "annex"
        assert not store.put(0, "pod-5", body).repeated

    def test_a_commit_removes_the_taken_requests_from_the_inbox(self, store: Store) -> None:
        number = store.put(0, "pod-0", BODIES[0]).number
        assert store.take(0, [number]) == [number]
        assert take(store, number)
        assert (store.take(0, [number]), store.cancel(0, number)) == ([], CancelOutcome.UNKNOWN)

    def test_the_request_of_a_key_can_be_looked_up_without_using_the_key(self, store: Store) -> None:
        assert store.find_repeat(0, "pod-0", with_key("k", BODIES[0])) is None
        assert store.size(0) == 0
        first = store.put(0, "pod-0", with_key("k", BODIES[0]))
        assert store.find_repeat(0, "pod-0", with_key("k", BODIES[0])) == InboxReceipt(
            first.number, repeated=True
        )
        with pytest.raises(InvalidInput, match="'k': was used for another request"):
            store.find_repeat(0, "pod-0", with_key("k", BODIES[1]))

    def test_keeps_one_commissioning_of_a_fabric_for_all_clients(self, store: Store) -> None:
        first = store.put(0, "pod-5", with_key("one", commissioned(SuperpodConfig(), "campus")))
        others: list[tuple[FabricConfig, str | None]] = [
            (SuperpodConfig(seed=2), "two"),
            (SuperpodConfig(), None),
            (StaticPodConfig(), None),
        ]
        for config, key in others:
            with pytest.raises(
                InvalidInput, match="name pod-5: is already a fabric of campus, or requested as one"
            ):
                store.put(0, "pod-5", with_key(key, commissioned(config, "campus")))
        again = store.put(0, "pod-5", with_key("one", commissioned(SuperpodConfig(), "campus")))
        assert again == InboxReceipt(first.number, repeated=True)
        assert take(store, first.number)
        with pytest.raises(InvalidInput):
            store.put(0, "pod-5", with_key(None, commissioned(SuperpodConfig(), "campus")))
        assert (
            store.find_repeat(0, "pod-5", with_key("two", commissioned(SuperpodConfig(seed=2), "campus")))
            is None
        )
        assert store.size(0) == 0
        assert not store.put(0, "pod-6", with_key(None, commissioned(SuperpodConfig(), "campus"))).repeated

    def test_a_name_belongs_to_the_site_that_took_it_first(self, store: Store) -> None:
        assert [store.claim("pod-5", site) for site in ("campus", "annex", "campus")] == ["campus"] * 3
        assert store.claim("pod-6", "annex") == "annex"

    def test_requests_on_the_log_are_removed_and_numbers_keep_rising(self, store: Store) -> None:
        numbers = [store.put(0, "pod-0", body).number for body in BODIES]
        store.put(1, "pod-1", BODIES[0])
        assert take(store, numbers[1])
        assert [w.number for w in store.waiting(0, 10)] == numbers[2:]
        assert take(store, numbers[-1])
        assert store.size(0) == 0
        assert store.size(1) == 1
        assert store.put(0, "pod-0", BODIES[0]).number > numbers[-1]

    def test_a_client_can_have_a_hundred_waiting_requests(self, store: Store) -> None:
        numbers = [
            store.put(0, "pod-0", with_key(f"key-{n}", drain_by("ana"))).number for n in range(WAITING_MAX)
        ]
        sentence = f"inbox: {WAITING_MAX} requests of ana wait already"
        with pytest.raises(RateLimited, match=sentence):
            store.put(0, "pod-0", with_key("one more", drain_by("ana")))
        assert store.size(0) == WAITING_MAX
        repeat = store.put(0, "pod-0", with_key("key-0", drain_by("ana")))
        assert repeat == InboxReceipt(numbers[0], repeated=True), "a waiting request is not a new request"
        store.put(0, "pod-0", drain_by("ben"))
        store.put(0, "pod-0", BODIES[0])
        store.put(1, "pod-1", drain_by("ana"))
        assert take(store, numbers[0])
        more = store.put(0, "pod-0", with_key("one more", drain_by("ana")))
        assert not more.repeated, "its key was not used up"
        with pytest.raises(RateLimited):
            store.put(0, "pod-0", drain_by("ana"))

    def test_clients_without_a_name_share_one_limit(self, store: Store) -> None:
        for _ in range(WAITING_MAX):
            store.put(0, "pod-0", BODIES[0])
        with pytest.raises(RateLimited, match="100 requests without a name wait already"):
            store.put(0, "pod-5", commissioned(SuperpodConfig(), "campus"))
        store.put(0, "pod-0", drain_by("ana"))
        assert take(store, store.waiting(0, 1)[0].number)
        assert not store.put(0, "pod-5", commissioned(SuperpodConfig(), "campus")).repeated

    def test_a_request_that_is_removed_twice_is_counted_once(self, store: Store) -> None:
        """One sequencer may not have received the answer, or two sequencers may remove it."""
        numbers = [store.put(0, "pod-0", BODIES[0]).number for _ in range(WAITING_MAX)]
        for _ in range(3):
            store.trim(OutboxTrim(0, requests=tuple(numbers[:2])))
        assert store.size(0) == WAITING_MAX - 2
        for _ in range(2):
            store.put(0, "pod-0", BODIES[0])
        with pytest.raises(RateLimited):
            store.put(0, "pod-0", BODIES[0])

    def test_an_erased_partition_still_counts_its_waiting_requests(self, store: Store) -> None:
        for _ in range(WAITING_MAX):
            store.put(0, "pod-0", BODIES[0])
        store.erase(0)
        with pytest.raises(RateLimited):
            store.put(0, "pod-0", BODIES[0])

    def test_concurrent_requests_get_distinct_numbers(self, store: Store) -> None:
        numbers: list[int] = []
        lock = threading.Lock()

        def put_many() -> None:
            for _ in range(25):
                # The memory store supports only one thread.
                with lock if isinstance(store, MemoryStore) else contextlib.nullcontext():
                    numbers.append(store.put(0, "pod-0", BODIES[1]).number)

        threads = [threading.Thread(target=put_many) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(set(numbers)) == 100
        assert [w.number for w in store.waiting(0, 200)] == sorted(numbers)


class TestMemoryInbox(InboxContract):
    @pytest.fixture
    def store(self) -> MemoryStore:
        return MemoryStore(itertools.count(1).__next__)

    def test_numbers_rise_even_if_the_clock_stops_or_goes_back(self) -> None:
        given = iter([5, 5, 3, 9])
        store = MemoryStore(given.__next__)
        assert [store.put(0, "pod-0", BODIES[0]).number for _ in range(4)] == [5, 6, 7, 9]

    def test_the_key_of_a_cancelled_request_is_free_after_a_day(self) -> None:
        now_s = [0.0]
        store = MemoryStore(itertools.count(1).__next__, wall_s=lambda: now_s[0])
        body = with_key("a key", BODIES[0])
        store.cancel(0, store.put(0, "pod-0", body).number)
        now_s[0] = 86_399.0
        with pytest.raises(InvalidInput):
            store.put(0, "pod-0", body)
        now_s[0] = 86_400.0
        assert not store.put(0, "pod-0", body).repeated


class TestRedisInbox(InboxContract):
    @pytest.fixture
    def store(self, redis_url: str) -> Iterator[RedisStore]:
        store = RedisStore(redis_url)
        yield store
        store.close()

    def test_a_key_claim_without_its_request_expires_after_a_day_and_others_do_not(
        self, store: RedisStore, redis_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        import redis

        def gone(script: str, *arguments: Any) -> Any:
            if script == PUT:
                raise StoreUnreachable("gone")
            return run(script, *arguments)

        run, body = store._client.run_script, with_key("a key", BODIES[0])
        with redis.Redis.from_url(redis_url) as client:
            with monkeypatch.context() as patch:
                patch.setattr(store._client, "run_script", gone)
                with pytest.raises(StoreUnreachable):
                    store.put(0, "pod-0", body)
            (claim,) = client.keys("*:a key")
            assert 86_390 < client.ttl(claim) <= 86_400
            with pytest.raises(InvalidInput, match="was used for another"):
                store.put(1, "pod-1", body)
            assert not store.put(0, "pod-0", body).repeated, "a retry completes the request"
            assert client.ttl(claim) == -1
            assert store.cancel(0, store.waiting(0, 1)[0].number) is CancelOutcome.DONE
            assert 86_390 < client.ttl(claim) <= 86_400

    def test_a_process_that_missed_an_upgrade_accepts_no_requests(
        self, store: RedisStore, redis_url: str
    ) -> None:
        """Under the key, a process of the new version accepts the same request."""
        own, later = StateCodeVersion(RULES, {}, "1"), StateCodeVersion(RULES + 1, {}, "2")
        new = RedisStore(redis_url)
        for one, code in ((store, own), (new, later)):
            one.require_for_requests(shared_code_values(code))
        same: list[dict[str, str]] = [{}, code_version_values(own)]
        for number, fields in enumerate(same):
            assert store.commit(Commit(0, {}, {}, fields=fields))
            assert not store.put(0, "pod-0", with_key(f"key {number}", DRAIN)).repeated
        begun = upgrade_begun_value(later)
        others: list[dict[str, str | None]] = [
            {**begun},
            {**code_version_values(later), **dict.fromkeys(begun)},
        ]
        for number, values in enumerate(others):
            assert store.commit(Commit(0, {}, {}, fields=values))
            for body in (DRAIN, with_key(f"late {number}", DRAIN)):
                with pytest.raises(UpgradeNeeded, match="pod-0 was upgraded while this gateway was stopped"):
                    store.put(0, "pod-0", body)
            assert store.put(0, "pod-0", with_key("key 0", DRAIN)).repeated
        assert store.size(0) == 2
        assert store.find("late 1") is None
        assert not new.put(0, "pod-0", with_key("late 1", DRAIN)).repeated
        assert not new.put(0, "pod-0", with_key("late 0", BODIES[0])).repeated, "its key is free"
        new.close()

    def test_a_key_of_the_log_costs_a_few_hundred_bytes(self, store: RedisStore, redis_url: str) -> None:
        import redis

        def logged_requests(first: int, count: int) -> list[LoggedRequest]:
            numbers = range(first, first + count)
            return [
                LoggedRequest(1_700_000_000_000_000 + n, n, "pod-0", with_key(f"{n:036d}", BODIES[1]))
                for n in numbers
            ]

        with redis.Redis.from_url(redis_url) as client:
            store.record_logged(0, logged_requests(0, 5_000))
            before = client.info("memory")["used_memory_dataset"]
            store.record_logged(0, logged_requests(5_000, 5_000))
            each = (client.info("memory")["used_memory_dataset"] - before) / 5_000
        assert 200 < each < 600
        assert store.put(0, "pod-0", with_key(f"{9_999:036d}", BODIES[1])).repeated

    @pytest.mark.parametrize(
        ("kind", "body"), [("NoSuchBody", "{}"), ("ClockPause", "{}"), ("DrainCube", '{"cube":7}')]
    )
    def test_a_request_of_another_version_is_an_error_in_one_sentence(
        self, store: RedisStore, redis_url: str, kind: str, body: str
    ) -> None:
        import redis

        with redis.Redis.from_url(redis_url) as client:
            client.xadd("lightwave:{0}:inbox", {"fabric": "pod-0", "type": kind, "body": body}, "7-0")
            for _ in range(2):
                with pytest.raises(
                    OperationFailed, match=rf"cannot read request 7 \({kind}\); .*XDEL 7-0.*--rebuild"
                ):
                    store.waiting(0, 10)
            assert client.xdel("lightwave:{0}:inbox", "7-0") == 1
        assert store.waiting(0, 10) == []

    def test_a_rebuild_removes_requests_of_other_versions_alone(
        self, store: RedisStore, redis_url: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        import redis

        with redis.Redis.from_url(redis_url) as client:
            for number in range(1, 1_200):
                row = {"fabric": "pod-0", "type": "ClockPause", "body": "{}"}
                client.xadd("lightwave:{0}:inbox", row, f"{number}-0")
        kept = store.put(0, "pod-0", DRAIN).number
        store.remove_unreadable(0)
        assert [request.number for request in store.waiting(0, 10)] == [kept]
        assert "this version cannot read request 7 (ClockPause); removed it" in caplog.text

    @pytest.mark.parametrize(
        ("kind", "body"),
        [
            *(("DrainCube", body) for body in ("{", "[]", "7", "null", '"text"', "{}x", "\xff")),
            *((kind, "{}") for kind in ("drainCube", "Drain Cube", "7", "-", "é", "x" * 1_000, "A" * 1_000)),
        ],
    )
    def test_a_row_that_no_version_can_have_written_is_removed(
        self, store: RedisStore, redis_url: str, caplog: pytest.LogCaptureFixture, kind: str, body: str
    ) -> None:
        import redis

        first = store.put(0, "pod-0", DRAIN).number
        with redis.Redis.from_url(redis_url) as client:
            row = {"fabric": "pod-0", "type": kind, "body": body}
            client.xadd("lightwave:{0}:inbox", row, f"{first + 1}-0")
        with contextlib.closing(InboxBackup(redis_url, ["pod-0"])) as copy:
            assert [row.number for row in copy.waiting()] == [first]
        assert [request.number for request in store.waiting(0, 10)] == [first]
        assert f"removed request {first + 1}-0, which the twin did not accept" in caplog.text
        assert store.size(0) == 1

    def test_no_answered_request_is_lost_when_the_server_is_killed(
        self, store: RedisStore, embedded_server: EmbeddedValkey
    ) -> None:
        """The server is killed three times. Requests without an answer are sent again under their keys."""
        answered: dict[str, int] = {}
        kill_at = {20, 45, 70}

        def put(key: str) -> int:
            return store.put(0, "pod-0", with_key(key, BODIES[0])).number

        for n in range(WAITING_MAX):
            if n in kill_at:
                killer = threading.Timer(0.0, lambda: kill(embedded_server))
                killer.start()
            answered[f"key-{n}"] = until_answered(partial(put, f"key-{n}"), embedded_server)
        assert sorted(answered.values()) == list(answered.values())
        assert [w.number for w in store.waiting(0, 1_000)] == list(answered.values())
        assert [put(key) for key in answered] == list(answered.values())
        with pytest.raises(RateLimited):
            put("one more")

    def test_a_wrong_count_is_corrected_once_nothing_waits(self, store: RedisStore, redis_url: str) -> None:
        """A wrong count results from a truncated file of Redis, or from XDEL by hand."""
        import redis

        number = store.put(0, "pod-0", BODIES[0]).number
        with redis.Redis.from_url(redis_url) as client:
            client.hset("lightwave:{0}:inbox:askers", "", WAITING_MAX + 7)
            with pytest.raises(RateLimited):
                store.put(0, "pod-0", BODIES[0])
            assert take(store, number)
            assert client.hgetall("lightwave:{0}:inbox:askers") == {}
        assert store.put(0, "pod-0", BODIES[0]).number > number

    def test_numbers_rise_across_a_restart_and_an_empty_inbox(
        self, store: RedisStore, embedded_server: EmbeddedValkey
    ) -> None:
        first = store.put(0, "pod-0", BODIES[0]).number
        assert take(store, first)
        kill(embedded_server)
        second = until_answered(lambda: store.put(0, "pod-0", BODIES[0]).number, embedded_server)
        assert second > first
        assert [w.number for w in store.waiting(0, 10)] == [second]


def kill(server: EmbeddedValkey) -> None:
    assert server.pid is not None
    os.kill(server.pid, signal.SIGKILL)


def until_answered(call: Callable[[], int], server: EmbeddedValkey) -> int:
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            return call()
        except StoreUnreachable:
            server.ensure()
            time.sleep(0.001)  # a killed process may take a moment to exit
    raise AssertionError("the server never answered")
