"""The hourly reports of the use of slices."""

from schemas.messages.jobs import UsageReported
from shared.basics.units import US_PER_HOUR
from tests.unit.services.jobs.test_jobs import CHIPS, NAME, Driver


def reports(driver: Driver, hours: int) -> list[UsageReported]:
    bodies = [message.body for _ in range(hours) for message in driver.tick()]
    return [body for body in bodies if isinstance(body, UsageReported)]


def test_tiers_are_reported_every_hour_and_all_once_a_day() -> None:
    driver = Driver()
    driver.start(None)
    reported = reports(driver, 24)
    assert driver.state.now_us == 24 * US_PER_HOUR
    assert len(reported) == 24
    for hour, report in enumerate(reported, 1):
        assert [use.tier for use in report.tiers] == ["production", "research", "filler"]
        productive_us = CHIPS * (hour * US_PER_HOUR - 20)
        assert report.tiers[1].chip_us == (("productive", productive_us), ("startup", CHIPS * 10))
        assert report.tiers[2].chip_us == ()
        assert (report.owners is None) == (report.slices is None) == (hour < 24)
    last = reported[-1]
    assert last.owners is not None
    assert last.slices is not None
    assert [(use.owner, use.tier, use.chip_us) for use in last.owners] == [
        ("team", "research", last.tiers[1].chip_us)
    ]
    assert [(use.number, use.owner, use.chip_us) for use in last.slices] == [
        (int(NAME[-1]), "team", last.tiers[1].chip_us)
    ]


def test_a_slice_that_has_had_no_cubes_is_left_out() -> None:
    driver = Driver()
    (last,) = reports(driver, 24)[-1:]
    assert (last.owners, last.slices) == ((), ())
