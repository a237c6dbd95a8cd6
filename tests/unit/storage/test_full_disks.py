"""A full disk: the error names the writer and the remedy."""

import errno
from pathlib import Path

import pytest
from redis.exceptions import ResponseError

from shared.basics.errors import OperationFailed
from shared.storage.log.frame_files import TelemetryFolder
from shared.storage.store.redis_client import RedisClient

FULL = "No space left on device"


@pytest.mark.parametrize("place", [" script: 5de1, on @user_script:30.", ""])
def test_a_redis_whose_disk_is_full_is_reported_without_our_script(place: str) -> None:
    client = RedisClient("redis://127.0.0.1:1/0")
    with pytest.raises(OperationFailed) as refused, client.translated_errors():
        raise ResponseError(f"MISCONF Errors writing to the AOF file: {FULL}{place}")
    assert str(refused.value) == (
        "Redis at redis://127.0.0.1:1/0 refuses: MISCONF Errors writing to the AOF file: "
        f"{FULL}; free space on its disk"
    )


def test_a_frame_that_cannot_be_written_is_an_error_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_path: Path, _target: Path) -> Path:
        raise OSError(errno.ENOSPC, FULL)

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OperationFailed) as refused:
        TelemetryFolder(tmp_path).put("pod-0", 7, b"frame")
    assert str(refused.value) == f"telemetry folder {tmp_path / 'pod-0'}: {FULL}"
