"""The record of one slice: everything that the scheduler knows of it, and what only its present phase has.

A slice waits (queued, reserved, holding, backing-off), has cubes (programming, preflight, running, degraded,
recovering), or has ended (completed, evicted, refused). Functions here are pure: they return a changed
record, which the caller stores.
"""

from dataclasses import dataclass
from typing import Literal

from schemas.documents.pods import SliceState
from schemas.messages.jobs import JobTerms
from schemas.messages.scheduler import FULL_SPEED
from schemas.names import Join, Shape, Tier
from schemas.recovery_policy import Choice, RecoveryPolicy
from services.scheduler.structures.gang_member import GangMember
from shared.basics.fast_replace import replace
from shared.models.jobs.job_progress import Progress

SlicePhase = Literal[
    "queued",
    "reserved",
    "holding",
    "backing-off",
    "programming",
    "preflight",
    "running",
    "degraded",
    "recovering",
    "completed",
    "evicted",
    "refused",
]
"""The phase of a slice. Waiting: `queued` in its line, or outside it because an OCS is down; `reserved` with
a claim on cubes; `holding` cubes until all slices of its multislice job have theirs; `backing-off` after
failed preflights or a failed hold. The others are states of the status document."""


@dataclass(frozen=True, slots=True)
class PreflightFailures:
    """The preflight failures of a slice since it last ran for long enough (`preflight_backoff`)."""

    failed: int = 0
    """Preflights that failed in a row."""
    links: int = 0
    """Links that failed the last preflight."""
    ocses: tuple[tuple[int, int], ...] = ()
    """(OCS, failed links), most links first."""
    keeps_cubes_until_us: int | None = None
    """Until when the slice keeps its cubes once it is no longer rewired, in case its links come up by
    themselves."""
    again_us: int | None = None
    """When its backoff ends; None if it is not in backoff."""
    runs_since_us: int | None = None
    """Since when it runs; None if it does not."""


@dataclass(frozen=True)  # without slots: `fast_replace`
class Interruption:
    """A slice that cannot continue because a part failed."""

    since_us: int
    cause: str
    """The id of the message that reported the failure."""
    part: str
    lost_us: int
    """The work that it lost."""
    due_us: int
    """When the recovery is decided, or reconsidered if there is a `choice`."""
    choice: Choice | None = None
    """The choice so far. With one, the slice waits and has the first claim on idle cubes."""


@dataclass(frozen=True, slots=True)
class Move:
    """A slice that moves off a drained cube, or a mesh that moves so that a whole cube comes free. After its
    checkpoint, `spare` replaces `left`; the spare is reserved until then."""

    left: int
    spare: int
    corner: tuple[int, int, int] | None
    reason: Literal["drained", "compacted"] = "drained"


@dataclass(frozen=True, slots=True)
class LeaveNotice:
    """A notice to a slice that it must leave its cubes by `until_us`."""

    why: Literal["drained", "preempted", "compacted"]
    given_us: int
    until_us: int
    cause: str
    """The id of the message that led to the notice."""
    reason: str
    """The reason shown when the slice is back in the queue."""
    preemptor: int | None = None
    """The number of the slice that needs the cubes; None for a drain."""
    move: Move | None = None
    """Where it goes after its checkpoint; None if it goes back to the queue, because it is preempted."""


@dataclass(frozen=True, slots=True)
class CubeClaim:
    """Cubes, or a block of one at `corner`, reserved for a waiting slice until its victims have left, at the
    latest at `until_us`."""

    cubes: tuple[int, ...]
    corner: tuple[int, int, int] | None
    victims: tuple[int, ...]
    until_us: int


