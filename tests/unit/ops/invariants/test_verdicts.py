"""The checker of verdicts finds violations, and accepts valid sequences."""

from ops.invariants.repairs import VerdictChecker
from schemas.body import Body
from schemas.messages.diagnosis import VerdictGiven, VerdictWithdrawn
from schemas.messages.repairs import RepairCompleted
from schemas.messages.transceivers import EndsStoodOut, LinkEndInspection
from tests.unit.ops.invariants.test_slices import judged

END = "pod-0/cube-1/+x/7"


def given(number: int, after: str | None = None, target: str = END) -> VerdictGiven:
    return VerdictGiven(
        verdict=f"pod-0/verdict-{number}",
        kind="connector",
        target=target,
        work="clean",
        confidence=0.9,
        ends=(103,),
        evidence="dirt",
        after=after,
    )


DONE = RepairCompleted(
    repair="pod-0/repair-0", target=END, work="clean", technician=0, waited_us=0, took_us=1
)


def test_a_verdict_its_repair_and_a_following_verdict_are_accepted() -> None:
    log: list[Body] = [given(0), DONE, given(1, "pod-0/repair-0")]
    log.append(VerdictWithdrawn(verdict="pod-0/verdict-1", target=END))
    assert judged(VerdictChecker(), log) == []


def test_an_unread_link_end_stays_an_outlier() -> None:
    usual = (0.0, 0.0)
    strands = dict.fromkeys(("rx_db", "tx_db", "snr_db", "mpi_db"), usual)
    own = {"bias": 0.0, "warmer_k": 0.0, "spread_db": 0.0, "age_min": 90.0, "unchanged": False, "outages": 0}
    inspection = LinkEndInspection.model_validate({"end": 3, "far": None, "silent": False, **strands, **own})
    outlier = EndsStoodOut(ends=(inspection,), usual=(), unseen=())
    dark, back = EndsStoodOut(ends=(), usual=(), unseen=(3,)), EndsStoodOut(ends=(), usual=(3,), unseen=())
    assert judged(VerdictChecker(), [outlier, dark, back]) == []
    assert judged(VerdictChecker(), [outlier, dark, outlier, back]) == []
    assert judged(VerdictChecker(), [outlier, dark, back, dark])


def test_violations_are_reported() -> None:
    withdrawn = VerdictWithdrawn(verdict="pod-0/verdict-0", target=END)
    for log in (
        [given(0), given(1)],
        [given(0), withdrawn, given(0)],
        [withdrawn],
        [given(0), DONE, withdrawn],
        [given(0, "pod-0/repair-3")],
        [EndsStoodOut(ends=(), usual=(3,), unseen=())],
        [EndsStoodOut(ends=(), usual=(3,), unseen=(3,))],
    ):
        assert judged(VerdictChecker(), log), log
