"""What is known of the jobs of one fabric: how far each has come, and what all that ended have used."""

from dataclasses import dataclass, field

from schemas.config import AnyPodConfig
from shared.engine.state import State
from shared.models.jobs.ledger import PLACES
from shared.models.jobs.progress import Progress


@dataclass(frozen=True, slots=True)
class Job:
    """The job of one slice. `turns_us` is when it finishes if nothing happens to it, None while it cannot;
    `cause` the id of the message that let it run."""

    chips: int
    progress: Progress
    turns_us: int | None
    cause: str


@dataclass
class JobsState(State):
    """`jobs` by number of their slice, from request to end. `used_chip_us` is by place of a ledger what the
    jobs that ended have used."""

    jobs: dict[int, Job] = field(default_factory=dict)
    used_chip_us: dict[str, int] = field(default_factory=lambda: dict.fromkeys(PLACES, 0))


def commission(fabric: str, config: AnyPodConfig, at_us: int) -> JobsState:
    """Nobody has asked for anything yet."""
    return JobsState(fabric=fabric, seed=config.seed, now_us=at_us)
