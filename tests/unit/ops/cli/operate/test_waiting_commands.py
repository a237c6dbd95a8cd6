"""Every command that waits, with the same problems: another client changes the awaited state, the object
disappears, time stands still, the twin stops.

The command exits at once with exit code 1 and a sentence that names the cause.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from ops.cli.main import COMMANDS, root
from tests.support.fake_twin import (
    CLOCK_PAUSED,
    CLOCK_RUNS,
    DROP,
    Answer,
    answering,
    as_json,
    condition_report,
    lightwave,
)

pytestmark = pytest.mark.integration

FAILED = 1
DOCUMENT = str(Path(__file__).parents[2] / "drills" / "good_drill.yaml")
DRILL_NAME = "pod-0/drill-3"
ID, NAME, CUBE, SLICE = "operator@pod-0/7", "dcn-0/rewiring-2", "pod-0/cube-1", "pod-0/slice-3"
NOW_US, UNTIL_US = 3_600_000_000, 7_200_000_000
Answers = dict[str, list[Answer]]


def clock(**more: Any) -> Answer:
    fields = {"now_us": NOW_US, "speed": 60.0, "paused": False, "achieved_speed": 60.0, "lag_us": 0}
    return as_json(fields | {"until_us": UNTIL_US, "run_until_us": UNTIL_US} | more)


def receipt(*outcome: tuple[str, dict[str, Any]], **more: Any) -> Answer:
    rows = [
        {"id": f"s/{n}", "cause": ID, "type": kind, "body": body, "about": [CUBE]}
        for n, (kind, body) in enumerate(outcome)
    ]
    answer = {"id": ID, "status": "accepted", "repeated": False, "complete": True, "outcome": rows}
    return as_json(answer | {"reason": None} | more)


def changed(who: str, **body: Any) -> Answer:
    fields = {"speed": 60.0, "paused": True, "anchor_us": NOW_US, "until_us": None, "run_speed": None}
    row = {"number": 9, "wall_us": 0, "who": who, "type": "ClockChanged", "body": fields | body}
    return as_json([row])


def forecast(status: str, error: str | None = None) -> Answer:
    numbers: dict[str, Any] = {"at_us": 0, "days": 1.0, "futures": 20, "futures_done": 3}
    names: dict[str, Any] = {"id": "forecast-7", "status": status, "site": "pod-0", "error": error}
    return as_json(names | numbers | {"result": None, "single": None})


def drill_row() -> Answer:
    lists: dict[str, Any] = {"lamps": [], "steps": [], "active_faults": []}
    names = {"name": DRILL_NAME, "title": "An OCS dies", "status": None, "deviated": False}
    return as_json(names | {"phase": "gate", "phase_us": NOW_US} | lists)


PLANNED = {
    "rewiring": NAME,
    "reason": "operator",
    "approval": "automatic",
    "circuits": 2,
    "stages": 1,
    "takes_us": 5,
    "use_ppm": 1,
    "use_then_ppm": 1,
    "transit_ppm": 1,
    "transit_then_ppm": 1,
}
DRAIN: Answers = {
    f"/v1/cubes/{CUBE}/drain": [receipt(("CubeDrained", {"cube": 1}))],
    f"/v1/cubes/{CUBE}": [as_json({"name": CUBE, "slices": [SLICE]})],
    "/v1/fabrics/pod-0": [as_json({"name": "pod-0", "retired_us": None})],
    "/v1/why/pod-0/cube-1": [as_json([{"id": ID, "type": "UndrainCube", "body": {"asked_by": "mia"}}])],
    "/v1/clock": [CLOCK_RUNS],
}
PLAN: Answers = {"/v1/rewirings": [receipt(("RewiringPlanned", PLANNED))], "/v1/clock": [CLOCK_RUNS]}
WAIT: Answers = {f"/v1/slices/{SLICE}": [as_json({"name": SLICE})], "/v1/clock": [CLOCK_RUNS]}
FORECAST: Answers = {
    "/v1/fabrics": [as_json([{"name": "pod-0", "site": "pod-0", "kind": "superpod", "retired_us": None}])],
    "/v1/forecasts": [forecast("queued")],
}
RUN: Answers = {"/v1/clock/run": [clock()]}
DRILL: Answers = {
    "/v1/drills": [receipt(("DrillBegun", {"drill": DRILL_NAME}))],
    "/v1/clock": [CLOCK_RUNS],
}
RETIRED = condition_report("false", reasons=("pod-0 retired at 0d02:00:00",))

COMMAND_ANSWERS: dict[str, tuple[list[str], Answers, str, Callable[[], Answer]]] = {
    "clock advance": (["clock", "advance", "1h"], RUN, "/v1/clock", clock),
    "clock until": (["clock", "until", "2h"], RUN, "/v1/clock", clock),
    "drain": (["drain", CUBE, "--wait"], DRAIN, "/v1/conditions", lambda: condition_report("false")),
    "dcn plan": (
        ["dcn", "plan", "--live", "--wait"],
        PLAN,
        "/v1/conditions",
        lambda: condition_report("null"),
    ),
    "wait": (
        ["wait", f"slice/{SLICE}", "--for", "running", "--timeout", "60s"],
        WAIT,
        "/v1/conditions",
        lambda: condition_report("queued"),
    ),
    "forecast": (
        ["forecast", "--days", "1"],
        FORECAST,
        "/v1/forecasts/forecast-7",
        lambda: forecast("running"),
    ),
    "drill run": (["drill", "run", DOCUMENT], DRILL, f"/v1/drills/{DRILL_NAME}", drill_row),
    "drill watch": (["drill", "watch", DRILL_NAME], DRILL, f"/v1/drills/{DRILL_NAME}", drill_row),
}
"""Command → (its words, answers, the path that it polls, the answer while it waits)."""

PROBLEMS: list[tuple[str, Answers, str]] = [
    (
        "clock advance",
        {
            "/v1/clock": [clock(), clock(paused=True, until_us=None, run_until_us=None)],
            "/v1/operations": [changed("mia")],
        },
        (
            "clock: mia paused it at 0d01:00:00 at 1970-01-01 00:00:00Z; it is stopped at 0d01:00:00.000, 1h "
            "before 0d02:00:00.000, where it was to stop"
        ),
    ),
    (
        "clock until",
        {
            "/v1/clock": [clock(until_us=UNTIL_US + 1, run_until_us=UNTIL_US + 1)],
            "/v1/operations": [changed("mia", until_us=UNTIL_US + 1)],
        },
        (
            "clock: mia let it run to 0d02:00:00 as fast as possible at 1970-01-01 00:00:00Z; it is at "
            "0d01:00:00.000, 1h before 0d02:00:00.000, where it was to stop"
        ),
    ),
    (
        "clock until",
        {"/v1/clock": [clock(now_us=UNTIL_US + 250_000, paused=False, until_us=None, run_until_us=None)]},
        (
            "clock: another command changed it; it is at 0d02:00:00.250, 250ms after 0d02:00:00.000, "
            "where it was to stop"
        ),
    ),
    (
        "drain",
        {"/v1/conditions": [condition_report("false"), condition_report("false", "false", holds=True)]},
        (
            f"{CUBE}: was put back into use by mia's UndrainCube ({ID}) before it was drained; {SLICE} "
            "still runs there"
        ),
    ),
    (
        "drain",
        {"/v1/conditions": [RETIRED]},
        f"{CUBE}: cannot be drained any more: pod-0 retired at 0d02:00:00; {SLICE} still runs there",
    ),
    (
        "drain",
        {
            f"/v1/cubes/{CUBE}/drain": [receipt(status="received", complete=False)],
            f"/v1/requests/{ID}": [
                receipt(status="received", complete=False),
                as_json({"error": f"request '{ID}': was cancelled"}, 404),
            ],
        },
        f"request '{ID}': was cancelled; it existed when this command began to wait",
    ),
    ("dcn plan", {"/v1/conditions": [RETIRED]}, f"{NAME}: cannot end any more: pod-0 retired at 0d02:00:00"),
    (
        "dcn plan",
        {
            "/v1/conditions": [condition_report("null"), condition_report("5", holds=True)],
            "/v1/events": [
                as_json(
                    [
                        {
                            "at_us": 5,
                            "type": "RewiringEnded",
                            "body": {"rewiring": NAME, "outcome": "aborted", "reason": "mia asked for it"},
                        }
                    ]
                )
            ],
        },
        f"{NAME}: aborted: mia asked for it",
    ),
    (
        "wait",
        {"/v1/conditions": [condition_report("queued"), RETIRED]},
        f"{SLICE}: state is no, not running, and cannot change: pod-0 retired at 0d02:00:00",
    ),
    (
        "forecast",
        {"/v1/forecasts/forecast-7": [forecast("running"), forecast("cancelled")]},
        "forecast forecast-7: was cancelled",
    ),
    (
        "forecast",
        {"/v1/forecasts/forecast-7": [forecast("running"), as_json({"error": "forecast-7: no such"}, 404)]},
        "forecast-7: no such; it existed when this command began to wait",
    ),
]


@pytest.mark.parametrize(("command", "answers", "sentence"), PROBLEMS)
def test_a_wait_ends_at_once_if_it_has_become_impossible(
    command: str, answers: Answers, sentence: str
) -> None:
    words, usual, path, pending = COMMAND_ANSWERS[command]
    with answering({**usual, path: [pending()], **answers}) as twin:
        done = lightwave(*words, url=twin.url)
    assert (done.returncode, done.stderr) == (FAILED, f"lightwave: {sentence}\n")


@pytest.mark.parametrize("command", COMMAND_ANSWERS)
def test_a_wait_ends_if_the_twin_stops(command: str) -> None:
    words, usual, path, pending = COMMAND_ANSWERS[command]
    with answering({**usual, path: [pending(), pending(), DROP]}) as twin:
        done = lightwave(*words, url=twin.url)
        assert done.returncode == FAILED
        assert done.stderr.splitlines()[-1].startswith(
            f"lightwave: the twin at {twin.url} stopped while this command waited"
        )


@pytest.mark.parametrize("command", COMMAND_ANSWERS)
def test_a_lost_connection_is_retried(command: str) -> None:
    """The wait then continues until the next problem."""
    words, usual, path, pending = COMMAND_ANSWERS[command]
    gone = as_json({"error": "gone"}, 404)
    with answering({**usual, path: [pending(), DROP, pending(), gone]}) as twin:
        done = lightwave(*words, url=twin.url)
    assert done.stderr.endswith("lightwave: gone; it existed when this command began to wait\n")


@pytest.mark.parametrize("command", ["drain", "dcn plan", "wait", "drill run", "drill watch"])
def test_paused_time_is_reported_once(command: str) -> None:
    words, usual, path, pending = COMMAND_ANSWERS[command]
    with answering({**usual, path: 4 * [pending()] + [DROP], "/v1/clock": [CLOCK_PAUSED]}) as twin:
        done = lightwave(*words, url=twin.url)
    assert done.stderr.count("time stands still at 0d00:00:00: `lightwave clock resume` lets it run") == 1


def test_a_wait_for_a_clock_ends_when_it_stops_exactly_at_the_time() -> None:
    near = clock(now_us=UNTIL_US - 1)
    at_end = clock(now_us=UNTIL_US, paused=True, until_us=None)
    with answering({**RUN, "/v1/clock": [clock(), near, at_end]}) as twin:
        done = lightwave("clock", "advance", "1h", "-o", "json", url=twin.url)
        assert (done.returncode, json.loads(done.stdout)["now_us"]) == (0, UNTIL_US)
        assert len(twin.requests) == 4


# --- every command is in the table --------------------------------------------------------------------------

WAIT_FOR_SERVERS = {
    *(f"live {name}" for name in ("init", "worker", "sequencer", "historian", "gateway")),
}
"""Commands whose --wait is for Kafka and Redis at their start, up to about a minute."""


def commands() -> dict[str, click.Command]:
    """Return every command by its words."""
    by_words: dict[str, click.Command] = {}
    for name in COMMANDS:
        command = root.get_command(click.Context(root), name)
        assert command is not None
        if isinstance(command, click.Group):
            by_words |= {f"{name} {word}": subcommand for word, subcommand in command.commands.items()}
        else:
            by_words[name] = command
    return by_words


def test_every_command_with_wait_or_timeout_is_tested_here() -> None:
    waits = {
        name
        for name, command in commands().items()
        if {"--wait", "--timeout"} & {option for param in command.params for option in param.opts}
    }
    assert waits - WAIT_FOR_SERVERS <= COMMAND_ANSWERS.keys()
    assert waits >= {"wait", "drain", "dcn plan", "clock advance", "clock until"}


def test_commands_wait_in_one_way_only() -> None:
    """No other client code sleeps, except to refresh an output and to retry while the twin serves others."""
    sleeping = {
        str(path)
        for folder in ("ops/cli", "ops/client", "lightwave")
        for path in Path(folder).rglob("*.py")
        if re.search(r"\btime\.sleep\(", path.read_text())
    }
    assert sleeping == {
        "ops/cli/common/output.py",  # --watch
        "ops/client/bisection.py",  # the twin serves one bisection at a time
        "ops/client/event_stream.py",  # reconnects
        "ops/client/http_client.py",  # sends a request a second time
        "ops/client/waiting.py",
    }


def event(number: int, kind: str, at_us: int, cause: str = ID) -> dict[str, Any]:
    return {"id": f"cubes@pod-0/{number}", "type": kind, "at_us": at_us, "cause": cause, "body": {}}


HOUR = 3_600_000_000
PLANNED_DRAIN = event(1, "DrainPlanned", 0)
BEGUN, ENDED_TICK = event(2, "CubeDrained", HOUR), event(3, "CubeUndrained", 2 * HOUR, "tick/1")
CANCELLED = event(4, "PlannedDrainCancelled", HOUR, "operator@pod-0/9")
PUT_BACK = event(5, "CubeUndrained", 2 * HOUR, "operator@pod-0/9")
EARLIER = [event(7, "CubeDrained", 1, "operator@pod-0/1"), event(8, "CubeUndrained", 2, "tick/0")]
LATER = [event(9, "CubeDrained", 9 * HOUR, "tick/8"), event(10, "CubeUndrained", 10 * HOUR, "tick/9")]
JOINED = [event(1, "DrainPlanned", 0, "operator@pod-0/3"), event(2, "CubeDrained", HOUR, "operator@pod-0/3")]
OPERATOR = as_json([{"id": "operator@pod-0/9", "type": "UndrainCube", "body": {"asked_by": "mia"}}])
TICK = as_json([{"id": "tick/1", "type": "Tick", "body": {}}])
DRAINED = condition_report("true", holds=True)
SPAN, MIA = "from 0d01:00:00 to 0d02:00:00", "mia's UndrainCube (operator@pod-0/9)"


def in_use() -> Answer:
    """A report whose first term does not hold: the cube is not drained."""
    terms = [{"text": "drained", "value": "false", "holds": False}]
    terms += [{"text": "draining", "value": "false", "holds": True}]
    report = {"condition": "", "now_us": 0, "holds": True, "can_hold": True, "reasons": (), "terms": terms}
    return as_json(report)


@pytest.mark.parametrize("seen", ["in use", "drained"])
@pytest.mark.parametrize(
    ("events", "slices", "code", "sentence"),
    [
        ([PLANNED_DRAIN, BEGUN, ENDED_TICK], [], 0, f"{CUBE} was drained {SPAN}"),
        ([*EARLIER, PLANNED_DRAIN, BEGUN, ENDED_TICK, *LATER], [], 0, f"{CUBE} was drained {SPAN}"),
        ([*JOINED, ENDED_TICK], [], 0, f"{CUBE} was drained {SPAN}"),
        ([PLANNED_DRAIN, BEGUN, PUT_BACK], [], 0, f"{CUBE} was drained {SPAN}, until {MIA}"),
        (
            [*EARLIER, PLANNED_DRAIN, CANCELLED],
            [],
            1,
            (
                f"{CUBE}: its planned drain was cancelled by {MIA} at 0d01:00:00, before it began; the cube "
                "stays in use"
            ),
        ),
        (
            [PLANNED_DRAIN, BEGUN, ENDED_TICK],
            [SLICE],
            1,
            f"{CUBE}: its drain {SPAN} ended before the cube was empty; {SLICE} ran there until the end",
        ),
        (
            [PLANNED_DRAIN, BEGUN, PUT_BACK],
            [SLICE],
            1,
            f"{CUBE}: was put back into use by {MIA} before it was drained; {SLICE} still runs there, {SPAN}",
        ),
    ],
)
def test_a_drain_that_is_over_is_reported_from_the_log(
    events: list[dict[str, Any]], slices: list[str], code: int, sentence: str, seen: str
) -> None:
    """Whether the command saw the cube drained before, or missed the drain between two looks."""
    row = {"name": CUBE, "slices": slices, "drained": False, "drain_from_us": None, "drain_until_us": None}
    answers: Answers = {
        f"/v1/cubes/{CUBE}/drain": [receipt(("DrainPlanned", {"cube": 1, "from_us": HOUR}))],
        f"/v1/cubes/{CUBE}": [as_json(row)],
        "/v1/conditions": [DRAINED if seen == "drained" and code == 0 else in_use()],
        "/v1/events": [as_json(events)],
        "/v1/clock": [CLOCK_RUNS],
        **{f"/v1/why/cubes@pod-0/{n}": [OPERATOR if n in (4, 5) else TICK] for n in range(1, 11)},
    }
    with answering(answers) as twin:
        done = lightwave("drain", CUBE, "--at", "+1h", "--for", "1h", "--wait", url=twin.url)
    assert done.returncode == code, done
    shown = done.stdout if code == 0 else done.stderr
    assert shown.splitlines()[-1].removeprefix("lightwave: ") == sentence


def test_a_drain_with_an_end_tells_until_when() -> None:
    row = {"name": CUBE, "slices": [], "drained": True, "drain_from_us": None, "drain_until_us": 2 * HOUR}
    answers: Answers = {
        f"/v1/cubes/{CUBE}/drain": [receipt()],
        f"/v1/cubes/{CUBE}": [as_json(row)],
        "/v1/conditions": [DRAINED],
        "/v1/clock": [CLOCK_RUNS],
    }
    with answering(answers) as twin:
        done = lightwave("drain", CUBE, "--wait", url=twin.url)
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        f"{CUBE} is drained already until 0d02:00:00, nothing runs there ({ID})",
        f"{CUBE} is drained until 0d02:00:00, nothing runs there",
    ]


def test_a_plain_drain_reports_the_plan_that_it_cancels() -> None:
    outcome = (("CubeDrained", {"cube": 1}), ("PlannedDrainCancelled", {"cube": 1, "from_us": 5 * HOUR}))
    answers: Answers = {
        f"/v1/cubes/{CUBE}/drain": [receipt(*outcome)],
        f"/v1/cubes/{CUBE}": [as_json({"name": CUBE, "slices": []})],
    }
    with answering(answers) as twin:
        done = lightwave("drain", CUBE, url=twin.url)
    assert (
        "takes nothing new; its planned drain at 0d05:00:00 is cancelled, nothing runs there" in done.stdout
    )
