"""What to do about a suspicion: at the part that is the likeliest by what the readings say and by what was
done in vain, the least work that was not."""

from collections.abc import Iterable
from dataclasses import dataclass

from schemas.messages.diagnosis import RepairWork
from schemas.names import FaultKind
from services.diagnosis.attribution import CONFIDENCE_MAX, Suspicion
from services.diagnosis.state import RepairAttempt
from shared.models.assumptions import assumed
from shared.models.faults.fault_kinds import FAULTS
from shared.models.faults.repair_work import WORK_DEFINITIONS
from shared.models.superpod.wiring import link_end

ESCALATION: dict[RepairWork, tuple[RepairWork, ...]] = {
    "clean": ("clean", "reseat", "replace"),
    "reseat": ("reseat", "replace"),
    "replace": ("replace",),
    "align": ("align",),
}
"""Work at a link end → what is tried in turn while it does not help."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """One thing to do: `work` at `target`, held for the matter of these ends; fields as in `Verdict`. `after`
    is the repair that did not help."""

    kind: FaultKind
    target: str
    suspect: int | None
    work: RepairWork
    confidence: float
    ends: tuple[int, ...]
    evidence: str
    after: str | None = None


def shake_remedy(
    fabric: str, group: list[Suspicion], ocs: int, attempts: Iterable[RepairAttempt]
) -> Remedy | None:
    """Of many links over one OCS that lose alike: see to the OCS; None, where that was done."""
    rows = list(attempts)
    target = f"{fabric}/ocs-{ocs}"
    if any(row.target == target for row in rows):
        return None
    said = f"{len(group)} links over it lose light both ways at once"
    return Remedy(
        "shake",
        target,
        None,
        "mend",
        CONFIDENCE_MAX,
        ends_of(group),
        said,
        _last_failed_repair(rows, "shake", target),
    )


def remedy(fabric: str, one: Suspicion, attempts: Iterable[RepairAttempt]) -> Remedy | None:
    """What to do about one suspicion. Of two ends it is at the likelier: work that failed tells against its
    end by as much as such work mends what is there. None, where all was tried at both."""
    ends = [end for end in (one.end, one.other) if end is not None]
    at = {end: _target(fabric, one, end) for end in ends}
    rows = [row for row in attempts if not row.read_normal_since or row.kind == one.kind]
    done = {end: [row.work for row in rows if row.target == at[end]] for end in ends}
    shares = dict(zip(ends, (one.confidence, 1.0 - one.confidence), strict=False))
    weights = {end: shares[end] * _failure_share(done[end]) for end in ends}
    left = {end: work for end in ends if (work := _next_work(one.kind, done[end])) is not None}
    if not left:
        return None
    end = max(left, key=lambda number: weights[number])
    total = sum(weights.values())
    sure = one.confidence if len(ends) == 1 or total == 0.0 else min(weights[end] / total, CONFIDENCE_MAX)
    said = one.evidence_at(end)
    if done[end]:
        said += "; less work there did not help"
    if any(done[other] for other in ends if other != end):
        said += "; work at the other end did not help"
    after = _last_failed_repair(rows, one.kind, at[end])
    suspect = None if one.kind == "mirror" else end
    return Remedy(one.kind, at[end], suspect, left[end], round(sure, 3), ends_of([one]), said, after)


def is_last_resort(work: RepairWork) -> bool:
    """Whether nothing is more thorough."""
    return work not in ESCALATION or ESCALATION[work][-1] == work


def ends_of(group: list[Suspicion]) -> tuple[int, ...]:
    """All link ends that these are about, in order."""
    return tuple(sorted({end for one in group for end in (one.end, one.other) if end is not None}))


def _failure_share(works: list[RepairWork]) -> float:
    """How likely all of this does not mend what is there."""
    share = 1.0
    for work in works:
        succeeds = WORK_DEFINITIONS[work].succeeds
        share *= 0.0 if succeeds is None else 1.0 - assumed(succeeds)
    return share


def _next_work(kind: FaultKind, done: list[RepairWork]) -> RepairWork | None:
    """The least that is more thorough than all that was done; None after the last resort."""
    depth = max((WORK_DEFINITIONS[work].depth for work in done), default=0)
    return next(
        (work for work in ESCALATION[FAULTS[kind].work] if WORK_DEFINITIONS[work].depth > depth), None
    )


def _last_failed_repair(attempts: list[RepairAttempt], kind: FaultKind, target: str) -> str | None:
    """The last repair for the same that has not helped: since then the ends have stood out all the time, or
    it is this part again."""
    same = [
        row.repair
        for row in attempts
        if row.kind == kind and (not row.read_normal_since or row.target == target)
    ]
    return same[-1] if same else None


def _target(fabric: str, one: Suspicion, number: int) -> str:
    """The end itself, or of a mirror the port that the strand enters at this end, by where its fibre is."""
    end = link_end(number)
    if one.kind != "mirror" or one.strand is None:
        return end.name(fabric)
    port = one.spare if one.spare is not None and number == one.end else end.port
    return f"{fabric}/ocs-{end.ocs}/{end.side(one.strand)}{port}"
