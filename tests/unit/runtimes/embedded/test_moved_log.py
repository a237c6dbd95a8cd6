"""A log that is moved away while its twin runs: time stops until it is back, and nothing is lost."""

import time
from pathlib import Path

import pytest

from shared.runtimes.poll import poll_until
from tests.support.gateway_twin import DrivenTwin

pytestmark = pytest.mark.integration


def test_time_stops_while_the_log_is_missing(tmp_path: Path) -> None:
    twin = DrivenTwin(tmp_path, ["pod.cubes=4"])
    twin.advance(1)
    (log,) = tmp_path.rglob("pod-0.jsonl")
    away = log.rename(log.with_suffix(".away"))
    end = twin.logs.end("pod-0")
    assert poll_until(lambda: twin.twin.problem is not None, 20)
    assert twin.twin.problem == (
        f"log file {log}: was moved, removed or replaced while the twin writes to it; put it back"
    )
    log.touch()  # another file under its name is not the log
    twin._wall_s += 3_600
    time.sleep(0.2)
    assert (twin.logs.end("pod-0"), log.read_bytes()) == (end, b"")
    away.rename(log)
    assert poll_until(lambda: twin.twin.problem is None, 20)
    twin.advance(1)
    twin.close()
    assert twin.logs.end("pod-0") > end
    report = twin.audited("pod-0")
    assert (report["log_clean"], report["states_clean"]) == (True, True)
