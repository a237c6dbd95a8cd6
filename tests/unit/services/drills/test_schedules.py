"""Schedules of drills: when runs are due, their windows and seeds, and the runs that are skipped."""

from typing import Any

import pytest

from schemas.drill_plan import DailyWindow, DrillPlan, PlannedSchedule
from schemas.messages.drill_requests import (
    ReleaseDrills,
    RunDrill,
    ScheduleDrill,
    StopAllDrills,
    UnscheduleDrill,
)
from services.drills.documents import document
from services.drills.occurrences import next_due_us, placed_us, window_end_us, window_text
from shared.basics.units import US_PER_DAY, US_PER_HOUR, US_PER_MIN
from tests.support.drill_rig import MINUTE, DrillRig, all_is_well, faults, inject, plan, wait

DAY, HOUR = US_PER_DAY, US_PER_HOUR
NINE_TO_FOUR = DailyWindow(from_us=9 * HOUR, to_us=16 * HOUR)
NIGHT = DailyWindow(from_us=22 * HOUR, to_us=4 * HOUR)


def _slow_placed(window: DailyWindow, time_us: int, lease_us: int) -> int:
    """The first minute from `time_us` on that leaves the lease, by search."""
    for minute in range(3 * 24 * 60):
        at_us = time_us + minute * US_PER_MIN
        into_us = (at_us % DAY - window.from_us) % DAY
        if into_us == 0 or into_us + lease_us <= window.length_us:
            return at_us
    raise AssertionError


@pytest.mark.parametrize("window", [NINE_TO_FOUR, NIGHT, DailyWindow(from_us=0, to_us=0)])
@pytest.mark.parametrize("lease_h", [1, 5, 30])
def test_a_run_starts_where_its_window_leaves_room_for_its_lease(window: DailyWindow, lease_h: int) -> None:
    for minute in range(0, 2 * 24 * 60, 15):
        time_us = 3 * DAY + minute * US_PER_MIN
        found = placed_us(window, time_us, lease_h * HOUR)
        assert found == _slow_placed(window, time_us, lease_h * HOUR)
        assert window_end_us(window, found) - found >= min(lease_h * HOUR, window.length_us)


@pytest.mark.parametrize("every_h", [1, 5, 24, 168])
@pytest.mark.parametrize("window", [None, NINE_TO_FOUR, NIGHT])
def test_due_times_are_the_moved_multiples_of_the_interval(every_h: int, window: DailyWindow | None) -> None:
    timing = PlannedSchedule(every_us=every_h * HOUR, window=window)
    first_us, lease_us = 2 * DAY + 7 * HOUR, 2 * HOUR
    listed = sorted({placed_us(window, first_us + k * timing.every_us, lease_us) for k in range(60)})
    after_us = 0
    found: list[int] = []
    while len(found) < len(listed) - 1:
        after_us = next_due_us(timing, first_us, lease_us, after_us)
        found.append(after_us)
    assert found == listed[:-1]


def test_a_window_is_written_as_in_documents() -> None:
    assert window_text(NIGHT) == "22:00-04:00"


def scheduled(every_us: int = DAY, window: DailyWindow | None = None, **fields: Any) -> DrillPlan:
    timing = PlannedSchedule(every_us=every_us, window=window)
    return plan(inject(lasts_us=5 * MINUTE), wait(10), schedule=timing, **fields)


def schedule_row(rig: DrillRig, name: str = "pod-0/schedule-0") -> Any:
    return document(rig.state(), ("schedules", name))


def test_each_occurrence_runs_with_a_seed_of_its_own() -> None:
    rig = DrillRig()
    log = rig.run(4 * DAY, (MINUTE, ScheduleDrill(plan=scheduled(), seed=9, asked_by="alice")))
    begun = [m for m in log if m.type == "DrillBegun"]
    assert [m.at_us for m in begun] == [MINUTE + day * DAY for day in (1, 2, 3)]
    assert {m.body.schedule for m in begun} == {"pod-0/schedule-0"}
    seeds = [m.body.seed for m in begun]
    assert len(set(seeds)) == 3
    again = DrillRig()
    later = again.run(4 * DAY, (MINUTE, ScheduleDrill(plan=scheduled(), seed=9, asked_by="alice")))
    assert [m.body.seed for m in later if m.type == "DrillBegun"] == seeds
    row = schedule_row(rig)
    assert (row.runs, row.skipped, row.drill, row.state) == (3, 0, None, "waiting")
    assert (row.last_outcome, row.last_drill, row.last_deviated) == ("completed", "pod-0/drill-2", False)
    assert (row.next_us, row.requested_by) == (MINUTE + 4 * DAY, "alice")
    run = rig.document("pod-0/drill-1")
    assert (run.schedule, run.requested_by) == ("pod-0/schedule-0", "alice")


def test_a_run_and_its_lease_stay_in_the_window() -> None:
    rig = DrillRig()
    window = DailyWindow(from_us=9 * HOUR, to_us=10 * HOUR)
    log = rig.run(
        3 * DAY, (MINUTE, ScheduleDrill(plan=scheduled(window=window), first_us=DAY + 11 * HOUR + MINUTE))
    )
    (begun,) = [m for m in log if m.type == "DrillBegun"]
    assert begun.at_us == 2 * DAY + 9 * HOUR
    assert begun.body.lease_ends_us == 2 * DAY + 10 * HOUR