@dataclass(frozen=True)  # without slots: `fast_replace`
class Slice:
    """One slice: waiting, placed on cubes, or ended.

    Link counts are counts of link ends.
    """

    number: int
    owner: str
    tier: Tier
    shape: Shape
    twisted: bool
    chips: int
    priority: int
    request: str
    """The id of its SliceRequested message."""
    requested_us: int
    phase: SlicePhase
    changed_us: int
    cubes: tuple[int, ...] = ()
    corner: tuple[int, int, int] | None = None
    started_us: int | None = None
    ended_us: int | None = None
    links_down: int = 0
    links_degraded: int = 0
    swaps: int = 0
    reason: str | None = None
    duration_us: int | None = None
    """How long it is to run."""
    estimate_us: int | None = None
    """How long its owner expects it to have cubes; doubled each time it overruns."""
    restarts: int = 0
    since_us: tuple[tuple[SliceState, int], ...] = ()
    """When it last entered each state; the current state is last."""
    terms: JobTerms | None = None
    progress: Progress | None = None
    """The progress of its job, as far as the scheduler knows."""
    placed_us: int | None = None
    """When it got its cubes; None while it has none."""
    speed_ppm: int = FULL_SPEED
    """Its speed with traffic rerouted around failed links, in parts per million of full speed."""
    links_checked: bool = False
    """Whether a preflight has checked its current circuits."""
    ends_us: int | None = None
    """When it is expected to leave its cubes; None if unknown."""
    recovery: RecoveryPolicy | None = None
    """The recoveries that its owner allows after a hardware failure; None if not given."""
    pending_joins: tuple[Join, ...] | None = None
    """On cubes: commanded joins whose circuits are not made yet. Empty when only the training of the last
    links is missing, None when that is done. Kept while it recovers."""
    preflight_until_us: int | None = None
    """In preflight: when the preflight ends."""
    interruption: Interruption | None = None
    """While it recovers: what interrupted it."""
    notice: LeaveNotice | None = None
    """On cubes: the notice that it must leave some; None without one."""
    claim: CubeClaim | None = None
    """While it is reserved or holding: its claim on cubes."""
    preflight_failures: PreflightFailures | None = None
    """Its failed preflights, if it has not run long enough since then."""
    member: GangMember | None = None
    """Its part in a multislice job; None for a job of its own, and when it has ended."""

    @property
    def state(self) -> SliceState:
        """The phase as the status document shows it: `queued` in every phase in which it waits."""
        phase = self.phase
        if phase == "reserved" or phase == "holding" or phase == "backing-off":
            return "queued"
        return phase


def condition_of(row: Slice) -> Literal["recovering", "programming", "preflight", "degraded", "running"]:
    """The phase of a slice that has cubes, by what it has: an interruption, pending circuits, a preflight, or
    links that are down or degraded."""
    if row.interruption is not None:
        return "recovering"
    if row.pending_joins is not None:
        return "programming"
    if row.preflight_until_us is not None:
        return "preflight"
    return "degraded" if row.links_down or row.links_degraded else "running"


def as_waiting(row: Slice) -> Slice:
    """A slice without cubes in the phase that follows from what it has: held cubes, a claim, a backoff, or
    none of them."""
    phase: SlicePhase = "queued"
    if row.member is not None and row.member.until_us is not None:
        phase = "holding"
    elif row.claim is not None:
        phase = "reserved"
    elif in_preflight_backoff(row) or in_multislice_backoff(row):
        phase = "backing-off"
    return row if row.phase == phase else replace(row, phase=phase)


def in_preflight_backoff(row: Slice) -> bool:
    """Whether a slice backs off after failed preflights."""
    return row.preflight_failures is not None and row.preflight_failures.again_us is not None


def in_multislice_backoff(row: Slice) -> bool:
    """Whether a slice of a multislice job backs off after a hold that failed."""
    return row.member is not None and row.member.again_us is not None


def member_of(row: Slice) -> GangMember:
    """The part of a slice in its multislice job; ValueError if it has none."""
    if row.member is None:
        raise ValueError(f"slice {row.number} is not part of a multislice job")
    return row.member


def claim_of(row: Slice) -> CubeClaim:
    """The claim of a slice; ValueError if it has none."""
    if row.claim is None:
        raise ValueError(f"slice {row.number} has no claim")
    return row.claim


def interruption_of(row: Slice) -> Interruption:
    """The interruption of a slice that recovers; ValueError if it does not."""
    if row.interruption is None:
        raise ValueError(f"slice {row.number} is not interrupted")
    return row.interruption


def without_cubes(row: Slice) -> Slice:
    """The slice without what only a slice on cubes has. Its cubes stay, for the caller."""
    return replace(row, pending_joins=None, preflight_until_us=None, interruption=None, notice=None)
