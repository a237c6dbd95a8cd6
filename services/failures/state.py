"""What is broken in truth in one fabric, and when each class of parts breaks next."""

from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from schemas.config.dcn import DcnConfig
from schemas.config.failures import FailuresConfig, StaticFailuresConfig
from schemas.config.parameter import ParameterValue
from schemas.config.pods import AnyPodConfig, HardwareConfig, SuperpodConfig
from schemas.messages.failures import is_domain_failure
from schemas.names import FaultKind
from services.failures.domain_outages import DOMAINS, first_outage
from services.failures.hazards import (
    CLASSES,
    FailureSeeds,
    Hazard,
    RateLevel,
    Rates,
    draw_age_us,
    first_hazard,
    level_on,
    next_hazard,
    rate_variation,
    seeds_of,
)
from shared.basics.units import US_PER_DAY
from shared.engine.state import State
from shared.models.fabric_plants import plant_of
from shared.models.ocs_technologies import ALIGNED_BY_CAMERA
from shared.models.plant.plant import Plant

ACTIVE_MAX = 10_000
"""Active faults beyond which an injection is refused. Faults that begin by themselves are bounded by the
number of parts."""

EndedHow = Literal["repaired", "cleared", "expired"]


@dataclass(frozen=True, slots=True)
class FaultRecord:
    """An active fault. `cause` is the id of the message that began it: an InjectFault or a Tick. `severity`
    is None for kinds that have none; it is reached after `onset_us`."""

    kind: FaultKind
    target: str
    cause: str
    injected: bool
    began_us: int
    expires_us: int | None
    severity: float | None
    onset_us: int

    @property
    def is_domain_failure(self) -> bool:
        return is_domain_failure(injected=self.injected, expires_us=self.expires_us)


@dataclass(frozen=True, slots=True)
class EndedFault(FaultRecord):
    ended_us: int
    how: EndedHow


@dataclass(frozen=True, slots=True)
class ChangedParameter:
    """A parameter that is another than the fabric was commissioned with, `began`, since the message with the
    id `cause` was read."""

    value: ParameterValue
    commissioned: ParameterValue
    changed_us: int
    cause: str


@dataclass
class FailuresState(State):
    """`hazards` are keyed by fault kind or domain, `begun` (faults begun since the start) by kind, `active`
    and `ended` (the last to end) by fault number; `replaced` has, of active batches, the ends whose modules
    were replaced; `renewed`, where age matters, the parts that were, and when.
    `config.until_days` counts from `commissioned_us`. `kind` and `hardware` decide which parts there are;
    `technology` is that of a superpod's OCSes. `draws` keys what happens, where `seed` keys what was there
    from the beginning; where it was changed on the way, `levels` has how rates stood then, by class.

    `present` is the whole configuration by which the fabric goes now, but for a recorded trace, `parameters`
    what is not as it was commissioned, and `changes` how often any was changed.
    """

    config: Rates
    kind: str
    hardware: HardwareConfig
    current_config: AnyPodConfig | DcnConfig
    commissioned_us: int
    seeds: FailureSeeds
    hazards: dict[str, Hazard]
    begun: dict[str, int]
    active: dict[int, FaultRecord]
    ended: dict[int, EndedFault]
    replaced: dict[int, tuple[int, ...]] = field(default_factory=dict)
    technology: str | None = None
    renewed: dict[str, int] = field(default_factory=dict)
    levels: dict[str, RateLevel] = field(default_factory=dict)
    parameters: dict[str, ChangedParameter] = field(default_factory=dict)
    changes: int = 0

    @property
    def plant(self) -> Plant:
        """The parts that there are to break."""
        return plant_of(self.kind, self.hardware)

    @property
    def next_number(self) -> int:
        """The number of the next fault: how many have begun."""
        return sum(self.begun.values())

    def fault_name(self, number: int) -> str:
        return f"{self.fabric}/fault-{number}"

    def within(self, hazard: Hazard) -> Hazard:
        """The same, unless it is after the last day on which things break by themselves."""
        until_days = self.config.until_days
        if until_days is None or hazard.next_us is None:
            return hazard
        is_over = hazard.next_us - self.commissioned_us > until_days * US_PER_DAY
        return replace(hazard, next_us=None) if is_over else hazard

    def following(self, kind: FaultKind, hazard: Hazard) -> Hazard:
        """The fault after another one of its class."""
        return self.within(next_hazard(self.seeds, self.fabric, kind, self.config, self.plant, hazard))

    def age_us(self, target: str) -> int:
        """How old a part is: since it was replaced, or by the age that it was drawn when all began."""
        since_us = self.renewed.get(target)
        if since_us is not None:
            return self.now_us - since_us
        return self.now_us - self.commissioned_us + draw_age_us(self.seed, target, self.config)


def commission(fabric: str, config: AnyPodConfig | DcnConfig, at_us: int) -> FailuresState:
    """Nothing is broken; the first fault of every class is drawn."""
    state = FailuresState(
        fabric=fabric,
        seed=config.seed,
        now_us=at_us,
        config=rates_of(config),
        kind=config.kind,
        hardware=config.hardware,
        current_config=config if isinstance(config, DcnConfig) else config.model_copy(update={"trace": None}),
        commissioned_us=at_us,
        seeds=seeds_of(config.seed, rates_of(config)),
        hazards={},
        begun=dict.fromkeys(get_args(FaultKind), 0),
        active={},
        ended={},
        technology=_technology(config),
    )
    draw_first_faults(state)
    return state


def draw_first_faults(state: FailuresState) -> None:
    """Draw when every class and domain fails next, as from now on."""
    drawn = {name: hazard.drawn for name, hazard in state.hazards.items()}
    seeds, where, plant, now_us = state.seeds, state.fabric, state.plant, state.now_us
    for kind in CLASSES:
        number, since = drawn.get(kind, 0), state.levels.get(kind)
        first = first_hazard(seeds, where, kind, state.config, plant, now_us, number, since)
        state.hazards[kind] = state.within(first)
    for domain in DOMAINS:
        number = drawn.get(domain, 0)
        first = first_outage(seeds.own, where, domain, state.config, plant, now_us, number)
        state.hazards[domain] = state.within(first)


def rekey(state: FailuresState, salt: int) -> None:
    """Draw anew all that is to come. Gaps are exponential in the time of their clock, so that what is left of
    one has the law of a new one; rates go on from where they stand."""
    day = state.now_us // US_PER_DAY
    for kind in CLASSES:
        found = rate_variation(kind, state.seeds, state.config)
        if found is not None:
            state.levels[kind] = level_on(found, day, state.levels.get(kind))
    state.seeds = state.seeds.rekeyed(salt)
    draw_first_faults(state)


def rates_of(config: AnyPodConfig | DcnConfig) -> Rates:
    """How often parts break; parts that the fabric does not have never do."""
    found = config.failures
    if isinstance(found, StaticFailuresConfig):
        return FailuresConfig(**found.model_dump(), ocs_per_day=0.0, stray_per_day=0.0)
    if _technology(config) not in (None, *ALIGNED_BY_CAMERA):
        return found.model_copy(update={"stray_per_day": 0.0})
    return found


def _technology(config: AnyPodConfig | DcnConfig) -> str | None:
    """Of a pod's OCSes; None where that is no matter."""
    return config.ocs.technology if isinstance(config, SuperpodConfig) else None
