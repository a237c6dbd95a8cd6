"""A live twin of a version without the service `drills` is upgraded, and then runs a drill."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ops.servers.local_servers import LocalKafka
from schemas.registry import decode
from shared.basics.units import US_PER_MIN
from shared.engine.code_version import RULES
from tests.soak.whole_twin import TwinOptions
from tests.support.drill_runs import SETTINGS, check_drill, lasting_drill
from tests.support.live_twin import LiveTwin, live_twin
from tests.support.next_version import command, version_without_drills

pytestmark = pytest.mark.slow("starts a live twin in two versions of the software")

DRILL = "pod-0/drill-0"
DRILL_S_MAX = 300.0
OPTIONS = TwinOptions(
    seed=3, speed=800.0, settings=SETTINGS, partitions=1, prefix="before-drills", doubled=()
)


@pytest.mark.timeout(1200)
def test_drills_begin_in_a_live_twin_that_was_there_before_them(tmp_path: Path, kafka: LocalKafka) -> None:
    version = version_without_drills(tmp_path / "before")
    program = ("env", f"PYTHONPATH={version}", *command())
    services = tuple(name for name in OPTIONS.services if name != "drills")
    before = replace(OPTIONS, program=program, only=services)
    with live_twin(tmp_path / "live", kafka, before) as twin:
        twin.wait_advance()
        injected = twin.run("inject", "link", "pod-0/cube-0/+x/3", "--comment", "before the upgrade")
        assert injected.returncode == 0, injected.stderr
        with twin.paused():
            twin.supervisor.stop()
        later = LiveTwin(twin.folder, kafka, twin.redis, OPTIONS)
        later.gateways = twin.gateways
        refused = later.run("live", "worker", "drills", "--replica", "early", "--metrics-port", "0")
        assert refused.returncode == 1
        assert f"of rules {RULES}: run `lightwave live upgrade` to convert them" in refused.stderr
        done = later.run("live", "upgrade", "-o", "json")
        assert done.returncode == 0, done.stdout + done.stderr
        rows = [(row["site"], row["migrated"]) for row in json.loads(done.stdout)]
        assert rows == [("pod-0", ["cubes", "drills", "failures"])]
        try:
            later.start_processes()
            later.wait_ready()
            later.wait_advance()
            _drill(later)
        finally:
            later.stop()


def _drill(twin: LiveTwin) -> None:
    """A whole drill runs, and the fault from before the upgrade is not its business."""
    (fault,) = twin.get("/v1/faults?where=state=active")
    assert (fault["name"], fault["comment"]) == ("pod-0/fault-0", "before the upgrade")
    plan = json.loads(lasting_drill(20 * US_PER_MIN).model_dump_json())
    twin.post("/v1/drills", {"plan": plan})
    twin.wait_for(
        "the drill ends", lambda: twin.get(f"/v1/drills/{DRILL}")["status"] == "completed", DRILL_S_MAX
    )
    report = twin.audit()
    assert report["clean"], report
    check_drill([decode(line) for line in twin.log_lines(0)], DRILL)
