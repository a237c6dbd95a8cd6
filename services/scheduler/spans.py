"""How long things take that others do, as far as the scheduler knows."""

from dataclasses import dataclass, replace

from schemas.config import AnyPodConfig, PodOcsConfig, SuperpodConfig
from schemas.config_repairs import RepairsConfig
from schemas.failures import ParametersChanged
from schemas.parameter import ParameterValue
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


def spans_after(spans: Spans, body: ParametersChanged) -> Spans:
    """How long they take after parameters were changed."""
    repairs, cubes = body.of("repairs"), body.of("cubes")
    heartbeat_s = cubes.get("heartbeat_s")
    return replace(
        spans,
        heartbeat_us=heartbeat_s * US_PER_S if isinstance(heartbeat_s, int) else spans.heartbeat_us,
        host_repair_us=_repair_us(repairs.get("host_repair_h"), spans.host_repair_us),
        link_repair_us=_repair_us(repairs.get("link_repair_h"), spans.link_repair_us),
        ocs_repair_us=_repair_us(repairs.get("ocs_repair_h"), spans.ocs_repair_us),
    )


def _repair_us(hours: ParameterValue, before_us: int) -> int:
    return us(hours, US_PER_HOUR) if isinstance(hours, float) else before_us
