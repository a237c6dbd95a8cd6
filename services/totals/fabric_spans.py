"""What a fabric did between two times: the difference of its totals, which reports and measures read."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from schemas.names import Tier
from services.totals.network_totals import NetworkTotals
from services.totals.pod_totals import PodTotals
from services.totals.slice_log import PodLog
from shared.models.jobs.goodput_accounting import TIERS, UNUSABLE, chip_time_between


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSpan:
    """What a pod did in `span_us`. The models of hardware alone know only the first six fields."""

    kind: str
    span_us: int
    cubes: int
    cube_us: float
    """Healthy cube-time."""
    faults: Mapping[str, float]
    """By kind."""
    repairs: float
    slices: Mapping[str, int] = field(default_factory=dict)
    """Slices that something happened to, by event; `running`, `active` (with cubes, in any state) and
    `queued` are those at the end."""
    utilisation: float = 0.0
    """Chip-time that slices had, as a share of `usable_chip_us`."""
    utilisation_by_tier: Mapping[Tier, float] = field(default_factory=dict)
    total_chip_us: int = 0
    chip_us: Mapping[str, int] = field(default_factory=dict)
    """Chip-time by use."""
    links: Mapping[str, float | None] = field(default_factory=dict)
    """Links at the end, if they were read."""
    cross_connects: int | None = None
    """Circuits that OCSes made; None without OCSes."""
    log: PodLog = field(default_factory=PodLog)

    @property
    def usable_chip_us(self) -> float:
        """Chip-time that was healthy and not drained."""
        return float(self.total_chip_us) - sum(
            [float(self.chip_us.get(category, 0)) for category in UNUSABLE]
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSpan:
    """What a network did between two times. Shares are of the whole demand meanwhile."""

    kind: str
    served: float
    use: float
    """Utilisation of the fullest trunk, averaged over the time."""
    overfull: float
    """Share of the time in which a trunk was overfull."""
    direct: float
    mean_path: float
    """Hops."""
    weights_solved: int
    rewirings: Mapping[str, int]
    """By outcome."""
    plans_not_worth_it: int
    cross_connects: int
    faults: Mapping[str, int]
    repairs: int


FabricSpan = PodSpan | NetworkSpan
FabricTotals = PodTotals | NetworkTotals


def fabric_span(
    kind: str, end: FabricTotals, since: FabricTotals | None = None, log: PodLog | None = None
) -> FabricSpan:
    """What a fabric did from `since`, or from its commissioning, up to `end`."""
    if isinstance(end, NetworkTotals):
        return network_span(kind, end, since if isinstance(since, NetworkTotals) else None)
    return pod_span(kind, end, since if isinstance(since, PodTotals) else None, log)


def pod_span(kind: str, end: PodTotals, since: PodTotals | None = None, log: PodLog | None = None) -> PodSpan:
    """What a pod did from `since`, or from its commissioning, up to `end`."""
    since = since or _zero_totals(end)
    chip_time = chip_time_between(since.chip_time, end.chip_time)
    counted = {word: count - since.slices[word] for word, count in end.slices.items()}
    return PodSpan(
        kind=kind,
        span_us=chip_time.until_us - chip_time.since_us,
        cubes=end.cubes,
        cube_us=end.cube_us - since.cube_us,
        faults={name: count - since.faults[name] for name, count in end.faults.items()},
        repairs=end.repairs - since.repairs,
        slices=counted | {"running": end.running, "active": end.active, "queued": end.queued},
        utilisation=chip_time.utilisation(),
        utilisation_by_tier={tier: chip_time.utilisation(tier) for tier in TIERS},
        total_chip_us=chip_time.total_chip_us,
        chip_us=chip_time.chip_us,
        links=end.links,
        cross_connects=None
        if end.cross_connects is None
        else end.cross_connects - (since.cross_connects or 0),
        log=log or PodLog(),
    )


def _zero_totals(end: PodTotals) -> PodTotals:
    """The counters of the same pod at its commissioning: all zero."""
    chip_time = end.chip_time
    return replace(
        end,
        at_us=chip_time.since_us,
        slices=dict.fromkeys(end.slices, 0),
        chip_time=chip_time.at_start,
        cube_us=0,
        faults=dict.fromkeys(end.faults, 0),
        repairs=0,
        cross_connects=0,
    )


def network_span(kind: str, end: NetworkTotals, since: NetworkTotals | None = None) -> NetworkSpan:
    """What a network did from `since`, or from its commissioning, up to `end`."""
    now, was = end.traffic, since.traffic if since else None
    before = since or replace(
        end,
        weights=0,
        rewirings=dict.fromkeys(end.rewirings, 0),
        kept=0,
        circuits_made=0,
        faults=dict.fromkeys(end.faults, 0),
        repairs=0,
    )

    def increase(name: str) -> int:
        return int(getattr(now, name)) - (int(getattr(was, name)) if was else 0)

    requested_mbit, known_us = increase("demanded_mbit"), increase("known_us")
    return NetworkSpan(
        kind=kind,
        served=increase("served_mbit") / requested_mbit if requested_mbit else 1.0,
        use=increase("use_ppm_s") / known_us if known_us else 0.0,
        overfull=increase("overfull_us") / known_us if known_us else 0.0,
        direct=increase("direct_mbit") / requested_mbit if requested_mbit else 1.0,
        mean_path=increase("hops_mbit") / requested_mbit if requested_mbit else 1.0,
        weights_solved=end.weights - before.weights,
        rewirings={word: n - before.rewirings[word] for word, n in end.rewirings.items()},
        plans_not_worth_it=end.kept - before.kept,
        cross_connects=end.circuits_made - before.circuits_made,
        faults={word: n - before.faults[word] for word, n in end.faults.items()},
        repairs=end.repairs - before.repairs,
    )
