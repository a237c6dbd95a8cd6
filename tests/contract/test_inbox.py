"""One contract for every inbox: requests are numbered as they arrive, and none is lost or kept twice."""

import contextlib
import itertools
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from schemas.body import Body
from schemas.config import FabricConfig, StaticPodConfig, SuperpodConfig
from schemas.operator import DrainCube, ReleaseSlice, RequestSlice, UndrainCube
from shared.basics.errors import AllowanceUsed, InvalidInput, OperationFailed, StoreUnreachable
from shared.engine.roots import Request
from shared.runtimes.embedded.server import EmbeddedServer
from shared.storage.memory import MemoryStore
from shared.storage.redis_store import RedisStore
from shared.storage.store import WAITING_MAX, Commit, Inbox, OutboxTrim, Received
from tests.support.pods import commissioned

Store = MemoryStore | RedisStore
BODIES: list[Body] = [
    RequestSlice(shape=(4, 4, 8), twisted=True, priority=-3, duration_us=10**12),
    DrainCube(cube="pod-0/cube-1"),
    ReleaseSlice(slice="pod-0/slice-0"),
    UndrainCube(cube="pod-0/cube-1"),
]


class Named(DrainCube):
    """A request that says who asks."""

    asked_by: str


def asked_by(name: str) -> Body:
    return Named(cube="pod-0/cube-1", asked_by=name)


def take(store: Store, number: int) -> bool:
    return store.commit(Commit(partition=0, expected={}, positions={}, inbox_taken=number))


