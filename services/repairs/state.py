"""What the repair shop of one fabric remembers: who waits, who is worked on by whom, what was done lately."""

from dataclasses import dataclass, field, fields
from typing import Any, Literal

from schemas.config.dcn import DcnConfig, NetworkRepairsConfig
from schemas.config.pods import AnyPodConfig
from schemas.config.repairs import RepairsConfig
from schemas.messages.diagnosis import RepairWork
from schemas.names import FaultKind
from shared.engine.state import State

Outcome = Literal["completed", "cancelled", "failed"]


@dataclass(frozen=True, slots=True)
class Repair:
    """A repair that was asked for and waits: of which kind of fault, by which work, for the message with the
    id `cause`. `verdict` is the one that it acts on, None without; `needed`: someone who saw the part fail
    has asked for it. `tries` are the works that were done on it and mended the wrong thing."""

    kind: FaultKind
    target: str
    cause: str
    requested_us: int
    work: RepairWork = "mend"
    verdict: str | None = None
    needed: bool = True
    tries: int = 0


def request_fields(repair: Repair) -> dict[str, Any]:
    """By field, what was asked for, whatever has been done since."""
    return {field.name: getattr(repair, field.name) for field in fields(Repair)}


@dataclass(frozen=True, slots=True)
class BegunRepair(Repair):
    """A repair in work; `ends_us` is when it will be done, `hands_on_us` when the technician will be at the
    part, None once that is so, and for work that leaves it in use. `asked`: the work is done, and the OCS was
    asked to take a fibre where it was put."""

    technician: int = 0
    began_us: int = 0
    ends_us: int = 0
    requested: bool = False
    hands_on_us: int | None = None


@dataclass(frozen=True, slots=True)
class EndedRepair(Repair):
    """A repair that was completed, or cancelled, perhaps before it had begun, or that failed for a
    `reason`. `in_vain`: it was completed, and what it was to mend is still there."""

    technician: int | None = None
    began_us: int | None = None
    ended_us: int = 0
    outcome: Outcome = "completed"
    ineffective: bool = False
    reason: str | None = None


@dataclass
class RepairsState(State):
    """Repairs by number in the table of their state: `queued`, `begun`, `tested` (the work is done, and the
    part is burnt in until `ends_us`) or `ended` (the last to end). `open_targets` maps every part with an
    open (queued, begun or tested) repair to that repair's number. `shelf` has the spare parts of each stock
    from which one was taken, `ordered` those that are to come: (when, of which stock).

    `queued` is bounded by `config.queue_max`; what is asked for beyond it is only counted, in `dropped`. By
    default the bound lies above the number of parts of the largest pod, and a part has one open repair at
    most, so it cannot be reached. With a lower one, a part that was dropped stays broken.
    """

    config: RepairsConfig | NetworkRepairsConfig
    opened: int
    completed: int
    cancelled: int
    dropped: int
    queued: dict[int, Repair]
    begun: dict[int, BegunRepair]
    ended: dict[int, EndedRepair]
    open_targets: dict[str, int]
    failed: int = 0
    ineffective: int = 0
    tested: dict[int, BegunRepair] = field(default_factory=dict)
    stock_levels: dict[str, int] = field(default_factory=dict)
    spares_on_order: tuple[tuple[int, str], ...] = ()

    @property
    def fibre_technicians(self) -> int:
        """How many there are who work at link ends only; a network has none."""
        return getattr(self.config, "fibre_technicians", 0)

    def repair_name(self, number: int) -> str:
        return f"{self.fabric}/repair-{number}"


def commission(fabric: str, config: AnyPodConfig | DcnConfig, at_us: int) -> RepairsState:
    """Nothing to repair. Where there are no OCSes, nobody asks how long the repair of one takes."""
    return RepairsState(
        fabric=fabric,
        seed=config.seed,
        now_us=at_us,
        config=config.repairs
        if isinstance(config.repairs, NetworkRepairsConfig)
        else RepairsConfig.model_validate(config.repairs.model_dump()),
        opened=0,
        completed=0,
        cancelled=0,
        dropped=0,
        queued={},
        begun={},
        ended={},
        open_targets={},
    )
