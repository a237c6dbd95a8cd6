"""What the diagnosis says: what it holds for the matter with links, from readings alone."""

from typing import Annotated, Literal

from pydantic import Field

from schemas.body import Body
from schemas.names import FaultKind, LinkEndIndex, RepairName, TargetName, VerdictName

RepairWork = Literal["clean", "reseat", "replace", "align", "mend"]


class DiagnosisBody(Body):
    writer = "diagnosis"


class VerdictGiven(DiagnosisBody):
    """What is held for the matter, with the part that is suspected, which work should mend it, and how sure
    that is (the share of such verdicts that are right, by what the evidence leaves open). `ends` are those
    whose readings say so, `evidence` in words. `after` is the repair of the same ends that did not help, or
    not for long."""

    verdict: VerdictName
    kind: FaultKind
    target: TargetName
    work: RepairWork
    confidence: Annotated[float, Field(ge=0, le=1)]
    ends: tuple[LinkEndIndex, ...]
    evidence: str
    after: RepairName | None


class TestWanted(DiagnosisBody):
    """Whether a repair has helped an end that carries no link is to be found out by a link test."""

    __test__ = False  # no test of ours, whatever its name begins with

    end: TargetName


class VerdictWithdrawn(DiagnosisBody):
    """The part was read, and its readings are as they should be again, with no repair of it."""

    verdict: VerdictName
    target: TargetName
