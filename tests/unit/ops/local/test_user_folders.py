"""The user's folders: from the environment, or at their usual places."""

from pathlib import Path

import pytest

from ops.live.settings import default_data as live_data
from ops.local.user_folders import user_folder
from ops.servers.kafka_jars import cache
from ops.twin.data_folder import default_data


def test_folders_are_taken_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert user_folder("state", "a") == tmp_path / "state" / "a"
    assert default_data() == tmp_path / "state" / "lightwave"
    assert live_data() == tmp_path / "state" / "lightwave-live"
    assert cache() == tmp_path / "cache" / "lightwave"


@pytest.mark.parametrize("given", [None, ""])
def test_folders_are_usually_in_the_home(
    given: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
        if given is not None:
            monkeypatch.setenv(name, given)
    assert user_folder("state", "a") == tmp_path / ".local" / "state" / "a"
    assert user_folder("cache", "a") == tmp_path / ".cache" / "a"
