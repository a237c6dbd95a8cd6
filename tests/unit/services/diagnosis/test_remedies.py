"""Where somebody is sent next: to the likelier end, with the least that was not tried there."""

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
    """All that is done while nothing helps."""
    found: list[Remedy] = []
    attempts: list[RepairAttempt] = []
    while (option := remedy("pod-0", one, attempts)) is not None:
        found.append(option)
        attempts.append(done(option.work, ENDS[option.target], len(found)))
    return found


def turns(one: Suspicion) -> list[tuple[int, RepairWork]]:
    return [(ENDS[option.target], option.work) for option in in_turn(one)]


def test_where_the_end_is_sure_more_is_done_there_before_any_goes_to_the_other() -> None:
    assert turns(DIRT)[:3] == [(NEAR, "clean"), (NEAR, "reseat"), (NEAR, "replace")]
    assert turns(DIRT)[3:] == [(FAR, "clean"), (FAR, "reseat"), (FAR, "replace")]


def test_where_either_may_be_it_they_take_turns() -> None:
    either = Suspicion("connector", NEAR, 0.5, "", FAR)
    assert turns(either) == [(end, work) for work in ("clean", "reseat", "replace") for end in (NEAR, FAR)]


@pytest.mark.parametrize("sure", [0.5, 0.7, 0.9, CONFIDENCE_MAX])
def test_none_is_sent_to_the_less_likely_end(sure: float) -> None:
    found = in_turn(Suspicion("connector", NEAR, sure, "", FAR))
    assert len(found) == 6
    assert all(0.5 <= option.confidence <= CONFIDENCE_MAX for option in found)


def test_the_evidence_is_reported_the_end_that_is_suspected() -> None:
    assert [option.evidence for option in in_turn(DIRT)][:4] == [
        "more comes back here",
        "more comes back here; less work there did not help",
        "more comes back here; less work there did not help",
        "less comes back here; work at the other end did not help",
    ]


def test_what_helped_for_a_while_was_without_effect_if_it_is_the_same_end_again() -> None:
    flap = Suspicion("flap", NEAR, CONFIDENCE_MAX, "")
    lately = RepairAttempt("flap", NAMES[NEAR], "reseat", "pod-0/repair-3", 3, read_normal_since=True)
    found = remedy("pod-0", flap, [lately])
    assert found is not None
    assert (found.work, found.after) == ("replace", "pod-0/repair-3")


def test_what_helped_at_one_end_is_not_without_effect_when_the_other_is_bad() -> None:
    lately = done("clean", NEAR, read_normal_since=True)
    found = remedy("pod-0", Suspicion("connector", FAR, CONFIDENCE_MAX, "", NEAR), [lately])
    assert found is not None
    assert (found.target, found.work, found.after) == (NAMES[FAR], "clean", None)


def test_what_helped_lately_for_another_matter_counts_for_nothing() -> None:
    found = remedy(
        "pod-0", Suspicion("flap", NEAR, CONFIDENCE_MAX, ""), [done("reseat", NEAR, read_normal_since=True)]
    )
    assert found is not None
    assert (found.work, found.after) == ("reseat", None)
