"""Status documents of drills."""

from typing import Annotated, Literal

from pydantic import Field

from schemas.body import Model, is_none
from schemas.drill_plan import LimitName, Phase
from schemas.messages.drills import DrawnTarget, DrillStatus, StopCause, Verdict

EffectKind = Literal["fault", "drain", "slice", "parameters", "cross-connects", "rewiring"]
"""What a step can begin, and the undo ends."""
StepState = Literal["waiting", "running", "done", "refused", "failed", "cancelled"]


class LampDocument(Model):
    """A probe in a phase, for one resource if it is measured for each. `violated_us` is how long it has been
    violated in this phase, of `allowed_us`; since `since_us` it has had this verdict. `compared` is what it
    compared last, `problem` why it is not measured."""

    probe: str
    phase: Phase
    target: str | None = Field(default=None, exclude_if=is_none)
    verdict: Verdict
    violated_us: Annotated[int, Field(ge=0)]
    allowed_us: Annotated[int, Field(ge=0)]
    deviated: bool
    since_us: Annotated[int, Field(ge=0)]
    compared: tuple[str, ...] = ()
    problem: str | None = Field(default=None, exclude_if=is_none)


class StepDocument(Model):
    """A step of the method; `repeat` counts how often it was done, of `repeats`."""

    name: str
    state: StepState
    repeat: Annotated[int, Field(ge=0)]
    repeats: Annotated[int, Field(ge=1)]
    reason: str | None = Field(default=None, exclude_if=is_none)


class EffectDocument(Model):
    """Something that the drill began: a fault, a drained cube, a slice, changed parameters …; `ended_us` is
    null while it lasts."""

    kind: EffectKind
    name: str
    step: str
    began_us: Annotated[int, Field(ge=0)]
    ended_us: Annotated[int, Field(ge=0)] | None


class LimitDocument(Model):
    """The blast radius so far: the highest count at once, of those allowed."""

    what: LimitName
    used: Annotated[int, Field(ge=0)]
    at_most: Annotated[int, Field(ge=0)]


class DrillDocument(Model):
    """Kind `drills`, name `pod-0/drill-4`. `status` is null while the drill runs. `stopped` is why it ended
    early, with a `reason`. `step` is the first step that has not ended."""

    name: str
    title: str
    document_sha256: str
    tags: tuple[str, ...]
    seed: int
    requested_by: str | None
    began_us: int
    ended_us: int | None
    lease_ends_us: int
    phase: Phase
    phase_us: int
    status: DrillStatus | None
    deviated: bool
    stopped: StopCause | None
    reason: str | None
    step: str | None
    lamps: tuple[LampDocument, ...]
    steps: tuple[StepDocument, ...]
    targets: tuple[DrawnTarget, ...]
    limits: tuple[LimitDocument, ...]
    effects: tuple[EffectDocument, ...]
    active_faults: tuple[str, ...]
    left: tuple[str, ...]
    schedule: str | None = Field(default=None, exclude_if=is_none)
    """The schedule whose run it is; null for a drill that an operator started."""


RunOutcome = Literal["completed", "stopped", "cancelled", "failed", "skipped"]


class ScheduleDocument(Model):
    """Kind `schedules`, name `pod-0/schedule-1`. `between` is its window of each simulated day, null if it
    has none. `drill` is the current run. `runs` counts those that began, `skipped` those that did not,
    because another drill ran or drills were held. `last_outcome` is that of the run that ended or was skipped
    last, at `last_us`; a skipped one has no drill."""

    name: str
    title: str
    document_sha256: str
    state: Literal["waiting", "running"]
    every_us: int
    between: str | None
    seed: int
    requested_by: str | None
    scheduled_us: int
    next_us: int
    drill: str | None
    runs: int
    skipped: int
    last_us: int | None
    last_drill: str | None
    last_outcome: RunOutcome | None
    last_deviated: bool | None
    last_reason: str | None


class DrillsSummary(Model):
    """Kind `summaries`, name `pod-0/drills`. `hold` is the reason for which no drill starts, null if they
    may. Drills since the start are counted by how they ended; `deviated` counts those with a probe outside
    its allowance."""

    name: str
    running: int
    begun: int
    completed: int
    stopped: int
    cancelled: int
    failed: int
    deviated: int
    hold: str | None
    held_us: int | None


class NamedCulprit(Model):
    """A part that a trainee named as broken."""

    culprit: str
    at_us: Annotated[int, Field(ge=0)]
    trainee: str | None


class DeskDocument(Model):
    """Kind `desks`, name of a drill with a game: all that its trainee sees of it. `hints` are those given so
    far, `hints_left` is the number of others. `find_us` and `act_us` are the times for the diagnosis and for
    the first action that the document calls good. `ended_us` is null while the drill runs."""

    name: str
    brief: str
    began_us: int
    ended_us: int | None
    find_us: int
    act_us: int
    acknowledged_us: int | None
    acknowledged_by: str | None
    hints: tuple[str, ...]
    hints_left: Annotated[int, Field(ge=0)]
    culprits: tuple[NamedCulprit, ...]


DRILL_DOCUMENTS: dict[str, tuple[type[Model], ...]] = {
    "drills": (DrillDocument,),
    "schedules": (ScheduleDocument,),
    "desks": (DeskDocument,),
    "summaries": (DrillsSummary,),
}
"""Document kind → the models of its documents, in fabrics of every kind."""
