"""State of the faults of one fabric, and of the next fault of each class of parts."""

from dataclasses import dataclass, field, replace
from typing import Literal

from schemas.config.fabric_configs import AnyConfig
from schemas.config.failures import FailureRates
from schemas.config.parameter import ParameterValue
from schemas.config.planned_faults import PlannedFault
from schemas.config.pods import FabricConfig
from schemas.messages.failures import is_domain_failure
from schemas.names import FAULT_KINDS, FaultKind
from services.failures.domain_outages import OUTAGE_DOMAINS, first_outage
from services.failures.hazards import (
    FailureSeeds,
    Hazard,
    RateLevel,
    draw_age_us,
    first_hazard,
    hazard_classes,
    level_on,
    next_hazard,
    rate_variation,
    seeds_of,
)
from shared.basics.units import US_PER_DAY
from shared.engine.state import TRANSIENT, State
from shared.models.fabric_plants import plant_of
from shared.models.ocs_technologies import ALIGNED_BY_CAMERA
from shared.models.plant.plant_format import Plant

ACTIVE_MAX = 10_000
"""Maximum number of active faults for injections. Spontaneous faults are limited by the number of parts."""

EndedHow = Literal["repaired", "cleared", "expired"]


@dataclass(frozen=True, slots=True)
class FaultRecord:
    """An active fault.

    `cause` is the id of the InjectFault or Tick that began it. `severity` is None for kinds without one, and
    is reached after `onset_us`. `comment` and `asked_by` are those of the request that injected it,
    and `drill` is the drill whose order did.
    """

    kind: FaultKind
    target: str
    cause: str
    injected: bool
    began_us: int
    expires_us: int | None
    severity: float | None
    onset_us: int
    comment: str | None = field(default=None, kw_only=True)
    asked_by: str | None = field(default=None, kw_only=True)
    drill: str | None = field(default=None, kw_only=True)

    @property
    def is_domain_failure(self) -> bool:
        return is_domain_failure(injected=self.injected, expires_us=self.expires_us)


@dataclass(frozen=True, slots=True)
class EndedFault(FaultRecord):
    ended_us: int
    how: EndedHow


@dataclass(frozen=True, slots=True)
class ChangedParameter:
    """A parameter that differs from its value at commissioning, `commissioned`.

    It was changed by the message with the id `cause`.
    """

    value: ParameterValue
    commissioned: ParameterValue
    changed_us: int
    cause: str


@dataclass(frozen=True, slots=True)
class ParameterLease:
    """A drill has changed a parameter, whose value `was` comes back at `ends_us` at the latest. `cause` is
    the id of its last order that changed it."""

    was: ParameterValue
    drill: str
    cause: str
    ends_us: int


