"""What could be done about a suspicion: parts and works in the order in which they are tried."""

from dataclasses import dataclass

from schemas.diagnosis import Work
from schemas.names import FaultKind
from services.diagnosis.attribution import SURE, Suspicion
from shared.models.faults import FAULTS
from shared.models.superpod.wiring import link_end

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


def remedies(fabric: str, group: list[Suspicion], ocs: int | None = None) -> list[Remedy]:
    """For one suspicion, or for those of many links over one OCS: never empty. The likelier end comes first,
    by the least work, then the other end, then the more thorough works of both."""
    ends = tuple(sorted({end for one in group for end in (one.end, one.other) if end is not None}))
    first = group[0]
    if ocs is not None:
        said = f"{len(group)} links over it lose light both ways at once"
        return [Remedy("shake", f"{fabric}/ocs-{ocs}", None, "mend", SURE, ends, said)]
    sides = [(first.end, first.confidence)]
    if first.other is not None:
        sides.append((first.other, 1.0 - first.confidence))
    least = FAULTS[first.kind].work
    return [
        Remedy(
            first.kind,
            _target(fabric, first, end),
            _suspect(first, end),
            work,
            round(sure, 3),
            ends,
            first.evidence,
        )
        for work in MORE_THOROUGH[least]
        for end, sure in sides
    ]


def _suspect(one: Suspicion, end: int) -> int | None:
    return None if one.kind == "mirror" else end


def _target(fabric: str, one: Suspicion, number: int) -> str:
    """The end itself, or of a mirror the port that the strand enters at this end, by where its fibre is."""
    end = link_end(number)
    if one.kind != "mirror" or one.strand is None:
        return end.name(fabric)
    port = one.spare if one.spare is not None and number == one.end else end.port
    return f"{fabric}/ocs-{end.ocs}/{end.side(one.strand)}{port}"
