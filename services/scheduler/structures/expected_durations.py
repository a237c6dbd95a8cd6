"""Expected durations of work done by other services, as far as the scheduler knows."""

from dataclasses import dataclass, replace
from functools import lru_cache

from schemas.config.parameter import ParameterValue
from schemas.config.pods import AnyPodConfig, PodOcsConfig
from schemas.config.repairs import RepairsConfig
from schemas.messages.failures import ParametersChanged
from shared.basics.units import US_PER_HOUR, US_PER_S, to_whole_us
from shared.models.ocs_technologies import ocs_technology, switching_speed
from shared.models.superpod.wiring import DIMENSIONS, FACE_LINKS, STRANDS


@dataclass(frozen=True, slots=True)
class ExpectedDurations:
    """Expected durations of work done by other services."""

    heartbeat_us: int
    """From one heartbeat of a host to the next."""
    ocs: PodOcsConfig | None
    """The OCS configuration, from which the switching time follows (`expected_switching_us`); None if the pod
    has no OCSes."""
    host_repair_us: int
    """Mean time to repair a host."""
    link_repair_us: int
    """Mean time to repair a link."""
    ocs_repair_us: int
    """Mean time to repair an OCS; 0 if the pod has none."""


def expected_durations_of(config: AnyPodConfig) -> ExpectedDurations:
    """The expected durations from a configuration."""
    repairs = config.repairs
    return ExpectedDurations(
        heartbeat_us=config.cubes.heartbeat_s * US_PER_S,
        ocs=config.pod_ocs,
        host_repair_us=to_whole_us(repairs.host_repair_h, US_PER_HOUR),
        link_repair_us=to_whole_us(repairs.link_repair_h, US_PER_HOUR),
        ocs_repair_us=to_whole_us(repairs.ocs_repair_h, US_PER_HOUR)
        if isinstance(repairs, RepairsConfig)
        else 0,
    )


def updated_durations(expected_durations: ExpectedDurations, body: ParametersChanged) -> ExpectedDurations:
    """The expected durations after a change of parameters."""
    repairs, cubes = body.of("repairs"), body.of("cubes")
    heartbeat_s = cubes.get("heartbeat_s")
    return replace(
        expected_durations,
        heartbeat_us=heartbeat_s * US_PER_S
        if isinstance(heartbeat_s, int)
        else expected_durations.heartbeat_us,
        host_repair_us=_repair_us(repairs.get("host_repair_h"), expected_durations.host_repair_us),
        link_repair_us=_repair_us(repairs.get("link_repair_h"), expected_durations.link_repair_us),
        ocs_repair_us=_repair_us(repairs.get("ocs_repair_h"), expected_durations.ocs_repair_us),
    )


def _repair_us(hours: ParameterValue, before_us: int) -> int:
    return to_whole_us(hours, US_PER_HOUR) if isinstance(hours, float) else before_us


@lru_cache(maxsize=1_024)
def expected_switching_us(ocs: PodOcsConfig | None, joins: int) -> int:
    """The mean time from a command to its circuits, with this many joins in each dimension (a slice has as
    many as cubes). 0 if the pod has no OCSes."""
    if ocs is None:
        return 0
    circuits_per_ocs = joins * STRANDS
    return switching_speed(ocs_technology(ocs.technology), ocs).expected_us(
        circuits_per_ocs * DIMENSIONS * FACE_LINKS, circuits_per_ocs
    )
