"""State of the drills of one fabric, which is their home: they may act on other fabrics of its site too."""

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from schemas.config.pods import FabricConfig
from schemas.documents.drills import EffectKind, RunOutcome
from schemas.drill_plan import DrillPlan, LimitName, Phase, PlannedSchedule, TraineeGame
from schemas.messages.drills import DrawnTarget, DrillOrder, DrillStatus, StopCause, Verdict
from schemas.site_readings import CountReading
from shared.engine.ended_rows import add_ended
from shared.engine.state import State

RUNNING_MAX = 10
"""Maximum number of drills of a fabric that run at the same time."""
SCHEDULES_MAX = 50
"""Maximum number of schedules of a fabric."""
EFFECTS_MAX = 2_000
"""Maximum number of effects that one drill begins."""

StepOutcome = Literal["done", "refused", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class Lamp:
    """The verdict of one probe in one phase, for one resource if it is measured for each.

    `read_us` is the time of the last reading. `violated_us` is the time for which it has been violated in
    this phase: from each reading that it violates to the next one.
    """

    phase: Phase
    probe: str
    target: str | None
    verdict: Verdict
    since_us: int
    read_us: int
    violated_us: int
    allowed_us: int
    deviated: bool
    compared: tuple[str, ...]
    problem: str | None


@dataclass(frozen=True, slots=True)
class StepRun:
    """How far a step of the method is.

    `sent` is the number of repeats that have begun. `fires_us` is when the next one begins; None before the
    step begins, and after the last repeat. `ends_us` is the end of a wait; `polls_us` when the condition of
    a wait is read next.
    """

    outcome: StepOutcome | None = None
    reason: str | None = None
    begun_us: int | None = None
    sent: int = 0
    fires_us: int | None = None
    ends_us: int | None = None
    polls_us: int | None = None
    over_us: int | None = None
    """When the pause after the step is over; None before it is done."""

    @property
    def is_over(self) -> bool:
        return self.outcome is not None and self.over_us is None


@dataclass(frozen=True, slots=True)
class Effect:
    """Something that a step began. The undo sends `undo`, a request of the type `undo_type` as JSON."""

    kind: EffectKind
    step: str
    fabric: str
    name: str
    undo_type: str
    undo: str
    began_us: int
    ended_us: int | None = None


@dataclass(frozen=True, slots=True)
class SentOrder:
    """An order on the log whose answers are expected. `effect` is the number of the effect it undoes."""

    drill: int
    step: str
    repeat: int
    order: DrillOrder
    effect: int | None = None
    answered: bool = False
    refusal: str | None = None


@dataclass(frozen=True, slots=True)
class Named:
    """A part that a trainee named as broken."""

    culprit: str
    at_us: int
    trainee: str | None


@dataclass(frozen=True, slots=True)
class Desk:
    """The game of a drill: what its trainee has done, and the number of hints taken."""

    game: TraineeGame
    acknowledged_us: int | None = None
    acknowledged_by: str | None = None
    hints_taken: int = 0
    culprits: tuple[Named, ...] = ()


@dataclass(frozen=True, slots=True)
class DrillRun:
    """A drill that runs, or has ended.

    `cause` is the id of the RunDrill that began it. `phase` began at `phase_us`. `probes_us` is the time of
    the next reading; None if the phase reads nothing. `settles_us` is when the answers to the orders that
    were just sent are complete. `counts` are the last counts of the blast radius, `baseline` those before
    the first step, `used` the highest increase so far.
    """

    title: str
    document_sha256: str
    tags: tuple[str, ...]
    seed: int
    cause: str
    requested_by: str | None
    began_us: int
    lease_ends_us: int
    phase: Phase
    phase_us: int
    probes_us: int | None
    repeats: tuple[tuple[str, int], ...]
    """(step, repeats), in order."""
    limits: tuple[tuple[LimitName, int], ...]
    """(limit, at most)."""
    settles_us: int | None = None
    is_drawn: bool = False
    has_read: bool = False
    """Whether this phase has had a reading."""
    targets: tuple[DrawnTarget, ...] = ()
    lamps: tuple[Lamp, ...] = ()
    steps: tuple[StepRun, ...] = ()
    effects: tuple[Effect, ...] = ()
    baseline: tuple[CountReading, ...] = ()
    used: tuple[CountReading, ...] = ()
    has_acted: bool = False
    """Whether a step has begun."""
    skips_verify: bool = False
    stopped: StopCause | None = None
    reason: str | None = None
    failed: bool = False
    deviated: bool = False
    left: tuple[str, ...] = ()
    status: DrillStatus | None = None
    ended_us: int | None = None
    schedule: str | None = None
    """The name of the schedule whose run it is."""
    desk: Desk | None = None
    """The game for a trainee, if the drill has one."""

    @property
    def active_faults(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.effects if one.kind == "fault" and one.ended_us is None)

    def names_of(self, target: str) -> tuple[str, ...]:
        """The drawn resources of a target."""
        return next((drawn.names for drawn in self.targets if drawn.target == target), ())


@dataclass(frozen=True, slots=True)
class Hold:
    """No drill starts, since a kill switch with this reason."""

    reason: str
    since_us: int


@dataclass(frozen=True, slots=True)
class LastRun:
    """How a run of a schedule ended, or that it was skipped; then it has no drill."""

    at_us: int
    outcome: RunOutcome
    drill: str | None = None
    deviated: bool | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class DrillSchedule:
    """A drill that runs again and again.

    It is due at `first_us` and every interval later, each time moved into its window; `next_us` is the next
    time, and `due` the number of times so far. `drill` is the number of its current run.
    """

    plan: DrillPlan
    seed: int
    timing: PlannedSchedule
    first_us: int
    next_us: int
    scheduled_us: int
    requested_by: str | None
    comment: str | None
    due: int = 0
    runs: int = 0
    skipped: int = 0
    drill: int | None = None
    last: LastRun | None = None


@dataclass
class DrillsState(State):
    """State of the drills of one fabric."""

    begun: int = 0
    """Number of drills so far, which is the number of the next one."""
    running: dict[int, DrillRun] = field(default_factory=dict)
    plans: dict[int, DrillPlan] = field(default_factory=dict)
    """Plans of the running drills."""
    ended: dict[int, DrillRun] = field(default_factory=dict)
    """The last drills to end."""
    orders: dict[str, SentOrder] = field(default_factory=dict)
    """Id of an order → what it was, until its answers are complete."""
    undoing: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Running drill → numbers of the effects whose undo is being sent, in order."""
    outcomes: dict[str, int] = field(default_factory=dict)
    """Drills since the start by status, and `deviated`."""
    hold: Hold | None = None
    scheduled: int = 0
    """Number of schedules so far, which is the number of the next one."""
    schedules: dict[int, DrillSchedule] = field(default_factory=dict)
    elsewhere: dict[str, str] = field(default_factory=dict)
    """Name of a drill that runs in another fabric of the site → that fabric."""

    def drill_name(self, number: int) -> str:
        return f"{self.fabric}/drill-{number}"

    def schedule_name(self, number: int) -> str:
        return f"{self.fabric}/schedule-{number}"

    def put_schedule(self, number: int, schedule: DrillSchedule, **changes: Any) -> DrillSchedule:
        """Store a schedule with these changes, and return it."""
        schedule = replace(schedule, **changes)
        self.schedules[number] = schedule
        self.changed_documents.add(("schedules", self.schedule_name(number)))
        return schedule

    def touch(self, number: int) -> None:
        """Mark the documents of a drill as changed."""
        name = self.drill_name(number)
        self.changed_documents.add(("drills", name))
        run = self.running.get(number) or self.ended.get(number)
        if run is None or run.desk is not None:
            self.changed_documents.add(("desks", name))
        self.changed_documents.add(("summaries", f"{self.fabric}/drills"))

    def put(self, number: int, run: DrillRun, **changes: Any) -> DrillRun:
        """Store a running drill with these changes, and return it."""
        run = replace(run, **changes)
        self.running[number] = run
        self.touch(number)
        return run

    def close(self, number: int, run: DrillRun) -> None:
        """Move a drill that has ended to the ended ones."""
        del self.running[number], self.plans[number]
        self.undoing.pop(number, None)
        for key in [key for key, order in self.orders.items() if order.drill == number]:
            del self.orders[key]
        for outcome in (run.status, "deviated" if run.deviated else None):
            if outcome is not None:
                self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1
        self.touch(number)
        forgotten = add_ended(self.ended, number, run)
        if forgotten is not None:
            self.touch(forgotten)


def commission(fabric: str, config: FabricConfig, at_us: int) -> DrillsState:
    """A fabric without drills."""
    return begin(fabric, config.seed, at_us)


def begin(fabric: str, seed: int, at_us: int) -> DrillsState:
    """The same in a fabric that was there before this service."""
    return DrillsState(fabric=fabric, seed=seed, now_us=at_us)
