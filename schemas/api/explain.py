"""What the twin answers to questions about its scheduler: what it would do, and why things are as they are.

The scheduler's own functions make these answers, of a copy of its state; nothing happens by asking.
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
    """One circuit of a slice: North port to South port of an OCS. `kept` is one that stands already."""

    ocs: TargetName
    north: int
    south: int
    kept: bool


class LeavingSlice(Model):
    """A slice that would have to leave its cubes, and the chip-microseconds that it is expected to lose by
    that; a mesh that only moves goes to the cube `moves_to`. One that `leaves_anyway` was told so before, for
    somebody else."""

    slice: SliceName
    owner: OwnerName
    tier: Tier
    loses_chip_us: int
    moves_to: CubeName | None
    already_leaving: bool


class ExpectedStart(Model):
    """When a slice that waits is expected to have its cubes, None if nobody can tell.

    `basis` says how sure that is. `claim`: cubes are kept for it, and who is on them has been told to leave
    by then. `promise`: the scheduler keeps others from delaying it, so that it comes true if the estimates in
    `leans_on` do and nothing breaks. `estimate`: the conservative plan over all before it in the queue, which
    binds nobody: who comes later may delay it; or when an OCS is expected back. `leans_on` are the slices
    whose estimated ends come before, and `estimates_lately` says how the estimates of those fared that ended
    in the last week; None where none did.
    """

    at_us: Us | None
    basis: Literal["claim", "promise", "estimate", "unknown"]
    reason: str
    depends_on: tuple[SliceName, ...]
    recent_estimates: str | None = None


class SlicePlan(Model):
    """What the scheduler would do with a request that came now: nothing is asked of it.

    `placed`: it has its cubes at once. `claims`: at `start.at_us`, as soon as `leavers` have left. `waits`:
    in the queue, at `queue_position`. `refused`: for this `reason`. `largest_now` is the largest shape that
    the same owner would get now, at once or as soon as others have left; None if there is none.
    `circuits` are those of the cubes; `taken_away` counts circuits of nobody that stand in their way.
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
    """One thing that stands in the way of a slice, by name, and what it is: out of order, used by somebody
    until then, a quota that is used up, a parameter; of a job over several pods also a fault of the network
    between them, and the trunk there that gives it least."""

    kind: Literal["cube", "ocs", "link", "slice", "owner", "rule", "fault", "trunk"]
    name: str
    why: str


class RecoveryStatus(Model):
    """What is being done about a slice that cannot go on as it was because of `part`, and what each choice
    would cost as things stand now. `decides_us` is when that is decided, or looked at again."""

    part: TargetName
    since_us: Us
    lost_chip_us: int
    choice: Choice | None
    cheapest_now: Choice
    decides_us: Us
    costs_chip_us: RecoveryCosts


class SliceEvent(Model):
    """A message about the slice: when, which, and what it says. `message` is its id, for `lightwave why`.
    One of a recovery has its `choice` and what all choices were expected to cost, one of a slice that came
    back what work it lost."""

    at_us: Us
    type: str
    text: str
    message: str
    choice: Choice | None
    costs_chip_us: RecoveryCosts | None
    lost_chip_us: int | None


class SliceExplanation(Model):
    """Why a slice is as it is. `reason` is the scheduler's sentence, and `in_the_way` names one by one what
    that sums up. `recovery_policy` is what may be done when hardware fails. `largest_now` is as in a plan,
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
