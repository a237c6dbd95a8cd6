"""Remedies: the likeliest part by readings and failed attempts, and the least work not yet tried there."""

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
"""Work at a link end → works to try in turn until one helps."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """`work` at `target`, for the fault of these ends; fields as in `LinkVerdict`.

    `after` is the repair that did not help.
    """

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
    """The remedy of many links over one OCS that lose light alike: repair the OCS. None if that was tried."""
    rows = list(attempts)
    target = f"{fabric}/ocs-{ocs}"
    if any(row.target == target for row in rows):
        return None
    evidence = f"{len(group)} links over it lose light in both directions at once"
    return Remedy(
        "shake",
        target,
        None,
        "mend",
        CONFIDENCE_MAX,
        ends_of(group),
        evidence,
        _last_failed_repair(rows, "shake", target),
    )


def remedy(fabric: str, suspicion: Suspicion, attempts: Iterable[RepairAttempt]) -> Remedy | None:
    """The remedy of one suspicion, at the likelier of its two ends; None if everything was tried at both.

    Failed work makes its end less likely, by the share of such faults that the work repairs.
    """
    ends = [end for end in (suspicion.end, suspicion.other) if end is not None]
    at = {end: _target(fabric, suspicion, end) for end in ends}
    rows = [row for row in attempts if not row.read_normal_since or row.kind == suspicion.kind]
    done = {end: [row.work for row in rows if row.target == at[end]] for end in ends}
    shares = dict(zip(ends, (suspicion.confidence, 1.0 - suspicion.confidence), strict=False))
    weights = {end: shares[end] * _failure_share(done[end]) for end in ends}
    left = {end: work for end in ends if (work := _next_work(suspicion.kind, done[end])) is not None}
    if not left:
        return None
    end = max(left, key=lambda number: weights[number])
    total = sum(weights.values())
    sure = (
        suspicion.confidence if len(ends) == 1 or total == 0.0 else min(weights[end] / total, CONFIDENCE_MAX)
    )
    evidence = suspicion.evidence_at(end)
    if done[end]:
        evidence += "; less work there did not help"
    if any(done[other] for other in ends if other != end):
        evidence += "; work at the other end did not help"
    after = _last_failed_repair(rows, suspicion.kind, at[end])
    suspect = None if suspicion.kind == "mirror" else end
    return Remedy(
        suspicion.kind, at[end], suspect, left[end], round(sure, 3), ends_of([suspicion]), evidence, after
    )


def is_last_resort(work: RepairWork) -> bool:
    """Whether no more thorough work exists."""
    return work not in ESCALATION or ESCALATION[work][-1] == work


def ends_of(group: list[Suspicion]) -> tuple[int, ...]:
    """All link ends of these suspicions, in order."""
    return tuple(
        sorted({end for suspicion in group for end in (suspicion.end, suspicion.other) if end is not None})
    )


def _failure_share(works: list[RepairWork]) -> float:
    """The probability that all of these repair jobs fail to remove an existing fault."""
    share = 1.0
    for work in works:
        succeeds = WORK_DEFINITIONS[work].succeeds
        share *= 0.0 if succeeds is None else 1.0 - assumed(succeeds)
    return share


def _next_work(kind: FaultKind, done: list[RepairWork]) -> RepairWork | None:
    """The least work that is more thorough than all that was done; None after the last resort."""
    depth = max((WORK_DEFINITIONS[work].depth for work in done), default=0)
    return next(
        (work for work in ESCALATION[FAULTS[kind].work] if WORK_DEFINITIONS[work].depth > depth), None
    )


def _last_failed_repair(attempts: list[RepairAttempt], kind: FaultKind, target: str) -> str | None:
    """The last repair for the same fault that has not helped.

    Since then the ends have been outliers all the time, or the part is the same.
    """
    same = [
        row.repair
        for row in attempts
        if row.kind == kind and (not row.read_normal_since or row.target == target)
    ]
    return same[-1] if same else None


def _target(fabric: str, suspicion: Suspicion, number: int) -> str:
    """The end itself, or for a mirror the physical port that the strand enters at this end."""
    end = link_end(number)
    if suspicion.kind != "mirror" or suspicion.strand is None:
        return end.name(fabric)
    port = suspicion.spare if suspicion.spare is not None and number == suspicion.end else end.port
    return f"{fabric}/ocs-{end.ocs}/{end.side(suspicion.strand)}{port}"
