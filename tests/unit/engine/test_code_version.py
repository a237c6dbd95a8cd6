"""The code version that decides whether code may continue from stored states."""

import subprocess
import sys
from dataclasses import dataclass
from typing import Literal

import pytest

from services.fabric_kinds import FLEET
from shared.basics.errors import UpgradeNeeded
from shared.engine.code_version import StateCodeVersion, code_version_values, recorded_code_version
from shared.engine.state import State
from shared.engine.state_layout import state_layout, state_layouts
from shared.engine.upgrade_refusals import check_compatible

OWN = StateCodeVersion(2, {"cubes": "a", "ocs": "b"}, "1.1+2")


@dataclass(frozen=True)
class Row:
    count: int
    kind: Literal["one", "two"]


@dataclass
class First(State):
    rows: dict[str, Row]


@dataclass(frozen=True)
class OtherRow:
    count: float
    kind: Literal["one", "two"]


@dataclass(frozen=True)
class NamedOtherwise:
    number: int
    kind: Literal["one", "two"]


@dataclass(frozen=True)
class OtherWords:
    count: int
    kind: Literal["one", "three"]


@dataclass
class Second(State):
    rows: dict[str, OtherRow]


@dataclass
class Third(State):
    rows: dict[str, NamedOtherwise]


@dataclass
class Fourth(State):
    rows: dict[str, OtherWords]


@dataclass
class Fifth(State):
    rows: dict[int, Row]


@dataclass
class Same(State):
    rows: dict[str, Row]


def test_a_format_covers_all_stored_records() -> None:
    assert state_layout(First) == state_layout(Same)
    assert len({state_layout(state) for state in (State, First, Second, Third, Fourth, Fifth)}) == 6


@pytest.mark.integration
def test_forms_are_the_same_in_every_process() -> None:
    code = (
        "from services.fabric_kinds import FLEET; from shared.engine.code_version import state_layouts; "
        "print(state_layouts(one for services in FLEET.values() for one in services))"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.strip() == str(state_layouts(one for services in FLEET.values() for one in services))


def test_a_store_keeps_the_reported_versions() -> None:
    assert recorded_code_version(code_version_values(OWN)) == OWN
    assert recorded_code_version({"fabric:pod-0": "pod-0 superpod"}) is None


@pytest.mark.parametrize(
    ("held", "sentence"),
    [
        (None, "before rules had a number; .*: run `anew` to rebuild"),
        (
            StateCodeVersion(1, OWN.layouts, "1.0+1"),
            "of rules 1, by 1.0\\+1, and this is 1.1\\+2 of rules 2: run `ag",
        ),
        (StateCodeVersion(3, OWN.layouts, "1.2+3"), "which are older: start it with that version"),
        (
            StateCodeVersion(2, {"cubes": "a", "ocs": "c"}, "1.1+1"),
            "stores those of ocs in another layout: run `again`",
        ),
        (StateCodeVersion(2, {"cubes": "a"}, "1.1+1"), "stores those of ocs in another layout: run `again`"),
    ],
)
def test_other_rules_and_other_forms_are_refused(held: StateCodeVersion | None, sentence: str) -> None:
    with pytest.raises(UpgradeNeeded, match=sentence):
        check_compatible("pod-0", held, OWN, upgrade="again", remake="anew")


def test_another_build_and_a_removed_service_are_no_obstacle() -> None:
    held = StateCodeVersion(2, {**OWN.layouts, "jobs": "z"}, "1.1+1")
    check_compatible("pod-0", held, OWN, upgrade="again", remake="anew")
