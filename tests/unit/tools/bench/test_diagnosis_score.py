"""The mirror of a circuit that a verdict names counts if the OCS monitors its mirrors."""

import pytest

from schemas.body import Body
from schemas.envelope import enclose
from schemas.messages.diagnosis import VerdictGiven
from schemas.messages.ocs import CircuitsConnected
from shared.basics.units import US_PER_DAY
from shared.models.superpod.wiring import link_end
from tests.support.ocs_model import fault_began, fault_ended
from tools.bench.diagnosis_score import ELSEWHERE, DiagnosisScore

NORTH, SOUTH = "pod-0/ocs-7/N2", "pod-0/ocs-7/S5"
"""The two mirrors of one strand of cube-1/+x/7 to cube-2/-x/7."""
ENDS = (96 + 7, 2 * 96 + 16 + 7)


def seen(score: DiagnosisScore, body: Body, at_us: int) -> None:
    score.see(enclose(body, fabric="pod-0", at_us=at_us, cause=None, source="failures@pod-0", seq=1))


@pytest.mark.parametrize(
    ("blinded", "over", "named", "held_for"),
    [
        (None, False, NORTH, "mirror"),
        (None, False, SOUTH, ELSEWHERE),
        ("pod-0/ocs-7/camera-S", False, SOUTH, "mirror"),
        ("pod-0/ocs-7/cpu", False, SOUTH, "mirror"),
        ("pod-0/ocs-7/camera-S", True, SOUTH, ELSEWHERE),
        ("pod-0/ocs-8/camera-S", False, SOUTH, ELSEWHERE),
    ],
)
def test_the_mirror_has_to_be_the_right_one_unless_its_ocs_is_blind(
    blinded: str | None, over: bool, named: str, held_for: str
) -> None:
    assert [link_end(end).name("pod-0") for end in ENDS] == ["pod-0/cube-1/+x/7", "pod-0/cube-2/-x/7"]
    score = DiagnosisScore(64, 9 * US_PER_DAY)
    seen(
        score,
        CircuitsConnected(slice="pod-0/slice-0", joins=((0, 1, 2),), missing_ocs=(), missing_ports=()),
        1,
    )
    seen(score, fault_began("pod-0/fault-0", "mirror", NORTH, 2.0), 2)
    if blinded is not None:
        part = blinded.rpartition("/")[2].partition("-")[0]
        blind = fault_began("pod-0/fault-1", part, blinded)
        seen(score, blind, 3)
        if over:
            seen(score, fault_ended(blind), 4)
    verdict = VerdictGiven(
        verdict="pod-0/verdict-0",
        kind="mirror",
        target=named,
        work="align",
        confidence=0.5,
        ends=ENDS,
        evidence="",
        after=None,
    )
    seen(score, verdict, 2 * US_PER_DAY)
    assert [truth.held_for for truth in score.truths()] == [held_for]
    assert score.right["mirror"] == (held_for == "mirror")
