"""What is broken in truth in one fabric, and when each class of parts breaks next."""

from dataclasses import dataclass
from typing import Literal

from schemas.config import FailuresConfig
from schemas.names import FaultKind
from shared.engine.state import State

ENDED_MAX = 200
"""Ended faults kept for people to look at, the last to end; older ones are forgotten."""

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
    """An active fault. `cause` is the id of the message that began it: an InjectFault or a Tick."""

    kind: FaultKind
    target: str
    cause: str
    injected: bool
    began_us: int
    expires_us: int | None


@dataclass(frozen=True, slots=True)
class EndedFault(Fault):
    ended_us: int
    how: EndedHow


@dataclass
class FailuresState(State):
    """`hazards` and `begun` (faults begun since the start) are keyed by fault kind, `active` and `ended` by
    fault number."""

    config: FailuresConfig
    cubes: int
    hazards: dict[str, Hazard]
    begun: dict[str, int]
    active: dict[int, Fault]
    ended: dict[int, EndedFault]

    @property
    def next_number(self) -> int:
        """The number of the next fault: how many have begun."""
        return sum(self.begun.values())

    def fault_name(self, number: int) -> str:
        return f"{self.fabric}/fault-{number}"
