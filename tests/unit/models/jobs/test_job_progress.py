"""A job's progress against one that is walked microsecond by microsecond."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.messages.jobs import JobTerms
from schemas.messages.scheduler import FULL_SPEED
from shared.models.jobs.goodput_categories import CATEGORIES, UsageByCategory
from shared.models.jobs.job_progress import (
    Progress,
    given_notice,
    halted,
    hung,
    next_change_us,
    placed,
    progress_at,
    ready,
    slowed,
    struck,
    unplaced,
)

TERMS = JobTerms(work_us=100, checkpoint_every_us=30, write_us=5, startup_us=7)


def placed_at(terms: JobTerms | None, now_us: int) -> Progress:
    """One that was wanted since the beginning, and waited until then."""
    return placed(Progress(terms, 0), now_us)


def stepping(terms: JobTerms | None = TERMS, speed_ppm: int = FULL_SPEED) -> Progress:
    """One that is ready 3 µs after it was placed at 1,000."""
    return ready(placed_at(terms, 1_000), 1_003, speed_ppm)


@pytest.mark.parametrize(
    ("now_us", "phase", "usage"),
    [
        (1_003, "starting", UsageByCategory(startup=3)),
        (1_009, "starting", UsageByCategory(startup=9)),
        (1_010, "stepping", UsageByCategory(startup=10)),
        (1_039, "stepping", UsageByCategory(startup=10, uncommitted=29)),
        (1_040, "writing", UsageByCategory(startup=10, uncommitted=30)),
        (1_044, "writing", UsageByCategory(startup=10, uncommitted=30, checkpointing=4)),
        (1_045, "stepping", UsageByCategory(startup=10, productive=30, checkpointing=5)),
        (1_120, "stepping", UsageByCategory(startup=10, productive=90, uncommitted=5, checkpointing=15)),
        (1_129, "writing", UsageByCategory(startup=10, productive=90, uncommitted=10, checkpointing=19)),
        (1_130, "finished", UsageByCategory(startup=10, productive=100, checkpointing=20)),
        (1_132, "finished", UsageByCategory(startup=10, productive=100, checkpointing=22)),
    ],
)
def test_it_starts_steps_and_writes_by_turns_until_its_work_is_done(
    now_us: int, phase: str, usage: UsageByCategory
) -> None:
    job = progress_at(stepping(), now_us)
    assert (job.phase, job.usage) == (phase, usage)
    assert next_change_us(stepping()) == 1_130


def test_a_fault_loses_the_work_since_the_checkpoint_and_the_job_continues_from_there() -> None:
    job = struck(stepping(), 1_060)
    assert job.usage == UsageByCategory(startup=10, productive=30, checkpointing=5, lost=15)
    assert (job.phase, job.kept_us, next_change_us(job)) == ("standing", 30, None)
    again = ready(job, 1_100)
    assert again.usage.recovering == 40
    assert next_change_us(again) == 1_100 + 7 + (30 + 5) * 2 + 10 + 5


def test_a_fault_during_a_checkpoint_loses_the_work_it_was_saving() -> None:
    job = struck(stepping(), 1_043)
    assert job.usage == UsageByCategory(startup=10, lost=30, checkpointing=3)


def test_the_time_until_a_fault_is_noticed_is_lost_too() -> None:
    job = hung(stepping(), 1_060)
    assert (job.phase, next_change_us(job), given_notice(job, 1_061).phase) == ("hung", None, "standing")
    noticed = struck(job, 1_075)
    assert noticed.usage == UsageByCategory(startup=10, productive=30, checkpointing=5, lost=30)
    assert progress_at(noticed, 1_080).usage.recovering == 5
    assert hung(noticed, 1_080).phase == "standing"


REPLICATES = TERMS.model_copy(update={"replicates": True})


def test_one_that_replicates_continues_from_where_it_was_until_its_memory_is_given_up() -> None:
    job = halted(stepping(REPLICATES), 1_060)
    assert job.usage == UsageByCategory(startup=10, productive=30, checkpointing=5, uncommitted=15)
    again = ready(job, 1_100)
    assert next_change_us(again) == 1_100 + 7 + 15 + 5 + (30 + 5) + 10 + 5
    assert progress_at(again, 1_107 + 15 + 5).kept_us == 60
    assert struck(job, 1_100).usage.lost == 15
    assert halted(stepping(), 1_060) == struck(stepping(), 1_060)


def test_one_that_replicates_loses_only_the_time_until_a_fault_is_noticed() -> None:
    noticed = halted(hung(stepping(REPLICATES), 1_060), 1_075)
    assert noticed.usage == UsageByCategory(
        startup=10, productive=30, checkpointing=5, uncommitted=15, lost=15
    )


def test_a_job_noticed_at_its_start_writes_the_work_kept_by_replicas() -> None:
    again = ready(halted(stepping(REPLICATES), 1_060), 1_100)
    left = progress_at(given_notice(again, 1_102), 1_107)
    assert (left.phase, left.kept_us, left.uncommitted_us) == ("standing", 45, 0)


def test_half_the_speed_doubles_the_step_time_and_shows_the_cost() -> None:
    job = stepping(speed_ppm=500_000)
    assert next_change_us(job) == 1_010 + 200 + 20
    assert progress_at(job, 1_230).usage == UsageByCategory(
        startup=10, productive=100, degraded=100, checkpointing=20
    )


def test_one_that_is_requested_to_leave_writes_first_and_loses_nothing() -> None:
    job = given_notice(stepping(), 1_052)
    assert (job.phase, next_change_us(job)) == ("writing", 1_057)
    left = progress_at(job, 1_060)
    assert (left.phase, left.kept_us) == ("standing", 37)
    assert left.usage == UsageByCategory(startup=10, productive=37, checkpointing=10, recovering=3)
    assert next_change_us(ready(left, 1_060)) == 1_060 + 7 + 35 + 35 + 8


@pytest.mark.parametrize("now_us", [1_005, 1_010])
def test_one_that_has_nothing_to_keep_leaves_at_once(now_us: int) -> None:
    assert given_notice(stepping(), now_us).phase == "standing"


def test_one_that_has_not_begun_or_is_done_need_not_leave() -> None:
    assert given_notice(placed_at(TERMS, 1_000), 1_001).phase == "preparing"
    done = progress_at(stepping(), 1_130)
    assert (given_notice(done, 1_130), struck(done, 1_130), ready(done, 1_130)) == (done, done, done)
    assert unplaced(done, 1_130).phase == "queued"


def test_one_that_is_writing_anyway_leaves_after_it() -> None:
    job = given_notice(stepping(), 1_041)
    assert next_change_us(job) == 1_045
    assert progress_at(job, 1_050).usage == UsageByCategory(
        startup=10, productive=30, checkpointing=5, recovering=5
    )


def test_without_its_cubes_its_time_counts_nowhere() -> None:
    job = unplaced(stepping(), 1_060)
    assert (
        progress_at(job, 9_000).usage
        == job.usage
        == UsageByCategory(startup=10, productive=30, checkpointing=5, lost=15)
    )
    again = ready(placed(job, 9_000), 9_002)
    assert next_change_us(again) == 9_002 + 7 + (30 + 5) * 2 + 10 + 5


def test_without_terms_all_that_it_does_is_kept_and_it_has_no_end() -> None:
    job = struck(slowed(stepping(None), 1_103, 250_000), 1_203)
    assert job.usage == UsageByCategory(startup=3, productive=125, degraded=75)
    assert next_change_us(stepping(None)) is None


spans = st.integers(0, 60)
terms = st.builds(
    JobTerms,
    work_us=st.integers(1, 200),
    checkpoint_every_us=st.integers(1, 50),
    write_us=st.integers(0, 6),
    startup_us=st.integers(0, 9),
    replicates=st.booleans(),
)
speeds = st.sampled_from([FULL_SPEED, 970_000, 500_000, 333_333, 10_000])
EVENTS: dict[str, Callable[[Progress, int, int], Progress]] = {
    "ready": ready,
    "slowed": slowed,
    "hung": lambda job, now_us, _: hung(job, now_us),
    "halted": lambda job, now_us, _: halted(job, now_us),
    "struck": lambda job, now_us, _: struck(job, now_us),
    "asked_to_leave": lambda job, now_us, _: given_notice(job, now_us),
}
histories = st.lists(st.tuples(spans, st.sampled_from(sorted(EVENTS)), speeds), max_size=8)


@given(st.one_of(st.none(), terms), histories)
def test_every_microsecond_is_in_one_category_and_only_uncommitted_time_falls(
    terms: JobTerms | None, history: list[tuple[int, str, int]]
) -> None:
    job, now_us = placed_at(terms, 0), 0
    for span_us, event, ppm in history:
        now_us += span_us
        before = job.usage
        job = EVENTS[event](job, now_us, ppm)
        assert job.usage.total == now_us
        for category in CATEGORIES:
            assert category == "uncommitted" or getattr(job.usage, category) >= getattr(before, category)
        if terms is not None:
            assert job.usage.productive == job.kept_us <= terms.work_us
            assert job.usage.uncommitted == job.uncommitted_us <= terms.checkpoint_every_us
        if job.phase == "finished":
            break


@given(
    st.one_of(st.none(), terms),
    st.lists(spans, min_size=1, max_size=30),
    speeds,
    st.one_of(st.none(), st.tuples(st.integers(0, 30), speeds)),
    st.booleans(),
)
def test_a_glance_on_the_way_changes_nothing(
    terms: JobTerms | None, glances: list[int], ppm: int, change: tuple[int, int] | None, leaves: bool
) -> None:
    """Exactly, for any speed and any times."""
    job = ready(placed_at(terms, 0), 4, ppm)
    if change is not None:
        job = slowed(job, job.since_us + change[0], change[1])
    if leaves:
        job = given_notice(job, job.since_us + 5)
    seen = job
    for span_us in glances:
        seen = progress_at(seen, seen.since_us + span_us)
        assert next_change_us(seen) == (
            next_change_us(job) if seen.phase not in ("standing", "finished") else None
        )
    assert seen == progress_at(job, seen.since_us)


@given(terms, speeds, st.integers(0, 300))
def test_it_turns_when_it_shows_and_not_before(terms: JobTerms, ppm: int, span_us: int) -> None:
    job = ready(placed_at(terms, 0), 4, ppm)
    seen = progress_at(job, 4 + span_us)
    for one in (job, seen, given_notice(job, 4 + span_us)):
        turn_us = next_change_us(one)
        if turn_us is None:
            assert one.phase in ("standing", "finished")
            continue
        assert progress_at(one, turn_us).phase in ("standing", "finished")
        if turn_us > one.since_us:
            assert progress_at(one, turn_us - 1).phase not in ("standing", "finished")


@given(terms, st.integers(0, 400))
def test_progress_matches_a_walk_of_single_steps(terms: JobTerms, span_us: int) -> None:
    """At full speed, against an oracle that knows nothing of cycles."""
    kept = fresh = wrote = done = 0
    usage = dict.fromkeys(CATEGORIES, 0)
    for n in range(span_us):
        if n < terms.startup_us:
            usage["startup"] += 1
            continue
        if done or (fresh and fresh in (terms.checkpoint_every_us, terms.work_us - kept) and terms.write_us):
            usage["checkpointing"] += 1
            wrote += 1
        else:
            fresh += 1
        if fresh in (terms.checkpoint_every_us, terms.work_us - kept) and wrote == terms.write_us:
            kept, fresh, wrote = kept + fresh, 0, 0
            done = kept == terms.work_us
    usage |= {"productive": kept, "uncommitted": fresh}
    assert progress_at(ready(placed_at(terms, 0), 0), span_us).usage == UsageByCategory(**usage)


def test_a_year_of_checkpoints_takes_as_long_to_compute_as_one() -> None:
    year = replace(stepping(TERMS.model_copy(update={"work_us": 10**15})), since_us=0)
    assert progress_at(year, 35 * 10**12 + 7).kept_us == 30 * 10**12
