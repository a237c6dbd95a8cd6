"""What the scheduler remembers of one fabric: its slices, the cubes it may not use, and the links it was told
are not well.

Who holds which cube, and the queue by shape, follow from the slices; they are kept beside them for speed only
(`occupancy`, `queue`) and made anew when missing.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

from schemas.config.pods import AnyPodConfig
from schemas.config.scheduler import SchedulerConfig
from schemas.documents.pods import SliceState
from schemas.messages.jobs import JobTerms
from schemas.messages.scheduler import FULL_SPEED
from schemas.names import Join, Shape, Tier
from schemas.recovery_policy import CHOICES, Choice, RecoveryPolicy
from services.scheduler.structures.expected_durations import ExpectedDurations, expected_durations_of
from services.scheduler.structures.multislice_member import MultisliceMember
from services.scheduler.structures.occupancy import Occupancy
from services.scheduler.structures.pod_placement import PLACEMENTS, PodPlacement
from services.scheduler.structures.preflight_failures import PreflightFailures
from services.scheduler.structures.waiting_lines import TIERS, Line, Place, Queue
from shared.basics.keyed_random import draw_uniform
from shared.engine.state import TRANSIENT, State
from shared.models.jobs.progress import Progress
from shared.models.superpod.shapes import is_mesh
from shared.models.superpod.wiring import CHIPS_PER_CUBE, DIMENSIONS, FACE_LINKS
from shared.models.topology.reroute import WHOLE_PPM, kept_ppm, speed_ppm

CHIP_USES = ("allocated", "unhealthy", "drained", "held_back", "idle_wanted", "idle_unwanted")
"""What a chip is for, the first that applies: a slice has it; its cube is out of order, or drained; it is
kept warm as a spare, or held back for slices that lose a cube; it is idle while slices wait, or while none
does."""
WHOLE_CUBE_SHAPE = (4, 4, 4)
"""The shape of a whole cube."""
ALL_ALLOWED = RecoveryPolicy()
ALL_BUT_ROUTES = RecoveryPolicy(choices=tuple([choice for choice in CHOICES if choice != "route"]))


@dataclass(frozen=True)  # without slots: `records.replace`
class Slice:
    """One slice, waiting, on its cubes or ended.

    `request` is the id of its SliceRequested, `duration_us` how long it is to run, `estimate_us` how long its
    owner thinks that it will have cubes, doubled whenever that proved too short. On cubes, it was `placed_us`
    and by its estimate leaves at `ends_us` (None: nobody knows). `progress` is how far its job has come, as
    far as the scheduler hears of it. `since_us` has when it last came into each state, the present one last.
    Link counts are in link ends; what goes around those that are down leaves it `speed_ppm`.
    It is `checked` if a preflight found its circuits in order and none was made since. `recovery` is what its
    owner allows when hardware fails under it, None where nobody said.
    """

    number: int
    owner: str
    tier: Tier
    shape: Shape
    twisted: bool
    chips: int
    priority: int
    request: str
    requested_us: int
    state: SliceState
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
    estimate_us: int | None = None
    restarts: int = 0
    since_us: tuple[tuple[SliceState, int], ...] = ()
    terms: JobTerms | None = None
    progress: Progress | None = None
    placed_us: int | None = None
    speed_ppm: int = FULL_SPEED
    links_checked: bool = False
    ends_us: int | None = None
    recovery: RecoveryPolicy | None = None


@dataclass(frozen=True)  # without slots: `records.replace`
class Interruption:
    """A slice that cannot go on as it was, because of this part; `cause` is the id of the message that told
    so. It lost `lost_us` of work by that. What becomes of it is decided at `due_us`; with a `choice`, it
    waits and has first claim on idle cubes, and the choice is looked at again then."""

    since_us: int
    cause: str
    part: str
    lost_us: int
    due_us: int
    choice: Choice | None = None


@dataclass(frozen=True, slots=True)
class Move:
    """A slice on its way off a cube that is drained, or a mesh off one that somebody else is to have as a
    whole: when it has written a checkpoint, `spare` takes the place of `left`. It is kept for that."""

    left: int
    spare: int
    corner: tuple[int, int, int] | None
    reason: Literal["drained", "compacted"] = "drained"


@dataclass(frozen=True, slots=True)
class LeaveNotice:
    """A slice that was told at `told_us` to leave its cubes by `until_us`; `cause` is the id of the message
    that began it, `reason` what its owner reads when it is back in the queue. `asker` is the number of the
    slice for which it leaves, None where that is for a drain."""

    why: Literal["drained", "preempted", "compacted"]
    given_us: int
    until_us: int
    cause: str
    reason: str
    preemptor: int | None = None


@dataclass(frozen=True, slots=True)
class CubeClaim:
    """Cubes, or a block of one at `corner`, that are kept for a waiting slice until those have left who make
    room for it, which they do by `until_us`."""

    cubes: tuple[int, ...]
    corner: tuple[int, int, int] | None
    victims: tuple[int, ...]
    until_us: int


@dataclass
class WaitSummary:
    """The queue as the last cycle left it: slice → its place, counted from 1, and line → what keeps its
    slices from cubes, as far as anybody asked. `first` is the first in line of the firm slices."""

    places: dict[int, int]
    first: int | None
    reasons: dict[Line, str]


@dataclass
class SchedulerState(State):
    """`slices` wait or hold cubes; `ended` are the last ones that do neither. The `kind` of the fabric
    decides how they lie on the cubes.

    `awaited` has every slice that is programming, with the joins commanded whose circuits are not made yet:
    none, when only the training of the last links is missing.
    `unhealthy` and `drained` map a cube to the id of the message that said so. `suspects` are those of the
    unhealthy that only a job has complained of so far, with when monitoring must have seen it, too: all hosts
    have sent a heartbeat within one of its `spans`. `lame` are those of which but a module has failed.
    `ocs_down` has the OCSes that make no circuits, and since when; `ocs_reasons` why: down, held, or both
    (2). `preflights` has when the check of a
    slice's links is over, `moves` who leaves a drained cube, and `hot` the cubes that are kept warm, since
    when. `bad_ends` are the link ends that are not up: of cubes in use, or where links are lit for good, of
    all.
    `chips_by_place` is what the chips are for since `at_us`, and `chip_us` the integral of that up to then
    (`books`).
    `claims` are by the slice that waits, `notices` by the one that leaves. `promises` has when the first in
    line starts at the latest, by the estimates of the moment. `wakes_us` is when a waiting slice may do more
    than now. `standing` has the circuits that are made though no slice wants them: 3 × north cube + dimension
    → south cube. `tickets` maps a repair to the cube of which a part waits for it, `boards` a driver board of
    an OCS that is broken to the cubes whose links it takes. `members` are the slices
    of jobs over several pods, `cut_off` by network the pods that it does not reach. `setbacks` are of those
    whose preflights failed and that have not run for long since.
    """

    config: SchedulerConfig
    kind: str
    cubes: int
    expected_durations: ExpectedDurations
    slices: dict[int, Slice] = field(default_factory=dict)
    pending_joins: dict[int, tuple[Join, ...]] = field(default_factory=dict)
    interruptions: dict[int, Interruption] = field(default_factory=dict)
    preflight_failures: dict[int, PreflightFailures] = field(default_factory=dict)
    claims: dict[int, CubeClaim] = field(default_factory=dict)
    notices: dict[int, LeaveNotice] = field(default_factory=dict)
    promises: dict[int, int] = field(default_factory=dict)
    leftover_circuits: dict[int, int] = field(default_factory=dict)
    tickets: dict[int, int] = field(default_factory=dict)
    driver_boards_down: dict[str, tuple[int, ...]] = field(default_factory=dict)
    members: dict[int, MultisliceMember] = field(default_factory=dict)
    cut_off_pods: dict[str, tuple[str, ...]] = field(default_factory=dict)
    ended: dict[int, Slice] = field(default_factory=dict)
    unhealthy: dict[int, str] = field(default_factory=dict)
    suspects: dict[int, int] = field(default_factory=dict)
    module_failed_cubes: dict[int, str] = field(default_factory=dict)
    ocs_down: dict[int, int] = field(default_factory=dict)
    ocs_down_causes: dict[int, int] = field(default_factory=dict)
    preflights: dict[int, int] = field(default_factory=dict)
    moves: dict[int, Move] = field(default_factory=dict)
    warm_cubes: dict[int, int] = field(default_factory=dict)
    drained: dict[int, str] = field(default_factory=dict)
    bad_ends: dict[int, Literal["down", "degraded"]] = field(default_factory=dict)
    admitted: int = 0
    completed: int = 0
    evicted: int = 0
    refused: int = 0
    swapped: int = 0
    queued: int = 0
    wakes_us: int | None = None
    at_us: int = 0
    chips_allocated: int = 0
    chips_by_category: dict[str, int] = field(default_factory=lambda: dict.fromkeys(CHIP_USES, 0))
    chip_us: dict[str, int] = field(default_factory=lambda: dict.fromkeys(CHIP_USES, 0))
    occupancy: Occupancy | None = field(default=None, metadata=TRANSIENT, kw_only=True)
    queue: Queue | None = field(default=None, metadata=TRANSIENT, kw_only=True)
    waits: WaitSummary | None = field(default=None, metadata=TRANSIENT, kw_only=True)

    @property
    def placement(self) -> PodPlacement:
        """How slices lie on the cubes."""
        return PLACEMENTS[self.kind]

    @property
    def chips(self) -> int:
        return self.cubes * CHIPS_PER_CUBE

    @property
    def running(self) -> int:
        """Slices on cubes: programming, running, degraded or recovering."""
        return len(self.slices) - self.queued


def commission(fabric: str, config: AnyPodConfig, at_us: int) -> SchedulerState:
    """The scheduler of a new fabric."""
    state = SchedulerState(
        fabric=fabric,
        seed=config.seed,
        now_us=at_us,
        config=config.scheduler,
        kind=config.kind,
        cubes=config.pod.cubes,
        expected_durations=expected_durations_of(config),
        at_us=at_us,
    )
    state.chips_by_category["idle_unwanted"] = state.chips
    return state


def occupancy_of(state: SchedulerState) -> Occupancy:
    """Who holds which cube, made from the slices if missing."""
    if state.occupancy is None:
        occupancy = Occupancy(state.cubes)
        for cube in (*state.unhealthy, *state.drained):
            occupancy.allow(cube, False)
        for number, held in sorted(state.slices.items()):
            if held.cubes:
                occupancy.hold(number, held.cubes, held.shape, held.corner)
        for number, move in sorted(state.moves.items()):
            occupancy.keep((move.spare,), state.slices[number].shape, move.corner)
        occupancy.keep(tuple(state.warm_cubes), WHOLE_CUBE_SHAPE, None)
        for number, claim in sorted(state.claims.items()):
            occupancy.keep(claim.cubes, state.slices[number].shape, claim.corner)
        state.occupancy = occupancy
    return state.occupancy


def invalidate_wait_summary(state: SchedulerState) -> None:
    """Cubes or the queue may stand otherwise than before: whoever waits may wait for another reason."""
    state.waits = None
    state.changed_documents.update(
        ("slices", f"{state.fabric}/slice-{row.number}")
        for row in state.slices.values()
        if row.state == "queued"
    )


def queue_of(state: SchedulerState) -> Queue:
    """The waiting slices that have no claim, need no OCS that is down and do not back off, made from the
    slices if missing."""
    if state.queue is None:
        state.queue = Queue()
        for row in state.slices.values():
            if row.state == "queued" and row.number not in state.claims and not is_deferred(state, row):
                state.queue.add(line_of(row), place_of(row))
    return state.queue


def enqueue(state: SchedulerState, row: Slice) -> None:
    """A slice begins to wait: in its line, or outside of all."""
    if not is_deferred(state, row):
        queue_of(state).add(line_of(row), place_of(row))


def is_deferred(state: SchedulerState, row: Slice) -> bool:
    """Whether a slice that waits does so outside of all lines: for an OCS that is down, or until it tries
    again to pass a preflight, or to have cubes at the same time as the others of its job."""
    return in_preflight_backoff(state, row) or in_multislice_backoff(state, row) or waits_for_ocs(state, row)


def in_preflight_backoff(state: SchedulerState, row: Slice) -> bool:
    """Whether a slice whose preflights failed wants no cubes for a while."""
    failures = state.preflight_failures.get(row.number)
    return failures is not None and failures.again_us is not None


def in_multislice_backoff(state: SchedulerState, row: Slice) -> bool:
    """Whether a slice of a job over several pods had cubes kept in vain, and leaves them to others now."""
    member = state.members.get(row.number)
    return member is not None and member.again_us is not None


def waits_for_ocs(state: SchedulerState, row: Slice) -> bool:
    """Whether a slice is of no use on any cubes now: circuits of whole cubes pass all OCSes, one of these is
    down, and its owner does not let it run as slowly as it then would."""
    if not state.ocs_down or is_mesh(row.shape):
        return False
    return not accepts_speed(policy_of(state, row), speed_without_ocses(state, row))


def speed_without_ocses(state: SchedulerState, row: Slice) -> int:
    """Parts per million of full speed that whole cubes have, whichever, if traffic goes around the OCSes that
    are down; 0 where no way leads around."""
    gone = Counter([ocs // FACE_LINKS for ocs in state.ocs_down])
    x, y, z = [WHOLE_PPM - WHOLE_PPM * gone[dimension] // FACE_LINKS for dimension in range(DIMENSIONS)]
    kept = kept_ppm(row.shape, row.twisted, (x, y, z))
    return speed_ppm(kept, round(state.config.communication_share * WHOLE_PPM))


def deferred_slices(state: SchedulerState) -> list[Slice]:
    """The slices that wait outside of all lines, by number."""
    if not state.ocs_down and not state.members and not state.preflight_failures:
        return []
    return [
        row
        for number, row in sorted(state.slices.items())
        if row.state == "queued" and number not in state.claims and is_deferred(state, row)
    ]


def policy_of(state: SchedulerState, row: Slice) -> RecoveryPolicy:
    """What a slice's owner allows when hardware fails. Where nobody said, that is all, but for some who do
    not let their traffic go around links that are gone. Fixed fibres leave nobody a choice."""
    if state.placement.links_are_fixed:
        return ALL_ALLOWED
    if row.recovery is not None:
        return row.recovery
    name = f"{state.fabric}/slice-{row.number}"
    opts_in = draw_uniform(state.seed, name, "goes around", 0) < state.config.route_around_share
    return ALL_ALLOWED if opts_in else ALL_BUT_ROUTES


def accepts_speed(policy: RecoveryPolicy, speed: int) -> bool:
    """Whether a slice may run at this speed, in parts per million of full speed, around what is gone."""
    if "route" not in policy.choices or not speed:
        return False
    return policy.tax_max_ppm is None or speed >= WHOLE_PPM * WHOLE_PPM // (WHOLE_PPM + policy.tax_max_ppm)


def job_chips(state: SchedulerState, row: Slice) -> int:
    """The chips of a slice, and of those in other pods that stand, start and lose work with it."""
    member = state.members.get(row.number)
    return row.chips * (len(member.pods) if member is not None and member.is_joined else 1)


def queued_us(row: Slice) -> int:
    """When a slice came into the queue last."""
    for state, since_us in reversed(row.since_us):
        if state == "queued":
            return since_us
    return row.requested_us


def placed_slices(state: SchedulerState) -> list[Slice]:
    """The slices that have cubes, by number."""
    return [state.slices[number] for number in sorted(occupancy_of(state).held)]


def line_of(row: Slice) -> Line:
    """The line of the queue in which a slice waits: all in it are alike but for their age and priority."""
    return TIERS.index(row.tier), row.owner, row.shape


def place_of(row: Slice) -> Place:
    """Its place in that line."""
    return -row.priority, row.number
