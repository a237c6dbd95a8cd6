"""A Redis database has only one twin, also after `--fresh` or with a copied data folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ops.twin.redis_owner import check_owner, find_owner, record_owner
from shared.basics.errors import OperationFailed
from shared.runtimes.embedded.valkey_server import EmbeddedValkey
from shared.runtimes.live.twin_record import write_twin
from shared.storage.files.folder_lock import lock_folder
from shared.storage.store.redis_store import RedisStore
from shared.storage.store.state_store import FabricPlace

OURS, THEIRS = "a" * 32, "b" * 32


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RedisStore]:
    server = EmbeddedValkey(tmp_path / "redis")
    server.start()
    store = RedisStore(server.url)
    yield store
    store.close()
    server.stop()


def test_an_empty_database_is_for_any_twin(store: RedisStore, tmp_path: Path) -> None:
    check_owner(store, tmp_path, "")
    check_owner(store, tmp_path, OURS)


def test_a_twin_finds_its_database_under_another_folder_name(store: RedisStore, tmp_path: Path) -> None:
    record_owner(store, tmp_path / "data", OURS)
    before = find_owner(store)
    check_owner(store, tmp_path / "data", OURS)
    check_owner(store, tmp_path / "moved", OURS)
    check_owner(store, tmp_path / "data", "")  # --fresh, or after the loss of its operations log
    record_owner(store, tmp_path / "moved", OURS)
    after = find_owner(store)
    assert before is not None
    assert after is not None
    assert (after.since_s, after.folder) == (before.since_s, str(tmp_path / "moved"))


@pytest.mark.parametrize("own", ["", OURS])
def test_a_database_of_another_twin_is_refused(store: RedisStore, tmp_path: Path, own: str) -> None:
    record_owner(store, tmp_path / "theirs", THEIRS)
    sentence = (
        rf"holds another twin \({THEIRS}, since 20\d\d-.*Z, of data folder .*theirs on .*; it is not known"
    )
    with pytest.raises(OperationFailed, match=sentence):
        check_owner(store, tmp_path / "ours", own)
    lock = lock_folder(tmp_path / "theirs")
    with pytest.raises(OperationFailed, match="; it runs\\); give another Redis, or another database number"):
        check_owner(store, tmp_path / "ours", own)
    lock.close()


def test_a_copied_folder_does_not_join_the_twin_that_runs(store: RedisStore, tmp_path: Path) -> None:
    record_owner(store, tmp_path / "first", OURS)
    lock = lock_folder(tmp_path / "first")
    check_owner(store, tmp_path / "first", OURS)
    with pytest.raises(OperationFailed, match="it runs"):
        check_owner(store, tmp_path / "copy", OURS)
    lock.close()
    check_owner(store, tmp_path / "copy", OURS)


def test_a_live_twin_is_refused(store: RedisStore, tmp_path: Path) -> None:
    write_twin(store, THEIRS, 3, "")
    with pytest.raises(OperationFailed, match=f"holds the live twin {THEIRS}; give another Redis"):
        check_owner(store, tmp_path, OURS)


def test_states_without_an_owner_are_left_to_folders_that_may_own_them(
    store: RedisStore, tmp_path: Path
) -> None:
    store.place("pod-0", FabricPlace(0, "pod-0", "superpod"))
    check_owner(store, tmp_path, OURS)
    with pytest.raises(OperationFailed, match="holds another twin, with pod-0"):
        check_owner(store, tmp_path, "")
