"""How long things take that others do, as far as the scheduler knows."""

from dataclasses import dataclass, replace
from functools import lru_cache

from schemas.config.parameter import ParameterValue
from schemas.config.pods import AnyPodConfig, PodOcsConfig, SuperpodConfig
from schemas.config.repairs import RepairsConfig
from schemas.messages.failures import ParametersChanged
from shared.basics.units import US_PER_HOUR, US_PER_S, to_whole_us
from shared.models.ocs_technologies import ocs_technology, switching_speed
from shared.models.superpod.wiring import DIMENSIONS, FACE_LINKS, STRANDS


@dataclass(frozen=True, slots=True)
class ExpectedDurations:
    """How long things take that others do, as far as the scheduler knows: from one heartbeat of a host to the
    next, and repairs on average; `ocs` says how long circuits take (`switching_us`), None where there are
    none."""

    heartbeat_us: int
    ocs: PodOcsConfig | None
    host_repair_us: int
    link_repair_us: int
    ocs_repair_us: int


def expected_durations_of(config: AnyPodConfig) -> ExpectedDurations:
    """Where there are no OCSes, nobody waits for them."""
    repairs = config.repairs
    return ExpectedDurations(
        heartbeat_us=config.cubes.heartbeat_s * US_PER_S,
        ocs=config.ocs if isinstance(config, SuperpodConfig) else None,
        host_repair_us=to_whole_us(repairs.host_repair_h, US_PER_HOUR),
        link_repair_us=to_whole_us(repairs.link_repair_h, US_PER_HOUR),
        ocs_repair_us=to_whole_us(repairs.ocs_repair_h, US_PER_HOUR)
        if isinstance(repairs, RepairsConfig)
        else 0,
    )


def updated_durations(expected_durations: ExpectedDurations, body: ParametersChanged) -> ExpectedDurations:
    """How long they take after parameters were changed."""
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


# How long the scheduler thinks that circuits take.


@lru_cache(maxsize=1_024)
def expected_switching_us(ocs: PodOcsConfig | None, joins: int) -> int:
    """From a command to its circuits, on average, with so many joins in each dimension: a slice has as many
    as cubes. Where there are no OCSes, nobody waits for them."""
    if ocs is None:
        return 0
    on_one = joins * STRANDS
    return switching_speed(ocs_technology(ocs.technology), ocs).expected_us(
        on_one * DIMENSIONS * FACE_LINKS, on_one
    )
