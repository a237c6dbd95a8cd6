"""The plan of a drill: the content of its document, checked and with all values in the units of the log.

`ops/drills` makes it from a document; the service `drills` carries it out. It has no expressions to evaluate
but conditions, and can only send the requests that operators can send themselves.
"""

from typing import Annotated, Literal

from pydantic import Field

from schemas.body import Model, is_none
from schemas.limits import COMMENT_MAX, DURATION_US_MAX
from schemas.messages.operator import FabricRequests
from schemas.names import FabricName

NAME_PATTERN = r"^[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?$"
STEPS_MAX, PROBES_MAX, TARGETS_MAX, EXPECTED_MAX = 200, 50, 20, 50
BEGAN_MARK = "{drill.began_us}"
"""A condition has this mark in place of the time at which the drill began, in simulated microseconds."""
DRAWN_MAX = 500
"""Resources that one target of a drill can be."""
TITLE_MAX, CONDITION_MAX = 200, 2_000
US_PER_DAY = 86_400_000_000
EVERY_US_MIN = 600_000_000
"""The shortest interval of a schedule: 10 minutes."""

PlanName = Annotated[str, Field(pattern=NAME_PATTERN, description="of a step, a probe or a target")]
ConditionText = Annotated[str, Field(min_length=1, max_length=CONDITION_MAX)]
SpanUs = Annotated[int, Field(ge=0, le=DURATION_US_MAX, description="simulated microseconds")]

Phase = Literal["gate", "method", "settle", "undo", "verify"]
PHASES: tuple[Phase, ...] = ("gate", "method", "settle", "undo", "verify")
"""In order: the hypothesis before the first step; the steps; the wait for recovery; the end of all that the
drill began, and the wait for recovery from it; the hypothesis again."""

DrillRequest = FabricRequests
"""The requests that a drill can send."""
RequestVerb = Literal[
    "inject",
    "clear",
    "drain",
    "undrain",
    "request",
    "release",
    "set",
    "test-link",
    "restart-ocs",
    "connect",
    "disconnect",
    "plan-topology",
    "approve-rewiring",
    "abort-rewiring",
]
ProcessVerb = Literal["pause-process", "kill-process"]
"""Verbs that act on the processes of a live twin; a lab and an embedded twin refuse them."""


class PlannedTarget(Model):
    """Resources that the drill draws when it starts: `choose` of the resources of a kind for which `where`
    is true (all fields as in `get --where`, joined by `and`), by a draw keyed with the drill's seed and the
    target's name. With `names` they are fixed."""

    name: PlanName
    kind: str
    fabric: FabricName
    where: Annotated[tuple[str, ...], Field(max_length=10)] = ()
    choose: Annotated[int, Field(ge=1, le=DRAWN_MAX)] | Literal["all"] = 1
    names: Annotated[tuple[str, ...], Field(max_length=DRAWN_MAX)] | None = Field(
        default=None, exclude_if=is_none
    )


class PlannedProbe(Model):
    """A condition of the hypothesis, in the language of `bisect` and `wait`. With `each` it names a target
    as `{TARGET}`, and is measured for each of its resources on its own. The engine replaces
    `{drill.began_us}` by the time at which the drill began. Counts are of `fabric`; without one, of the
    fabric that the drill is addressed to."""

    name: PlanName
    condition: ConditionText
    fabric: FabricName | None = Field(default=None, exclude_if=is_none)
    each: PlanName | None = Field(default=None, exclude_if=is_none)
    is_stop: bool = False
    """Whether one violation outside the allowance ends the drill: a stop condition."""
    weight: Annotated[float, Field(gt=0, le=1_000, allow_inf_nan=False)] = 1.0


class Allowance(Model):
    """A probe may be violated for `for_us` in total in a phase, without a deviation."""

    probe: PlanName
    phase: Phase
    for_us: SpanUs


class PlannedStep(Model):
    """One step of the method, done when the step before is done.

    - `request`: `template` is the fields of a request, as JSON: strings may contain `{TARGET}`, and then it
      is sent once for each resource of that target; `fabric` receives it.
    - `wait`: for `for_us`.
    - `wait-until`: until `condition` is true, at most `for_us`; the step fails if it is not true by then.
    - `process`: `process` of a live twin is paused for `for_us` of wall time (at most 10 min), because the
      twin may stand still meanwhile, or killed.

    `repeat` times in all, `every_us` apart, each time up to `jitter_us` later by a keyed draw. A `background`
    step lets the next one start at once.
    """

    name: PlanName
    what: Literal["request", "wait", "wait-until", "process"]
    verb: RequestVerb | ProcessVerb | None = Field(default=None, exclude_if=is_none)
    fabric: FabricName | None = Field(default=None, exclude_if=is_none)
    template: str | None = Field(default=None, max_length=10_000, exclude_if=is_none)
    each: PlanName | None = Field(default=None, exclude_if=is_none)
    """The target in the template."""
    condition: ConditionText | None = Field(default=None, exclude_if=is_none)
    for_us: SpanUs | None = Field(default=None, exclude_if=is_none)
    process: str | None = Field(default=None, exclude_if=is_none)
    before_us: SpanUs = 0
    after_us: SpanUs = 0
    repeat: Annotated[int, Field(ge=1, le=1_000)] = 1
    every_us: SpanUs = 0
    jitter_us: SpanUs = 0
    background: bool = False


