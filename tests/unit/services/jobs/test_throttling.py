"""Jobs on overheated cubes, on broken cables, and on cubes without power."""

import pytest

from schemas.messages.jobs import JobFailed
from schemas.messages.scheduler import (
    FULL_SPEED,
    CubeSwapped,
    SliceAdmitted,
    SliceDegraded,
    SliceRestored,
    SliceStarted,
)
from services.jobs.job_faults import used_chips
from shared.basics.units import US_PER_S
from shared.models.assumptions import assumed
from shared.models.superpod.cables import cables
from tests.support.requested import slice_requested
from tests.unit.services.jobs.test_job_faults import HANG, LONG, began, ended
from tests.unit.services.jobs.test_jobs import NAME, RECOVERING, Driver

THROTTLED = round(assumed("throttled_speed") * FULL_SPEED)
CUBE = "pod-0/cube-1"


def speed(driver: Driver) -> int:
    return driver.state.jobs[0].progress.speed_ppm


def test_a_slice_runs_at_the_pace_of_its_slowest_cube_until_that_is_cooled() -> None:
    driver = Driver()
    driver.start(LONG)
    driver.feed(began(CUBE, "cooling", 1), 1_027)
    driver.feed(began("pod-0/cube-0", "cooling", 2), 2_027)
    driver.feed(began("pod-0/cube-3", "cooling", 3), 2_028)
    assert speed(driver) == THROTTLED, "once, however many of its cubes are hot"
    driver.feed(ended(CUBE, "cooling", 1), 3_027)
    assert speed(driver) == THROTTLED
    driver.feed(ended("pod-0/cube-0", "cooling", 2), 5_027)
    assert speed(driver) == FULL_SPEED
    lost_us = 4_000 - 4_000 * THROTTLED // FULL_SPEED
    assert driver.used(9_027)["degraded"] == lost_us


def test_failed_links_and_heat_slow_a_slice_together() -> None:
    driver = Driver()
    driver.start(LONG)
    driver.feed(began(CUBE, "cooling"), 1_027)
    driver.feed(SliceDegraded(slice=NAME, speed_ppm=800_000, links_down=2, links_degraded=0), 2_027)
    assert speed(driver) == 800_000 * THROTTLED // FULL_SPEED
    driver.feed(ended(CUBE, "cooling"), 3_027)
    assert speed(driver) == 800_000


def test_a_slice_that_leaves_the_hot_cube_runs_at_full_speed() -> None:
    driver = Driver()
    driver.start(LONG)
    driver.feed(began(CUBE, "cooling"), 1_027)
    driver.feed(RECOVERING, 2_027)
    driver.feed(CubeSwapped(slice=NAME, left=1, spare=3, corner=None, reason="failed"), 3_027)
    driver.feed(SliceRestored(slice=NAME), 3_028)
    assert speed(driver) == FULL_SPEED


def test_a_job_hangs_on_a_broken_cable_and_on_a_cube_without_power() -> None:
    for kind, target in (("cable", f"{CUBE}/cable-77"), ("cube-power", CUBE)):
        driver = Driver(HANG)
        driver.start(LONG)
        driver.feed(began(target, kind), 1_027)
        assert driver.phase() == "hung"
        assert driver.held.due_us == 1_027 + 60 * US_PER_S
        (message,) = driver.tick()
        assert message.body == JobFailed(slice=NAME, part=target, seen_as="hang")


@pytest.mark.parametrize("is_inside", [True, False])
def test_a_slice_inside_a_cube_is_hit_only_by_cables_between_its_own_chips(is_inside: bool) -> None:
    driver = Driver(HANG)
    driver.feed(slice_requested(NAME, shape=(2, 4, 4), job=LONG), 0)
    corner = (0, 0, 0)
    placed = SliceAdmitted(
        slice=NAME, shape=(2, 4, 4), twisted=False, cubes=(1,), corner=corner, waited_us=10
    )
    driver.feed(placed, 10)
    driver.feed(SliceStarted(slice=NAME), 20)
    used = used_chips((2, 4, 4), corner)
    chosen = [n for n, chips in enumerate(cables()) if used.issuperset(chips) == is_inside]
    driver.feed(began(f"{CUBE}/cable-{chosen[0]}", "cable"), 1_027)
    assert (driver.phase() == "hung") == is_inside
