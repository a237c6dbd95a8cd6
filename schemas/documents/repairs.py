"""The status documents of who finds out what is the matter, and of who sees to it."""

from typing import Literal

from pydantic import Field

from schemas.body import Model, is_empty, is_none
from schemas.messages.diagnosis import RepairWork
from schemas.names import FaultKind

RepairState = Literal["queued", "begun", "tested", "completed", "cancelled", "failed"]


class RepairDocument(Model):
    """Written by `repairs`; name `pod-0/repair-3`. `tested`: the work is done, and the part is burnt in;
    `tries` are works before this one that mended the wrong thing. `reason` says why one that `failed` did;
    `in_vain`: it was completed, and what it was to mend is still there; `verdict` is the one that it acts
    on."""

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
    """Written by `diagnosis`; name `pod-0/verdict-5`: what is held for the matter with `ends` (names), by
    readings alone. `work` is what should mend it, `confidence` how sure that is, from 0 to 1. `state`: open;
    repaired, as it should; repaired in-vain, for the same was found again; or withdrawn, since its part was
    read and reads as it should."""

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
    """Kind `summaries`, name `pod-0/repairs`."""

    name: str
    queued: int
    begun: int
    completed: int
    cancelled: int
    failed: int = 0
    ineffective: int = 0
    tested: int = 0


class DiagnosisSummary(Model):
    """Kind `summaries`, name `pod-0/diagnosis`: verdicts that are open, and how many there were; `repaired`
    are those whose part was seen to, and `in_vain` those of them for which that was in vain."""

    name: str
    open: int
    given: int
    repaired: int
    withdrawn: int
    ineffective: int
