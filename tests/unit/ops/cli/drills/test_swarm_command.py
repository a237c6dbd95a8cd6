"""`lightwave drill swarm`, and `drill run --in lab --judge`: results, documents and exit codes."""

import json
from pathlib import Path

import pytest

from ops.cli.drills import swarm as command
from ops.drills.swarm import hunt
from ops.drills.swarm.findings_folder import FindingsFolder
from tests.support.fake_twin import environment
from tests.support.forked import run_forked
from tests.unit.ops.drills.test_swarm import FOUND

pytestmark = pytest.mark.integration
HERE = environment("http://127.0.0.1:9")
"""No twin is needed."""
NOTHING, FOUND_ONE, USAGE = 0, 1, 2


def test_a_seed_without_a_fault_ends_with_0_and_makes_no_folder(tmp_path: Path) -> None:
    out = tmp_path / "found"
    words = ["drill", "swarm", "--seeds", "1", "--seed", "5", "--no-cost", "--out", str(out), "-o", "json"]
    done = run_forked(words, HERE)
    assert done.returncode == NOTHING, done.stderr
    found = json.loads(done.stdout)
    assert (found["seeds_run"], found["ended_by"], found["findings"]) == (1, None, [])
    assert found["drills"] == {"completed": 1}
    assert not out.exists()


def test_a_used_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("mine")
    done = run_forked(["drill", "swarm", "--seeds", "1", "--out", str(tmp_path)], HERE)
    assert done.returncode == USAGE
    assert "must be a new or an empty folder" in done.stderr


def test_seeds_that_no_drill_can_have_are_refused(tmp_path: Path) -> None:
    done = run_forked(["drill", "swarm", "--seed", str(2**52), "--out", str(tmp_path / "found")], HERE)
    assert done.returncode == USAGE
    assert f"--seed {2**52}: is not allowed; must be at most {2**52 - 200}" in done.stderr


def test_a_document_of_the_swarm_is_judged_in_the_lab(tmp_path: Path) -> None:
    path = FindingsFolder(tmp_path / "found").write(FOUND)
    words = ["drill", "run", str(path), "--seed", "5", "--warm-up", "1h", "--set", "pod.cubes=8"]
    done = run_forked([*words, "--in", "lab", "--judge"], HERE)
    assert done.returncode == NOTHING, done.stderr
    assert "no problem found" in done.stdout
    assert run_forked([*words, "--judge"], HERE).returncode == USAGE
    assert run_forked([*words, "--in", "lab", "--judge", "--seeds", "2"], HERE).returncode == USAGE


def test_what_is_found_is_written_and_ends_with_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr(command, "show", lambda _content, _form, table: shown.append(table()))
    result = hunt.SeedResult(5, "completed", 321, None, (FOUND,))
    monkeypatch.setattr(hunt, "run_seed", lambda *_: result)
    with pytest.raises(Exception, match=str(FOUND_ONE)):
        command.swarm(seeds=1, out=tmp_path / "found")
    assert (tmp_path / "found" / "seed-5-starved.yaml").is_file()
    assert "1 of 1 seeds, 321 messages" in shown[0]
