"""A schedule of drills on a live twin: runs start in their window, never two at once, also after kills."""

import json
import signal
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from ops.servers.local_servers import LocalKafka
from schemas.envelope import Envelope
from schemas.messages.drills import DrillBegun, DrillEnded, DrillSkipped
from schemas.registry import decode
from shared.basics.errors import LightwaveError
from shared.basics.time_format import format_time
from shared.basics.units import US_PER_DAY, US_PER_HOUR, US_PER_MIN
from shared.runtimes.simulated_clock import ClockChange
from tests.soak.final_state import is_quiet
from tests.soak.whole_twin import TwinOptions
from tests.support.drill_runs import SETTINGS, check_drill, check_lab, journal, lasting_drill
from tests.support.live_twin import LiveTwin, live_twin

pytestmark = pytest.mark.slow("runs eight scheduled drills on a live twin")

SPEED = 5_000.0
OPTIONS = TwinOptions(seed=3, speed=SPEED, settings=SETTINGS, partitions=1, prefix="schedule", doubled=())
SCHEDULE = "pod-0/schedule-0"
WORKER = "drills-a"
PHASE_US = 20 * US_PER_MIN
"""A run lasts 80 minutes, so that the next one would overlap it."""
LEASE_US = 2 * US_PER_HOUR
FIRST_H = 8
"""Hour of the day at which the window starts. It ends at 20:00, so the last run starts at 18:00."""
RUN_H = (0, 2, 4, 6, 8, 10, 24, 26)
SKIPPED_H = (1, 3, 5, 7, 9, 25, 27)
"""Hours after the first run at which runs start, and at which the run of the hour before still goes on."""
BETWEEN_US = 3 * US_PER_HOUR + 45 * US_PER_MIN
"""Time after a first run of a day, between the second and the third."""
EVENING_US = 12 * US_PER_HOUR
RUN_S_MAX = 300.0


@pytest.mark.timeout(1200)
def test_scheduled_drills_run_one_at_a_time_and_go_on_after_kills_of_their_worker(
    tmp_path: Path, kafka: LocalKafka
) -> None:
    with live_twin(tmp_path / "live", kafka, OPTIONS) as twin:
        first_us = _schedule(twin, tmp_path / "plan.json")
        between_us, next_day_us = first_us + BETWEEN_US, first_us + US_PER_DAY
        _run_until(twin, between_us)
        _kill_between_runs(twin, between_us, runs=2, skipped=2)
        _start_run_until(twin, next_day_us + BETWEEN_US)
        twin.wait_for(
            "evening comes", lambda: twin.clock.show().now_us > first_us + EVENING_US, seconds=RUN_S_MAX
        )
        _kill_between_runs(twin, next_day_us, runs=6, skipped=5)
        _wait_until(twin, next_day_us + BETWEEN_US)
        row = _row(twin)
        assert (row["runs"], row["skipped"], row["state"]) == (len(RUN_H), len(SKIPPED_H), "waiting")
        (listed,) = twin.json("drill", "list", "--schedules")
        assert {name: listed[name] for name in row} == row
        ended = twin.run("drill", "unschedule", SCHEDULE)
        assert ended.returncode == 0, ended.stderr
        _run_until(twin, next_day_us + 2 * BETWEEN_US)
        shown = [twin.get(f"/v1/drills/pod-0/drill-{number}/journal") for number in range(len(RUN_H))]
        report = twin.audit()
        assert report["clean"], report
        lines = twin.log_lines(0)
        exits = twin.supervisor.exits()[WORKER]
    assert exits == [-signal.SIGKILL] * 2
    log = [decode(line) for line in lines]
    _check_times(log, first_us)
    for number in range(len(RUN_H)):
        check_drill(log, f"pod-0/drill-{number}")
    _check_journals(lines, shown)


