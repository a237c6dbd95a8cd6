"""The contract of state stores and what only Redis does, over a real Redis."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.basics.errors import InvalidInput, LightwaveError, OperationFailed, StateRefused, StoreUnreachable
from shared.storage.log.frame_files import TelemetryFolder
from shared.storage.store.newest_frames import newest_frame_reader
from shared.storage.store.redis_store import RedisStore
from shared.storage.store.state_store import StateStore
from tests.contract.test_state_store import DRAIN, FULL, StateStoreContract, commit, placed
from tests.support.pods import with_key


class TestRedisStore(StateStoreContract):
    @pytest.fixture
    def store(self, redis_url: str) -> Iterator[RedisStore]:
        store = RedisStore(redis_url)
        yield placed(store)
        store.close()

    def test_it_keeps_the_last_frame_of_every_name(self, store: RedisStore) -> None:
        assert store.frame("pod-0") is None
        store.keep_frame("pod-0", b"first")
        store.keep_frame("pod-0/ocs", b"of its OCSes")
        store.keep_frame("pod-0", b"second")
        assert (store.frame("pod-0"), store.frame("pod-0/ocs")) == (b"second", b"of its OCSes")
        with pytest.raises(OperationFailed, match="pod-9"):
            store.keep_frame("pod-9", b"of no fabric")

    def test_frames_are_erased_with_the_states_of_their_partition(
        self, store: RedisStore, tmp_path: Path
    ) -> None:
        folder = TelemetryFolder(tmp_path, newest=store.keep_frame)
        newest = newest_frame_reader(store, folder)
        folder.keep("pod-0", 5, b"frame")
        assert (store.frame("pod-0"), newest("pod-0")) == (b"frame", b"frame")
        store.keep_frame("pod-0", b"of another process")
        assert newest("pod-0") == b"of another process"
        store.erase(0)
        assert (store.frame("pod-0"), newest("pod-0")) == (None, b"frame")

    def test_the_server_is_new_enough(self, store: RedisStore) -> None:
        store.check()
        assert store.positions(0) == {}

    @pytest.mark.parametrize(
        ("info_fields", "sentence"),
        [
            ({"redis_version": "6.2.14"}, "redis_version 6.2.14 at unix://.*: must be 7.0 or newer"),
            (
                {"redis_version": "7.2.4", "valkey_version": "7.1.9"},
                "valkey_version 7.1.9 at unix://.*: must be 7.2 or newer",
            ),
            ({"dragonfly_version": "1"}, "reports no version of Redis or Valkey"),
        ],
    )
    def test_a_server_that_is_too_old_is_refused_by_name(
        self, store: RedisStore, monkeypatch: pytest.MonkeyPatch, info_fields: dict[str, str], sentence: str
    ) -> None:
        monkeypatch.setattr("redis.Redis.info", lambda _client, _section: info_fields)
        with pytest.raises(OperationFailed, match=sentence):
            store.check()

    @pytest.mark.parametrize(
        "info_fields",
        [{"redis_version": "7.0.0"}, {"redis_version": "7.2.4", "valkey_version": "10.0.1-rc2"}],
    )
    def test_a_newer_server_is_accepted(
        self, store: RedisStore, monkeypatch: pytest.MonkeyPatch, info_fields: dict[str, str]
    ) -> None:
        sections: list[str] = []

        def info(_client: object, section: str) -> dict[str, str]:
            sections.append(section)
            return info_fields

        monkeypatch.setattr("redis.Redis.info", info)
        store.check()
        assert sections == ["server"]

    def test_scripts_are_loaded_again_after_the_server_lost_them(
        self, store: RedisStore, redis_url: str
    ) -> None:
        import redis

        assert store.commit(commit(0, 1))
        with redis.Redis.from_url(redis_url) as client:
            client.script_flush()
        assert store.commit(commit(1, 2))
        assert store.put(0, "pod-0", DRAIN).number > 0
        assert store.positions(0) == {"ocs": 2}

    def test_all_keys_of_a_partition_are_on_one_node_of_a_cluster(
        self, store: RedisStore, redis_url: str
    ) -> None:
        import redis

        assert store.commit(FULL)
        store.put(0, "pod-0", with_key("key", DRAIN))
        with redis.Redis.from_url(redis_url, decode_responses=True) as client:
            keys = sorted(client.keys())
        others = [key for key in keys if not key.startswith("lightwave:{0}:")]
        assert others == ["lightwave:claims:{41}:key", "lightwave:fabrics"]
        assert len(keys) > 5

    def test_an_unreachable_server_is_an_error_in_one_sentence(self, tmp_path: Path) -> None:
        store: StateStore = RedisStore(f"unix://{tmp_path}/none.sock")
        with pytest.raises(StoreUnreachable, match=r"Redis at unix://.*none\.sock does not answer: "):
            store.positions(0)
        with pytest.raises(StoreUnreachable, match="does not answer"):
            store.commit(FULL)

    @pytest.mark.parametrize(
        ("url", "shown"),
        [
            ("redis://:s3cret@127.0.0.1:1/0", r"redis://\*\*\*@127\.0\.0\.1:1/0"),
            ("redis://twin:s3cret@127.0.0.1:1/0", r"redis://\*\*\*@127\.0\.0\.1:1/0"),
            ("redis://127.0.0.1:1/0?password=s3cret&db=2", r"redis://127\.0\.0\.1:1/0\?password=\*\*\*&db=2"),
        ],
    )
    def test_a_password_is_never_shown(self, url: str, shown: str) -> None:
        with pytest.raises(StoreUnreachable, match=f"^Redis at {shown} does not answer: ") as caught:
            RedisStore(url).positions(0)
        assert "s3cret" not in str(caught.value)
        with pytest.raises(InvalidInput) as refused:
            RedisStore("redis://:s3cret@127.0.0.1:no-port/0")
        assert "s3cret" not in str(refused.value)

    def test_an_invalid_url_is_an_error_in_one_sentence(self) -> None:
        with pytest.raises(InvalidInput, match=r"Redis URL 'nonsense': .*must be redis://HOST"):
            RedisStore("nonsense")

    @pytest.mark.parametrize(
        ("url", "expected"),
        [
            ("redis://:s3/cret@127.0.0.1:6379/0", None),
            ("redis://:s3cret@127.0.0.1:x/0", "Redis URL 'redis://***@127.0.0.1:x/0'"),
            ("redis://127.0.0.1:1/0?colour=red", "unknown option colour; must be redis://HOST"),
        ],
    )
    def test_an_error_in_a_url_is_reported_without_its_password(self, url: str, expected: str | None) -> None:
        with pytest.raises(InvalidInput if expected else LightwaveError) as refused:
            RedisStore(url).check()
        assert "s3" not in str(refused.value)
        assert (expected or "") in str(refused.value)

    def test_a_server_that_refuses_is_distinguished_from_a_missing_one(
        self, store: RedisStore, redis_url: str
    ) -> None:
        import redis

        with redis.Redis.from_url(redis_url) as client:
            client.set("lightwave:{0}:progress", "no hash")
            client.set("lightwave:clock", "no hash")
        with pytest.raises(OperationFailed, match="lightwave:clock has another type than") as caught:
            store.read_globals("clock")
        assert not isinstance(caught.value, StoreUnreachable)
        with pytest.raises(StateRefused, match="progress, a key of another type, in its progress"):
            store.positions(0)
