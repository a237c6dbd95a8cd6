"""The kill switch of a live twin while a drill has paused a worker, so that the site stands still."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from ops.live.obeyed_orders import ObeyedOrders
from ops.live.supervisor import SupervisedProcess
from ops.servers.local_servers import LocalKafka
from schemas.drill_plan import DrillPlan, PlannedStep
from shared.basics.units import US_PER_MIN
from shared.runtimes.live.process.process_orders import supervised_processes
from tests.soak.clients import http_post
from tests.soak.whole_twin import TwinOptions
from tests.support.drill_runs import SETTINGS
from tests.support.live_twin import LiveTwin, live_twin

pytestmark = pytest.mark.slow("starts a live twin and pauses a worker of it")

OPTIONS = TwinOptions(seed=3, speed=60.0, settings=SETTINGS, partitions=1, prefix="paused", doubled=())
WORKER, DRILL = "cubes-a", "pod-0/drill-0"
STOP_S_MAX = 20.0
"""An idle machine takes a second or two; the pause lasts ten minutes."""


@dataclass
class _Worker:
    """What `ObeyedOrders` needs of a supervised process, for one that the twin's own supervisor runs."""

    twin: LiveTwin
    name: str = WORKER

    @property
    def pid(self) -> int | None:
        return self.twin.supervisor.pids()[WORKER]


def _plan() -> DrillPlan:
    inject = PlannedStep(
        name="down",
        what="request",
        verb="inject",
        fabric="pod-0",
        template='{"kind": "ocs", "target": "pod-0/ocs-1"}',
    )
    pause = PlannedStep(
        name="pause", what="process", verb="pause-process", process=WORKER, for_us=10 * US_PER_MIN
    )
    wait = PlannedStep(name="wait", what="wait", for_us=600 * US_PER_MIN)
    return DrillPlan(
        title="A worker stands still",
        document_sha256="a" * 64,
        probe_every_us=US_PER_MIN,
        steps=(inject, pause, wait),
        gate_us=0,
        settle_us=0,
        verify_us=0,
        lease_us=700 * US_PER_MIN,
    )


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@pytest.mark.timeout(900)
def test_the_kill_switch_acts_although_a_worker_is_paused(tmp_path: Path, kafka: LocalKafka) -> None:
    with live_twin(tmp_path, kafka, OPTIONS) as twin:
        twin.wait_advance()
        worker = cast(SupervisedProcess, _Worker(twin))
        with ObeyedOrders(worker, twin.store):
            pid = twin.supervisor.pids()[WORKER]
            assert pid is not None
            twin.wait_for("the supervisor is known", lambda: WORKER in supervised_processes(twin.store))
            twin.post("/v1/drills", {"plan": _plan().model_dump(mode="json"), "seed": 1})
            twin.wait_for("the worker is paused", lambda: _state(pid) == "T")
            twin.wait_for("the fault is active", lambda: [row["drill"] for row in _active(twin)] == [DRILL])
            began_s = time.monotonic()
            stop = {"action": "stop", "reason": "enough", "hold": True}
            http_post(twin.url)("/v1/safety", stop, "kill")
            twin.wait_for("the drill has ended", lambda: twin.get(f"/v1/drills/{DRILL}")["status"])
            assert time.monotonic() - began_s < STOP_S_MAX
            assert _active(twin) == []
            assert _state(pid) != "T"
        assert twin.get(f"/v1/drills/{DRILL}")["stopped"] == "kill-switch"


def _active(twin: LiveTwin) -> list[dict[str, object]]:
    return list(twin.get("/v1/faults?where=state=active"))
