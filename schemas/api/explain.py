"""Answers about the scheduler: plans for requests, and explanations of slices.

The scheduler's own functions compute them on a copy of its state, without side effects.
"""

from typing import Annotated, Literal

from pydantic import Field

from schemas.body import Model
from schemas.documents.pods import SliceState
from schemas.messages.scheduler import RecoveryCosts
from schemas.names import CubeName, OwnerName, SliceName, TargetName, Tier
from schemas.recovery_policy import Choice

Us = Annotated[int, Field(ge=0, description="simulated time in microseconds")]
Corner = tuple[int, int, int]


class PlannedCircuit(Model):
    """One circuit of a slice: North port to South port of an OCS. `kept` is true if it is already made."""

    ocs: TargetName
    north: int
    south: int
    kept: bool


class LeavingSlice(Model):
    """A slice that would have to leave its cubes, and the chip-microseconds that it is expected to lose by
    that. A mesh that only moves goes to the cube `moves_to`. `already_leaving` is true if it was notified
    earlier, for another slice."""

    slice: SliceName
    owner: OwnerName
    tier: Tier
    loses_chip_us: int
    moves_to: CubeName | None
    already_leaving: bool


class ExpectedStart(Model):
    """The time at which a waiting slice is expected to get its cubes; None if it is unknown.

    `basis` shows how certain it is. `claim`: cubes are kept for it, and the slices on them have been notified
    to leave by then. `promise`: no other slice may delay it, so it is met if the estimates in `depends_on`
    are met and nothing breaks. `estimate`: the conservative plan over all earlier requests in the queue,
    which later requests may delay; or the expected return of an OCS. `depends_on` are the slices whose
    estimated ends come before. `recent_estimates` shows how accurate the estimates were of the slices that
    ended in the last week; None if none ended.
    """

    at_us: Us | None
    basis: Literal["claim", "promise", "estimate", "unknown"]
    reason: str
    depends_on: tuple[SliceName, ...]
    recent_estimates: str | None = None


class SlicePlan(Model):
    """What the scheduler would do with such a request now; nothing is requested.

    `placed`: it gets its cubes at once. `claims`: it gets them at `start.at_us`, as soon as `leavers` have
    left. `waits`: it waits in the queue, at `queue_position`. `refused`: it is refused for this `reason`.
    `largest_now` is the largest shape that the same owner would get now, at once or as soon as others have
    left; None if there is none. `circuits` are those of the cubes; `circuits_taken_away` counts circuits
    without an owner that block them.
    """

    fabric: str
    at_us: Us
    shape: str
    twisted: bool
    chips: int
    owner: OwnerName
    tier: Tier
    priority: int
    decision: Literal["placed", "claims", "waits", "refused"]
    reason: str | None
    queue_position: int | None
    start: ExpectedStart | None
    cubes: tuple[CubeName, ...]
    corner: Corner | None
    circuits_kept: int
    circuits_made: int
    circuits_taken_away: int
    circuits: tuple[PlannedCircuit, ...]
    leavers: tuple[LeavingSlice, ...]
    largest_now: str | None


class Obstacle(Model):
    """One obstacle of a slice, by name, with its reason: a part out of order, a cube that another slice uses,
    a quota that is used up, a parameter; for a multislice job also a fault of the network between its pods,
    and the trunk that gives it least."""

    kind: Literal["cube", "ocs", "link", "slice", "owner", "rule", "fault", "trunk"]
    name: str
    why: str


class RecoveryStatus(Model):
    """The recovery of a slice that cannot continue because of `part`, and the current cost of each choice.
    `decides_us` is the time of the decision, or of the next check."""

    part: TargetName
    since_us: Us
    lost_chip_us: int
    choice: Choice | None
    cheapest_now: Choice
    decides_us: Us
    costs_chip_us: RecoveryCosts


class SliceEvent(Model):
    """A message about the slice: its time, type and text. `message` is its id, for `lightwave why`. A message
    of a recovery has its `choice` and the expected costs of all choices; a message of a slice that returned
    to the queue has the work that it lost."""

    at_us: Us
    type: str
    text: str
    message: str
    choice: Choice | None
    costs_chip_us: RecoveryCosts | None
    lost_chip_us: int | None


class SliceExplanation(Model):
    """The explanation of a slice's state. `reason` is the scheduler's sentence, and `in_the_way` lists its
    obstacles one by one. `recovery_policy` is the policy for hardware faults. `largest_now` is as in a plan,
    for a slice that waits or was refused."""

    name: SliceName
    at_us: Us
    state: SliceState
    since_us: Us
    shape: str
    twisted: bool
    chips: int
    owner: OwnerName
    tier: Tier
    priority: int
    restarts: int
    swaps: int
    cubes: tuple[CubeName, ...]
    reason: str | None
    queue_position: int | None
    queue_length: int
    start: ExpectedStart | None
    largest_now: str | None
    recovery_policy: str
    recovery: RecoveryStatus | None
    obstacles: tuple[Obstacle, ...]
    history: tuple[SliceEvent, ...]
