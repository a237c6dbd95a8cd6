"""A whole live twin of two sites under random faults of every kind: every request is applied exactly once.

Meanwhile operators send requests, fabrics join and retire, a historian compares, and software is upgraded.
"""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.soak.faults.catalog import FAULT_ACTIONS
from tests.soak.run import Soak, run_soak
from tests.soak.soak_report import report_text
from tests.support.child_processes import children

pytestmark = pytest.mark.slow("a minute of faults on a live twin of two sites, and its audit")

ROOT = Path(__file__).parents[2]
CAMPUS = """
site: campus
fabrics:
  - name: pod-0
    kind: superpod
    config: {pod: {cubes: 8}, failures: {host_per_day: 0.05}, transceivers: {telemetry_interval_s: 300}}
  - name: pod-1
    kind: static-pod
    config: {failures: {host_per_day: 0.01}, transceivers: {telemetry_interval_s: 300}}
  - name: dcn-0
    kind: dcn
    config:
      network:
        racks: 4
        racks_full: 4
        switches: 2
        blocks:
          - {generation: 100, uplinks: 256, pod: pod-0}
          - {generation: 400, uplinks: 256, pod: pod-1}
          - {generation: 200, uplinks: 256, count: 4}
      traffic: {telemetry_interval_s: 300}
      topology:
        approval: operator
        use_above: 100
        served_below: 0
        transit_above: 1
        gain_min: 0
        drain_s: 60
"""
"""Three kinds of fabrics on one log, whose trunks change only by operators' plans. Frequent telemetry causes
frequent Ticks, which show that time advances."""
LONE = """
site: lone
fabrics:
  - name: pod-2
    kind: superpod
    config: {pod: {cubes: 16}, failures: {host_per_day: 0.05}}
"""
ACTIONS = {
    "kill worker",
    "hold down sequencer",
    "delete copy gateway",
    "kill kafka",
    "roll back redis",
    "kill some processes",
    "strays log",
    "kill rebuild twin",
}
SOAK = Soak(
    minutes=0.8,
    faults=len(ACTIONS),
    joins=2,
    seed=4,
    speed=3_000.0,
    fault_actions=tuple(fault_action for fault_action in FAULT_ACTIONS if fault_action.name in ACTIONS),
    recovery_s_max=180.0,
)
"""Longer than the minute of docs/reference/live.md, because other tests may run on the same slow machine."""
SITES = {
    "campus": {"dcn-0": "dcn", "pod-0": "superpod", "pod-1": "static-pod", "pod-3": "superpod"},
    "lone": {"dcn-4": "dcn", "pod-2": "superpod"},
}
"""The fabrics at the end: a superpod has joined, and a network has joined and retired."""


# It takes two minutes on an idle machine, and longer than the usual bound on a busy one.
@pytest.mark.timeout(2700)
def test_no_request_is_lost_or_applied_twice_under_faults(tmp_path: Path) -> None:
    files = (tmp_path / "campus.yaml", tmp_path / "lone.yaml")
    for file, text in zip(files, (CAMPUS, LONE), strict=True):
        file.write_text(text)
    progress: list[str] = []
    report = run_soak(replace(SOAK, site_files=files), progress.append)
    words = report_text(report)
    assert report["problems"] == [], words
    assert report["verdict"] == "clean"
    assert report["audit"]["clean"] is True
    assert {row["site"]: row["fabrics"] for row in report["audit"]["sites"]} == {
        site: list(fabrics) for site, fabrics in SITES.items()
    }
    assert report["sites"] == SITES
    assert [row["fabric"] for row in report["joined"]] == ["pod-3", "dcn-4"]
    assert [row["fabric"] for row in report["retired"]] == ["dcn-4"]
    assert all(row["log_clean"] and row["states_clean"] for row in report["audit"]["sites"])
    assert {f"{row['action']} {row['kind']}" for row in report["faults"]} == ACTIONS | {"upgrade twin"}
    assert report["upgraded"] == ["campus", "lone"]
    assert report["historian"]["log_differences"] == 0
    assert all(row["recovery_s"] is not None for row in report["faults"])
    requests = report["requests"]
    assert requests["accepted"] > 40, words
    assert requests["done"] > 20
    assert set(requests["by_type"]) >= {"InjectFault", "DrainCube", "RequestSlice", "PlanTopology"}
    assert all(days > 0 for days in report["log"]["days"].values())
    assert report["log"]["messages"] > 500
    assert report["log"]["foreign"] > 20
    assert report["log"]["days"].keys() == {name for fabrics in SITES.values() for name in fabrics}
    assert report["repeat"] == (
        f"python -m tests.soak --minutes 0.8 --site {files[0]} --site {files[1]} --joins 2 --faults 8 "
        "--seed 4 --speed 3000"
    )
    assert "clean: 8 faults" in words
    assert len(progress) > SOAK.faults
    assert report["folder"] is None
    assert json.loads(json.dumps(report)) == report


def test_ctrl_c_stops_all_processes_of_the_soak(tmp_path: Path) -> None:
    """The signal arrives during the start, when the most processes could be left behind."""
    soak = subprocess.Popen(
        [sys.executable, "-m", "tests.soak", "--minutes", "5", "--report", "report.json"],
        cwd=tmp_path,
        env=os.environ | {"TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        until_s = time.monotonic() + 180
        while len(children(soak.pid)) < 8:
            assert soak.poll() is None, soak.communicate()
            assert time.monotonic() < until_s
            time.sleep(0.05)
        started = children(soak.pid)
        soak.send_signal(signal.SIGINT)
        _, stderr = soak.communicate(timeout=60)
    finally:
        soak.kill()
    assert soak.returncode == 130
    assert "Traceback" not in stderr
    assert [pid for pid in started if Path(f"/proc/{pid}").exists()] == []
    (folder,) = tmp_path.glob("lightwave-soak-*")
    assert f"logs and data are kept in {folder}" in stderr
    assert not (tmp_path / "report.json").exists()
