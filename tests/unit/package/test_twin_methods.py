"""The methods of a twin about its log, past and parameters: they answer what the commands do."""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

import lightwave
from ops.client.http_client import Client
from tests.support.fake_twin import environment
from tests.support.forked import run_forked
from tests.support.gateway_twin import QUIET, DrivenTwin
from tests.support.served import served

pytestmark = pytest.mark.integration

FAULT = {"kind": "host", "target": "pod-0/cube-1/host-2"}
NAMES = ("pod-0/cube-1", "cube-1", "cube/pod-0/cube-1", "cubes/cube-1", "cube/cube-1")
"""Spellings of one name."""
CONDITION = "count(cubes, health == unhealthy) > 0"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A small pod that has had one fault, two hours ago."""
    twin = DrivenTwin(tmp_path_factory.mktemp("twin"), ["pod.cubes=4", *QUIET])
    twin.advance(2)
    assert twin.client().post("/v1/faults", json=FAULT, params={"wait": 20}).status_code == 200
    twin.advance(2)
    with served(twin) as address:
        yield address


def printed(url: str, *words: str) -> Any:
    """What a command prints as JSON."""
    done = run_forked([*words, "-o", "json"], environment(url))
    assert (done.returncode in (0, 1), done.stderr) == (True, "")
    return json.loads(done.stdout)


def test_differences_are_those_of_the_command(url: str) -> None:
    twin = lightwave.connect(url)
    for kind in ("cubes", "fault", None):
        words = ["diff", "1h", "3h", *([kind] if kind else [])]
        found = twin.diff("1h", "3h", kind=kind)
        assert json.loads(json.dumps([asdict(row) for row in found])) == printed(url, *words)
    assert ("cubes", "pod-0/cube-1", "health") in {(row.kind, row.name, row.field) for row in found}
    assert twin.diff("1h", "1h") == []


@pytest.mark.parametrize("every", [False, True])
def test_a_search_is_that_of_the_command(url: str, every: bool) -> None:
    found = lightwave.connect(url).bisect(CONDITION, since="1h", every=every)
    words = ["bisect", CONDITION, "--from", "1h", *(["--all"] if every else [])]
    expected = printed(url, *words)
    assert [row["message"]["id"] for row in expected["transitions"]] == [
        row.event.id for row in found.changes
    ]
    assert (found.from_us, found.held_at_start, found.condition) == (
        expected["from_us"],
        expected["held_at_start"],
        expected["condition"],
    )
    assert (found.changes[0].holds, found.was_true) == (True, True)


def test_a_condition_that_was_never_true_is_an_answer(url: str) -> None:
    found = lightwave.connect(url).bisect("count(ocs, state == down) > 0")
    assert (found.held_at_start, found.changes, found.was_true) == (False, (), False)
    assert found.messages > 0


@pytest.mark.parametrize("name", NAMES)
def test_a_history_is_that_of_the_command_however_the_object_is_named(url: str, name: str) -> None:
    twin = lightwave.connect(url)
    found = twin.history(name)
    assert [event.id for event in found] == [row["id"] for row in printed(url, "history", name)]
    assert "FaultBegan" in {event.type for event in found}
    assert all(event.type != "Tick" for event in found)
    assert len(twin.history(name, limit=1)) == 1
    assert twin.history(name, until="1h") == []
    assert twin.cube(name).name == "pod-0/cube-1"
    assert twin.why(name)[-1].type == "InjectFault"
    assert [event.id for event in twin.events(about=name)] == [event.id for event in found]


def test_a_past_twin_answers_about_that_time_and_changes_nothing(url: str) -> None:
    twin = lightwave.connect(url)
    past = twin.at("1h")
    assert (twin.cube("cube-1").health, past.cube("cube-1").health) == ("unhealthy", "healthy")
    assert past.faults() == []
    assert repr(past).endswith(".at('1h')")
    changes: list[Callable[[], object]] = [
        lambda: past.inject("host", "pod-0/cube-1/host-3"),
        lambda: past.set("pod-0", {"repairs.technicians": 3}),
        lambda: past.drain("cube-1"),
        past.pause,
        past.start_forecast,
        lambda: past.wait(CONDITION),
        lambda: past.bisect(CONDITION),
        lambda: past.diff("1h"),
        lambda: past.fork("f"),
    ]
    for change in changes:
        with pytest.raises(lightwave.InvalidInput, match=r"^at: .* is about the present"):
            change()
    assert len(twin.faults()) == 1


def test_parameters_are_set_all_or_none(url: str) -> None:
    twin = lightwave.connect(url)
    receipt = twin.set("fabric/pod-0", {"repairs.technicians": 3, "scheduler.backfill": "none"})
    assert receipt.status == "accepted"
    config = printed(url, "set", "pod-0")
    now = {row["name"]: row["now"] for row in config}
    assert (now["repairs.technicians"], now["scheduler.backfill"]) == (3, "none")


REFUSED: list[tuple[Callable[[lightwave.Twin], object], type[Exception], str]] = [
    (
        lambda twin: twin.set("pod-0", {"repairs.technician": 3}),
        lightwave.InvalidInput,
        "repairs.technician: ",
    ),
    (
        lambda twin: twin.set("pod-0", {"repairs.technicians": "many"}),
        lightwave.InvalidInput,
        "repairs.technicians: ",
    ),
    (lambda twin: twin.set("pod-0", {"pod.cubes": 8}), lightwave.LightwaveError, ""),
    (lambda twin: twin.set("pod-0", {}), lightwave.InvalidInput, "parameters: is empty"),
    (lambda twin: twin.set("pod-9", {"repairs.technicians": 3}), lightwave.NotFound, ""),
    (lambda twin: twin.diff("+1h"), lightwave.InvalidInput, ""),
    (lambda twin: twin.diff("1h", "99d"), lightwave.InvalidInput, ""),
    (lambda twin: twin.diff("1h", kind="cubus"), lightwave.InvalidInput, "kind 'cubus': is not a kind; "),
    (lambda twin: twin.bisect("cubes.cube-1.helth == x"), lightwave.InvalidInput, ""),
    (lambda twin: twin.bisect(CONDITION, since="02:15"), lightwave.InvalidInput, ""),
    (lambda twin: twin.history("pod-0/cube-99"), lightwave.NotFound, ""),
    (lambda twin: twin.history("cube-1", since="02:15"), lightwave.InvalidInput, ""),
    (lambda twin: twin.history("cube-1", limit=0), lightwave.InvalidInput, "limit 0: must be between"),
    (lambda twin: twin.cube("slice/pod-0/cube-1"), lightwave.InvalidInput, ""),
    (lambda twin: twin.at("yesterday").cubes(), lightwave.InvalidInput, ""),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_refusals_are_errors_of_the_package_in_one_sentence(url: str, number: int) -> None:
    call, kind, start = REFUSED[number]
    with pytest.raises(kind) as found:
        call(lightwave.connect(url))
    assert str(found.value).startswith(start)
    assert ("\n" in str(found.value), str(found.value).startswith("-")) == (False, False)


def test_a_fork_needs_a_folder_and_a_name(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with pytest.raises(lightwave.InvalidInput, match=r"^fork 'A b': is not a valid name"):
        lightwave.fork("A b", data=tmp_path)
    with pytest.raises(lightwave.InvalidInput, match=r"^future 0: must be between"):
        lightwave.fork("trial", future=0, data=tmp_path)
    with pytest.raises(lightwave.NotFound):
        lightwave.fork("trial", data=tmp_path / "none")
    with pytest.raises(lightwave.NotFound, match="no such fork"):
        lightwave.remove_fork("trial")
    with pytest.raises(lightwave.LightwaveError):
        lightwave.Twin(Client(url)).fork("trial")
    assert lightwave.forks() == []
