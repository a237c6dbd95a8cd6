"""Progress of a job: steps, the checkpoints that keep them, and the losses of faults.

A job's time is a chain of stretches: steps until the next checkpoint is due, then its write. Its progress at
any time follows from an earlier one, however many checkpoints lie between; no event is needed at a
checkpoint. Speeds are parts per million of full speed; start-ups and writes take the same time at any speed.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from schemas.messages.jobs import JobTerms
from schemas.messages.scheduler import FULL_SPEED
from shared.basics.fast_replace import replace
from shared.models.jobs.goodput_categories import UsageByCategory

JobPhase = Literal["queued", "preparing", "starting", "stepping", "writing", "hung", "standing", "finished"]
TAKES_STEPS: tuple[JobPhase, ...] = ("starting", "stepping", "writing")
"""Phases in which a dead host makes a job hang."""


@dataclass(frozen=True)  # without slots: `fast_replace.replace`
class Progress:
    """A job on its slice, as of `since_us`.

    - `queued`: it has no cubes, and its time is not counted.
    - `preparing`: its slice is being prepared.
    - `starting`: `spent_us` of the start-up is over.
    - `stepping`: `uncommitted_us` of work since the last checkpoint; `spent_us` of it at the present speed.
    - `writing`: `spent_us` of the write is over; if it is `leaving`, it stops afterwards.
    - `hung`: a fault has ended its steps, but it has not noticed yet.
    - `standing`: it waits for its slice to be ready again.
    - `finished`: it waits for nothing.

    `kept_us` is the work that checkpoints keep; `starts` counts starts. Without `terms` a job has no end and
    starts at once, and its work is kept at once.
    """

    terms: JobTerms | None
    since_us: int
    phase: JobPhase = "queued"
    speed_ppm: int = FULL_SPEED
    spent_us: int = 0
    kept_us: int = 0
    uncommitted_us: int = 0
    leaving: bool = False
    starts: int = 0
    usage: UsageByCategory = field(default_factory=UsageByCategory)


# --- events of a job ------------------------------------------------------------------------------------


def placed(job: Progress, now_us: int) -> Progress:
    """Its slice has got cubes; it will continue from the work that is kept."""
    return replace(progress_at(job, now_us), phase="preparing", spent_us=0)


def ready(job: Progress, now_us: int, speed_ppm: int = FULL_SPEED) -> Progress:
    """Its slice is ready, or ready again: the job starts."""
    job = progress_at(job, now_us)
    if job.phase == "finished":
        return job
    phase: JobPhase = "stepping" if job.terms is None else "starting"
    return replace(job, phase=phase, spent_us=0, speed_ppm=speed_ppm, starts=job.starts + 1)


def slowed(job: Progress, now_us: int, speed_ppm: int) -> Progress:
    """The capacity of its fabric changed."""
    job = progress_at(job, now_us)
    if speed_ppm == job.speed_ppm:
        return job
    return replace(job, speed_ppm=speed_ppm, spent_us=0 if job.phase == "stepping" else job.spent_us)


def struck(job: Progress, now_us: int) -> Progress:
    """A fault ends its steps, and work without a checkpoint is lost. A finished job loses nothing."""
    job = progress_at(job, now_us)
    return job if job.phase == "finished" else _stopped(job, "standing")


def halted(job: Progress, now_us: int) -> Progress:
    """A fault ends its steps. Its work may still be in the memory of other hosts, and is lost at once unless
    the job replicates."""
    return _held(progress_at(job, now_us), "standing") if _replicates(job) else struck(job, now_us)


def hung(job: Progress, now_us: int) -> Progress:
    """A fault ends its steps but is noticed only later.

    The time until then is lost, and so is the work unless the job replicates. A job that takes no steps is
    not affected.
    """
    job = progress_at(job, now_us)
    if job.phase not in TAKES_STEPS:
        return job
    return _held(job, "hung") if _replicates(job) else _stopped(job, "hung")


def unplaced(job: Progress, now_us: int) -> Progress:
    """Its slice has lost its cubes or ended: work without a checkpoint is lost."""
    return _stopped(progress_at(job, now_us), "queued")


def given_notice(job: Progress, now_us: int) -> Progress:
    """Its slice will be evicted: it writes a checkpoint if there is work to keep, then stops.

    A job that has not started or has finished does nothing; a hung job can do nothing.
    """
    job = progress_at(job, now_us)
    if job.phase == "writing":
        return replace(job, leaving=True)
    if job.phase in ("starting", "stepping") and job.uncommitted_us:
        return replace(job, phase="writing", spent_us=0, leaving=True)
    return (
        replace(job, phase="standing", spent_us=0) if job.phase in ("starting", "stepping", "hung") else job
    )


def resumed(job: Progress, now_us: int, speed_ppm: int) -> Progress:
    """A stopped job starts again; a running one changes its speed."""
    job = progress_at(job, now_us)
    change = ready if job.phase == "standing" else slowed
    return change(job, now_us, speed_ppm)


def unless_preparing(job: Progress, now_us: int, ends: Callable[[Progress, int], Progress]) -> Progress:
    """Applies `ends` unless the slice is still being prepared, when the job has nothing to lose."""
    return progress_at(job, now_us) if job.phase == "preparing" else ends(job, now_us)


def _replicates(job: Progress) -> bool:
    return job.terms is not None and job.terms.replicates


def _held(job: Progress, phase: JobPhase) -> Progress:
    """Its steps end without loss."""
    return job if job.phase == "finished" else replace(job, phase=phase, spent_us=0, leaving=False)


def _stopped(job: Progress, phase: JobPhase) -> Progress:
    usage = job.usage.after_loss(job.uncommitted_us)
    return replace(job, phase=phase, spent_us=0, uncommitted_us=0, leaving=False, usage=usage)


# --- progress over time ---------------------------------------------------------------------------------


def progress_at(job: Progress, now_us: int) -> Progress:
    """The progress at this time if nothing happened since `since_us`, which is not later."""
    while True:
        job = _whole_cycles(job, now_us - job.since_us)
        left_us, need_us = now_us - job.since_us, _stretch_left_us(job)
        if need_us is None or left_us < need_us:
            return _after(job, left_us) if left_us else job
        job = _next_stretch(_after(job, need_us))


def next_change_us(job: Progress) -> int | None:
    """When it finishes, or stops because it was asked to leave; None if neither happens by itself."""
    turns_us = job.since_us
    while (left_us := _stretch_left_us(job)) is not None:
        if job.terms is not None and _begins_cycle(job):
            return turns_us + _until_done_us(job.terms, job.speed_ppm, job.kept_us)
        turns_us += left_us
        job = _next_stretch(_after(job, left_us))
        if job.phase in ("standing", "finished"):
            return turns_us
    return None


def _begins_cycle(job: Progress) -> bool:
    """Whether it starts to step with no work since the last checkpoint."""
    return job.phase == "stepping" and not job.uncommitted_us and not job.spent_us


def _until_done_us(terms: JobTerms, speed_ppm: int, kept_us: int) -> int:
    """Time to the end for a job that has just written a checkpoint."""
    whole, last_us = divmod(terms.work_us - kept_us, terms.checkpoint_every_us)
    span_us = whole * (_steps_us(terms.checkpoint_every_us, speed_ppm) + terms.write_us)
    return span_us + (_steps_us(last_us, speed_ppm) + terms.write_us if last_us else 0)


def _steps_us(work_us: int, speed_ppm: int) -> int:
    """Duration of work at a speed: the first microsecond by which it is done."""
    return -(-work_us * FULL_SPEED // speed_ppm)


def _work_us(span_us: int, speed_ppm: int) -> int:
    """Work done in a span at a speed, in whole microseconds."""
    return span_us * speed_ppm // FULL_SPEED


def _goal_us(job: Progress, terms: JobTerms) -> int:
    """The work between the last checkpoint and the next."""
    return min(terms.checkpoint_every_us, terms.work_us - job.kept_us)


def _stretch_left_us(job: Progress) -> int | None:
    """Remaining time of the present stretch; None if it has no end of its own."""
    terms = job.terms
    if terms is None:
        return None
    if job.phase == "starting":
        return terms.startup_us - job.spent_us
    if job.phase == "stepping":
        before_us = job.uncommitted_us - _work_us(job.spent_us, job.speed_ppm)
        return _steps_us(_goal_us(job, terms) - before_us, job.speed_ppm) - job.spent_us
    return terms.write_us - job.spent_us if job.phase == "writing" else None


def _after(job: Progress, span_us: int) -> Progress:
    """The job after a span within one stretch.

    A finished job still has its slice until this is noticed; that time counts as part of its last write.
    """
    since_us, usage, phase = job.since_us + span_us, job.usage, job.phase
    if phase == "queued":
        return replace(job, since_us=since_us)
    if phase == "preparing":
        return replace(job, since_us=since_us, usage=usage.plus(startup=span_us))
    if phase == "standing":
        return replace(job, since_us=since_us, usage=usage.plus(recovering=span_us))
    if phase == "hung":
        return replace(job, since_us=since_us, usage=usage.plus(lost=span_us))
    # Counted from the start of the present speed, so intermediate queries cause no rounding.
    spent_us, uncommitted_us = job.spent_us + span_us, job.uncommitted_us
    if phase == "starting":
        usage = usage.plus(startup=span_us)
    elif phase != "stepping":
        usage = usage.plus(checkpointing=span_us)
    else:
        work_us = _work_us(spent_us, job.speed_ppm) - _work_us(job.spent_us, job.speed_ppm)
        degraded_us = span_us - work_us
        if job.terms is None:
            usage = usage.plus(productive=work_us, degraded=degraded_us)
        else:
            uncommitted_us += work_us
            usage = usage.plus(uncommitted=work_us, degraded=degraded_us)
    return replace(job, since_us=since_us, spent_us=spent_us, uncommitted_us=uncommitted_us, usage=usage)


def _next_stretch(job: Progress) -> Progress:
    """The next stretch; a finished write keeps the work before it."""
    if job.phase == "starting":
        return replace(job, phase="stepping", spent_us=0)
    if job.phase == "stepping":
        return replace(job, phase="writing", spent_us=0)
    kept_us = job.kept_us + job.uncommitted_us
    done = job.terms is not None and kept_us == job.terms.work_us
    phase: JobPhase = "finished" if done else "standing" if job.leaving else "stepping"
    usage = job.usage.after_checkpoint(job.uncommitted_us)
    return replace(
        job, phase=phase, spent_us=0, kept_us=kept_us, uncommitted_us=0, leaving=False, usage=usage
    )


def _whole_cycles(job: Progress, span_us: int) -> Progress:
    """The job after all whole cycles of stretch and write in a span except the last, which may be shorter."""
    terms = job.terms
    if terms is None or not _begins_cycle(job):
        return job
    steps_us = _steps_us(terms.checkpoint_every_us, job.speed_ppm)
    cycle_us = steps_us + terms.write_us
    cycles = min(span_us // cycle_us, (terms.work_us - job.kept_us - 1) // terms.checkpoint_every_us)
    if not cycles:
        return job
    work_us = cycles * terms.checkpoint_every_us
    usage = job.usage.plus(
        productive=work_us, degraded=cycles * steps_us - work_us, checkpointing=cycles * terms.write_us
    )
    since_us, kept_us = job.since_us + cycles * cycle_us, job.kept_us + work_us
    return replace(job, since_us=since_us, kept_us=kept_us, usage=usage)
