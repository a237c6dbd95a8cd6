"""Drills: they go through their phases in order, and nothing that they began outlives them."""

from collections.abc import Iterator

from schemas.drill_plan import PHASES
from schemas.envelope import Envelope
from schemas.messages.drills import DrillBegun, DrillEnded, DrillOrder, DrillPhaseBegun, DrillStepEnded
from schemas.messages.failures import FaultBegan, FaultEnded


class DrillChecker:
    """Follows the drills of all fabrics of a site.

    Phases begin in order, each once. A step ends once. After its end a drill orders nothing and has no active
    fault, except those that it reports as left. No fault of a drill is active after the drill's lease.
    """

    def __init__(self) -> None:
        self._lease_us: dict[str, int] = {}
        self._phases: dict[str, int] = {}
        self._steps: set[tuple[str, str]] = set()
        self._ended: set[str] = set()
        self._faults: dict[str, str] = {}
        """Active fault → its drill."""

    def see(self, message: Envelope) -> Iterator[str]:
        body = message.body
        if self._faults:
            yield from self._outlived(message.at_us)
        if isinstance(body, FaultBegan):
            if body.drill is not None:
                self._faults[body.fault] = body.drill
        elif isinstance(body, FaultEnded):
            self._faults.pop(body.fault, None)
        elif isinstance(body, DrillBegun):
            if body.drill in self._lease_us:
                yield f"{body.drill} begins twice"
            self._lease_us[body.drill] = body.lease_ends_us
        elif isinstance(body, DrillPhaseBegun):
            place = PHASES.index(body.phase)
            if place <= self._phases.get(body.drill, -1):
                yield f"{body.drill}: phase {body.phase} begins after a later one, or twice"
            self._phases[body.drill] = place
        elif isinstance(body, DrillStepEnded):
            if (body.drill, body.step) in self._steps:
                yield f"{body.drill}: step {body.step} ends twice"
            self._steps.add((body.drill, body.step))
        elif isinstance(body, DrillOrder):
            if body.drill in self._ended:
                yield f"{body.drill} orders {body.request_type} after its end"
        elif isinstance(body, DrillEnded):
            yield from self._end(body)

    def _end(self, body: DrillEnded) -> Iterator[str]:
        if body.drill in self._ended:
            yield f"{body.drill} ends twice"
        self._ended.add(body.drill)
        for fault, drill in self._faults.items():
            if drill == body.drill and fault not in body.left:
                yield f"{body.drill} ends, but its {fault} is active"

    def _outlived(self, at_us: int) -> Iterator[str]:
        late = [fault for fault, drill in self._faults.items() if at_us > self._lease_us.get(drill, at_us)]
        for fault in late:
            yield f"{fault} is active after the lease of {self._faults.pop(fault)}"
