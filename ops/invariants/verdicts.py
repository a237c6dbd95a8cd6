"""Verdicts: each ends once, a part is held for bad by one at a time, and what is told of ends adds up."""

from collections.abc import Iterator

from schemas.diagnosis import VerdictGiven, VerdictWithdrawn
from schemas.envelope import Envelope
from schemas.repairs import RepairCompleted
from schemas.transceivers import EndsStoodOut


class VerdictChecker:
    """Follows what stands out, and what is held for the matter."""

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
                yield f"{body.verdict}: {body.target} is held for bad already"
            if body.after is not None and body.after not in self._repaired:
                yield f"{body.verdict} comes after {body.after}, which was not completed"
            self._given.add(body.verdict)
            self._open[body.verdict] = body.target
        elif isinstance(body, VerdictWithdrawn):
            if self._open.pop(body.verdict, None) != body.target:
                yield f"{body.verdict} is withdrawn and was not held of {body.target}"
        elif isinstance(body, RepairCompleted):
            self._repaired.add(body.repair)
            self._open = {name: target for name, target in self._open.items() if target != body.target}
        elif isinstance(body, EndsStoodOut):
            yield from self._stand_out(body)

    def _stand_out(self, body: EndsStoodOut) -> Iterator[str]:
        ends = {look.end for look in body.ends}
        gone = {*body.usual, *body.unseen}
        if ends & gone or len(ends) + len(gone) < len(body.ends) + len(body.usual) + len(body.unseen):
            yield "an end stands out and does not, or is told of twice"
        if strangers := gone - self._standing_out:
            yield f"ends {sorted(strangers)} stand out no more, and never did"
        self._standing_out = (self._standing_out - {*body.usual}) | ends
