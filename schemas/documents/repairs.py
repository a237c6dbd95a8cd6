"""Status documents of diagnosis and repairs."""

from typing import Literal

from pydantic import Field

from schemas.body import Model, is_empty, is_none
from schemas.messages.diagnosis import RepairWork
from schemas.names import FaultKind

RepairState = Literal["queued", "begun", "tested", "completed", "cancelled", "failed"]


class RepairDocument(Model):
    """Written by `repairs`; name `pod-0/repair-3`. `tested`: the work is done, and the part is in burn-in.
    `tries` is the number of earlier repair jobs that fixed the wrong part. `reason` explains a repair that
    `failed`. `ineffective`: it was completed, but the fault is still there. `verdict` is the verdict that it
    acts on."""

    name: str
    kind: FaultKind
    target: str
    work: RepairWork
    state: RepairState
    technician: int | None
    requested_us: int
    began_us: int | None
    ended_us: int | None
    verdict: str | None = Field(default=None, exclude_if=is_none)
    ineffective: bool = False
    tries: int = Field(default=0, exclude_if=is_empty)
    reason: str | None = Field(default=None, exclude_if=is_none)


class VerdictDocument(Model):
    """Written by `diagnosis`; name `pod-0/verdict-5`: the suspected cause of the bad readings of `ends`, from
    telemetry alone. `work` is the recommended repair, `confidence` is from 0 to 1. `state` is
    `open`; `repaired`; `ineffective`: repaired, but the same cause was found again; or `withdrawn`: the
    part's readings are normal again."""

    name: str
    kind: FaultKind
    target: str
    work: RepairWork
    state: Literal["open", "repaired", "ineffective", "withdrawn"]
    confidence: float
    ends: tuple[str, ...]
    evidence: str
    given_us: int
    ended_us: int | None


class RepairsSummary(Model):
    """Kind `summaries`, name `pod-0/repairs`: repairs by state."""

    name: str
    queued: int
    begun: int
    completed: int
    cancelled: int
    failed: int = 0
    ineffective: int = 0
    tested: int = 0


class DiagnosisSummary(Model):
    """Kind `summaries`, name `pod-0/diagnosis`: open verdicts, and all verdicts since the start (`given`).
    `repaired` counts those whose part was repaired; `ineffective` of these did not remove the fault."""

    name: str
    open: int
    given: int
    repaired: int
    withdrawn: int
    ineffective: int
