"""Faults and repairs: each begins and ends once, and no technician is in two places."""

from collections.abc import Iterator

from schemas.config import AnyPodConfig
from schemas.config_dcn import DcnConfig
from schemas.diagnosis import Work
from schemas.envelope import Envelope
from schemas.failures import FaultBegan, FaultEnded, ParametersChanged
from schemas.repairs import (
    BurnInBegun,
    HandsOnBegun,
    RepairBegun,
    RepairCancelled,
    RepairCompleted,
    RepairFailed,
    RepairOpened,
    RepairRepeated,
)
from schemas.sequencer import FabricCommissioned
from shared.models.works import WORKS


class RepairChecker:
    """Follows every fault and every repair."""

    def __init__(self) -> None:
        self.faults: dict[str, bool] = {}
        """Fault → whether it is active."""
        self.repairs: dict[str, str] = {}
        self._busy: dict[int, str] = {}
        self._technicians = 0
        self._fibre_technicians = 0
        self._works: dict[str, Work] = {}

    def see(self, message: Envelope) -> Iterator[str]:
        body = message.body
        if isinstance(body, FabricCommissioned) and isinstance(body.config, AnyPodConfig | DcnConfig):
            self._technicians = body.config.repairs.technicians
            self._fibre_technicians = getattr(body.config.repairs, "fibre_technicians", 0)
        elif isinstance(body, ParametersChanged):
            changed = body.of("repairs")
            self._technicians = int(changed.get("technicians") or self._technicians)
            self._fibre_technicians = int(changed.get("fibre_technicians", self._fibre_technicians) or 0)
        elif isinstance(body, FaultBegan):
            if body.fault in self.faults:
                yield f"{body.fault} begins twice"
            self.faults[body.fault] = True
        elif isinstance(body, FaultEnded):
            if not self.faults.get(body.fault):
                yield f"{body.fault} ends but was not active"
            self.faults[body.fault] = False
        elif isinstance(body, RepairOpened):
            if body.repair in self.repairs:
                yield f"{body.repair} is opened twice"
            self.repairs[body.repair] = "queued"
            self._works[body.repair] = body.work
        elif isinstance(body, RepairBegun):
            yield from self._begin(body)
        elif isinstance(body, HandsOnBegun):
            yield from self._take_in_hand(body)
        elif isinstance(body, BurnInBegun):
            yield from self._leave(body.repair, "is tested", "tested", ("begun", "in hand"))
        elif isinstance(body, RepairRepeated):
            yield from self._leave(body.repair, "is repeated", "queued", ("begun", "in hand", "tested"))
        elif isinstance(body, RepairCompleted | RepairFailed | RepairCancelled):
            called_off = ("queued",) if isinstance(body, RepairCancelled) else ()
            yield from self._leave(body.repair, "ends", "ended", ("begun", "in hand", "tested", *called_off))

    def _leave(self, repair: str, what: str, now: str, allowed: tuple[str, ...]) -> Iterator[str]:
        """Nobody is at the repair any more."""
        if self.repairs.get(repair) not in allowed:
            yield f"{repair} {what} but was {self.repairs.get(repair)}"
        self.repairs[repair] = now
        self._busy = {t: r for t, r in self._busy.items() if r != repair}

    def _take_in_hand(self, body: HandsOnBegun) -> Iterator[str]:
        if self.repairs.get(body.repair) != "begun":
            yield f"{body.repair} is in hand but was {self.repairs.get(body.repair)}"
        if self._busy.get(body.technician) != body.repair:
            yield f"technician {body.technician} has {body.repair} in hand and is not at it"
        self.repairs[body.repair] = "in hand"

    def _begin(self, body: RepairBegun) -> Iterator[str]:
        if self.repairs.get(body.repair) != "queued":
            yield f"{body.repair} begins but was {self.repairs.get(body.repair)}"
        in_all = self._technicians + self._fibre_technicians
        if not 0 <= body.technician < in_all:
            yield f"technician {body.technician} of {in_all}"
        work = self._works.get(body.repair, "mend")
        if body.technician >= self._technicians and not WORKS[work].at_fibres:
            yield f"fibre technician {body.technician} is at {body.repair}, whose work is {work}"
        if body.technician in self._busy:
            yield f"technician {body.technician} is still at {self._busy[body.technician]}"
        self.repairs[body.repair] = "begun"
        self._busy[body.technician] = body.repair
