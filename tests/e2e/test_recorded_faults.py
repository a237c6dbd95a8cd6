"""A twin with recorded faults injects every row once, at its time, although it is killed again and again."""

import json
from pathlib import Path

import pytest

from shared.basics.units import US_PER_S
from tests.support.living import LivingTwin, cli

pytestmark = pytest.mark.slow("kills a twin five times, and audits it")

ROWS, EVERY_S, KILLS = 120, 45, 5
"""Rows, their distance in simulated seconds, and how often the twin is killed meanwhile."""
QUIET = ("--set", "pod.cubes=4", "--set", "failures.enabled=false", "--set", "workload.enabled=false")


def test_no_row_is_lost_or_repeated_by_kills(tmp_path: Path) -> None:
    path = tmp_path / "faults.csv"
    rows = [f"host,cube-{n % 4}/host-{n % 16},{60 + n * EVERY_S},30\n" for n in range(ROWS)]
    path.write_text("kind,target,begin_s,for_s\n" + "".join(rows))
    twin = LivingTwin(tmp_path / "data", options=("--speed", "300", *QUIET))
    twin.start("--faults", str(path))
    end_us = (60 + ROWS * EVERY_S) * US_PER_S
    for number in range(1, KILLS + 1):
        twin.wait_clock(end_us * number / (KILLS + 1))
        twin.kill()
        twin.start(*(("--faults", str(path)) if number == 1 else ()))
    twin.wait_clock(end_us)
    listed = json.loads(
        cli("events", "--type", "FaultBegan", "--since", "0d", "-o", "json", url=twin.url).stdout
    )
    begun = [(row["at_us"], row["body"]["target"], row["body"]["expires_us"]) for row in listed]
    expected = [
        ((60 + n * EVERY_S) * US_PER_S, f"pod-0/cube-{n % 4}/host-{n % 16}", (90 + n * EVERY_S) * US_PER_S)
        for n in range(ROWS)
    ]
    assert begun == expected
    assert twin.stop() == 0
    audited = cli("audit", "--data", str(twin.data), "-o", "json", timeout_s=90.0)
    assert audited.returncode == 0, audited.stdout + audited.stderr
    path.write_text("kind,target,begin_s,for_s\nhost,cube-0/host-0,1,\n")
    other = cli("up", "--data", str(twin.data), "--faults", str(path), "--port", str(twin.port))
    assert (other.returncode, "was created with 120 others" in other.stderr) == (2, True), other.stderr
