"""The chip-time of a fabric: exact sums at any time, and the difference between two times."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.api.goodput_report import CHIP_TIME_CATEGORIES
from schemas.config.pods import SuperpodConfig
from schemas.documents.pods import SchedulerSummary
from schemas.messages.jobs import JobTerms
from services.scheduler import state as scheduler
from shared.models.jobs.goodput_accounting import (
    ALLOCATED,
    ChipTime,
    Group,
    JobUse,
    SliceChipTime,
    chip_time_between,
    chip_time_until,
    integral,
    sum_usage,
)
from shared.models.jobs.goodput_categories import CATEGORIES as LEDGER
from shared.models.jobs.goodput_categories import UsageByCategory
from shared.models.jobs.job_progress import Progress, placed, ready, struck

CHIPS = 64
TERMS = JobTerms(work_us=1_000, checkpoint_every_us=70, write_us=9, startup_us=20)
GROUP: Group = ("team", "research")
SCHEDULER = SchedulerSummary(
    name="pod-0/scheduler",
    at_us=0,
    queued_since_us=None,
    chips=2 * CHIPS,
    chips_by_category={},
    chip_us={},
    **dict.fromkeys(
        (
            *("admitted", "completed", "evicted", "refused", "running", "queued", "swapped"),
            *("programming", "preflight", "degraded", "recovering"),
        ),
        0,
    ),
)


def started(at_us: int = 0) -> Progress:
    return ready(placed(Progress(TERMS, at_us), at_us), at_us)


def chip_time(progress: Progress, at_us: int) -> ChipTime:
    """Of a pod of one slice."""
    use = JobUse(GROUP, CHIPS, progress)
    used = use.used(at_us)
    return ChipTime(0, at_us, CHIPS, {}, {GROUP: used}, {"pod-0/slice-0": SliceChipTime(GROUP, used)})


def test_ended_slices_count_once() -> None:
    use = JobUse(GROUP, CHIPS, started())
    used = use.used(50)

    def all_used(use: JobUse) -> dict[Group, UsageByCategory]:
        return dict(chip_time_until(0, 50, SCHEDULER, {GROUP: used}, {"pod-0/slice-0": use}).used)

    assert all_used(replace(use, ended=True)) == {GROUP: used}
    assert all_used(use)[GROUP].total == 2 * 50 * CHIPS


def test_a_span_does_not_depend_on_slices_that_ended_before_it() -> None:
    ended = SliceChipTime(GROUP, UsageByCategory(productive=30, lost=7), ended_us=80)
    living = chip_time(started(), 80).slices["pod-0/slice-0"]
    used = sum_usage([ended.used, living.used])
    before = ChipTime(0, 80, 2 * CHIPS, {}, {GROUP: used}, {"pod-0/slice-0": living, "pod-0/slice-1": ended})
    later = chip_time(started(), 100).slices["pod-0/slice-0"]
    now = ChipTime(
        0, 100, 2 * CHIPS, {}, {GROUP: sum_usage([ended.used, later.used])}, {"pod-0/slice-0": later}
    )
    whole = replace(now, slices={**now.slices, "pod-0/slice-1": ended})
    assert chip_time_between(before, now) == chip_time_between(before, whole)
    assert chip_time_between(replace(before, slices={"pod-0/slice-0": living}), now) == chip_time_between(
        before, now
    )


def test_time_by_place_continues_until_something_changes() -> None:
    assert integral({"drained": 5, "idle": 0}, {"drained": 2, "idle": 3}, 10) == {"drained": 25, "idle": 30}


def test_work_done_before_a_span_does_not_count() -> None:
    """60 µs of work before, 10 within; then the checkpoint keeps all 70."""
    progress = started()
    span = chip_time_between(chip_time(progress, 80), chip_time(progress, 100))
    assert span.chip_us == dict.fromkeys(UsageByCategory().by_category(), 0) | {
        "productive": 10 * CHIPS,
        "checkpointing": 9 * CHIPS,
        "uncommitted": 1 * CHIPS,
    }


def test_work_lost_from_before_a_span_does_not_count_either() -> None:
    progress = started()
    before, now = chip_time(progress, 80), chip_time(struck(progress, 85), 90)
    assert chip_time_between(before, now).used[GROUP] == UsageByCategory(lost=5 * CHIPS, recovering=5 * CHIPS)


@given(st.integers(0, 2_000), st.integers(0, 2_000), st.integers(0, 2_000), st.booleans())
def test_a_span_counts_its_own_time_only(first: int, second: int, fault_us: int, is_struck: bool) -> None:
    """Whatever the job does, every category lies within the span, none is negative, and they sum to its
    time."""
    begin_us, end_us = sorted((first, second))
    progress = started()
    end = struck(progress, fault_us) if is_struck and fault_us <= end_us else progress
    begin = end if end.since_us <= begin_us else progress
    span = chip_time_between(chip_time(begin, begin_us), chip_time(end, end_us))
    assert sum(span.chip_us.values()) == span.total_chip_us == CHIPS * (end_us - begin_us)
    assert min(span.chip_us.values()) >= 0
    assert span.slices["pod-0/slice-0"].used == span.used[GROUP]


def test_utilisation_is_of_the_chips_that_can_be_used() -> None:
    free = {"unhealthy": 100, "drained": 100, "idle_wanted": 200}
    used: dict[Group, UsageByCategory] = {
        GROUP: UsageByCategory(productive=500),
        ("hobby", "filler"): UsageByCategory(lost=100),
    }
    found = ChipTime(0, 10, 100, free, used)
    assert sum(found.chip_us.values()) == found.total_chip_us
    assert found.utilisation() == pytest.approx(600 / 800)
    assert found.utilisation("filler") == pytest.approx(100 / 800)
    assert ChipTime(5, 5, 100, {}, {}).utilisation() == 0.0


def test_the_api_names_every_place() -> None:
    free = scheduler.commission("pod-0", SuperpodConfig(), 0).chip_us.keys() - {ALLOCATED}
    assert [*CHIP_TIME_CATEGORIES][: len(LEDGER)] == [*LEDGER]
    assert {*CHIP_TIME_CATEGORIES} - {*LEDGER} == free
