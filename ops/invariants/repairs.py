"""Faults and repairs: each begins and ends once, and each technician works on one repair at a time.

Verdicts: each ends once, a part has at most one open verdict, and reports of outlier ends are consistent."""

from collections.abc import Iterator

from schemas.config.runtime_parameters import parameter_or
from schemas.envelope import Envelope
from schemas.messages.diagnosis import RepairWork, VerdictGiven, VerdictWithdrawn
from schemas.messages.failures import FaultBegan, FaultEnded, ParametersChanged
from schemas.messages.repairs import (
    BurnInBegun,
    HandsOnBegun,
    RepairBegun,
    RepairCancelled,
    RepairCompleted,
    RepairFailed,
    RepairOpened,
    RepairRepeated,
)
from schemas.messages.sequencer import FabricCommissioned
from schemas.messages.transceivers import EndsStoodOut
from shared.models.faults.repair_work import WORK_DEFINITIONS


class RepairChecker:
    """Follows every fault and every repair."""

    def __init__(self) -> None:
        self.faults: dict[str, bool] = {}
        """Fault → whether it is active."""
        self.repairs: dict[str, str] = {}
        self._busy: dict[int, str] = {}
        self._technicians = 0
        self._fibre_technicians = 0
        self._works: dict[str, RepairWork] = {}

    def see(self, message: Envelope) -> Iterator[str]:
        body = message.body
        if isinstance(body, FabricCommissioned):
            self._technicians = parameter_or(body.config, "repairs.technicians", 0)
            self._fibre_technicians = parameter_or(body.config, "repairs.fibre_technicians", 0)
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
        """Release the technician of a repair that leaves its current step."""
        if self.repairs.get(repair) not in allowed:
            yield f"{repair} {what} but was {self.repairs.get(repair)}"
        self.repairs[repair] = now
        self._busy = {t: r for t, r in self._busy.items() if r != repair}

    def _take_in_hand(self, body: HandsOnBegun) -> Iterator[str]:
        if self.repairs.get(body.repair) != "begun":
            yield f"{body.repair} is in hand but was {self.repairs.get(body.repair)}"
        if self._busy.get(body.technician) != body.repair:
            yield f"technician {body.technician} has {body.repair} in hand but does not work on it"
        self.repairs[body.repair] = "in hand"

    def _begin(self, body: RepairBegun) -> Iterator[str]:
        if self.repairs.get(body.repair) != "queued":
            yield f"{body.repair} begins but was {self.repairs.get(body.repair)}"
        in_all = self._technicians + self._fibre_technicians
        if not 0 <= body.technician < in_all:
            yield f"technician {body.technician} of {in_all}"
        work = self._works.get(body.repair, "mend")
        if body.technician >= self._technicians and not WORK_DEFINITIONS[work].at_link_ends:
            yield f"fibre technician {body.technician} works on {body.repair}, whose work is {work}"
        if body.technician in self._busy:
            yield f"technician {body.technician} still works on {self._busy[body.technician]}"
        self.repairs[body.repair] = "begun"
        self._busy[body.technician] = body.repair


# --- verdicts ---


class VerdictChecker:
    """Follows outlier ends, and the verdicts about their cause."""

    def __init__(self) -> None:
        self._open: dict[str, str] = {}
        """Verdict → its target."""
        self._given: set[str] = set()
        self._repaired: set[str] = set()
        self._standing_out: set[int] = set()

    def see(self, message: Envelope) -> Iterator[str]:
        body = message.body
        if isinstance(body, VerdictGiven):
            if body.verdict in self._given:
                yield f"{body.verdict} is given twice"
            if body.target in self._open.values():
                yield f"{body.verdict}: {body.target} already has an open verdict"
            if body.after is not None and body.after not in self._repaired:
                yield f"{body.verdict} follows {body.after}, which was not completed"
            self._given.add(body.verdict)
            self._open[body.verdict] = body.target
        elif isinstance(body, VerdictWithdrawn):
            if self._open.pop(body.verdict, None) != body.target:
                yield f"{body.verdict} is withdrawn but was not open for {body.target}"
        elif isinstance(body, RepairCompleted):
            self._repaired.add(body.repair)
            self._open = {name: target for name, target in self._open.items() if target != body.target}
        elif isinstance(body, EndsStoodOut):
            yield from self._stand_out(body)

    def _stand_out(self, body: EndsStoodOut) -> Iterator[str]:
        ends = {report.end for report in body.ends}
        gone = {*body.usual, *body.unseen}
        if ends & gone or len(ends) + len(gone) < len(body.ends) + len(body.usual) + len(body.unseen):
            yield "an end is reported twice, or as both outlier and usual"
        if strangers := gone - self._standing_out:
            yield f"ends {sorted(strangers)} are no longer outliers, but never were"
        self._standing_out = (self._standing_out - {*body.usual}) | ends
