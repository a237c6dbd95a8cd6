"""Without free file descriptors, every attempt to open a file or connection reports the reason."""

import errno
import re
import socket
from pathlib import Path

import pytest

from shared.basics.errors import OutOfFileDescriptors, StoreUnreachable
from shared.storage.files.fd_limits import CHAIN_MAX, out_of_descriptors
from shared.storage.log.frame_files import TelemetryFolder
from shared.storage.log.indexed_log import IndexedLogs
from shared.storage.store.redis_client import RedisClient
from tests.support.descriptors import no_descriptor_left

MINE = "this process has no file descriptor left (its limit is {}); raise the limit "
EVERYBODYS = "this machine has no file descriptor left; raise its limit (`sysctl fs.file-max`)"


def behind(first: OSError) -> Exception:
    """An error raised while another one was handled, as clients do, and then a third."""
    second, third = ValueError("second"), ValueError("third")
    second.__context__, third.__cause__ = first, second
    return third


def test_the_cause_of_an_error_is_found() -> None:
    here, everywhere = OSError(errno.EMFILE, "x"), OSError(errno.ENFILE, "y")
    assert MINE.partition("{")[0] in (out_of_descriptors(behind(here)) or "")
    assert out_of_descriptors(everywhere) == EVERYBODYS
    assert out_of_descriptors(None) is None
    assert out_of_descriptors(behind(OSError(errno.ENOSPC, "z"))) is None


def test_chained_errors_come_to_an_end() -> None:
    one, other = ValueError("one"), ValueError("other")
    one.__cause__, other.__cause__ = other, one
    assert CHAIN_MAX > 2
    assert out_of_descriptors(one) is None


@pytest.mark.parametrize("is_cluster", [False, True])
def test_a_redis_is_not_requested_while_nothing_can_be_opened(is_cluster: bool) -> None:
    """Nor is a file that contains the client's version."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"redis://127.0.0.1:{server.getsockname()[1]}"
        client = RedisClient(url, cluster=is_cluster)
        with no_descriptor_left() as most, pytest.raises(StoreUnreachable) as refused:
            client.call("key", "GET", "key")
        client.close()
    assert str(refused.value).startswith(f"Redis at {url} does not answer: {MINE.format(most)}")


def test_files_of_a_log_are_available_again(tmp_path: Path) -> None:
    folder, logs = TelemetryFolder(tmp_path / "frames"), IndexedLogs(tmp_path / "log")
    folder.put("pod-0", 7, b"frame")
    place = tmp_path / "frames" / "pod-0"
    for what, ask in (
        (f"telemetry folder {place}", lambda: folder.latest("pod-0")),
        (f"telemetry folder {place}", lambda: folder.put("pod-0", 8, b"frame")),
        (f"log file {tmp_path / 'log' / 'pod-0.jsonl'}", lambda: logs.open("pod-0")),
    ):
        with no_descriptor_left() as most, pytest.raises(OutOfFileDescriptors) as refused:
            ask()
        assert re.match(re.escape(f"{what}: {MINE.format(most)}"), str(refused.value))
    assert folder.latest("pod-0") == b"frame"
    logs.close()
