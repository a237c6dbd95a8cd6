"""State of the jobs of one fabric: progress, broken parts and usage of ended slices."""

from dataclasses import dataclass, field
from typing import Literal

from schemas.config.cubes import JobsConfig
from schemas.config.pods import AnyPodConfig
from schemas.messages.scheduler import FULL_SPEED
from schemas.names import Shape, Tier
from shared.basics.units import US_PER_HOUR
from shared.engine.state import State
from shared.models.jobs.goodput_accounting import OTHER_OWNERS, OWNERS_MAX
from shared.models.jobs.goodput_categories import UsageByCategory
from shared.models.jobs.job_progress import Progress
from shared.models.superpod.shapes import chips_of


@dataclass(frozen=True, slots=True)
class BrokenPart:
    """A host, chip, cable or whole cube with an active fault.

    `chips` are the affected chips by number in the cube, or the two ends of the affected link (`is_link`).
    `cause` is the id of the FaultBegan.
    """

    name: str
    cube: int
    chips: tuple[int, ...]
    cause: str
    is_link: bool = False


@dataclass(frozen=True, slots=True)
class Symptom:
    """What a job will notice of a broken part at `at_us`."""

    at_us: int
    part: BrokenPart
    seen_as: Literal["error", "hang"]


@dataclass(frozen=True)  # without slots: `fast_replace.replace`
class Job:
    """The job of one slice, on all chips of its `cubes`, or on those of one cube from its `corner`."""

    owner: str
    """Owner to whom its usage is charged."""
    tier: Tier
    shape: Shape
    progress: Progress
    cause: str
    """Id of the message that let it run."""
    cubes: tuple[int, ...] = ()
    corner: tuple[int, int, int] | None = None
    link_speed_ppm: int = FULL_SPEED
    """Speed that the slice's links allow; throttled cubes reduce it further."""
    turns_us: int | None = None
    """Time at which it finishes, ends its checkpoint or notices its `symptom`; None if nothing is due."""
    symptom: Symptom | None = None

    @property
    def chips(self) -> int:
        return chips_of(self.shape)


@dataclass(frozen=True)  # without slots: `fast_replace.replace`
class MultisliceJob:
    """The slices of several pods that a job runs on."""

    job: str
    pods: tuple[str, ...]
    gradient_bytes: int
    step_us: int
    speeds_ppm: tuple[int | None, ...]
    """Speed of each pod's slice, in the order of the ring; None if it cannot run."""
    gbps: float | None = None
    """Bandwidth that the `network` between the pods gives each of them; None if unknown."""
    network: str | None = None
    must_leave: bool = False
    """Whether this pod's slice must leave its cubes."""


@dataclass(frozen=True, slots=True)
class OwnerUsage:
    """Usage of all ended slices of an owner in one tier, in chip-microseconds."""

    owner: str
    tier: Tier
    used: UsageByCategory


@dataclass
class JobsState(State):
    """State of the jobs of one fabric. Jobs are keyed by the number of their slice."""

    config: JobsConfig
    cubes: int
    next_report_us: int
    """Time of the next usage report."""
    reports: int = 0
    """Number of usage reports so far."""
    jobs: dict[int, Job] = field(default_factory=dict)
    """From request to end."""
    ended: dict[int, Job] = field(default_factory=dict)
    """The last jobs that ended; the same ones that the scheduler keeps."""
    broken: dict[str, BrokenPart] = field(default_factory=dict)
    """Hosts, chips, cables and cubes without power, by name of the fault."""
    hot_cubes: dict[str, int] = field(default_factory=dict)
    """Cubes without cooling, by name of the fault."""
    usage_by_owner: dict[str, OwnerUsage] = field(default_factory=dict)
    """Usage of ended slices by `OWNER/TIER`, created with the first request."""
    multislice_jobs: dict[int, MultisliceJob] = field(default_factory=dict)


def commission(fabric: str, config: AnyPodConfig, at_us: int) -> JobsState:
    """A fabric without jobs."""
    return JobsState(
        fabric=fabric,
        seed=config.seed,
        now_us=at_us,
        config=config.jobs,
        cubes=config.pod.cubes,
        next_report_us=at_us + US_PER_HOUR,
    )


def usage_for(state: JobsState, owner: str, tier: Tier) -> OwnerUsage:
    """The usage entry of an owner and tier, created if missing.

    Beyond `OWNERS_MAX` entries new owners share one.
    """
    if f"{owner}/{tier}" not in state.usage_by_owner and len(state.usage_by_owner) >= OWNERS_MAX:
        owner = OTHER_OWNERS
    return state.usage_by_owner.setdefault(f"{owner}/{tier}", OwnerUsage(owner, tier, UsageByCategory()))


def add_usage(state: JobsState, job: Job) -> None:
    """Add the usage of an ended job to its owner's entry."""
    key = f"{job.owner}/{job.tier}"
    used = job.progress.usage.times(job.chips)
    state.usage_by_owner[key] = OwnerUsage(
        job.owner, job.tier, state.usage_by_owner[key].used.plus(**used.by_category())
    )
