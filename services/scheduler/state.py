"""The scheduler's state of one pod: slices, unusable cubes, and links that are down or degraded.

What the scheduler knows of one slice is in its record (`structures/slice_record.py`). The occupancy of cubes,
the queue and the indexes by phase and job follow from the records. The faults of slices follow from the bad
link ends. All are kept only for speed (`occupancy`, `queue`, `by_phase`, `jobs`, `link_faults`) and rebuilt
when missing.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from schemas.config.pods import AnyPodConfig
from schemas.config.scheduler import SchedulerConfig
from schemas.names import Shape
from schemas.recovery_policy import CHOICES, RecoveryPolicy
from services.scheduler.structures.expected_durations import ExpectedDurations, expected_durations_of
from services.scheduler.structures.gang_member import GangMember
from services.scheduler.structures.link_faults import LinkCondition, LinkFaults, SliceFaults
from services.scheduler.structures.occupancy import Occupancy
from services.scheduler.structures.pod_placement import PLACEMENTS, PodPlacement
from services.scheduler.structures.slice_record import (
    CubeClaim,
    LeaveNotice,
    Move,
    Slice,
    SlicePhase,
    in_multislice_backoff,
    in_preflight_backoff,
)
from services.scheduler.structures.start_pause import StartPause
from services.scheduler.structures.waiting_lines import TIERS, Line, Place, Queue
from shared.basics.keyed_random import draw_uniform
from shared.engine.ended_rows import add_ended
from shared.engine.state import TRANSIENT, State
from shared.models.superpod.shapes import is_mesh
from shared.models.superpod.wiring import CHIPS_PER_CUBE, DIMENSIONS, FACE_LINKS
from shared.models.topology.reroute import WHOLE_PPM, kept_ppm, speed_ppm

CHIP_USES = ("allocated", "unhealthy", "drained", "held_back", "idle_wanted", "idle_unwanted")
"""What a chip is used for; the first that applies. Allocated to a slice; its cube is unhealthy, or drained;
kept as a warm spare or held back for slices that lose a cube; idle while slices wait, or while none waits."""
WHOLE_CUBE_SHAPE = (4, 4, 4)
ALL_ALLOWED = RecoveryPolicy()
ALL_BUT_ROUTES = RecoveryPolicy(choices=tuple([choice for choice in CHOICES if choice != "route"]))


@dataclass
class WaitSummary:
    """The queue after the last cycle."""

    places: dict[int, int]
    """Slice → its place in the queue, counted from 1."""
    first: int | None
    """The first firm slice in line (production or research)."""
    reasons: dict[Line, str]
    """Line → why its slices have no cubes; filled on demand."""
    supply: str | None = None
    """The number of cubes in each use, in words; filled on demand."""


@dataclass
class SchedulerState(State):
    """The state of one pod's scheduler."""

    config: SchedulerConfig
    kind: str
    """The kind of fabric; it decides how slices are placed on cubes."""
    cubes: int
    expected_durations: ExpectedDurations
    slices: dict[int, Slice] = field(default_factory=dict)
    """Slices that wait or have cubes, by number."""
    promises: dict[int, int] = field(default_factory=dict)
    """First slices in line → their latest start, by the current estimates. Each cycle replaces all of them,
    so they are not in the records of the slices."""
    leftover_circuits: dict[int, int] = field(default_factory=dict)
    """Circuits that are made but that no slice uses: 3 × north cube + dimension → south cube."""
    tickets: dict[int, int] = field(default_factory=dict)
    """Repair → the cube whose part waits for it."""
    driver_boards_down: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """Failed driver board of an OCS → the cubes whose links it takes down."""
    cut_off_pods: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Network → the pods that it does not reach."""
    ended: dict[int, Slice] = field(default_factory=dict)
    """The slices that ended last."""
    unhealthy: dict[int, str] = field(default_factory=dict)
    """Unhealthy cube → the id of the message that reported it."""
    suspects: dict[int, int] = field(default_factory=dict)
    """Cubes that only a job has reported so far → when monitoring must have seen the fault too, because all
    hosts have sent a heartbeat by then."""
    module_failed_cubes: dict[int, str] = field(default_factory=dict)
    """Unhealthy cubes with only a failed transceiver module → the id of the message that reported it."""
    ocs_down: dict[int, int] = field(default_factory=dict)
    """OCSes that make no circuits → since when."""
    ocs_down_causes: dict[int, int] = field(default_factory=dict)
    """The same OCSes → number of causes: 1 if down or held, 2 if both."""
    warm_cubes: dict[int, int] = field(default_factory=dict)
    """Warm spares → since when."""
    drained: dict[int, str] = field(default_factory=dict)
    """Drained cube → the id of the message that drained it."""
    drained_until: dict[int, int] = field(default_factory=dict)
    """Drained cube → when it is back in use, if that is known."""
    drain_windows: dict[int, tuple[int, int | None]] = field(default_factory=dict)
    """Cube → (beginning, end or None) of the drain that is planned for it; see `queue/drain_windows.py`."""
    bad_ends: dict[int, LinkCondition] = field(default_factory=dict)
    """Link ends that are not up. Only those of cubes in use; all of them if links are fixed. Only
    `record_link_end` writes it."""
    start_pause: StartPause | None = None
    """Slices in a row that backed off, and the pause of starts that follows; None if the last one ran."""
    admitted: int = 0
    completed: int = 0
    evicted: int = 0
    refused: int = 0
    swapped: int = 0
    queued: int = 0
    next_preemption_us: int | None = None
    """When a waiting slice may preempt more slices than now."""
    at_us: int = 0
    """When `chips_by_category` last changed; `chip_us` is integrated up to then."""
    chips_allocated: int = 0
    chips_by_category: dict[str, int] = field(default_factory=lambda: dict.fromkeys(CHIP_USES, 0))
    """Use (CHIP_USES) → chips since `at_us`."""
    chip_us: dict[str, int] = field(default_factory=lambda: dict.fromkeys(CHIP_USES, 0))
    """Use (CHIP_USES) → chip-microseconds until `at_us`."""
    by_phase: dict[SlicePhase, set[int]] | None = field(default=None, metadata=TRANSIENT, kw_only=True)
    """SlicePhase → the slices in it; see `slices_in`."""
    jobs: dict[str, int] | None = field(default=None, metadata=TRANSIENT, kw_only=True)
    """Multislice job → its slice in this pod; see `jobs_of`."""
    noticed: set[int] | None = field(default=None, metadata=TRANSIENT, kw_only=True)
    """The slices that have notice to leave cubes; see `noticed_slices`."""
    ended_cubes: dict[tuple[Shape, bool], dict[int, tuple[int, ...]]] | None = field(
        default=None, metadata=TRANSIENT, kw_only=True
    )
    """(shape, twisted) → the cubes of the slices in `ended`, by number; see `ended_cubes_of`."""
    occupancy: Occupancy | None = field(default=None, metadata=TRANSIENT, kw_only=True)
    link_faults: LinkFaults | None = field(default=None, metadata=TRANSIENT, kw_only=True)
    """The faults of slices by `bad_ends`; see `faults_of`."""
    queue: Queue | None = field(default=None, metadata=TRANSIENT, kw_only=True)
    waits: WaitSummary | None = field(default=None, metadata=TRANSIENT, kw_only=True)

    @property
    def placement(self) -> PodPlacement:
        """How slices are placed on the cubes."""
        return PLACEMENTS[self.kind]

    @property
    def chips(self) -> int:
        return self.cubes * CHIPS_PER_CUBE

    @property
    def running(self) -> int:
        """The number of slices on cubes: programming, in preflight, running, degraded or recovering."""
        return len(self.slices) - self.queued


def commission(fabric: str, config: AnyPodConfig, at_us: int) -> SchedulerState:
    """The scheduler state of a new fabric."""
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


def put_slice(state: SchedulerState, row: Slice) -> None:
    """Store a slice. Nothing else writes `slices`."""
    before = state.slices.get(row.number)
    state.slices[row.number] = row
    if state.by_phase is not None and (before is None or before.phase != row.phase):
        if before is not None:
            state.by_phase[before.phase].discard(row.number)
        state.by_phase.setdefault(row.phase, set()).add(row.number)
    if state.jobs is not None and row.member is not None:
        state.jobs[row.member.job] = row.number
    if state.noticed is not None:
        if row.notice is not None:
            state.noticed.add(row.number)
        else:
            state.noticed.discard(row.number)


def drop_slice(state: SchedulerState, number: int) -> None:
    """Remove a slice that ended, if it is stored."""
    row = state.slices.pop(number, None)
    if row is not None and state.by_phase is not None:
        state.by_phase[row.phase].discard(number)
    if row is not None and row.member is not None and state.jobs is not None:
        state.jobs.pop(row.member.job, None)
    if row is not None and state.noticed is not None:
        state.noticed.discard(number)


def put_ended(state: SchedulerState, row: Slice) -> int | None:
    """Store a slice that ended. Returns the number of the oldest one if it was dropped. Nothing else writes
    `ended`."""
    dropped = add_ended(state.ended, row.number, row)
    if state.ended_cubes is not None:
        if row.cubes:
            state.ended_cubes.setdefault((row.shape, row.twisted), {})[row.number] = row.cubes
        if dropped is not None:
            for cubes in state.ended_cubes.values():
                cubes.pop(dropped, None)
    return dropped


def ended_cubes_of(state: SchedulerState, shape: Shape, twisted: bool) -> Iterable[tuple[int, ...]]:
    """The cubes of the slices of a shape that ended last."""
    if state.ended_cubes is None:
        state.ended_cubes = {}
        for row in state.ended.values():
            if row.cubes:
                state.ended_cubes.setdefault((row.shape, row.twisted), {})[row.number] = row.cubes
    return state.ended_cubes.get((shape, twisted), {}).values()


def jobs_of(state: SchedulerState) -> dict[str, int]:
    """Multislice job → its slice in this pod."""
    if state.jobs is None:
        state.jobs = {row.member.job: row.number for row in state.slices.values() if row.member is not None}
    return state.jobs


def members_of(state: SchedulerState) -> list[tuple[Slice, GangMember]]:
    """The slices of multislice jobs with their part in it, by number."""
    rows = [state.slices[number] for number in sorted(jobs_of(state).values())]
    return [(row, row.member) for row in rows if row.member is not None]


def slices_in(state: SchedulerState, phase: SlicePhase) -> list[Slice]:
    """The slices in a phase, by number."""
    if state.by_phase is None:
        state.by_phase = {}
        for row in state.slices.values():
            state.by_phase.setdefault(row.phase, set()).add(row.number)
    numbers = state.by_phase.get(phase)
    return [state.slices[number] for number in sorted(numbers)] if numbers else []


def occupancy_of(state: SchedulerState) -> Occupancy:
    """The occupancy of the cubes, rebuilt from the slices if missing."""
    if state.occupancy is None:
        occupancy = Occupancy(state.cubes)
        for cube in (*state.unhealthy, *state.drained, *state.drain_windows):
            occupancy.allow(cube, False)
        for number, held in sorted(state.slices.items()):
            if held.cubes:
                occupancy.hold(number, held.cubes, held.shape, held.corner)
        for _, row in sorted(state.slices.items()):
            if row.notice is not None and row.notice.move is not None:
                occupancy.keep((row.notice.move.spare,), row.shape, row.notice.move.corner)
        occupancy.keep(tuple(state.warm_cubes), WHOLE_CUBE_SHAPE, None)
        for row, claim in claimed_slices(state):
            occupancy.keep(claim.cubes, row.shape, claim.corner)
        state.occupancy = occupancy
    return state.occupancy


def record_link_end(state: SchedulerState, end: int, condition: LinkCondition | None) -> None:
    """Store the condition of a link end; None if it is up, or dark because no slice uses it. Nothing else
    writes `bad_ends`."""
    if state.bad_ends.get(end) == condition:
        return
    if condition is None:
        del state.bad_ends[end]
    else:
        state.bad_ends[end] = condition
    if state.link_faults is not None:
        state.link_faults.record(end, condition)


def link_faults_of(state: SchedulerState) -> LinkFaults:
    """The link ends that are not up, by cube, rebuilt from `bad_ends` if missing."""
    if state.link_faults is None:
        state.link_faults = LinkFaults(state.bad_ends, state.placement.is_inside)
    return state.link_faults


def faults_of(state: SchedulerState, row: Slice) -> SliceFaults:
    """The link ends of a slice on cubes that are not up. A slice inside one cube uses no links."""
    if not state.bad_ends or row.corner is not None:
        return SliceFaults(row.shape, row.cubes)
    return link_faults_of(state).of(row.shape, row.cubes)


def is_in_use(state: SchedulerState, cube: int) -> bool:
    """Whether slices in general may be placed on a cube: it is healthy, not drained, and not about to be."""
    return cube not in state.unhealthy and cube not in state.drained and cube not in state.drain_windows


def invalidate_wait_summary(state: SchedulerState) -> None:
    """Discard the reasons for waiting: cubes or the queue may have changed."""
    state.waits = None
    state.changed_documents.update(
        ("slices", f"{state.fabric}/slice-{row.number}")
        for row in state.slices.values()
        if row.state == "queued"
    )


def queue_of(state: SchedulerState) -> Queue:
    """The queue, rebuilt from the slices if missing. It has no slices with a claim, in backoff, or waiting
    for an OCS or the end of a pause of starts."""
    if state.queue is None:
        state.queue = Queue()
        for row in state.slices.values():
            if row.phase == "queued" and not is_deferred(state, row):
                state.queue.add(line_of(row), place_in_line(row))
    return state.queue


def enqueue(state: SchedulerState, row: Slice) -> None:
    """Add a slice that starts to wait to its line, unless it is deferred."""
    if not is_deferred(state, row):
        queue_of(state).add(line_of(row), place_in_line(row))


def is_deferred(state: SchedulerState, row: Slice) -> bool:
    """Whether a waiting slice is outside the queue: it waits for an OCS that is down or for the end of a
    pause of starts, or backs off after failed preflights or a failed gang hold."""
    return (
        in_preflight_backoff(row)
        or in_multislice_backoff(row)
        or waits_for_ocs(state, row)
        or waits_for_start_pause(state, row)
    )


def starts_pause(state: SchedulerState) -> bool:
    """Whether starts pause, or resume with one slice that tries."""
    return state.start_pause is not None and state.start_pause.pauses > 0


def waits_for_start_pause(state: SchedulerState, row: Slice) -> bool:
    """Whether a slice gets no cubes now because the preflights of its pod fail. A mesh uses no links."""
    return state.start_pause is not None and state.start_pause.stops_starts and not is_mesh(row.shape)


def waits_for_ocs(state: SchedulerState, row: Slice) -> bool:
    """Whether no cubes help a slice now: an OCS is down, the circuits of whole cubes pass through all OCSes,
    and its owner does not accept the reduced speed."""
    if not state.ocs_down or is_mesh(row.shape):
        return False
    return not accepts_speed(policy_of(state, row), speed_without_ocses(state, row))


def speed_without_ocses(state: SchedulerState, row: Slice) -> int:
    """The speed of a slice of whole cubes if traffic is rerouted around the OCSes that are down, in parts per
    million of full speed; 0 if there is no route."""
    gone = Counter([ocs // FACE_LINKS for ocs in state.ocs_down])
    x, y, z = [WHOLE_PPM - WHOLE_PPM * gone[dimension] // FACE_LINKS for dimension in range(DIMENSIONS)]
    kept = kept_ppm(row.shape, row.twisted, (x, y, z))
    return speed_ppm(kept, round(state.config.communication_share * WHOLE_PPM))


def deferred_slices(state: SchedulerState) -> list[Slice]:
    """The waiting slices outside the queue, by number."""
    deferred = slices_in(state, "backing-off")
    if state.ocs_down or starts_pause(state):
        deferred += [row for row in slices_in(state, "queued") if is_deferred(state, row)]
    return sorted(deferred, key=by_number)


def claimed_slices(state: SchedulerState) -> list[tuple[Slice, CubeClaim]]:
    """The waiting slices with a claim on cubes, by number."""
    rows = [*slices_in(state, "reserved"), *slices_in(state, "holding")]
    return [(row, row.claim) for row in sorted(rows, key=by_number) if row.claim is not None]


def by_number(row: Slice) -> int:
    """The key that sorts slices by number."""
    return row.number


def policy_of(state: SchedulerState, row: Slice) -> RecoveryPolicy:
    """The recoveries that a slice's owner allows after a hardware failure.

    If the owner gave none, all are allowed, except that a share of slices does not allow rerouting
    (`route_around_share`). In a static pod all are allowed.
    """
    if state.placement.links_are_fixed:
        return ALL_ALLOWED
    if row.recovery is not None:
        return row.recovery
    name = f"{state.fabric}/slice-{row.number}"
    opts_in = draw_uniform(state.seed, name, "goes around", 0) < state.config.route_around_share
    return ALL_ALLOWED if opts_in else ALL_BUT_ROUTES


def accepts_speed(policy: RecoveryPolicy, speed: int) -> bool:
    """Whether a slice may run at this rerouted speed, in parts per million of full speed."""
    if "route" not in policy.choices or not speed:
        return False
    return policy.tax_max_ppm is None or speed >= WHOLE_PPM * WHOLE_PPM // (WHOLE_PPM + policy.tax_max_ppm)


def job_chips(row: Slice) -> int:
    """The chips of a slice, and of the slices in other pods that stop, start and lose work with it."""
    member = row.member
    return row.chips * (len(member.pods) if member is not None and member.is_joined else 1)


def queued_us(row: Slice) -> int:
    """When a slice last entered the queue."""
    for state, since_us in reversed(row.since_us):
        if state == "queued":
            return since_us
    return row.requested_us


def placed_slices(state: SchedulerState) -> list[Slice]:
    """The slices that have cubes, by number."""
    return [state.slices[number] for number in sorted(occupancy_of(state).held)]


def has_notice(state: SchedulerState, number: int) -> bool:
    """Whether a slice is on cubes and has notice to leave them."""
    row = state.slices.get(number)
    return row is not None and row.notice is not None


def noticed_slices(state: SchedulerState) -> list[tuple[Slice, LeaveNotice]]:
    """The slices on cubes that have notice to leave some, with the notice, by number."""
    held = occupancy_of(state).held
    if state.noticed is None:
        state.noticed = {row.number for row in state.slices.values() if row.notice is not None}
    if not state.noticed:
        return []
    rows = [state.slices[number] for number in sorted(state.noticed) if number in held]
    return [(row, row.notice) for row in rows if row.notice is not None]


def moving_slices(state: SchedulerState) -> list[tuple[Slice, LeaveNotice, Move]]:
    """The slices that move off a drained cube, or for compaction, with their notice and move, by number."""
    return [(row, notice, notice.move) for row, notice in noticed_slices(state) if notice.move is not None]


def line_of(row: Slice) -> Line:
    """The line of the queue in which a slice waits. Slices in a line differ only in age and priority."""
    return TIERS.index(row.tier), row.owner, row.shape


def place_in_line(row: Slice) -> Place:
    """The place of a slice in its line."""
    return -row.priority, row.number
