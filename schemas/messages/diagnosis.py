"""Messages of the diagnosis: verdicts, from telemetry alone."""

from typing import Annotated, Literal

from pydantic import Field

from schemas.body import Body
from schemas.names import FaultKind, LinkEndIndex, RepairName, TargetName, VerdictName

RepairWork = Literal["clean", "reseat", "replace", "align", "mend"]


class DiagnosisBody(Body):
    writer = "diagnosis"


class VerdictGiven(DiagnosisBody):
    """A verdict: the suspected part, the work that should repair it, and the confidence (the share of such
    verdicts that are right, given what the evidence leaves open). `ends` are those with outlier readings,
    `evidence` is in words. `after` is the repair of the same ends that did not help, or not for long."""

    verdict: VerdictName
    kind: FaultKind
    target: TargetName
    work: RepairWork
    confidence: Annotated[float, Field(ge=0, le=1)]
    ends: tuple[LinkEndIndex, ...]
    evidence: str
    after: RepairName | None


class TestWanted(DiagnosisBody):
    """Requests a link test, to find out whether a repair has helped an end that carries no link."""

    __test__ = False  # pytest must not collect it

    end: TargetName


class VerdictWithdrawn(DiagnosisBody):
    """The part was read, and its readings are normal again without a repair."""

    verdict: VerdictName
    target: TargetName
