"""Archiving: a running twin is archived, killed, restarted, backed up, forked and audited; another twin loses
part of its archive."""

import json
import os
import shutil
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from shared.basics.units import US_PER_DAY
from shared.runtimes.poll import poll_until
from tests.e2e.test_backup import FAULTY
from tests.support.living import LivingTwin, cli, living

pytestmark = pytest.mark.slow("starts a twin six times and archives days of its log")

SPAN_S = 120.0
UNTIL = "2d20:00:00"
LIVED_US = 3 * US_PER_DAY


def archive(data: Path, keep: str) -> dict[str, Any]:
    done = cli("archive", "--keep", keep, "--data", str(data), "-o", "json", timeout_s=SPAN_S)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)
    return dict(row)


def check_audit(data: Path) -> None:
    done = cli("audit", "--data", str(data), timeout_s=SPAN_S)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "clean" in done.stdout


def has_lived(twin: LivingTwin) -> bool:
    return bool(twin.get("/v1/clock")["now_us"] > LIVED_US)


def read_answers(twin: LivingTwin) -> list[Any]:
    """Return the answers of all read commands up to that time."""
    first = twin.get("/v1/events?limit=1&at=1h")[0]["id"]
    paths = ("events?limit=1000", "events?for=pod-0/cube-1", "cubes", "slices", "fabrics", f"why/{first}")
    return [twin.get(f"/v1/{path}{'&' if '?' in path else '?'}at={UNTIL}") for path in paths]


def read_outputs(twin: LivingTwin) -> list[str]:
    """Return the output of the same commands as people see it."""
    first = twin.get("/v1/events?limit=1&at=1h")[0]["id"]
    done = [twin.cli("events", "--until", UNTIL, "--limit", "400"), twin.cli("why", first)]
    assert [each.stderr for each in done] == [""] * len(done)
    return [each.stdout for each in done]


def test_a_twin_that_is_archived_while_it_runs_reports_the_same_as_before(tmp_path: Path) -> None:
    for twin in living(tmp_path / "data", "--speed", "60000", "--set", "pod.cubes=4"):
        assert poll_until(partial(has_lived, twin), SPAN_S)
        before, shown = read_answers(twin), read_outputs(twin)
        row = archive(twin.data, "2d")
        assert row["messages"] == row["begins"]
        assert read_answers(twin) == before
        assert archive(twin.data, "12h")["begins"] > row["begins"]
        assert read_answers(twin) == before
        twin.kill()
        check_audit(twin.data)
        twin.start()
        assert read_answers(twin) == before
        assert read_outputs(twin) == shown
        assert twin.stop() == 0
        assert archive(twin.data, "1h")["file"]
        _check_operations(twin, before)


def _check_operations(twin: LivingTwin, before: list[Any]) -> None:
    """The twin can be rebuilt, backed up, restored and replayed."""
    data = twin.data
    twin.start("--rebuild-all")
    assert read_answers(twin) == before
    assert twin.stop() == 0
    backup, restored = data.with_name("backup"), data.with_name("restored")
    for words in (
        ("backup", str(backup), "--data", str(data)),
        ("restore", str(backup), "--data", str(restored)),
    ):
        done = cli(*words, timeout_s=SPAN_S)
        assert done.returncode == 0, done.stderr
    check_audit(restored)
    replayed = cli("lab", "replay", str(data / "log" / "pod-0.jsonl"))
    assert (replayed.returncode, replayed.stderr) == (0, "")
    _check_lost_segment(twin)


def _check_lost_segment(twin: LivingTwin) -> None:
    """Without its first segment, the twin starts and runs, and reports the loss to readers."""
    first = min((twin.data / "log" / "pod-0.archive").glob("*.zst"))
    shutil.move(first, twin.data / "away")
    expected = f"log file {first}: is missing; restore it from a backup\n"
    twin.start()
    now_us = twin.get("/v1/clock")["now_us"]
    assert twin.cli("get", "cubes").returncode == 0
    lost = twin.cli("events", "--until", "0d01:00:00")
    assert (lost.returncode, lost.stdout) == (1, "")
    assert lost.stderr.endswith(expected), lost.stderr
    assert lost.stderr.count("\n") == 1
    assert twin.cli("events", "--limit", "5").returncode == 0
    assert twin.get("/v1/clock")["now_us"] > now_us
    assert twin.stop() == 0
    done = cli("audit", "--data", str(twin.data), timeout_s=SPAN_S)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"lightwave: {expected}")


def test_an_archive_run_that_is_killed_or_has_no_disk_space_is_completed_by_the_next(tmp_path: Path) -> None:
    for twin in living(tmp_path / "data", "--speed", "60000", "--set", "pod.cubes=4"):
        assert poll_until(partial(has_lived, twin), SPAN_S)
        twin.kill()
    log = twin.data / "log" / "pod-0.jsonl"
    plain = log.read_bytes()
    full = faulty("full", 3, "archive", "--keep", "6h", "--data", str(twin.data))
    assert (full.returncode, full.stdout) == (1, "")
    assert full.stderr.count("\n") == 1
    assert "No space left on device" in full.stderr
    killed = faulty("kill", 6, "archive", "--keep", "6h", "--data", str(twin.data))
    assert killed.returncode == -signal.SIGKILL
    assert log.read_bytes() == plain
    assert archive(twin.data, "6h")["file"]
    check_audit(twin.data)


def faulty(how: str, at: int, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", FAULTY, how, str(at), *words],
        text=True,
        capture_output=True,
        timeout=SPAN_S,
        env={name: value for name, value in os.environ.items() if not name.startswith("LIGHTWAVE_")},
    )
