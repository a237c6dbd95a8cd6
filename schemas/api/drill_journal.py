"""What a drill did, as a projection of its site's log: the part `lightwave` of its journal.

Times are simulated microseconds of the site. Positions count the messages of the site's log.
"""

from typing import Annotated

from pydantic import Field

from schemas.body import Model, is_none
from schemas.drill_plan import DrillPlan, LimitName, Phase
from schemas.messages.drills import DrawnTarget, DrillStatus, StopCause, Verdict
from schemas.names import FaultKind

JOURNAL_FORMAT = 1
"""Version of the form of a DrillJournal."""


class PhaseSpan(Model):
    """A phase of a drill; `to_us` is null while it lasts."""

    phase: Phase
    from_us: int
    to_us: int | None


class VerdictChange(Model):
    """From `at_us` on, a probe had this verdict. `compared` lists what its condition
    compared."""

    at_us: int
    verdict: Verdict
    compared: tuple[str, ...]


class ProbeRecord(Model):
    """A probe in one phase, for one resource if it is measured for each. `verdict` is the worst in the phase:
    `violated` if it was violated at any time, `not-measured` if it had no reading. `deviated`: it was
    violated for longer than `allowed_us`."""

    probe: str
    phase: Phase
    target: str | None
    verdict: Verdict
    violated_us: int
    allowed_us: int
    deviated: bool
    changes: tuple[VerdictChange, ...]


class StepRecord(Model):
    """One repeat of a step, counted from 1. `outcome` is null while it runs. `requests` are the ids of the
    orders that it sent."""

    step: str
    what: str
    verb: str | None
    repeat: int
    outcome: str | None
    reason: str | None
    began_us: int
    ended_us: int | None
    requests: tuple[str, ...]


class LimitRecord(Model):
    """A limit of the blast radius, and the most that the drill reached. `reached` is null if the log does not
    have it."""

    what: LimitName
    at_most: int
    reached: int | None


class DrillFault(Model):
    """A fault that the drill injected. `how` tells how it ended; null while it is active."""

    fault: str
    kind: FaultKind
    target: str
    step: str
    severity: float | None
    began_us: int
    expires_us: int | None
    ended_us: int | None
    how: str | None


class UndoRecord(Model):
    """A request by which the drill ended what it had begun. `reason` tells why it was refused."""

    id: str
    step: str
    fabric: str
    type: str
    subject: str | None
    at_us: int
    refused: bool
    reason: str | None


class StopRecord(Model):
    """Why a drill ended early, and the message that says so. `by` is who requested it."""

    id: str
    at_us: int
    cause: StopCause
    reason: str
    by: str | None


class JournalPositions(Model):
    """Positions of the first and the last message of the drill so far."""

    first: int
    last: int


class DrillJournal(Model):
    """One drill. `status` is null while it runs; `reason` tells why it did not complete. `left` lists what
    the undo could not end. `software` is the version that wrote this record, `plan` is what the drill's
    document says."""

    drill: str
    fabric: str
    title: str
    tags: tuple[str, ...]
    document_sha256: str
    seed: int
    request: str
    asked_by: str | None
    comment: str | None
    schedule: str | None = Field(default=None, exclude_if=is_none)
    """The schedule whose run it is."""
    format: Annotated[int, Field(ge=1)] = JOURNAL_FORMAT
    software: str
    positions: JournalPositions
    began_us: int
    ended_us: int | None
    lease_ends_us: int
    status: DrillStatus | None
    deviated: bool
    reason: str | None
    stop: StopRecord | None
    phases: tuple[PhaseSpan, ...]
    targets: tuple[DrawnTarget, ...]
    probes: tuple[ProbeRecord, ...]
    steps: tuple[StepRecord, ...]
    limits: tuple[LimitRecord, ...]
    faults: tuple[DrillFault, ...]
    undo: tuple[UndoRecord, ...]
    left: tuple[str, ...]
    plan: DrillPlan
