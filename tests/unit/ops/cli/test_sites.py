"""Sites at the command line: audit reports, and fabrics that join and retire."""

import json
from typing import Any

import pytest
from click.testing import CliRunner

import ops.cli.run.audit
from ops.cli.main import root
from tests.support.fake_twin import answering, as_json

SITE = {
    "site": "campus",
    "fabrics": ["pod-0", "pod-1"],
    "messages": 12_345,
    "requests": 2,
    "dead_letters": 0,
    "log_clean": True,
    "states_clean": True,
    "first_difference": None,
    "differing_states": [],
}
SINGLE = SITE | {"site": "pod-7", "fabrics": ["pod-7"], "messages": 9, "states_clean": False}


def test_an_audit_reports_every_site(monkeypatch: pytest.MonkeyPatch) -> None:
    report = {"clean": False, "sites": [SITE, SINGLE | {"differing_states": ["ocs@pod-7: radix"]}]}
    monkeypatch.setattr(ops.cli.run.audit, "_audit_folder", lambda *_: report)
    done = CliRunner().invoke(root, ["audit", "--data", "a-folder"])
    assert done.output.splitlines() == [
        "campus (pod-0, pod-1): clean; 12,345 messages, 2 requests, 0 dead letters",
        "pod-7: NOT CLEAN; 9 messages, 2 requests, 0 dead letters",
        "  ocs@pod-7: radix",
    ]
    assert done.exit_code == 1


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ({"status": "accepted", "at_us": 864_000_000_000}, "pod-4 joined campus at 10d00:00:00"),
        (
            {"status": "received", "at_us": None},
            "received; pod-4 joins campus when simulated time continues",
        ),
    ],
)
def test_a_fabric_is_commissioned_by_one_command(
    answer: dict[str, Any], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = answer | {
        "id": "sequencer@pod-4/1",
        "repeated": False,
        "complete": True,
        "reason": None,
        "outcome": [],
    }
    with answering({"/v1/fabrics": [as_json(whole)]}) as twin:
        monkeypatch.setenv("LIGHTWAVE_URL", twin.url)
        words = ["--kind", "static-pod", "--set", "workload.offered_load=0.5", "--seed", "9", "--key", "mine"]
        done = CliRunner().invoke(root, ["commission", "pod-4", "--site", "campus", *words])
    assert done.output == f"{sentence} (sequencer@pod-4/1)\n"
    assert json.loads(twin.requests[0].body) == {
        "name": "pod-4",
        "site": "campus",
        "kind": "static-pod",
        "settings": {"seed": 9, "workload": {"offered_load": 0.5}},
    }
    assert twin.requests[0].headers["idempotency-key"] == "mine"


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ({"status": "accepted", "at_us": 864_000_000_000}, "pod-4 retired at 10d00:00:00"),
        ({"status": "received", "at_us": None}, "received; pod-4 retires when simulated time continues"),
    ],
)
def test_a_fabric_retires_by_one_command(
    answer: dict[str, Any], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rest = {"id": "sequencer@pod-4/2", "repeated": True, "complete": True, "outcome": []}
    with answering({"/v1/fabrics/pod-4/retire": [as_json(answer | rest)]}) as twin:
        monkeypatch.setenv("LIGHTWAVE_URL", twin.url)
        done = CliRunner().invoke(root, ["retire", "pod-4", "--key", "mine"])
    assert done.output == f"{sentence}; repeated request (sequencer@pod-4/2)\n"
    assert twin.requests[0].headers["idempotency-key"] == "mine"


@pytest.mark.parametrize(("ocs", "expected"), [(0, False), (48, True)])
def test_a_fabric_without_ocses_shows_nothing_of_them(
    ocs: int, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    fabric = {"name": "pod-1", "cubes": 64, "ocs": ocs, "ocs_down": 0, "cross_connects": 0, "slices": {}}
    whole = {"object": fabric, "related": {}, "events": [], "events_in_all": 0}
    with answering({"/v1/describe/fabrics/pod-1": [as_json(whole)]}) as twin:
        monkeypatch.setenv("LIGHTWAVE_URL", twin.url)
        output = CliRunner().invoke(root, ["describe", "fabric", "pod-1"]).output
        data = CliRunner().invoke(root, ["describe", "fabric", "pod-1", "-o", "json"]).output
    named = [line.partition(":")[0] for line in output.splitlines()]
    assert named[:2] == ["Name", "Cubes"]
    assert ("OCS" in named) == ("OCS down" in named) == ("Cross connects" in named) == expected
    assert json.loads(data) == whole
