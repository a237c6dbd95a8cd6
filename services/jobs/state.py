"""What is known of the jobs of one fabric: how far each has come, and what those that ended have used."""

from dataclasses import dataclass, field

from schemas.config import AnyPodConfig
from schemas.names import Tier
from shared.engine.state import State
from shared.models.jobs.goodput import OTHERS, OWNERS_MAX
from shared.models.jobs.ledger import Ledger
from shared.models.jobs.progress import Progress


@dataclass(frozen=True, slots=True)
class Job:
    """The job of one slice. `owner` is under whom its time is booked; `turns_us` is when it finishes if
    nothing happens to it, None while it cannot; `cause` the id of the message that let it run."""

    owner: str
    tier: Tier
    chips: int
    progress: Progress
    turns_us: int | None
    cause: str


@dataclass(frozen=True, slots=True)
class Book:
    """What all slices of an owner in one tier have used that ended, in chip-microseconds."""

    owner: str
    tier: Tier
    used: Ledger


@dataclass
class JobsState(State):
    """`jobs` by number of their slice, from request to end; `ended` the last that did, as the scheduler has.
    `books` are by `OWNER/TIER`, begun with the first request."""

    jobs: dict[int, Job] = field(default_factory=dict)
    ended: dict[int, Job] = field(default_factory=dict)
    books: dict[str, Book] = field(default_factory=dict)


def commission(fabric: str, config: AnyPodConfig, at_us: int) -> JobsState:
    """Nobody has asked for anything yet."""
    return JobsState(fabric=fabric, seed=config.seed, now_us=at_us)


def book_for(state: JobsState, owner: str, tier: Tier) -> Book:
    """The book of an owner for a tier, begun if there is none; the others' where there are too many."""
    if f"{owner}/{tier}" not in state.books and len(state.books) >= OWNERS_MAX:
        owner = OTHERS
    return state.books.setdefault(f"{owner}/{tier}", Book(owner, tier, Ledger()))


def book(state: JobsState, job: Job) -> None:
    """Enter what a job has used that has ended."""
    key = f"{job.owner}/{job.tier}"
    used = job.progress.ledger.times(job.chips)
    state.books[key] = Book(job.owner, job.tier, state.books[key].used.plus(**used.by_place()))
