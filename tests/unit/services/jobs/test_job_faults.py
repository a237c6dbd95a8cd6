"""Hosts and chips that die under a job, as the job notices them."""

import pytest

from schemas.config.cubes import JobsConfig
from schemas.messages.failures import FaultBegan, FaultEnded
from schemas.messages.jobs import JobCheckpointed, JobFailed
from schemas.messages.scheduler import CubeSwapped, SliceAdmitted, SliceRestored, SliceStarted
from services.jobs.job_faults import used_chips
from shared.basics.units import US_PER_HOUR, US_PER_S
from tests.unit.services.jobs.test_jobs import NAME, NOTICED, RECOVERING, TERMS, Driver, requested

HANG = JobsConfig(hang_share=1.0, hang_s=60)
ERROR = JobsConfig(hang_share=0.0, error_s=5)
LONG = TERMS.model_copy(update={"work_us": 10**12, "checkpoint_every_us": 10**9})
HOST = "pod-0/cube-1/host-3"


def began(target: str = HOST, kind: str = "host", fault: int = 1) -> FaultBegan:
    return FaultBegan.model_validate(
        {
            "fault": f"pod-0/fault-{fault}",
            "kind": kind,
            "target": target,
            "injected": True,
            "severity": None,
            "expires_us": None,
        }
    )


def ended(target: str = HOST, kind: str = "host", fault: int = 1) -> FaultEnded:
    return FaultEnded.model_validate(
        {"fault": f"pod-0/fault-{fault}", "kind": kind, "target": target, "how": "repaired"}
    )


def test_a_job_on_a_dead_host_hangs_and_reports_it_after_its_timeout() -> None:
    driver = Driver(HANG)
    driver.start(LONG)
    assert driver.feed(began(), 1_027) == []
    cause = f"failures@pod-0/{driver.seq}"
    assert driver.phase() == "hung"
    assert driver.held.due_us == 1_027 + 60 * US_PER_S
    (message,) = driver.tick()
    assert (message.body, message.cause) == (JobFailed(slice=NAME, part=HOST, seen_as="hang"), cause)
    assert driver.phase() == "standing"
    assert driver.held.due_us == US_PER_HOUR
    assert driver.used(1_027 + 60 * US_PER_S + 5) == {
        "startup": 17,
        "lost": 1_000 + 60 * US_PER_S,
        "recovering": 5,
    }


def test_an_error_is_noticed_within_seconds() -> None:
    driver = Driver(ERROR)
    driver.start(LONG)
    driver.feed(began("pod-0/cube-0/host-15/chip-3", "chip"), 1_027)
    due_us = driver.held.due_us
    assert due_us is not None
    assert 1_027 < due_us < 1_027 + 60 * US_PER_S
    (message,) = driver.tick()
    assert message.body == JobFailed(slice=NAME, part="pod-0/cube-0/host-15/chip-3", seen_as="error")


def test_a_job_does_not_report_a_fault_that_its_slice_already_reported() -> None:
    driver = Driver(HANG)
    driver.start(LONG)
    driver.feed(began(), 1_027)
    driver.feed(RECOVERING, 2_027)
    assert (driver.phase(), driver.held.due_us) == ("standing", US_PER_HOUR)
    assert driver.used(3_027)["lost"] == 2_000
    driver.feed(CubeSwapped(slice=NAME, left=1, spare=3, corner=None, reason="failed"), 3_027)
    driver.feed(SliceRestored(slice=NAME), 3_027)
    assert driver.phase() == "starting"


def test_a_job_that_continues_on_a_dead_host_hangs_again() -> None:
    driver = Driver(HANG)
    driver.start(LONG)
    driver.feed(began(), 1_027)
    driver.feed(RECOVERING, 2_027)
    driver.feed(SliceRestored(slice=NAME), 3_027)
    assert driver.phase() == "hung"
    driver.feed(ended(), 4_000)
    assert driver.phase() == "hung"
    driver.tick()
    driver.feed(SliceRestored(slice=NAME), 90 * US_PER_S)
    assert driver.phase() == "starting"


def test_a_host_that_died_before_the_start_is_noticed_at_the_start() -> None:
    driver = Driver(HANG)
    driver.feed(requested(LONG), 0)
    driver.admit(10)
    assert driver.feed(began(), 12) == []
    assert driver.phase() == "preparing"
    driver.feed(SliceStarted(slice=NAME), 20)
    assert driver.phase() == "hung"
    assert driver.used(20) == {"startup": 10}


def test_a_hanging_job_leaves_at_once_when_it_is_noticed() -> None:
    driver = Driver(HANG)
    driver.start(LONG)
    driver.feed(began(), 1_027)
    assert [message.body for message in driver.feed(NOTICED, 1_500)] == [JobCheckpointed(slice=NAME)]
    assert driver.phase() == "standing"


@pytest.mark.parametrize("target", ["pod-0/cube-2/host-0", "pod-0/cube-63/host-15"])
def test_a_fault_elsewhere_is_not_noticed(target: str) -> None:
    driver = Driver(HANG)
    driver.start(LONG)
    driver.feed(began(target), 1_027)
    assert driver.phase() == "starting" or driver.phase() == "stepping"
    assert driver.state.jobs[0].symptom is None


@pytest.mark.parametrize(("host", "phase"), [(0, "hung"), (3, "hung"), (4, "starting"), (15, "starting")])
def test_each_mesh_of_a_shared_cube_notices_only_its_own_chips(host: int, phase: str) -> None:
    """2 × 2 × 4 chips at the corner are hosts 0 to 3."""
    driver = Driver(HANG)
    driver.feed(requested(LONG).model_copy(update={"shape": (2, 2, 4)}), 0)
    driver.feed(
        SliceAdmitted(slice=NAME, shape=(2, 2, 4), twisted=False, cubes=(5,), corner=(0, 0, 0), waited_us=0),
        10,
    )
    driver.feed(SliceStarted(slice=NAME), 20)
    driver.feed(began(f"pod-0/cube-5/host-{host}"), 22)
    assert driver.phase() == phase
    assert used_chips((2, 2, 4), (0, 0, 0)) == frozenset(range(16))
