"""The upgrade in a soak: its steps come in the documented order, and time may stand still meanwhile."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.soak.fault_plan import PlannedFault
from tests.soak.faults import upgrade as upgrades
from tests.soak.faults.catalog import UPGRADE
from tests.soak.faults.context import CommandResult, FaultContext, TwinDeviated
from tests.soak.whole_twin import FaultTarget, TwinOptions

FAULT = PlannedFault(3, 2, 0.0, UPGRADE, FaultTarget("twin", "twin"), 1.5, 1)


@pytest.fixture
def steps() -> list[str]:
    return []


@pytest.fixture
def context(steps: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FaultContext:
    """Processes and commands that only note what they are told to do."""
    names = ["ocs-a", "sequencer", "gateway", "historian"]

    def drop(name: str, _sign: Any) -> None:
        names.remove(name)
        steps.append(f"stop {name}")

    supervisor = SimpleNamespace(names=names, drop=drop)
    twin: Any = SimpleNamespace(
        supervisor=supervisor,
        gateways={"gateway": 1},
        folder=tmp_path / "twin",
        options=TwinOptions(pods=2),
        words=lambda: "their last words",
        start_processes=lambda: steps.append("start"),
    )
    context = FaultContext(twin, expect_stop=lambda expected: steps.append(f"stop expected: {expected}"))

    def command(*words: str, **_: Any) -> CommandResult:
        steps.append(f"{twin.options.program[0]} {' '.join(words)}")
        return CommandResult(words, 0, json.dumps({"clean": True}), "")

    context.command = command  # type: ignore[method-assign]  # instead of processes
    monkeypatch.setattr(upgrades, "is_quiet", lambda _: True)
    monkeypatch.setattr(upgrades, "next_version", lambda folder: folder)
    monkeypatch.setattr(
        upgrades, "kill_after", lambda _, after_s, *words: steps.append(f"kill {words[-1]} after {after_s} s")
    )
    return context


def test_the_steps_of_an_upgrade(context: FaultContext, steps: list[str]) -> None:
    before = context.twin.options.program[0]
    UPGRADE.inject(context, FAULT)
    assert steps[:3] == ["stop expected: True", f"{before} clock pause", "stop gateway"]
    assert sorted(steps[3:6]) == ["stop historian", "stop ocs-a", "stop sequencer"]
    assert steps[6:] == [
        f"{before} audit --live -o json",
        "kill upgrade after 1.5 s",
        "env live upgrade",
        "start",
        "env clock resume",
        "stop expected: False",
    ]
    assert context.upgraded == ["pod-0", "pod-1"]
    assert context.problems == []
    assert any("next-version" in word for word in context.twin.options.program)


def test_an_audit_that_is_not_clean_is_a_problem(
    context: FaultContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = CommandResult(("audit",), 1, json.dumps({"clean": False}), "")
    monkeypatch.setattr(context, "command", lambda *_, **__: found)
    monkeypatch.setattr(context, "command_until_done", lambda *_, **__: replace(found, code=0))
    UPGRADE.inject(context, FAULT)
    (problem,) = context.problems
    assert problem.startswith("before the upgrade the audit is not clean: ")


def test_a_twin_that_does_not_become_quiet_deviates(
    context: FaultContext, steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context, "wait_until", lambda *_: False)
    with pytest.raises(TwinDeviated, match=r"^before the upgrade services did not .*: their last words$"):
        UPGRADE.inject(context, FAULT)
    assert steps[-1] == "stop expected: False"
    assert "start" not in steps
