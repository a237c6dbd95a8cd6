"""A drill on a live twin is hit by a kill of each of its processes in each of its phases."""

import contextlib
import json
import random
import signal
import time
from functools import partial
from pathlib import Path

import pytest

from ops.servers.local_servers import LocalKafka
from schemas.drill_plan import PHASES
from schemas.registry import decode
from shared.basics.errors import LightwaveError
from shared.basics.units import US_PER_MIN
from tests.soak.whole_twin import TwinOptions
from tests.support.drill_runs import SETTINGS, check_counts, check_drill, check_lab, lasting_drill
from tests.support.live_twin import LiveTwin, live_twin

pytestmark = pytest.mark.slow("kills a process of a live twin 25 times")

OPTIONS = TwinOptions(seed=3, speed=800.0, settings=SETTINGS, partitions=1, prefix="drills", doubled=())
VICTIMS = ("drills-a", "gateway", "sequencer", "redis", "kafka")
PHASE_US = 40 * US_PER_MIN
"""Three seconds at the twin's speed."""
LATER_S_MAX = 0.5
"""How long after the begin of a phase its kill comes, at most. The undo is too short to wait."""
DOWN = "/v1/ocs?fabric=pod-0&where=state!=up"
DRILL_S_MAX = 400.0


# Two minutes on an idle machine.
@pytest.mark.timeout(2400)
def test_a_kill_of_any_process_in_any_phase_repeats_and_leaves_nothing(
    tmp_path: Path, kafka: LocalKafka
) -> None:
    delays = random.Random(5)
    hit: dict[str, list[str]] = {}
    with live_twin(tmp_path, kafka, OPTIONS) as twin:
        for number, victim in enumerate(VICTIMS):
            drill = _start_drill(twin, number)
            hit[victim] = [_kill_in(twin, victim, drill, phase, delays) for phase in PHASES]
            twin.wait_for(f"{drill} ends", partial(_has_ended, twin, drill), DRILL_S_MAX)
        twin.wait_ready()
        drills = [f"pod-0/drill-{number}" for number in range(len(VICTIMS))]
        last = f"/v1/drills/{drills[-1]}/journal"
        twin.wait_for("the gateway has read the last drill", lambda: twin.get(last)["end"])
        shown = [twin.get(f"/v1/drills/{drill}/journal") for drill in drills]
        report = twin.audit()
        assert report["clean"], report
        lines = twin.log_lines(0)
        exits = twin.supervisor.exits()
        messages = [decode(line) for line in lines]
        for drill in drills:
            check_drill(messages, drill)
            assert check_counts(messages, drill, twin.get, "/v1/ocs?fabric=pod-0&where=state!=up") >= len(
                PHASES
            )
    check_lab(lines, drills)
    assert {victim: set(phases) for victim, phases in hit.items()} == {name: set(PHASES) for name in VICTIMS}
    assert all(exits[name].count(-signal.SIGKILL) >= len(PHASES) for name in VICTIMS[:3]), exits
    assert [journal["lightwave"]["drill"] for journal in shown] == drills


def _start_drill(twin: LiveTwin, number: int) -> str:
    """Start a drill while time stands still, so that the lab can repeat its request at the same time."""
    plan = json.loads(lasting_drill(PHASE_US).model_dump_json())
    with twin.paused():
        twin.post("/v1/drills", {"plan": plan, "seed": number})
    return f"pod-0/drill-{number}"


def _phase(twin: LiveTwin, drill: str) -> str | None:
    """The phase of a drill by its status document; None if it has ended."""
    document = twin.store.one("pod-0", "drills", drill)
    if document is None:
        raise LightwaveError(f"{drill} has not begun")
    fields = json.loads(document)
    return None if fields["status"] is not None else str(fields["phase"])


def _has_ended(twin: LiveTwin, drill: str) -> bool:
    return _phase(twin, drill) is None


def _kill_in(twin: LiveTwin, victim: str, drill: str, phase: str, delays: random.Random) -> str:
    """Kill a process soon after a phase has begun; return the phase then."""
    until_s = time.monotonic() + DRILL_S_MAX
    found = None
    while found != phase:
        with contextlib.suppress(LightwaveError, OSError):
            found = _phase(twin, drill)
            assert found is not None, f"{drill} ended before {phase}"
        assert time.monotonic() < until_s, f"no {phase}: {twin.words()}"
    if phase != "undo":
        time.sleep(delays.uniform(0.0, LATER_S_MAX))
    if victim in ("redis", "kafka"):
        server = twin.redis if victim == "redis" else twin.kafka
        server.kill()
        server.start()
        return phase
    pid = twin.supervisor.send_signal(victim, signal.SIGKILL)
    assert pid is not None, f"{victim} does not run"
    after = _phase(twin, drill)
    twin.clock.pause()  # or a phase might be over before the process runs again
    twin.wait_for(f"{victim} runs again", lambda: twin.supervisor.pids()[victim] not in (None, pid))
    twin.clock.resume()
    return str(after)