class InboxContract:
    """What every inbox owes; a store plugs in with the fixture `store`."""

    def test_is_empty_at_first(self, store: Store) -> None:
        inbox: Inbox = store
        assert inbox.waiting(0, 10) == []
        assert inbox.size(0) == 0

    def test_keeps_requests_as_they_were_in_order_of_rising_numbers(self, store: Store) -> None:
        received = [store.put(0, f"pod-{n}", body, None) for n, body in enumerate(BODIES)]
        numbers = [r.number for r in received]
        assert numbers == sorted(set(numbers))
        assert min(numbers) > 0
        assert not any(r.repeated for r in received)
        assert store.waiting(0, 10) == [
            Request(number, f"pod-{n}", body)
            for n, (number, body) in enumerate(zip(numbers, BODIES, strict=True))
        ]
        assert store.size(0) == len(BODIES)

    def test_gives_no_number_again_that_a_log_holds(self, store: Store) -> None:
        """After a rebuild: the log may hold numbers that this store has never given."""
        first = store.put(0, "pod-0", BODIES[0], None).number
        held = first + 10**12
        store.number_above(0, held)
        assert store.put(0, "pod-0", BODIES[1], None).number == held + 1
        store.number_above(0, first)
        assert store.put(0, "pod-0", BODIES[1], None).number == held + 2
        assert store.put(1, "pod-1", BODIES[0], None).number < held, "another partition counts for itself"

    def test_gives_no_more_than_was_asked_for_the_oldest_first(self, store: Store) -> None:
        numbers = [store.put(0, "pod-0", BODIES[1], None).number for _ in range(5)]
        assert [w.number for w in store.waiting(0, 2)] == numbers[:2]
        assert [w.number for w in store.waiting(0, 5)] == numbers

    def test_the_same_request_without_a_key_is_another_request(self, store: Store) -> None:
        first, second = (store.put(0, "pod-0", BODIES[0], None) for _ in range(2))
        assert first.number < second.number
        assert store.size(0) == 2

    def test_the_same_key_again_answers_the_first_number_and_keeps_nothing(self, store: Store) -> None:
        first = store.put(0, "pod-0", BODIES[0], "a key")
        store.put(0, "pod-0", BODIES[1], "another key")
        again = store.put(0, "pod-0", BODIES[0].model_copy(), "a key")
        assert (again.number, again.repeated) == (first.number, True)
        assert store.size(0) == 2
        assert take(store, first.number)
        assert store.put(0, "pod-0", BODIES[0], "a key") == again
        assert store.size(0) == 1

    @pytest.mark.parametrize(
        ("fabric", "body"),
        [
            ("pod-0", RequestSlice(shape=(4, 4, 4))),
            ("pod-0", BODIES[1]),
            ("pod-1", BODIES[0]),
        ],
    )
    def test_the_same_key_for_another_request_is_refused(self, store: Store, fabric: str, body: Body) -> None:
        store.put(0, "pod-0", BODIES[0], "a key")
        with pytest.raises(InvalidInput, match="Idempotency-Key 'a key': used before for another request"):
            store.put(0, fabric, body, "a key")
        assert store.size(0) == 1

    def test_an_empty_key_is_a_key(self, store: Store) -> None:
        first = store.put(0, "pod-0", BODIES[0], "")
        assert store.put(0, "pod-0", BODIES[0], "") == Received(first.number, repeated=True)
        assert store.size(0) == 1

    def test_a_key_belongs_to_its_partition(self, store: Store) -> None:
        store.put(0, "pod-0", BODIES[0], "a key")
        assert not store.put(1, "pod-1", BODIES[1], "a key").repeated
        assert (store.size(0), store.size(1)) == (1, 1)

    def test_what_a_key_was_used_for_can_be_asked_without_using_it(self, store: Store) -> None:
        assert store.repeat_of(0, "pod-0", BODIES[0], "k") is None
        assert store.size(0) == 0
        first = store.put(0, "pod-0", BODIES[0], "k")
        assert store.repeat_of(0, "pod-0", BODIES[0], "k") == Received(first.number, repeated=True)
        assert store.repeat_of(1, "pod-0", BODIES[0], "k") is None
        with pytest.raises(InvalidInput, match="'k': used before for another request"):
            store.repeat_of(0, "pod-0", BODIES[1], "k")

    def test_keeps_one_commissioning_of_a_fabric_whoever_asks(self, store: Store) -> None:
        first = store.put(0, "pod-5", commissioned(SuperpodConfig(), "campus"), "one")
        others: list[tuple[FabricConfig, str | None]] = [
            (SuperpodConfig(seed=2), "two"),
            (SuperpodConfig(), None),
            (StaticPodConfig(), None),
        ]
        for config, key in others:
            with pytest.raises(InvalidInput, match="name pod-5: is a fabric of campus already, or asked for"):
                store.put(0, "pod-5", commissioned(config, "campus"), key)
        again = store.put(0, "pod-5", commissioned(SuperpodConfig(), "campus"), "one")
        assert again == Received(first.number, repeated=True)
        assert take(store, first.number)
        with pytest.raises(InvalidInput):
            store.put(0, "pod-5", commissioned(SuperpodConfig(), "campus"), None)
        assert store.repeat_of(0, "pod-5", commissioned(SuperpodConfig(seed=2), "campus"), "two") is None
        assert store.size(0) == 0
        assert not store.put(0, "pod-6", commissioned(SuperpodConfig(), "campus"), None).repeated

    def test_a_name_belongs_to_the_site_that_took_it_first(self, store: Store) -> None:
        assert [store.claim("pod-5", site) for site in ("campus", "annex", "campus")] == ["campus"] * 3
        assert store.claim("pod-6", "annex") == "annex"

    def test_what_the_log_holds_is_removed_and_numbers_go_on_rising(self, store: Store) -> None:
        numbers = [store.put(0, "pod-0", body, None).number for body in BODIES]
        store.put(1, "pod-1", BODIES[0], None)
        assert take(store, numbers[1])
        assert [w.number for w in store.waiting(0, 10)] == numbers[2:]
        assert take(store, numbers[-1])
        assert store.size(0) == 0
        assert store.size(1) == 1
        assert store.put(0, "pod-0", BODIES[0], None).number > numbers[-1]

    def test_a_name_may_have_a_hundred_waiting(self, store: Store) -> None:
        numbers = [store.put(0, "pod-0", asked_by("ana"), f"key-{n}").number for n in range(WAITING_MAX)]
        sentence = f"inbox: {WAITING_MAX} requests of ana wait already"
        with pytest.raises(AllowanceUsed, match=sentence):
            store.put(0, "pod-0", asked_by("ana"), "one more")
        assert store.size(0) == WAITING_MAX
        repeat = store.put(0, "pod-0", asked_by("ana"), "key-0")
        assert repeat == Received(numbers[0], repeated=True), "what waits already is no further request"
        store.put(0, "pod-0", asked_by("ben"), None)
        store.put(0, "pod-0", BODIES[0], None)
        store.put(1, "pod-1", asked_by("ana"), None)
        assert take(store, numbers[0])
        assert not store.put(0, "pod-0", asked_by("ana"), "one more").repeated, "its key was not used up"
        with pytest.raises(AllowanceUsed):
            store.put(0, "pod-0", asked_by("ana"), None)

    def test_who_gives_no_name_shares_one_allowance(self, store: Store) -> None:
        for _ in range(WAITING_MAX):
            store.put(0, "pod-0", BODIES[0], None)
        with pytest.raises(AllowanceUsed, match="100 requests without a name wait already"):
            store.put(0, "pod-5", commissioned(SuperpodConfig(), "campus"), None)
        store.put(0, "pod-0", asked_by("ana"), None)
        assert take(store, store.waiting(0, 1)[0].number)
        assert not store.put(0, "pod-5", commissioned(SuperpodConfig(), "campus"), None).repeated

    def test_what_is_removed_twice_is_counted_once(self, store: Store) -> None:
        """By a sequencer that did not hear the answer, or by two."""
        numbers = [store.put(0, "pod-0", BODIES[0], None).number for _ in range(WAITING_MAX)]
        for _ in range(3):
            store.trim(OutboxTrim(0, requests=tuple(numbers[:2])))
        assert store.size(0) == WAITING_MAX - 2
        for _ in range(2):
            store.put(0, "pod-0", BODIES[0], None)
        with pytest.raises(AllowanceUsed):
            store.put(0, "pod-0", BODIES[0], None)

    def test_an_erased_partition_still_counts_who_waits(self, store: Store) -> None:
        for _ in range(WAITING_MAX):
            store.put(0, "pod-0", BODIES[0], None)
        store.erase(0)
        with pytest.raises(AllowanceUsed):
            store.put(0, "pod-0", BODIES[0], None)

    def test_many_at_once_get_each_their_own_number(self, store: Store) -> None:
        numbers: list[int] = []
        lock = threading.Lock()

        def ask() -> None:
            for _ in range(25):
                # Memory is for one thread.
                with lock if isinstance(store, MemoryStore) else contextlib.nullcontext():
                    numbers.append(store.put(0, "pod-0", BODIES[1], None).number)

        threads = [threading.Thread(target=ask) for _ in range(4)]
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

    def test_numbers_rise_even_where_their_source_stands_still_or_goes_back(self) -> None:
        given = iter([5, 5, 3, 9])
        store = MemoryStore(given.__next__)
        assert [store.put(0, "pod-0", BODIES[0], None).number for _ in range(4)] == [5, 6, 7, 9]

    def test_a_key_is_forgotten_after_a_day(self) -> None:
        now_s = [0.0]
        store = MemoryStore(itertools.count(1).__next__, wall_s=lambda: now_s[0])
        first = store.put(0, "pod-0", BODIES[0], "a key")
        now_s[0] = 10.0
        other = store.put(0, "pod-0", BODIES[1], "another key")
        now_s[0] = 86_399.0
        assert store.put(0, "pod-0", BODIES[0], "a key") == Received(first.number, repeated=True)
        now_s[0] = 86_400.0
        assert not store.put(0, "pod-0", BODIES[2], "a key").repeated
        assert store.put(0, "pod-0", BODIES[1], "another key") == Received(other.number, repeated=True)