@dataclass
class FailuresState(State):
    """State of the faults of one fabric."""

    current_config: AnyConfig
    """The configuration with all changes, without recorded requests and faults."""
    commissioned_us: int
    """`config.until_days` counts from here."""
    seeds: FailureSeeds
    """The seeds of later events; `seed` is that of the hardware as manufactured."""
    hazards: dict[str, Hazard]
    """By fault kind or domain."""
    begun: dict[str, int]
    """Faults begun since the start, by kind."""
    active: dict[int, FaultRecord]
    """By fault number."""
    ended: dict[int, EndedFault]
    """The last faults to end, by fault number."""
    planned: tuple[PlannedFault, ...] = ()
    """Recorded faults in order of time, with times from `commissioned_us`."""
    planned_begun: int = 0
    """How many of them have begun, or could not."""
    replaced: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Ends whose modules were replaced, by active bad batch."""
    technology: str | None = None
    """Technology of a superpod's OCSes."""
    renewed: dict[str, int] = field(default_factory=dict)
    """Time of the last replacement by part, where age matters."""
    levels: dict[str, RateLevel] = field(default_factory=dict)
    """Levels of the rates at the last change of seeds, by class."""
    parameters: dict[str, ChangedParameter] = field(default_factory=dict)
    """Parameters that differ from those at commissioning."""
    leases: dict[str, ParameterLease] = field(default_factory=dict)
    """Parameters that drills have changed for a while."""
    changes: int = 0
    """Number of changes so far."""
    rates: FailureRates | None = field(default=None, metadata=TRANSIENT, compare=False)
    """Cache of `config`."""

    @property
    def config(self) -> FailureRates:
        """The failure rates now."""
        if self.rates is None:
            self.rates = rates_of(self.current_config)
        return self.rates

    def change_config(self, config: FabricConfig) -> None:
        """Use another configuration of the same fabric from now on."""
        self.current_config, self.rates = config, None

    @property
    def plant(self) -> Plant:
        """The parts of the fabric."""
        return plant_of(self.current_config.kind, self.current_config.hardware)

    @property
    def next_number(self) -> int:
        """The number of the next fault, which is the number of faults begun."""
        return sum(self.begun.values())

    def fault_name(self, number: int) -> str:
        return f"{self.fabric}/fault-{number}"

    @property
    def next_planned_us(self) -> int | None:
        """The time of the next recorded fault; None if none is left."""
        if self.planned_begun == len(self.planned):
            return None
        return self.commissioned_us + self.planned[self.planned_begun].begin_us

    def within(self, hazard: Hazard) -> Hazard:
        """The hazard, without a next fault if that is after `config.until_days`."""
        until_days = self.config.until_days
        if until_days is None or hazard.next_us is None:
            return hazard
        is_over = hazard.next_us - self.commissioned_us > until_days * US_PER_DAY
        return replace(hazard, next_us=None) if is_over else hazard

    def following(self, kind: FaultKind, hazard: Hazard) -> Hazard:
        """The next fault of a class."""
        return self.within(next_hazard(self.seeds, self.fabric, kind, self.config, self.plant, hazard))

    def age_us(self, target: str) -> int:
        """The age of a part since its replacement, or else from its age at commissioning."""
        since_us = self.renewed.get(target)
        if since_us is not None:
            return self.now_us - since_us
        return self.now_us - self.commissioned_us + draw_age_us(self.seed, target, self.config)


def commission(fabric: str, config: FabricConfig, at_us: int) -> FailuresState:
    """A fabric without faults, with the first fault of every class drawn."""
    state = FailuresState(
        fabric=fabric,
        seed=config.seed,
        now_us=at_us,
        current_config=config.without_records(),
        commissioned_us=at_us,
        seeds=seeds_of(config.seed, rates_of(config)),
        hazards={},
        begun=dict.fromkeys(FAULT_KINDS, 0),
        active={},
        ended={},
        technology=_technology(config),
        planned=tuple(sorted(config.faults or (), key=lambda fault: fault.begin_us)),
    )
    draw_first_faults(state)
    return state


def draw_first_faults(state: FailuresState) -> None:
    """Draw the next fault of every class and domain from now on."""
    drawn = {name: hazard.drawn for name, hazard in state.hazards.items()}
    seeds, where, plant, now_us = state.seeds, state.fabric, state.plant, state.now_us
    for kind in hazard_classes():
        number, since = drawn.get(kind, 0), state.levels.get(kind)
        first = first_hazard(seeds, where, kind, state.config, plant, now_us, number, since)
        state.hazards[kind] = state.within(first)
    for domain in OUTAGE_DOMAINS:
        number = drawn.get(domain, 0)
        first = first_outage(seeds.own, where, domain, state.config, plant, now_us, number)
        state.hazards[domain] = state.within(first)


def rekey(state: FailuresState, salt: int) -> None:
    """Draw all future faults again.

    Gaps are exponential in clock time, so the rest of one has the law of a new gap. Levels of rates continue
    from their current values.
    """
    day = state.now_us // US_PER_DAY
    for kind in hazard_classes():
        variation = rate_variation(kind, state.seeds, state.config)
        if variation is not None:
            state.levels[kind] = level_on(variation, day, state.levels.get(kind))
    state.seeds = state.seeds.rekeyed(salt)
    draw_first_faults(state)


def rates_of(config: FabricConfig) -> FailureRates:
    """The failure rates of a fabric; 0 for parts that it does not have."""
    rates = config.failure_rates
    if _technology(config) not in (None, *ALIGNED_BY_CAMERA):
        return rates.model_copy(update={"stray_per_day": 0.0})
    return rates


def _technology(config: FabricConfig) -> str | None:
    """The technology of a superpod's OCSes; None for other fabrics."""
    return config.pod_ocs.technology if config.pod_ocs is not None else None
