"""The next repair: at the more likely end, with the smallest remedy not tried there."""

import pytest

from schemas.messages.diagnosis import RepairWork
from services.diagnosis.attribution import CONFIDENCE_MAX, Suspicion
from services.diagnosis.remedies import Remedy, remedy
from services.diagnosis.state import RepairAttempt
from shared.models.superpod.wiring import link_end

NEAR, FAR = 7, 1_200
NAMES = {end: link_end(end).name("pod-0") for end in (NEAR, FAR)}
ENDS = {name: end for end, name in NAMES.items()}
DIRT = Suspicion(
    "connector", NEAR, CONFIDENCE_MAX, "more comes back here", FAR, evidence_at_other="less comes back here"
)


def done(work: RepairWork, end: int, number: int = 0, *, read_normal_since: bool = False) -> RepairAttempt:
    return RepairAttempt(
        "connector", NAMES[end], work, f"pod-0/repair-{number}", number, read_normal_since=read_normal_since
    )


def in_turn(one: Suspicion) -> list[Remedy]:
    """All remedies in order, if none of them helps."""
    remedies: list[Remedy] = []
    attempts: list[RepairAttempt] = []
    while (option := remedy("pod-0", one, attempts)) is not None:
        remedies.append(option)
        attempts.append(done(option.work, ENDS[option.target], len(remedies)))
    return remedies


def turns(one: Suspicion) -> list[tuple[int, RepairWork]]:
    return [(ENDS[option.target], option.work) for option in in_turn(one)]


def test_at_a_certain_end_more_is_tried_before_the_other_end() -> None:
    assert turns(DIRT)[:3] == [(NEAR, "clean"), (NEAR, "reseat"), (NEAR, "replace")]
    assert turns(DIRT)[3:] == [(FAR, "clean"), (FAR, "reseat"), (FAR, "replace")]


def test_uncertain_ends_take_turns() -> None:
    either = Suspicion("connector", NEAR, 0.5, "", FAR)
    assert turns(either) == [(end, work) for work in ("clean", "reseat", "replace") for end in (NEAR, FAR)]


@pytest.mark.parametrize("sure", [0.5, 0.7, 0.9, CONFIDENCE_MAX])
def test_no_technician_goes_to_the_less_likely_end(sure: float) -> None:
    remedies = in_turn(Suspicion("connector", NEAR, sure, "", FAR))
    assert len(remedies) == 6
    assert all(0.5 <= option.confidence <= CONFIDENCE_MAX for option in remedies)


def test_the_remedy_reports_the_evidence_of_the_suspected_end() -> None:
    assert [option.evidence for option in in_turn(DIRT)][:4] == [
        "more comes back here",
        "more comes back here; less work there did not help",
        "more comes back here; less work there did not help",
        "less comes back here; work at the other end did not help",
    ]


def test_a_remedy_that_helped_only_briefly_counts_as_failed_at_the_same_end() -> None:
    flap = Suspicion("flap", NEAR, CONFIDENCE_MAX, "")
    lately = RepairAttempt("flap", NAMES[NEAR], "reseat", "pod-0/repair-3", 3, read_normal_since=True)
    next_remedy = remedy("pod-0", flap, [lately])
    assert next_remedy is not None
    assert (next_remedy.work, next_remedy.after) == ("replace", "pod-0/repair-3")


def test_a_remedy_that_helped_at_one_end_does_not_count_as_failed_at_the_other() -> None:
    lately = done("clean", NEAR, read_normal_since=True)
    next_remedy = remedy("pod-0", Suspicion("connector", FAR, CONFIDENCE_MAX, "", NEAR), [lately])
    assert next_remedy is not None
    assert (next_remedy.target, next_remedy.work, next_remedy.after) == (NAMES[FAR], "clean", None)


def test_a_remedy_for_another_cause_does_not_count() -> None:
    next_remedy = remedy(
        "pod-0", Suspicion("flap", NEAR, CONFIDENCE_MAX, ""), [done("reseat", NEAR, read_normal_since=True)]
    )
    assert next_remedy is not None
    assert (next_remedy.work, next_remedy.after) == ("reseat", None)