class TestRedisInbox(InboxContract):
    @pytest.fixture
    def store(self, redis_url: str) -> Iterator[RedisStore]:
        store = RedisStore(redis_url)
        yield store
        store.close()

    def test_a_key_is_forgotten_after_a_day(self, store: RedisStore, redis_url: str) -> None:
        import redis

        store.put(0, "pod-0", BODIES[0], "a key")
        store.put(0, "pod-0", BODIES[0], "a key")
        with redis.Redis.from_url(redis_url) as client:
            assert 86_390 < client.ttl("lightwave:{0}:key:a key") <= 86_400

    @pytest.mark.parametrize(
        ("kind", "body"), [("NoSuchBody", "{}"), ("DrainCube", "{"), ("DrainCube", '{"cube":7}')]
    )
    def test_a_request_of_another_version_is_one_sentence(
        self, store: RedisStore, redis_url: str, kind: str, body: str
    ) -> None:
        import redis

        with redis.Redis.from_url(redis_url) as client:
            client.xadd("lightwave:{0}:inbox", {"fabric": "pod-0", "type": kind, "body": body}, "7-0")
            with pytest.raises(OperationFailed, match=rf"cannot read request 7 \({kind}\); .*XDEL 7-0"):
                store.waiting(0, 10)
            assert client.xdel("lightwave:{0}:inbox", "7-0") == 1
        assert store.waiting(0, 10) == []

    def test_nothing_that_was_answered_is_lost_when_the_server_is_killed(
        self, store: RedisStore, embedded_server: EmbeddedServer
    ) -> None:
        """The server is killed three times; what got no answer is put again under its key."""
        answered: dict[str, int] = {}
        kill_at = {20, 45, 70}

        def put(key: str) -> int:
            return store.put(0, "pod-0", BODIES[0], key).number

        for n in range(WAITING_MAX):
            if n in kill_at:
                killer = threading.Timer(0.0, lambda: kill(embedded_server))
                killer.start()
            answered[f"key-{n}"] = until_answered(partial(put, f"key-{n}"), embedded_server)
        assert sorted(answered.values()) == list(answered.values())
        assert [w.number for w in store.waiting(0, 1_000)] == list(answered.values())
        assert [put(key) for key in answered] == list(answered.values())
        with pytest.raises(AllowanceUsed):
            put("one more")

    def test_a_count_that_is_wrong_is_right_again_once_nothing_waits(
        self, store: RedisStore, redis_url: str
    ) -> None:
        """As after a file of Redis that was cut, or XDEL by hand."""
        import redis

        number = store.put(0, "pod-0", BODIES[0], None).number
        with redis.Redis.from_url(redis_url) as client:
            client.hset("lightwave:{0}:inbox:askers", "", WAITING_MAX + 7)
            with pytest.raises(AllowanceUsed):
                store.put(0, "pod-0", BODIES[0], None)
            assert take(store, number)
            assert client.hgetall("lightwave:{0}:inbox:askers") == {}
        assert store.put(0, "pod-0", BODIES[0], None).number > number

    def test_numbers_rise_across_a_restart_and_an_empty_inbox(
        self, store: RedisStore, embedded_server: EmbeddedServer
    ) -> None:
        first = store.put(0, "pod-0", BODIES[0], None).number
        assert take(store, first)
        kill(embedded_server)
        second = until_answered(lambda: store.put(0, "pod-0", BODIES[0], None).number, embedded_server)
        assert second > first
        assert [w.number for w in store.waiting(0, 10)] == [second]


def kill(server: EmbeddedServer) -> None:
    assert server.pid is not None
    os.kill(server.pid, signal.SIGKILL)


def until_answered(ask: Callable[[], int], server: EmbeddedServer) -> int:
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            return ask()
        except StoreUnreachable:
            server.ensure()
            time.sleep(0.001)  # a killed process may take its time to end
    raise AssertionError("the server never answered")
