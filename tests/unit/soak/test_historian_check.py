"""Findings of a soak's historian are read from its log, and its progress from its metrics."""

import pytest

from tests.soak.historian_check import COMPARED, HistorianFindings, check_historian, read_findings, sample

STATE = (
    "12:00:01Z historian: error: cubes@pod-1: config in Redis differs from the fold of the log at offset 7 "
    "of partition 0: is b'1', must be b'2'; `lightwave audit --live` compares everything"
)
LOG = "12:00:02Z historian: error: pod-0: the log differs from what its services emit, at offset 9"
AGAIN = "12:00:03Z historian: warning: the state of cubes@pod-1 matches the log again"


def test_findings_of_every_life_are_counted() -> None:
    assert read_findings(f"{STATE}\n{AGAIN}\n{LOG}\n{STATE}\nnone") == HistorianFindings(2, 1)
    assert read_findings("") == HistorianFindings(0, 0)


@pytest.mark.parametrize(
    ("states", "logs", "losses", "problems"),
    [(0, 0, 0, 0), (2, 0, 1, 0), (2, 0, 0, 1), (0, 1, 1, 1), (1, 1, 0, 2)],
)
def test_differences_that_no_fault_explains_are_problems(
    states: int, logs: int, losses: int, problems: int
) -> None:
    assert len([*check_historian(HistorianFindings(states, logs), losses)]) == problems


def test_a_metric_is_read_by_its_whole_name() -> None:
    text = f"# HELP {COMPARED} states\n{COMPARED}_other 3\n{COMPARED} 1.2e2\n"
    assert sample(text, COMPARED) == 120
    with pytest.raises(ValueError, match="no metric"):
        sample("", COMPARED)
