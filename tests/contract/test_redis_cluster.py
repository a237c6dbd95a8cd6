"""The state store and the inbox on a real Redis Cluster: the same contracts, and tests specific to a
cluster."""

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from ops.servers.redis_server import LocalRedis
from schemas.messages.operator import DrainCube
from shared.basics.errors import InvalidInput, OperationFailed, StoreUnreachable
from shared.storage.store.redis_layout import FABRICS, key
from shared.storage.store.redis_store import RedisStore
from shared.storage.store.state_store import Commit, StateChange
from tests.contract.test_inbox import InboxContract
from tests.contract.test_state_store import FULL, StateStoreContract, everything, placed
from tests.support.pods import pod_place, with_key
from tests.support.redis_cluster import RedisCluster, wait_for

DRAIN = DrainCube(cube="pod-0/cube-1")
PARTITIONS = range(16)


@pytest.fixture
def cluster(redis_cluster: RedisCluster) -> RedisCluster:
    """Return an empty cluster, all of whose nodes run."""
    redis_cluster.ensure()
    redis_cluster.flush()
    return redis_cluster


@pytest.fixture
def store(cluster: RedisCluster) -> Iterator[RedisStore]:
    store = RedisStore(cluster.url, cluster=True)
    yield placed(store)
    store.close()


class TestRedisClusterStore(StateStoreContract):
    """The contract's fixture `store` is that of this module."""


class TestRedisClusterInbox(InboxContract):
    """The contract's fixture `store` is that of this module."""


@pytest.fixture(params=["one server", "cluster"])
def either(request: pytest.FixtureRequest) -> Iterator[RedisStore]:
    """Return a single Redis or a cluster, emptied."""
    if request.param == "cluster":
        store = RedisStore(request.getfixturevalue("cluster").url, cluster=True)
    else:
        store = RedisStore(request.getfixturevalue("redis_url"))
    yield store
    store.close()


def step(partition: int, at: int, **parts: Any) -> Commit:
    """Return a commit by which the reader `ocs` advances from `at` to the next position, and its state
    records it."""
    state = StateChange("ocs", f"pod-{partition}", {"n": b"%d" % (at + 1)})
    return Commit(
        partition=partition, expected={"ocs": at}, positions={"ocs": at + 1}, states=(state,), **parts
    )


def until_answered(call: Callable[[], bool]) -> bool:
    """Call until the cluster answers; return the first answer."""
    answers: list[bool] = []

    def answered() -> bool:
        with contextlib.suppress(StoreUnreachable):
            answers.append(call())
        return bool(answers)

    wait_for(answered, "the cluster answers")
    return answers[0]


class TestBothKinds:
    def test_each_note_is_set_and_removed_under_its_name(self, either: RedisStore) -> None:
        names = ["clock", "twin", "processes", "größe"]
        for name in names:
            assert either.read_globals(name) == {}
            either.set_globals(name, {"who": name, "gone": "1", "ä": ""})
            either.set_globals(name, {"gone": None, "new": "2"})
            either.set_globals(name, {})
        assert {name: either.read_globals(name) for name in names} == {
            name: {"who": name, "ä": "", "new": "2"} for name in names
        }

    def test_the_wall_clock_continues(self, either: RedisStore) -> None:
        before_us = either.wall_us()
        times_us = [either.view(partition, 1).wall_us for partition in PARTITIONS]
        assert before_us < times_us[0]
        assert sorted(times_us) == times_us  # on one machine every node has the same clock
        assert times_us[-1] < either.wall_us()

    def test_a_listener_wakes_on_a_message_in_any_of_its_partitions(self, either: RedisStore) -> None:
        with either.woken([0, 1, 2, 15]) as wait:
            assert wait(0.01) == set()
            for partition in (1, 2, 15):
                either.put(partition, "pod-0", DRAIN)
                assert wait(5) == {partition}
            either.put(3, "pod-0", DRAIN)
            assert either.commit(step(0, 0, wake_readers=("ocs", "cubes")))
            assert wait(0.05) == set()
            both = Commit(partition=0, expected={}, positions={"cubes": 1}, wake_readers=("ocs", "cubes"))
            assert either.commit(both)
            assert wait(5) == {0}

    def test_a_flush_empties_all_nodes(self, either: RedisStore) -> None:
        for partition in PARTITIONS:
            either.place(f"pod-{partition}", pod_place(partition, f"pod-{partition}"))
            assert either.commit(step(partition, 0))
        either.flush()
        assert either.fabrics() == {}
        assert not any(either.positions(partition) for partition in PARTITIONS)


