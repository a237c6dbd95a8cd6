"""The standard suite of drills in the lab: every document runs, undoes what it began, and repeats itself."""

from pathlib import Path

import pytest

from ops.drills.lab_run import LabDrillResult, run_lab_drill
from ops.drills.suite_plan import STANDARD, lab_drill, read_suite
from schemas.messages.drills import DrillOrder

SUITE = read_suite(STANDARD)
DOCUMENTS = {path.stem: path for path in SUITE}
FAST = "large-slice-loses-a-cube"
DOCUMENTS_MIN = 24


def ran(name: str, *, pair: bool = False) -> LabDrillResult:
    path: Path = DOCUMENTS[name]
    return run_lab_drill(lab_drill(path, SUITE[path]), pair=pair)


def undone(result: LabDrillResult) -> None:
    """The drill completed, and ended everything that it began."""
    assert result.score.no_score is None
    assert result.score.status == "completed"
    assert result.record.end is not None
    assert result.record.end.left == ()


def test_the_suite_has_all_its_documents() -> None:
    assert len(DOCUMENTS) >= DOCUMENTS_MIN
    plans = [lab_drill(path, settings).drill.plan for path, settings in SUITE.items()]
    assert all("suite/standard" in plan.tags for plan in plans)
    assert len({plan.title for plan in plans}) == len(plans)


def test_the_same_seed_twice_gives_the_same_log() -> None:
    first, second = ran(FAST), ran(FAST)
    undone(first)
    assert any(True for _ in first.record.each(DrillOrder))
    assert (first.log_sha256, first.messages) == (second.log_sha256, second.messages)
    assert first.score == second.score


@pytest.mark.slow("half an hour: every document")
@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_document_runs_in_the_lab_and_undoes_what_it_began(name: str) -> None:
    undone(ran(name))


@pytest.mark.slow("a minute: half a day twice")
def test_a_drill_without_a_fault_has_no_false_alarm() -> None:
    result = ran("no-fault", pair=True)
    undone(result)
    attribution = result.score.of("attribution")
    assert attribution is not None
    assert {one.name: one.score for one in attribution.figures}["false alarms"] == 100.0
    assert not result.score.deviated
    assert result.without is not None
    assert result.without.productive_us == result.without.productive_us_without
