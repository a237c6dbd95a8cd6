"""State of the repair shop of one fabric: queued, running and recent repairs, and stock."""

from dataclasses import dataclass, field, fields
from typing import Any, Literal

from schemas.config.fabric_configs import AnyRepairTimes
from schemas.config.pods import FabricConfig
from schemas.messages.diagnosis import RepairWork
from schemas.names import FaultKind
from shared.engine.state import State

RepairOutcome = Literal["completed", "cancelled", "failed"]


@dataclass(frozen=True, slots=True)
class Repair:
    """A requested repair that waits.

    `cause` is the id of the message that requested it. `verdict` is the verdict that it acts on, if any.
    `needed` is true if monitoring that saw the part fail has requested it. `tries` counts earlier attempts
    that repaired the wrong part.
    """

    kind: FaultKind
    target: str
    cause: str
    requested_us: int
    work: RepairWork = "mend"
    verdict: str | None = None
    needed: bool = True
    tries: int = 0


def request_fields(repair: Repair) -> dict[str, Any]:
    """The fields of the request, without those of the work since."""
    return {field.name: getattr(repair, field.name) for field in fields(Repair)}


@dataclass(frozen=True, slots=True)
class BegunRepair(Repair):
    """A repair that has started.

    `ends_us` is the time at which the work is done, and `hands_on_us` that at which the technician starts on
    the part. The latter is None afterwards, and for work that leaves the part in use. `requested` is true if
    the work is done and the OCS was requested to use the fibre's new port.
    """

    technician: int = 0
    began_us: int = 0
    ends_us: int = 0
    requested: bool = False
    hands_on_us: int | None = None


@dataclass(frozen=True, slots=True)
class EndedRepair(Repair):
    """A repair that was completed, cancelled (perhaps before it started), or that failed for a `reason`.

    `ineffective` is true if it was completed and the fault is still there.
    """

    technician: int | None = None
    began_us: int | None = None
    ended_us: int = 0
    outcome: RepairOutcome = "completed"
    ineffective: bool = False
    reason: str | None = None


@dataclass
class RepairsState(State):
    """State of the repair shop of one fabric. Repairs are keyed by number, in the table of their state."""

    config: AnyRepairTimes
    opened: int
    completed: int
    cancelled: int
    dropped: int
    """Requests beyond `config.queue_max`, which are only counted; their parts stay broken. The default limit
    is above the number of parts of the largest pod, so it cannot be reached."""
    queued: dict[int, Repair]
    begun: dict[int, BegunRepair]
    ended: dict[int, EndedRepair]
    """The last repairs to end."""
    open_targets: dict[str, int]
    """Number of the open (queued, begun or tested) repair, by part."""
    failed: int = 0
    ineffective: int = 0
    tested: dict[int, BegunRepair] = field(default_factory=dict)
    """Repairs whose work is done and whose part is in burn-in until `ends_us`."""
    stock_levels: dict[str, int] = field(default_factory=dict)
    """Number of parts of each stock from which one was taken."""
    spares_on_order: tuple[tuple[int, str], ...] = ()
    """Ordered parts, as (arrival time, stock)."""

    @property
    def fibre_technicians(self) -> int:
        """The number of technicians who work only at link ends; 0 in a network."""
        return self.config.value_or("fibre_technicians", 0)

    def repair_name(self, number: int) -> str:
        return f"{self.fabric}/repair-{number}"


def commission(fabric: str, config: FabricConfig, at_us: int) -> RepairsState:
    """A shop without repairs."""
    return RepairsState(
        fabric=fabric,
        seed=config.seed,
        now_us=at_us,
        config=config.repair_times,
        opened=0,
        completed=0,
        cancelled=0,
        dropped=0,
        queued={},
        begun={},
        ended={},
        open_targets={},
    )
