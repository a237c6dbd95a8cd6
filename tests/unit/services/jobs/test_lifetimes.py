"""Ten thousand random lifetimes of jobs: every microsecond is counted once, and no state remains."""

from random import Random

import pytest

from schemas.body import Body
from schemas.messages.jobs import JobTerms
from schemas.messages.scheduler import (
    CubeSwapped,
    SliceCompleted,
    SliceDegraded,
    SliceEvicted,
    SliceNoticed,
    SliceRequeued,
    SliceRestored,
    SliceStarted,
)
from shared.models.jobs.goodput_categories import UsageByCategory
from tests.unit.services.jobs.test_job_faults import began, ended
from tests.unit.services.jobs.test_jobs import NAME, RECOVERING, Driver, requested

LIFETIMES = 10_000
EVENTS: tuple[Body, ...] = (
    SliceStarted(slice=NAME),
    SliceStarted(slice=NAME, speed_ppm=930_001),
    SliceDegraded(slice=NAME, links_down=2, links_degraded=0, speed_ppm=979_333),
    SliceRestored(slice=NAME),
    RECOVERING,
    CubeSwapped(slice=NAME, left=1, spare=1, corner=None, reason="failed"),
    SliceNoticed(slice=NAME, why="preempted", until_us=0),
    began(),
    ended(),
)

ENDS: tuple[Body, ...] = (
    SliceCompleted(slice=NAME, reason="operator"),
    SliceEvicted(slice=NAME, reason="spent"),
)


def live(driver: Driver, draw: Random) -> int:
    """Run one lifetime from its request to its end; return for how long it had cubes."""
    now_us, had_us = driver.state.now_us + draw.randint(0, 50), 0
    terms = JobTerms(
        work_us=draw.randint(1, 400),
        checkpoint_every_us=draw.randint(1, 90),
        write_us=draw.randint(0, 6),
        startup_us=draw.randint(0, 9),
    )
    driver.feed(requested(draw.choice([terms, terms, None])), now_us)
    for _ in range(draw.randint(0, 3)):
        now_us += draw.randint(0, 40)
        driver.admit(now_us)
        admitted_us = now_us
        for _ in range(draw.randint(0, 6)):
            now_us += draw.randint(0, 120)
            driver.run(now_us)
            driver.feed(draw.choice(EVENTS), now_us)
        now_us += draw.randint(0, 120)
        driver.run(now_us)
        driver.feed(SliceRequeued(slice=NAME, reason="preempted"), now_us)
        had_us += now_us - admitted_us
    driver.feed(ended(), now_us)
    how: Body = draw.choice(
        [SliceCompleted(slice=NAME, reason="operator"), SliceEvicted(slice=NAME, reason="")]
    )
    driver.feed(how, now_us)
    return had_us


@pytest.mark.slow("ten thousand jobs")
def test_ten_thousand_lifetimes_leave_no_state() -> None:
    driver, draw = Driver(), Random(12)
    had_us = sum(live(driver, draw) for _ in range(LIFETIMES))
    assert driver.state.jobs == {}
    assert driver.state.broken == {}
    used = sum((owner_usage.used.total for owner_usage in driver.state.usage_by_owner.values()), 0)
    assert used == 128 * had_us
    total = UsageByCategory()
    for owner_usage in driver.state.usage_by_owner.values():
        total = total.plus(**owner_usage.used.by_category())
    assert total.uncommitted == 0
    assert min(total.by_category().values()) == 0 < total.productive
    assert total.lost > 0
    assert total.degraded > 0
