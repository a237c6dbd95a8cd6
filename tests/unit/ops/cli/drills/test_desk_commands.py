"""`lightwave drill desk` and `debrief` against a twin in this process."""

import json
import os
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.support.fake_twin import environment
from tests.support.forked import run_forked
from tests.support.gateway_twin import QUIET, DrivenTwin
from tests.support.served import served
from tests.unit.services.gateway.test_drills import plan

pytestmark = pytest.mark.integration
REFUSED, USAGE, NOT_FOUND = 1, 2, 3
GAME = {
    "brief": "Slices are slow.",
    "answer": ["pod-0/ocs-17"],
    "find_us": 600_000_000,
    "act_us": 900_000_000,
    "hints": ["Look at the alarms."],
}


@pytest.fixture
def twin(tmp_path: Path) -> Iterator[DrivenTwin]:
    """A small pod whose time stands still while commands run."""
    twin = DrivenTwin(tmp_path, ["pod.cubes=4", *QUIET])
    yield twin
    twin.close()


def typed(text: str) -> None:
    """Let standard input have these lines."""
    read, write = os.pipe()
    os.write(write, text.encode())
    os.close(write)
    os.dup2(read, 0)
    sys.stdin = os.fdopen(0)


def test_a_game_from_the_desk_to_the_debrief(twin: DrivenTwin, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(plan(trainee=GAME)))
    with served(twin) as url:
        here = environment(url, COLUMNS="80")
        lines = "ack\nculprit ocs-17\nhint\nculprit\nlab run\nget faults\ndebrief\nquit\nhint\n"
        sat = run_forked(
            ["drill", "desk", str(file), "--as", "tina"], here, before=partial(typed, lines), merged=True
        )
        assert sat.returncode == 0, sat.stdout
        for part in (
            *("pod-0/drill-0: it is 0d00:00:00", "Slices are slow.", "nothing keeps you from looking"),
            *("no alerts", "the alerts are acknowledged", "pod-0/ocs-17 is noted"),
            *("hint 1: Look at the alarms.", "culprit: name one object", "lab: not a command of the desk"),
            *("this client is a trainee and has no right to see faults", "its game runs"),
        ):
            assert part.replace(" ", "") in sat.stdout.replace(" ", "").replace("\n", ""), (part, sat.stdout)
        assert sat.stdout.count("hint 1") == 1
        twin.advance(1.0)
        done = run_forked(["drill", "debrief", "pod-0/drill-0"], here)
        assert done.returncode == 0, done.stderr
        assert "TRUTH      FaultBegan" in done.stdout
        assert "chip-hours      0.0 saved against a copy" in done.stdout
        over = run_forked(["drill", "hint", "--drill", "pod-0/drill-0"], here)
        assert (over.returncode, "its game is over" in over.stderr) == (REFUSED, True)
        none = run_forked(["drill", "culprit", "ocs-17"], here)
        assert (none.returncode, "no drill with a `trainee` section runs" in none.stderr) == (NOT_FOUND, True)


def test_a_document_without_a_game_has_no_desk(tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(plan()))
    refused = run_forked(["drill", "desk", str(file)], environment("http://127.0.0.1:9"))
    assert refused.returncode == USAGE
    assert "has no `trainee` section" in refused.stderr
