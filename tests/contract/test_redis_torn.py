"""A torn transaction in Redis: the embedded server removes it, any other server detects it, and no reader
ever sees it."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import redis

from ops.servers.redis_server import APPEND_ONLY, TRANSACTION_BEGIN, LocalRedis, cut_torn_transaction
from shared.basics.errors import LogDamaged
from shared.engine.message_order import ServiceProgress
from shared.runtimes.poll import poll_until
from shared.storage.store import redis_layout as form
from shared.storage.store.redis_store import RedisStore
from shared.storage.store.state_store import Commit, DocumentChange, OutboxEntry, StateChange
from tests.support.pods import pod_place

NAMES = [("ocs", "pod-0"), ("ocs", "pod-1")]


def commit_of(expected: int, position: int, counters: bytes) -> Commit:
    """Return a commit that changes the states of two fabrics and every other kind of content."""
    return Commit(
        partition=0,
        expected={"ocs": expected},
        positions={"ocs": position},
        states=tuple(
            StateChange(
                name,
                fabric,
                {"_counters": counters, f"at {position}": counters, "connects": counters},
                removed,
            )
            for removed in [(f"at {expected}",) if expected else ()]
            for name, fabric in NAMES
        ),
        documents=(DocumentChange("pod-0", "ocs", "pod-0/ocs-1", counters),),
        progress=tuple(ServiceProgress(name, fabric, 17, position, 99) for name, fabric in NAMES),
        outbox=(OutboxEntry(position - 1, "pod-0", "ocs", 0, "OcsDown", "ocs@pod-0", counters),),
        dead_letters={position - 1: b"what"},
        fields={"x": str(position)},
    )


FIRST, SECOND = commit_of(0, 3, b'{"said":1}'), commit_of(3, 5, b'{"said":2}')
COMMANDS = list(form._commands(SECOND, form.key(0, "progress")))


HEAD = len(COMMANDS) - 1
"""After this many commands the head is complete; only a value is missing."""


@pytest.fixture
def store(live_redis: LocalRedis) -> Iterator[RedisStore]:
    store = RedisStore(live_redis.url.replace("/0", "/11"))
    store.flush()
    store.place("pod-0", pod_place())
    assert store.commit(FIRST)
    yield store
    store.close()


def test_the_head_is_written_last(store: RedisStore) -> None:
    assert len(COMMANDS) > 8
    assert [command[1] for command in COMMANDS][-2:] == ["lightwave:{0}:progress"] * 2
    assert store.snapshot(0, NAMES).positions == {"ocs": 3}


@pytest.mark.parametrize("made", range(len(COMMANDS)))
def test_a_torn_commit_is_detected_or_harmless(store: RedisStore, made: int) -> None:
    before = store.snapshot(0, NAMES)
    client: Any = redis.Redis.from_url(store.url)
    for command in COMMANDS[:made]:
        client.execute_command(*command)
    client.close()
    if form.state_key(0, *NAMES[0]) in {str(command[1]) for command in COMMANDS[:made]} and made < HEAD:
        with pytest.raises(
            LogDamaged, match=r"ocs in pod-0: contains half of a commit, .*`lightwave live rebuild`"
        ):
            store.snapshot(0, NAMES)
        return
    after = store.snapshot(0, NAMES)
    if after.positions == {"ocs": 5}:
        return  # only a value is missing
    assert replace(after, outbox_size=0) == replace(before, outbox_size=0)
    assert store.commit(SECOND)
    whole = (store.snapshot(0, NAMES), store.view(0, 1).outbox, store.all("pod-0", "ocs"))
    store.flush()
    store.place("pod-0", pod_place())
    assert store.commit(FIRST)
    assert store.commit(SECOND)
    assert whole == (store.snapshot(0, NAMES), store.view(0, 1).outbox, store.all("pod-0", "ocs"))


def is_written(server: LocalRedis, word: str) -> bool:
    return any(word.encode() in file.read_bytes() for file in written(server))


def written(server: LocalRedis) -> list[Path]:
    """Return the server's append-only files."""
    return [*server.folder.glob("appendonlydir/*.incr.aof")]


def test_the_embedded_server_removes_a_torn_transaction_from_its_file(local_redis: LocalRedis) -> None:
    """Otherwise the server would apply the torn transaction at its second start."""
    local_redis.start()
    client = redis.Redis.from_url(local_redis.url)
    client.set("whole", "yes")
    for pair in (("half", "other"), ("later", "last")):
        with client.pipeline(transaction=True) as transaction:
            for name in pair:
                transaction.set(name, "x" * 100)
            transaction.execute()
        # A disk that is busy with a sync may get answered writes up to two seconds later.
        poll_until(partial(is_written, local_redis, pair[1]), 10.0)
        if pair[0] == "half":
            (file,) = written(local_redis)
            local_redis.kill()
            end = file.read_bytes().index(b"other")
            with file.open("r+b") as opened:
                opened.truncate(end + 2)
            local_redis.start()
    local_redis.kill()
    local_redis.start()
    assert {name: client.exists(name) for name in ("whole", "half", "other", "later", "last")} == {
        "whole": 1,
        "half": 0,
        "other": 0,
        "later": 1,
        "last": 1,
    }
    client.close()


def test_other_damage_of_the_file_is_left_to_the_server(tmp_path: Path) -> None:
    folder = tmp_path / APPEND_ONLY
    folder.mkdir()
    (folder / "a.manifest").write_text("file a.1.incr.aof seq 1 type i\n")
    file = folder / "a.1.incr.aof"
    checker = shutil.which("redis-check-aof")
    assert checker is not None
    command = b"*2\r\n$4\r\nINCR\r\n$1\r\na\r\n"
    whole = TRANSACTION_BEGIN + command + b"*1\r\n$4\r\nEXEC\r\n"
    for text, half in (
        (whole, b""),
        (whole + command, b""),
        (whole + command[:9], b""),
        (
            whole + TRANSACTION_BEGIN + command + b"*1\r\n$4\r\nEX",
            TRANSACTION_BEGIN + command + b"*1\r\n$4\r\nEX",
        ),
        (whole + TRANSACTION_BEGIN, TRANSACTION_BEGIN),
        (whole + b"what" + TRANSACTION_BEGIN, b""),
        (whole + TRANSACTION_BEGIN + command + whole, b""),
    ):
        file.write_bytes(text)
        assert cut_torn_transaction(checker, tmp_path) == len(half)
        assert file.read_bytes() == text.removesuffix(half)
