"""A fork of a running twin: created, listed, run, audited and removed by commands."""

import json
from pathlib import Path
from typing import Any

import pytest

import lightwave
from shared.basics.units import US_PER_DAY
from shared.runtimes.poll import poll_until
from tests.support.living import LivingTwin, cli, living

pytestmark = pytest.mark.slow("starts a twin and two forks of it, each for a simulated day")

SPAN_S = 90.0


class Fork(LivingTwin):
    """A fork, named after the folder next to its log."""

    def _words(self) -> tuple[str, ...]:
        return ("--fork", self.data.name, *self.options)


def audit_report(*words: str) -> dict[str, Any]:
    done = cli("audit", *words, "-o", "json", timeout_s=SPAN_S)
    assert done.returncode == 0, done.stdout + done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def wait_lived(twin: LivingTwin, days: float) -> None:
    """Wait until the twin has run for this long."""
    assert poll_until(lambda: twin.get("/v1/clock")["now_us"] > days * US_PER_DAY, SPAN_S)


def forks() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(cli("fork", "list", "-o", "json").stdout)
    return rows


def test_a_twin_that_runs_is_forked_and_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for twin in living(tmp_path / "data", "--speed", "20000", "--set", "pod.cubes=8", "--seed", "5"):
        wait_lived(twin, 1.0)
        words = ("fork", "--data", str(twin.data), "--at", "0d12:00:00", "--name")
        created = twin.cli(*words, "trial", "--set", "failures.host_per_day=0.5")
        assert created.returncode == 0, created.stderr
        refused = twin.cli(*words, "trial")
        assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
        origin = lightwave.connect(twin.url).fork(
            "second", at="0d12:00:00", parameters={"repairs.technicians": 3}
        )
        ahead = twin.cli("lab", "run", "--from", f"{twin.url}@0d12:00:00", "--days", "0.1", "-o", "json")
        assert ahead.returncode == 0, ahead.stderr
        past = twin.get("/v1/cubes?at=0d12:00:00")
        (own,) = [each for each in lightwave.forks() if each.name == "second"]
        assert (own.at_us, own.place, own.settings) == (origin.at_us, str(twin.data), origin.settings)
        assert lightwave.remove_fork("second") == own.bytes
        (row,) = forks()
        assert (row["name"], row["place"], row["runs"]) == ("trial", str(twin.data), False)
        assert cli("fork", "list").stdout.splitlines()[1].split()[-2:] == ["no", "failures.host_per_day=0.5"]
        for fork in living(tmp_path / "trial", "--speed", "20000", kind=Fork):
            assert fork.get("/v1/cubes?at=0d12:00:00") == past
            assert fork.get("/v1/config/pod-0")["failures"]["host_per_day"] == 0.5
            about = fork.get("/v1/twin")["fork"]
            assert (about["name"], about["place"]) == ("trial", str(twin.data))
            wait_lived(fork, 2.0)
            assert forks()[0]["runs"] is True
            assert cli("fork", "rm", "trial").returncode == 1
            assert fork.stop() == 0
        assert twin.get("/v1/config/pod-0")["failures"]["host_per_day"] != 0.5
        assert twin.stop() == 0
        origin = audit_report("--data", row["data"])["fork"]
        assert origin["differing"] == []
        assert origin["own"]["pod-0"] > 0
        assert audit_report("--data", str(twin.data))["fork"] is None
        removed = cli("fork", "rm", "trial")
        assert removed.returncode == 0, removed.stderr
        assert forks() == []
