"""What is broken in truth in one fabric, and when each class of parts breaks next."""

from dataclasses import dataclass, field
from typing import Literal, get_args

from schemas.config import AnyPodConfig, FailuresConfig, Hardware, StaticFailuresConfig, SuperpodConfig
from schemas.config_dcn import DcnConfig, NetworkFailuresConfig
from schemas.names import FaultKind
from services.failures.hazards import CLASSES, draw_gap_us
from shared.basics.units import US_PER_DAY
from shared.engine.state import State
from shared.models.plant import Plant
from shared.models.plants import plant_of
from shared.models.technologies import ALIGNED_BY_CAMERA

ACTIVE_MAX = 10_000
"""Active faults beyond which an injection is refused. Faults that begin by themselves are bounded by the
number of parts."""

EndedHow = Literal["repaired", "cleared", "expired"]


@dataclass(frozen=True, slots=True)
class Hazard:
    """The Poisson process of one class of parts. `next_us` is the next fault's time, None if none will come;
    `drawn` is how many came before it."""

    drawn: int
    next_us: int | None


@dataclass(frozen=True, slots=True)
class Fault:
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


@dataclass(frozen=True, slots=True)
class EndedFault(Fault):
    ended_us: int
    how: EndedHow


@dataclass
class FailuresState(State):
    """`hazards` and `begun` (faults begun since the start) are keyed by fault kind, `active` and `ended` (the
    last to end) by fault number; `replaced` has, of active batches, the ends whose modules were replaced.
    `config.until_days` counts from `commissioned_us`. `kind` and `hardware` decide which parts there are;
    `technology` is that of a superpod's OCSes."""

    config: FailuresConfig | NetworkFailuresConfig
    kind: str
    hardware: Hardware
    commissioned_us: int
    hazards: dict[str, Hazard]
    begun: dict[str, int]
    active: dict[int, Fault]
    ended: dict[int, EndedFault]
    replaced: dict[int, tuple[int, ...]] = field(default_factory=dict)
    technology: str | None = None

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


def commission(fabric: str, config: AnyPodConfig | DcnConfig, at_us: int) -> FailuresState:
    """Nothing is broken; the first fault of every class is drawn."""
    state = FailuresState(
        fabric=fabric,
        seed=config.seed,
        now_us=at_us,
        config=_rates(config),
        kind=config.kind,
        hardware=config.hardware,
        commissioned_us=at_us,
        hazards={},
        begun=dict.fromkeys(get_args(FaultKind), 0),
        active={},
        ended={},
        technology=_technology(config),
    )
    for kind in CLASSES:
        state.hazards[kind] = next_hazard(state, kind, drawn=0, since_us=at_us)
    return state


def _rates(config: AnyPodConfig | DcnConfig) -> FailuresConfig | NetworkFailuresConfig:
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


def next_hazard(state: FailuresState, kind: FaultKind, drawn: int, since_us: int) -> Hazard:
    """The fault after `drawn` earlier ones of the class, the last of them (or the commissioning) at
    `since_us`."""
    gap_us = draw_gap_us(state.seed, state.fabric, kind, drawn, state.config, state.plant)
    if gap_us is None:
        return Hazard(drawn, None)
    next_us, until_days = since_us + gap_us, state.config.until_days
    if until_days is not None and next_us - state.commissioned_us > until_days * US_PER_DAY:
        return Hazard(drawn, None)
    return Hazard(drawn, next_us)