LimitName = Literal[
    "faults", "cubes", "hosts", "chips", "ocs", "links", "slices-degraded", "slices-stalled", "slices-evicted"
]


class PlannedLimit(Model):
    """The blast radius: at most this many at once. Before a step the twin predicts it, during the drill it
    counts; above the limit the drill stops and undoes.

    `faults` counts the drill's own active faults; `cubes`, `hosts`, `chips`, `ocs`, `links` the parts that
    are down or out of use because of them; `slices-…` the slices whose state changed since the gate."""

    what: LimitName
    at_most: Annotated[int, Field(ge=0)]


class ExpectedMessage(Model):
    """A message that must follow; only the score reads this. With `all_of`, one for each message of that
    type: every slice that degraded is restored."""

    type: str
    of: str | None = Field(default=None, exclude_if=is_none)
    """The name of its subject; may contain `{TARGET}`."""
    at_least: Annotated[int, Field(ge=1)] = 1
    all_of: str | None = Field(default=None, exclude_if=is_none)
    within_us: SpanUs
    """From the first step on."""


class TraineeGame(Model):
    """What a trainee gets, and what is right; only the score reads `answer`."""

    brief: Annotated[str, Field(min_length=1, max_length=2_000)]
    answer: Annotated[tuple[str, ...], Field(max_length=20)] = ()
    """Names of the culprits; may contain `{TARGET}`."""
    find_us: SpanUs
    act_us: SpanUs
    hints: Annotated[tuple[str, ...], Field(max_length=10)] = ()


class ScoreWeights(Model):
    """Weights of the categories in a suite's mean."""

    detection: Annotated[float, Field(ge=0, le=1_000, allow_inf_nan=False)] = 1.0
    containment: Annotated[float, Field(ge=0, le=1_000, allow_inf_nan=False)] = 1.0
    recovery: Annotated[float, Field(ge=0, le=1_000, allow_inf_nan=False)] = 1.0
    undo: Annotated[float, Field(ge=0, le=1_000, allow_inf_nan=False)] = 1.0
    attribution: Annotated[float, Field(ge=0, le=1_000, allow_inf_nan=False)] = 1.0


class DailyWindow(Model):
    """A window of each simulated day, in microseconds after its start; over midnight if `to_us` is less than
    `from_us`."""

    from_us: Annotated[int, Field(ge=0, lt=US_PER_DAY)]
    to_us: Annotated[int, Field(ge=0, lt=US_PER_DAY)]

    @property
    def length_us(self) -> int:
        """A window that ends at the time at which it starts is the whole day."""
        return (self.to_us - self.from_us) % US_PER_DAY or US_PER_DAY


class PlannedSchedule(Model):
    """How often a scheduled drill runs. With a window, runs start and end in it."""

    every_us: Annotated[int, Field(ge=EVERY_US_MIN, le=DURATION_US_MAX)]
    window: DailyWindow | None = Field(default=None, exclude_if=is_none)


class DrillPlan(Model):
    """A drill, complete. All its times are simulated.

    The hypothesis is true for `gate_us` before the first step, or the drill ends without one. `settle_us` is
    the longest wait for recovery after the last step, `undo_us` that after the undo. Then the hypothesis must
    be true for `verify_us`. Everything that the drill began ends at the latest `lease_us` after its start.
    """

    title: Annotated[str, Field(min_length=1, max_length=TITLE_MAX)]
    document_sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    tags: Annotated[tuple[str, ...], Field(max_length=20)] = ()
    probe_every_us: Annotated[int, Field(ge=1_000_000, le=DURATION_US_MAX)]
    targets: Annotated[tuple[PlannedTarget, ...], Field(max_length=TARGETS_MAX)] = ()
    probes: Annotated[tuple[PlannedProbe, ...], Field(max_length=PROBES_MAX)] = ()
    allowances: Annotated[tuple[Allowance, ...], Field(max_length=5 * PROBES_MAX)] = ()
    steps: Annotated[tuple[PlannedStep, ...], Field(max_length=STEPS_MAX)] = ()
    limits: Annotated[tuple[PlannedLimit, ...], Field(max_length=20)] = ()
    gate_us: SpanUs
    settle_us: SpanUs
    undo_us: SpanUs = 0
    verify_us: SpanUs
    lease_us: Annotated[int, Field(gt=0, le=DURATION_US_MAX)]
    expects: Annotated[tuple[ExpectedMessage, ...], Field(max_length=EXPECTED_MAX)] = ()
    weights: ScoreWeights = ScoreWeights()
    trainee: TraineeGame | None = Field(default=None, exclude_if=is_none)
    schedule: PlannedSchedule | None = Field(default=None, exclude_if=is_none)
    """Only ScheduleDrill reads it; RunDrill runs the drill once."""

    def allowed_us(self, probe: str, phase: Phase) -> int:
        """How long a probe may be violated in a phase; in the undo, at least while the site may recover."""
        given_us = sum(one.for_us for one in self.allowances if (one.probe, one.phase) == (probe, phase))
        return max(given_us, self.undo_us) if phase == "undo" else given_us


DrillReason = Annotated[str, Field(min_length=1, max_length=COMMENT_MAX)]
