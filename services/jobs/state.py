"""What is known of the jobs of one fabric: how far each has come, what is broken under them, and what those
that ended have used."""

from dataclasses import dataclass, field
from typing import Literal

from schemas.config.cubes import JobsConfig
from schemas.config.pods import AnyPodConfig
from schemas.names import Shape, Tier
from shared.basics.units import US_PER_HOUR
from shared.engine.state import State
from shared.models.jobs.goodput_accounting import OTHER_OWNERS, OWNERS_MAX
from shared.models.jobs.ledger import Ledger
from shared.models.jobs.progress import FULL_SPEED, Progress
from shared.models.superpod.shapes import chips_of


@dataclass(frozen=True, slots=True)
class BrokenPart:
    """A host, chip, cable or whole cube with an active fault; `chips` are the numbers in their cube of those
    that it takes along, or that the link between which it takes (`is_link`). `cause` is the id of the
    FaultBegan."""

    name: str
    cube: int
    chips: tuple[int, ...]
    cause: str
    is_link: bool = False


@dataclass(frozen=True, slots=True)
class Symptom:
    """What a job will notice at `at_us` of a part that has broken under it."""

    at_us: int
    part: BrokenPart
    seen_as: Literal["error", "hang"]


@dataclass(frozen=True)  # without slots: `records.replace`
class Job:
    """The job of one slice, on all chips of its `cubes`, or on those of one from its `corner`. `owner` is
    under whom its time is booked.

    `turns_us` is when it finishes, has kept what it was told to, or notices its `symptom`, if nothing happens
    to it; None if it does nothing by itself. `cause` is the id of the message that let it run. `granted_ppm`
    is how fast the links of its slice let it go; cubes that are too hot are slower.
    """

    owner: str
    tier: Tier
    shape: Shape
    progress: Progress
    cause: str
    cubes: tuple[int, ...] = ()
    corner: tuple[int, int, int] | None = None
    link_speed_ppm: int = FULL_SPEED
    turns_us: int | None = None
    symptom: Symptom | None = None

    @property
    def chips(self) -> int:
        return chips_of(self.shape)


@dataclass(frozen=True)  # without slots: `records.replace`
class MultisliceJob:
    """The slices of several pods that a job runs on. By pod, in the order of its ring, `speeds_ppm` has how
    fast its slice can go, None while it cannot; `gbps` is what the `network` between the pods gives each of
    them, None where nobody says. `is_to_leave`: it is this pod's slice that is to leave cubes."""

    job: str
    pods: tuple[str, ...]
    gradient_bytes: int
    step_us: int
    speeds_ppm: tuple[int | None, ...]
    gbps: float | None = None
    network: str | None = None
    must_leave: bool = False


@dataclass(frozen=True, slots=True)
class OwnerUsage:
    """What all slices of an owner in one tier have used that ended, in chip-microseconds."""

    owner: str
    tier: Tier
    used: Ledger


@dataclass
class JobsState(State):
    """`jobs` by number of their slice, from request to end; `ended` the last that did, as the scheduler has.
    `broken` has the hosts, chips, cables and cubes without power, by name of the fault, `hot` the cubes
    without cooling. `books` are by `OWNER/TIER`, begun with
    the first request; `reports_us` is when they are told
    next, after so many `reports`. `teams` are those of jobs over several pods, by number of their slice."""

    config: JobsConfig
    cubes: int
    next_report_us: int
    reports: int = 0
    jobs: dict[int, Job] = field(default_factory=dict)
    ended: dict[int, Job] = field(default_factory=dict)
    broken: dict[str, BrokenPart] = field(default_factory=dict)
    hot_cubes: dict[str, int] = field(default_factory=dict)
    books: dict[str, OwnerUsage] = field(default_factory=dict)
    multislice_jobs: dict[int, MultisliceJob] = field(default_factory=dict)


def commission(fabric: str, config: AnyPodConfig, at_us: int) -> JobsState:
    """Nobody has asked for anything yet."""
    return JobsState(
        fabric=fabric,
        seed=config.seed,
        now_us=at_us,
        config=config.jobs,
        cubes=config.pod.cubes,
        next_report_us=at_us + US_PER_HOUR,
    )


def usage_for(state: JobsState, owner: str, tier: Tier) -> OwnerUsage:
    """The book of an owner for a tier, begun if there is none; the others' where there are too many."""
    if f"{owner}/{tier}" not in state.books and len(state.books) >= OWNERS_MAX:
        owner = OTHER_OWNERS
    return state.books.setdefault(f"{owner}/{tier}", OwnerUsage(owner, tier, Ledger()))


def add_usage(state: JobsState, job: Job) -> None:
    """Enter what a job has used that has ended."""
    key = f"{job.owner}/{job.tier}"
    used = job.progress.ledger.times(job.chips)
    state.books[key] = OwnerUsage(job.owner, job.tier, state.books[key].used.plus(**used.by_place()))