def test_the_window_ends_a_run_that_still_goes_on() -> None:
    rig = DrillRig()
    window = DailyWindow(from_us=9 * HOUR, to_us=10 * HOUR)
    timing = PlannedSchedule(every_us=DAY, window=window)
    rig.run(DAY, (MINUTE, ScheduleDrill(plan=plan(inject(), wait(100), schedule=timing), first_us=HOUR)))
    run = rig.document()
    assert (run.began_us, run.stopped, run.status) == (9 * HOUR, "lease", "stopped")
    assert not faults(rig.site).active
    assert [one.expires_us for one in faults(rig.site).ended.values()] == [10 * HOUR]


@pytest.mark.parametrize("fabric", ["pod-0", "pod-1"])
def test_a_run_that_would_overlap_a_drill_of_the_site_is_skipped_once(fabric: str) -> None:
    rig = DrillRig(fabrics=("pod-0", "pod-1"))
    rig.run(MINUTE, (MINUTE, ScheduleDrill(plan=scheduled())))
    manual = plan(inject(target=f"{fabric}/ocs-1", lasts_us=MINUTE), wait(20))
    log = rig.run(2 * DAY, (DAY - 5 * MINUTE, RunDrill(plan=manual)), fabric=fabric)
    (skipped,) = [m for m in log if m.type == "DrillSkipped"]
    assert skipped.at_us == DAY + MINUTE
    assert (skipped.body.reason, skipped.body.occurrence) == (f"{fabric}/drill-0 runs", 0)
    assert skipped.body.next_us == 2 * DAY + MINUTE
    assert not [m for m in log if m.type == "DrillDue"]
    row = schedule_row(rig)
    assert (row.last_outcome, row.last_reason, row.skipped) == ("skipped", f"{fabric}/drill-0 runs", 1)


def test_of_two_schedules_that_are_due_at_once_one_runs() -> None:
    rig = DrillRig()
    rig.run(
        MINUTE,
        (MINUTE, ScheduleDrill(plan=scheduled(), first_us=DAY)),
        (MINUTE, ScheduleDrill(plan=scheduled(document_sha256="1" * 64), first_us=DAY)),
    )
    log = rig.run(DAY + HOUR)
    assert [m.body.schedule for m in log if m.type == "DrillDue"] == ["pod-0/schedule-0"]
    (skipped,) = [m.body for m in log if m.type == "DrillSkipped"]
    assert skipped.reason == "a run of pod-0/schedule-0 begins at the same time"


def test_the_release_of_a_hold_does_not_make_up_for_skipped_runs() -> None:
    rig = DrillRig()
    log = rig.run(
        5 * DAY,
        (MINUTE, ScheduleDrill(plan=scheduled())),
        (2 * MINUTE, StopAllDrills(fabric="pod-0", reason="incident", hold=True)),
        (3 * DAY, ReleaseDrills(fabric="pod-0", reason="over")),
    )
    assert [(m.type, m.at_us) for m in log if m.type in ("DrillSkipped", "DrillDue")] == [
        ("DrillSkipped", DAY + MINUTE),
        ("DrillSkipped", 2 * DAY + MINUTE),
        ("DrillDue", 3 * DAY + MINUTE),
        ("DrillDue", 4 * DAY + MINUTE),
    ]
    reasons = {m.body.reason for m in log if m.type == "DrillSkipped"}
    assert reasons == {"drills have been held since 0d00:02:00 (incident)"}


def test_the_kill_switch_ends_a_run_and_keeps_the_schedule() -> None:
    rig = DrillRig()
    rig.run(
        DAY + HOUR,
        (MINUTE, ScheduleDrill(plan=scheduled())),
        (DAY + 5 * MINUTE, StopAllDrills(fabric="pod-0", reason="incident")),
    )
    row = schedule_row(rig)
    assert (row.last_outcome, row.last_reason, row.next_us) == ("stopped", "incident", 2 * DAY + MINUTE)


def test_unschedule_ends_the_schedule_and_no_run() -> None:
    rig = DrillRig()
    log = rig.run(
        3 * DAY,
        (MINUTE, ScheduleDrill(plan=scheduled())),
        (DAY + 5 * MINUTE, UnscheduleDrill(schedule="pod-0/schedule-0")),
        (DAY + 6 * MINUTE, UnscheduleDrill(schedule="pod-0/schedule-0")),
    )
    assert [m.type for m in log if m.type in ("DrillUnscheduled", "DrillRefused")] == [
        "DrillUnscheduled",
        "DrillRefused",
    ]
    assert rig.document().status == "completed"
    assert rig.state().begun == 1
    assert schedule_row(rig) is None


@pytest.mark.parametrize(
    ("request_body", "reason"),
    [
        (ScheduleDrill(plan=plan(inject())), "plan: has no schedule; must have an interval"),
        (
            ScheduleDrill(plan=scheduled(), first_us=1),
            "first_us: 0d00:00:00 is past; must be after 0d00:02:00",
        ),
        (
            ScheduleDrill(plan=scheduled(window=DailyWindow(from_us=0, to_us=2 * MINUTE))),
            "gate_us: 2m must be shorter than the window 00:00-00:02",
        ),
        (ScheduleDrill(plan=scheduled()), "the document is scheduled already: pod-0/schedule-0"),
    ],
)
def test_schedules_that_cannot_be_kept_are_refused(request_body: ScheduleDrill, reason: str) -> None:
    rig = DrillRig(all_is_well)
    first = scheduled(document_sha256="0" * 64 if "already" in reason else "2" * 64)
    log = rig.run(2 * MINUTE, (MINUTE, ScheduleDrill(plan=first)), (2 * MINUTE, request_body))
    assert [m.body.reason for m in log if m.type == "DrillRefused"] == [reason]
