"""The scripts of the documentation run as written, and its page shows them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import lightwave
from ops.client.http_client import Client
from tests.support.living import LivingTwin

pytestmark = pytest.mark.slow("runs every script of the documentation")

SCRIPTS = Path(__file__).parents[2] / "docs" / "tutorials" / "python"
ALONE = ("availability", "lab", "optics", "sweep", "topology")


def run(name: str, folder: Path, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(SCRIPTS / f"{name}.py")],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("name", ALONE)
def test_a_script_runs_as_written(name: str, tmp_path: Path) -> None:
    output = run(name, tmp_path)
    assert output.count("\n") > 5
    if name == "lab":
        assert "the same: True" in output
        assert "did you mean repairs.technicians?" in output
    if name == "sweep":
        assert "holds - the difference of cube_availability is" in output
        assert "<html" in (tmp_path / "technicians.html").read_text()


def test_the_script_for_a_running_twin_runs_against_one(tmp_path: Path) -> None:
    twin = LivingTwin(tmp_path / "data", options=("--speed", "600", "--seed", "7"))
    twin.start()
    try:
        lines = run("twin", tmp_path, LIGHTWAVE_URL=twin.url).splitlines()
    finally:
        twin.stop()
    assert lines[0].startswith("pod-0: ")
    types = [line.split()[1] for line in lines if line.startswith("pod-0:") and " " in line]
    assert "OcsDown" in types
    assert types.index("FaultBegan") < types.index("FaultEnded")
    assert any(line.startswith("InjectFault") for line in lines)
    assert "1200.0" in lines
    assert "cube-99" in lines[-1]


def test_a_subscription_continues_after_a_restart_of_the_twin_without_a_gap(tmp_path: Path) -> None:
    twin = LivingTwin(tmp_path / "data", options=("--speed", "600", "--seed", "7"))
    twin.start()
    try:
        seen = []
        for event in lightwave.connect(twin.url).subscribe(ticks=True, reconnect_timeout_s=60):
            seen.append(int(event.position.rpartition(":")[2]))
            if len(seen) == 20:
                twin.kill()
                twin.start()
            if len(seen) == 60:
                break
        assert seen == [*range(seen[0], seen[0] + 60)]
        stream = lightwave.connect(twin.url).subscribe(after=f"pod-0:{seen[9]}", ticks=True)
        again = [int(next(stream).position.rpartition(":")[2]) for _ in range(20)]
        assert again == seen[10:30]
    finally:
        twin.stop()
    with pytest.raises(lightwave.TwinUnreachable):
        next(lightwave.Twin(Client(twin.url)).subscribe("pod-0", after="pod-0:3", reconnect_timeout_s=0.5))


def test_the_page_shows_every_script(tmp_path: Path) -> None:
    page = (SCRIPTS.parent / "python.md").read_text()
    names = {path.stem for path in SCRIPTS.glob("*.py")}
    assert names == {*ALONE, "twin"}
    assert {name for name in names if f"](python/{name}.py)" in page} == names
