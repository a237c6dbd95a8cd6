"""How long things take that others do, as far as the scheduler knows."""

from dataclasses import dataclass

from schemas.config import AnyPodConfig, PodOcsConfig, SuperpodConfig
from schemas.config_repairs import RepairsConfig
from shared.basics.units import US_PER_HOUR, US_PER_S, us


@dataclass(frozen=True, slots=True)
class Spans:
    """How long things take that others do, as far as the scheduler knows: from one heartbeat of a host to the
    next, and repairs on average; `ocs` says how long circuits take (`switching_us`), None where there are
    none."""

    heartbeat_us: int
    ocs: PodOcsConfig | None
    host_repair_us: int
    link_repair_us: int
    ocs_repair_us: int


def spans_of(config: AnyPodConfig) -> Spans:
    """Where there are no OCSes, nobody waits for them."""
    repairs = config.repairs
    return Spans(
        heartbeat_us=config.cubes.heartbeat_s * US_PER_S,
        ocs=config.ocs if isinstance(config, SuperpodConfig) else None,
        host_repair_us=us(repairs.host_repair_h, US_PER_HOUR),
        link_repair_us=us(repairs.link_repair_h, US_PER_HOUR),
        ocs_repair_us=us(repairs.ocs_repair_h, US_PER_HOUR) if isinstance(repairs, RepairsConfig) else 0,
    )
