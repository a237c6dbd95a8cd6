"""Without free file descriptors, time stops until one is free, and nothing is lost."""

import errno
from pathlib import Path

import pytest

from tests.support.gateway_twin import DrivenTwin

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_time_stops_until_a_file_can_be_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    twin = DrivenTwin(tmp_path, ["pod.cubes=4"])
    refusals = 0
    replace = Path.replace

    def refused(path: Path, target: Path) -> Path:
        nonlocal refusals
        if refusals == 3:
            return replace(path, target)
        refusals += 1
        raise OSError(number, "Too many open files")

    monkeypatch.setattr(Path, "replace", refused)
    for _ in range(8):  # time that passes during the stop is not made up for
        twin.advance(1)
    assert refusals == twin.twin.recoveries == 3
    assert twin.twin.problem is None
    assert twin.client().get("/v1/telemetry/pod-0").status_code == 200
    twin.close()
    report = twin.audited("pod-0")
    assert report["log_clean"]
    assert report["states_clean"]
