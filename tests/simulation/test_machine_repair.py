"""The lab's faults and repairs against closed forms: machine repair and alternating renewal."""

import math

import pytest

from ops.sites.configuration import superpod_config
from schemas.envelope import Envelope
from schemas.messages.failures import FaultBegan, FaultEnded
from schemas.registry import decode
from shared.basics.units import US_PER_DAY
from shared.models.availability import AlternatingRenewal, machine_repair
from shared.models.superpod.wiring import HOSTS_PER_CUBE
from tests.support.pods import pod_lab

CUBES = 8
HOSTS = CUBES * HOSTS_PER_CUBE
DAYS = 4_000
FAILURES_PER_DAY = 0.01
AS_EXPONENTIAL = math.sqrt(math.log(2.0))
"""The sigma at which a log-normal time varies as much as an exponential one."""
HARDWARE = (
    f"pod.cubes={CUBES}",
    "workload.enabled=false",
    "transceivers.telemetry_interval_s=0",
    f"failures.host_per_day={FAILURES_PER_DAY}",
    "failures.link_per_day=0",
    "failures.optics_per_day=0",
    "failures.ocs_per_day=0",
)


def faults(*pairs: str, seed: int = 3) -> list[Envelope]:
    """Return the start and end messages of faults in a pod where only hosts fail."""
    kept: list[Envelope] = []

    def keep(lines: bytes) -> None:
        kept.extend(decode(line) for line in lines.splitlines() if b'"type":"Fault' in line)

    lab = pod_lab(superpod_config([*HARDWARE, *pairs], seed=seed), sink=keep)
    lab.run(DAYS * US_PER_DAY)
    return kept


def mean_down(messages: list[Envelope]) -> float:
    """Time average of the number of active faults over the whole run."""
    area_us = 0
    for message in messages:
        left_us = DAYS * US_PER_DAY - message.at_us
        if isinstance(message.body, FaultBegan):
            area_us += left_us
        elif isinstance(message.body, FaultEnded):
            area_us -= left_us
    return area_us / (DAYS * US_PER_DAY)


@pytest.mark.slow("hundreds of days for an interval of some percent")
@pytest.mark.parametrize(("crews", "within"), [(1, 0.15), (2, 0.08), (HOSTS, 0.03)])
def test_the_lab_has_as_many_hosts_down_as_the_birth_death_chain(crews: int, within: float) -> None:
    """Few crews, where the queue depends on the variance of repair times, and a crew for every host."""
    repair_h = 12.0 if crews == 1 else 24.0
    messages = faults(
        f"repairs.technicians={crews}",
        f"repairs.host_repair_h={repair_h}",
        f"repairs.repair_sigma={AS_EXPONENTIAL}",
    )
    expected = machine_repair(HOSTS, crews, FAILURES_PER_DAY, 24.0 / repair_h)
    assert mean_down(messages) == pytest.approx(expected.mean_down, rel=within)
    began = sum(isinstance(message.body, FaultBegan) for message in messages)
    assert began / DAYS == pytest.approx(expected.failures_per_time, rel=0.03)


@pytest.mark.slow("hundreds of days for an interval of some percent")
def test_with_a_crew_for_every_host_only_the_mean_repair_time_counts() -> None:
    """Insensitivity: the variance of repair times does not change the mean number of hosts down."""
    process = AlternatingRenewal(1.0 / FAILURES_PER_DAY, 1.0)
    # This is the variance of the mean over a span, in steady state with exponential times.
    share, span = process.availability, process.relaxation * DAYS
    variance = 2.0 * share * (1.0 - share) * (span - 1.0 + math.exp(-span)) / span**2
    deviation = math.sqrt(variance / HOSTS)
    for sigma in (0.05, 1.0):
        down = mean_down(
            faults("repairs.technicians=1000", "repairs.host_repair_h=24", f"repairs.repair_sigma={sigma}")
        )
        assert abs(1.0 - down / HOSTS - process.availability) < 5 * deviation