class TestCluster:
    def test_partitions_are_spread_over_all_nodes_and_each_is_on_one(
        self, store: RedisStore, cluster: RedisCluster
    ) -> None:
        for partition in PARTITIONS:
            assert store.commit(step(partition, 0))
            store.put(partition, "pod-0", with_key(f"a {{key}} {partition}", DRAIN))
        keys_of = [{name.decode() for name in node.execute("KEYS", "*")} for node in cluster.nodes]
        assert all(len(keys) > 4 for keys in keys_of)
        for partition in PARTITIONS:
            counts = [sum(name.startswith(key(partition, "")) for name in keys) for keys in keys_of]
            assert sorted(counts) == [0] * (len(counts) - 1) + [6]

    def test_every_node_is_new_enough(self, store: RedisStore, cluster: RedisCluster) -> None:
        store.check()
        assert sorted(store._client.nodes()) == sorted(node.address for node in cluster.nodes)

    def test_a_node_that_is_too_old_is_named(
        self, store: RedisStore, cluster: RedisCluster, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        old = cluster.nodes[-1]

        def info(client: Any, _section: str) -> dict[str, str]:
            port = client.connection_pool.connection_kwargs["port"]
            return {"redis_version": "6.2.14" if port == old.port else "7.0.15"}

        monkeypatch.setattr("redis.Redis.info", info)
        sentence = f"^redis_version 6.2.14 at {old.address}: must be 7.0 or newer$"
        with pytest.raises(OperationFailed, match=sentence):
            store.check()

    def test_a_twin_continues_while_its_slot_moves(self, store: RedisStore, cluster: RedisCluster) -> None:
        """A partition moves to another node: no commit is applied in part, and none is lost."""
        assert store.commit(FULL)
        first = store.put(0, "pod-0", with_key("key", DRAIN))
        before = everything(store)
        with cluster.moving(key(0, "progress")) as move_key:
            move_key(key(0, "progress"))
            refused: list[Callable[[], object]] = [
                lambda: store.commit(FULL),
                lambda: store.snapshot(0, [("ocs", "pod-0")]),
                lambda: store.view(0, 1),
                lambda: store.erase(0),
                lambda: store.put(0, "pod-0", DRAIN),
            ]
            for call in refused:
                with pytest.raises(StoreUnreachable, match="down or moving"):
                    call()
            assert store.positions(1) == {}  # other partitions are not affected
        assert everything(store) == before
        assert not store.commit(FULL)
        assert store.put(0, "pod-0", with_key("key", DRAIN)).number == first.number
        store.erase(0)
        assert store.commit(FULL)

    def test_an_erase_during_a_slot_move_is_complete(self, store: RedisStore, cluster: RedisCluster) -> None:
        assert store.commit(FULL)
        with cluster.moving(key(0, "progress")) as move_key:
            move_key(key(0, "state:ocs@pod-0"))
            with pytest.raises(StoreUnreachable):
                store.erase(0)
        assert store.positions(0) == {"ocs": 3}
        assert store.load(0, "ocs", "pod-0") == {"wanted": b"\x00\xff\n", "made": b""}

    def test_a_command_without_an_answer_is_not_sent_again(
        self, cluster: RedisCluster, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("shared.storage.store.redis_client.ANSWER_S_MAX", 0.2)
        store = RedisStore(cluster.url, cluster=True)
        assert store.commit(step(0, 0))
        holder = cluster.node_of(key(0, "progress"))
        holder.execute("CONFIG", "RESETSTAT")
        holder.pause()
        try:
            with pytest.raises(StoreUnreachable, match="Timeout"):
                store.commit(step(0, 1))
        finally:
            holder.resume()
        wait_for(lambda: store.positions(0) == {"ocs": 2}, "it was carried out")
        with holder.client() as client:
            assert client.info("commandstats")["cmdstat_evalsha"]["calls"] == 1
        assert not store.commit(step(0, 1))
        store.close()

    def test_a_killed_node_restarts_with_all_confirmed_writes(
        self, store: RedisStore, cluster: RedisCluster
    ) -> None:
        for partition in PARTITIONS:
            assert store.commit(step(partition, 0))
        holder = cluster.node_of(key(0, "progress"))
        away = next(p for p in PARTITIONS if not holder.serves_key(key(p, "progress")))
        survivor = cluster.node_of(key(away, "progress"))
        with cluster.short_timeouts():
            holder.kill()
            with pytest.raises(StoreUnreachable, match=r"does not answer: .*refused"):
                store.commit(step(0, 1))
            wait_for(lambda: survivor.cluster_info()["cluster_state"] == "fail", "a part is down")
            with pytest.raises(
                StoreUnreachable, match=r"part of the cluster is down .*: The cluster is down"
            ):
                store.commit(step(away, 1))
        for partition in PARTITIONS:
            assert until_answered(partial(store.commit, step(partition, 1)))
            assert store.load(partition, "ocs", f"pod-{partition}") == {"n": b"2"}

    def test_a_replica_takes_over_under_a_living_twin(self, store: RedisStore, cluster: RedisCluster) -> None:
        holder = cluster.node_of(FABRICS)
        partition = next(p for p in PARTITIONS if holder.serves_key(key(p, "progress")))
        replica = cluster.add_replica(holder)
        assert store.commit(step(partition, 0))
        wait_for(
            lambda: replica.execute("ROLE")[4] >= holder.execute("ROLE")[1], "the replica has the commit"
        )
        with cluster.short_timeouts():
            with store.woken([partition]) as wait:
                holder.kill()
                with pytest.raises(StoreUnreachable):
                    wait(5)
            assert until_answered(lambda: store.commit(step(partition, 1)))
            assert replica.serves_key(key(partition, "progress"))
            assert store.load(partition, "ocs", f"pod-{partition}") == {"n": b"2"}
            with store.woken([partition]) as wait:
                store.put(partition, "pod-0", DRAIN)
                assert wait(5) == {partition}
        assert store.positions(partition) == {"ocs": 2}


class TestEntry:
    """The URL and the server at it."""

    def test_any_node_can_be_the_entry(self, cluster: RedisCluster) -> None:
        for node in cluster.nodes:
            store = RedisStore(node.url, cluster=True)
            store.place("pod-0", pod_place())
            assert store.fabrics() == {"pod-0": pod_place()}
            store.close()

    def test_an_unreachable_cluster_is_an_error_in_one_sentence_each_time(self) -> None:
        store = RedisStore("redis://:s3cret@127.0.0.1:1", cluster=True)
        for _ in range(2):
            with pytest.raises(
                StoreUnreachable, match=r"^Redis at redis://\*\*\*@127\.0\.0\.1:1 does not answer: "
            ) as e:
                store.positions(0)
            assert "s3cret" not in str(e.value)
        store.close()

    def test_a_single_server_is_not_accepted_as_a_cluster(self, live_redis: LocalRedis) -> None:
        live_redis.start()
        store = RedisStore(live_redis.url, cluster=True)
        with pytest.raises(OperationFailed, match=r"refuses: .*cluster support disabled") as caught:
            store.check()
        assert not isinstance(caught.value, StoreUnreachable)

    def test_a_cluster_node_is_not_accepted_as_a_single_server(self, cluster: RedisCluster) -> None:
        store = RedisStore(cluster.other(cluster.node_of(key(0, "progress"))).url)
        with pytest.raises(
            OperationFailed, match=r"is a node of a Redis Cluster.*LIGHTWAVE_REDIS_CLUSTER=true"
        ):
            store.positions(0)
        store.close()

    def test_a_wrong_password_is_distinguished_from_a_missing_node(self, cluster: RedisCluster) -> None:
        entry = cluster.nodes[0]
        store = RedisStore(f"redis://:s3cret@{entry.address}", cluster=True)
        with entry.client() as client:
            client.config_set("requirepass", "another")
            try:
                with pytest.raises(OperationFailed, match="invalid username-password pair") as caught:
                    store.positions(0)
            finally:
                client.config_set("requirepass", "")
        assert not isinstance(caught.value, StoreUnreachable)
        assert "s3cret" not in str(caught.value)

    @pytest.mark.parametrize(
        "url",
        ["nonsense", "unix:///run/redis.sock", "redis://127.0.0.1:7000/3", "redis://", "redis://h:port"],
    )
    def test_an_invalid_cluster_url_is_an_error_in_one_sentence(self, url: str) -> None:
        with pytest.raises(
            InvalidInput, match=rf"^Redis URL '{url}': .*; must be redis://HOST:PORT, rediss://…$"
        ):
            RedisStore(url, cluster=True)