def _schedule(twin: LiveTwin, file: Path) -> int:
    """Schedule the drill at every hour of a window, while time stands still; return when the first run is
    due."""
    plan = lasting_drill(PHASE_US).model_copy(update={"lease_us": LEASE_US})
    file.write_text(plan.model_dump_json())
    with twin.paused():
        now_us = twin.clock.show().now_us
        first_us = now_us + US_PER_DAY - (now_us - FIRST_H * US_PER_HOUR) % US_PER_DAY
        timing = ("--every", "1h", "--between", "08:00-20:00", "--first", format_time(first_us))
        done = twin.run("drill", "schedule", str(file), *timing, "--seed", "3")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == f"{SCHEDULE} runs every 1h, first at {format_time(first_us)}"
    return first_us


def _row(twin: LiveTwin) -> dict[str, Any]:
    """The schedule's document."""
    text = twin.store.one("pod-0", "schedules", SCHEDULE)
    if text is None:
        raise LightwaveError(f"{SCHEDULE}: no document")
    found: dict[str, Any] = json.loads(text)
    return found


def _start_run_until(twin: LiveTwin, until_us: int) -> None:
    twin.clock.change(ClockChange(until_us=until_us, run_speed=SPEED), "the test")


def _wait_until(twin: LiveTwin, until_us: int) -> None:
    """Wait until simulated time has stopped at `until_us`, and everything is read."""
    twin.wait_for(
        f"time stops at {format_time(until_us)}",
        lambda: twin.clock.show().now_us == until_us and is_quiet(twin),
        RUN_S_MAX,
    )


def _run_until(twin: LiveTwin, until_us: int) -> None:
    _start_run_until(twin, until_us)
    _wait_until(twin, until_us)


def _kill_between_runs(twin: LiveTwin, until_us: int, runs: int, skipped: int) -> None:
    """Kill the worker of drills while no run goes on, after these numbers of runs; it runs again before the
    next one, at the latest at `until_us`."""
    before = _row(twin)
    assert (before["runs"], before["skipped"], before["state"]) == (runs, skipped, "waiting")
    pid = twin.supervisor.send_signal(WORKER, signal.SIGKILL)
    assert pid is not None, f"{WORKER} does not run"
    twin.wait_for(
        f"{WORKER} runs again",
        lambda: twin.supervisor.pids()[WORKER] not in (None, pid) and not twin.standstills(),
    )
    assert _row(twin) == before
    assert twin.clock.show().now_us <= until_us


def _check_times(log: Sequence[Envelope], first_us: int) -> None:
    """The runs and the skipped runs came at their times, and each run was over before the next one."""
    runs = [message for message in log if isinstance(message.body, DrillBegun | DrillEnded)]
    begun, ended = runs[::2], runs[1::2]
    assert [message.at_us for message in begun] == [first_us + hour * US_PER_HOUR for hour in RUN_H]
    assert all(isinstance(message.body, DrillBegun) for message in begun)
    assert all(isinstance(message.body, DrillEnded) for message in ended)
    assert all(earlier.at_us <= later.at_us for earlier, later in pairwise(runs))
    names = [vars(message.body)["drill"] for message in begun]
    assert names == [f"pod-0/drill-{number}" for number in range(len(RUN_H))]
    assert [vars(message.body)["drill"] for message in ended] == names
    assert {vars(message.body)["schedule"] for message in begun} == {SCHEDULE}
    assert len({vars(message.body)["seed"] for message in begun}) == len(RUN_H)
    skipped = [(one.at_us, one.body.reason) for one in log if isinstance(one.body, DrillSkipped)]
    assert skipped == [
        (first_us + hour * US_PER_HOUR, f"pod-0/drill-{RUN_H.index(hour - 1)} runs") for hour in SKIPPED_H
    ]


def _check_journals(lines: Sequence[bytes], shown: Sequence[Any]) -> None:
    """The journals that the gateway shows are those of the lab."""
    drills = [f"pod-0/drill-{number}" for number in range(len(shown))]
    of_lab = check_lab(lines, drills)
    for drill, found in zip(drills, shown, strict=True):
        expected = journal(of_lab, drill, found["lightwave"]["software"])
        assert found == json.loads(json.dumps(expected)), drill
