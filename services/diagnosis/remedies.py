"""What to do about a suspicion: at the part that is the likeliest by what the readings say and by what was
done in vain, the least work that was not."""

from collections.abc import Iterable
from dataclasses import dataclass

from schemas.diagnosis import Work
from schemas.names import FaultKind
from services.diagnosis.attribution import SURE, Suspicion
from services.diagnosis.state import Tried
from shared.models.assumptions import assumed
from shared.models.faults import FAULTS
from shared.models.superpod.wiring import link_end
from shared.models.works import WORKS

MORE_THOROUGH: dict[Work, tuple[Work, ...]] = {
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
    work: Work
    confidence: float
    ends: tuple[int, ...]
    evidence: str
    after: str | None = None


def shaken(fabric: str, group: list[Suspicion], ocs: int, tried: Iterable[Tried]) -> Remedy | None:
    """Of many links over one OCS that lose alike: see to the OCS; None, where that was done."""
    rows = list(tried)
    target = f"{fabric}/ocs-{ocs}"
    if any(row.target == target for row in rows):
        return None
    said = f"{len(group)} links over it lose light both ways at once"
    return Remedy("shake", target, None, "mend", SURE, ends_of(group), said, _in_vain(rows, "shake", target))


def remedy(fabric: str, one: Suspicion, tried: Iterable[Tried]) -> Remedy | None:
    """What to do about one suspicion. Of two ends it is at the likelier: work that failed tells against its
    end by as much as such work mends what is there. None, where all was tried at both."""
    ends = [end for end in (one.end, one.other) if end is not None]
    at = {end: _target(fabric, one, end) for end in ends}
    rows = [row for row in tried if not row.was_usual or row.kind == one.kind]
    done = {end: [row.work for row in rows if row.target == at[end]] for end in ends}
    shares = dict(zip(ends, (one.confidence, 1.0 - one.confidence), strict=False))
    weights = {end: shares[end] * _fail(done[end]) for end in ends}
    left = {end: work for end in ends if (work := _next_work(one.kind, done[end])) is not None}
    if not left:
        return None
    end = max(left, key=lambda number: weights[number])
    total = sum(weights.values())
    sure = one.confidence if len(ends) == 1 or total == 0.0 else min(weights[end] / total, SURE)
    said = one.seen_from(end)
    if done[end]:
        said += "; less work there did not help"
    if any(done[other] for other in ends if other != end):
        said += "; work at the other end did not help"
    after = _in_vain(rows, one.kind, at[end])
    suspect = None if one.kind == "mirror" else end
    return Remedy(one.kind, at[end], suspect, left[end], round(sure, 3), ends_of([one]), said, after)


def is_last_resort(work: Work) -> bool:
    """Whether nothing is more thorough."""
    return work not in MORE_THOROUGH or MORE_THOROUGH[work][-1] == work


def ends_of(group: list[Suspicion]) -> tuple[int, ...]:
    """All link ends that these are about, in order."""
    return tuple(sorted({end for one in group for end in (one.end, one.other) if end is not None}))


def _fail(works: list[Work]) -> float:
    """How likely all of this does not mend what is there."""
    share = 1.0
    for work in works:
        succeeds = WORKS[work].succeeds
        share *= 0.0 if succeeds is None else 1.0 - assumed(succeeds)
    return share


def _next_work(kind: FaultKind, done: list[Work]) -> Work | None:
    """The least that is more thorough than all that was done; None after the last resort."""
    depth = max((WORKS[work].depth for work in done), default=0)
    return next((work for work in MORE_THOROUGH[FAULTS[kind].work] if WORKS[work].depth > depth), None)


def _in_vain(tried: list[Tried], kind: FaultKind, target: str) -> str | None:
    """The last repair for the same that has not helped: since then the ends have stood out all the time, or
    it is this part again."""
    same = [row.repair for row in tried if row.kind == kind and (not row.was_usual or row.target == target)]
    return same[-1] if same else None


def _target(fabric: str, one: Suspicion, number: int) -> str:
    """The end itself, or of a mirror the port that the strand enters at this end, by where its fibre is."""
    end = link_end(number)
    if one.kind != "mirror" or one.strand is None:
        return end.name(fabric)
    port = one.spare if one.spare is not None and number == one.end else end.port
    return f"{fabric}/ocs-{end.ocs}/{end.side(one.strand)}{port}"
