"""Rewirings of a datacenter network: one at a time, stage by stage, each begun and over once, none of which
breaks the promise; and nothing changes where control is lost."""

from collections.abc import Iterator

import numpy as np

from ops.invariants.network_circuits import NetworkCircuitChecker
from schemas.body import Body
from schemas.config.dcn import DcnConfig
from schemas.envelope import Envelope
from schemas.messages.failures import FaultBegan, FaultEnded
from schemas.messages.ocs import (
    CircuitsRewired,
    ControlLost,
    ControlRegained,
    OcsesDown,
    OcsesUp,
    RewiringRefused,
)
from schemas.messages.sequencer import FabricCommissioned
from schemas.messages.topology import (
    RewireCircuits,
    RewiringEnded,
    RewiringPlanned,
    StageBegun,
    StageUndrained,
)
from schemas.names import number_of

DOMAINS = 4
LIGHTLESS = frozenset({"ocs", "rack", "power", "port", "block", "bundle"})
"""Kinds of faults that take capacity: the promise is not about them."""


class StageChecker:
    """Every stage that begins is over once: its circuits carry traffic again, or those that it took away do;
    what is commanded in between is answered once."""

    def __init__(self) -> None:
        self._planned: set[str] = set()
        self._stage: tuple[str, int] | None = None
        """Begun, and not over."""
        self._taken_back = False
        self._command: RewireCircuits | None = None

    def see(self, message: Envelope) -> Iterator[str]:
        body = message.body
        if isinstance(body, RewiringPlanned):
            if self._planned:
                yield f"{body.rewiring} is planned while {min(self._planned)} is not over"
            self._planned.add(body.rewiring)
        elif isinstance(body, StageBegun):
            yield from self._begin(body)
        elif isinstance(body, RewireCircuits):
            if self._command is not None:
                yield f"{body.rewiring}: commanded again before the OCSes answered"
            self._command = body
        elif isinstance(body, CircuitsRewired | RewiringRefused):
            yield from self._answer(body)
        elif isinstance(body, StageUndrained):
            if self._stage != (body.rewiring, body.stage):
                yield f"{body.rewiring} stage {body.stage} is over, but {self._stage} is under way"
            self._stage = None
        elif isinstance(body, RewiringEnded):
            if body.rewiring not in self._planned:
                yield f"{body.rewiring} ends, and was not planned"
            if self._stage is not None or self._command is not None:
                yield f"{body.rewiring} ends in the middle of a stage"
            self._planned.discard(body.rewiring)

    def _begin(self, body: StageBegun) -> Iterator[str]:
        stage = body.rewiring, body.stage
        if body.rewiring not in self._planned:
            yield f"{body.rewiring} stage {body.stage} begins, and was not planned"
        if body.takes_back and (self._stage != stage or self._taken_back):
            yield f"{body.rewiring} stage {body.stage} is taken back, but {self._stage} is under way"
        elif not body.takes_back and self._stage is not None:
            yield f"{body.rewiring} stage {body.stage} begins while {self._stage} is under way"
        self._stage, self._taken_back = stage, body.takes_back

    def _answer(self, body: CircuitsRewired | RewiringRefused) -> Iterator[str]:
        command, self._command = self._command, None
        if command is None or (command.rewiring, command.stage) != (body.rewiring, body.stage):
            yield f"{body.rewiring} stage {body.stage}: the OCSes answer what was not commanded"
        elif isinstance(body, CircuitsRewired) and (
            set(body.removed) != set(command.removed) or {*body.made, *body.missing} != set(command.made)
        ):
            yield f"{body.rewiring} stage {body.stage}: the OCSes made other circuits than were commanded"


class ControlChecker:
    """A domain without control fails static: nothing is begun in it, and no command is carried out that came
    while control was lost."""

    def __init__(self) -> None:
        self._each = 1
        """OCSes of a domain."""
        self._lost: dict[int, int] = {}
        self._without_control_since_command = False

    def see(self, message: Envelope) -> Iterator[str]:
        body = message.body
        if isinstance(body, FabricCommissioned) and isinstance(body.config, DcnConfig):
            self._each = body.config.network.racks * body.config.network.switches // DOMAINS
        elif isinstance(body, ControlLost) or (isinstance(body, OcsesDown) and not body.ocses):
            self._lost[number_of(body.part)] = self._lost.get(number_of(body.part), 0) + 1
        elif isinstance(body, ControlRegained) or (isinstance(body, OcsesUp) and not body.ocses):
            self._lost[number_of(body.part)] -= 1
        elif isinstance(body, StageBegun) and not body.takes_back:
            for domain in self._without_control({ocs for ocs, _, _ in body.drained}):
                yield f"{body.rewiring} stage {body.stage} begins, and control-{domain} is lost"
        elif isinstance(body, RewireCircuits):
            self._without_control_since_command = bool(
                self._without_control({ocs for ocs, _, _ in (*body.removed, *body.made)})
            )
        elif isinstance(body, CircuitsRewired) and self._without_control_since_command:
            yield f"{body.rewiring} stage {body.stage} is carried out in a domain that was without control"

    def _without_control(self, ocses: set[int]) -> list[int]:
        return sorted({ocs // self._each for ocs in ocses if self._lost.get(ocs // self._each, 0) > 0})


class CapacityPromiseChecker:
    """No stage takes any block below the promised share of what it carries before or after the rewiring,
    whichever is less. Judged where nothing breaks meanwhile, for the promise is not about that."""

    def __init__(self, network: NetworkCircuitChecker) -> None:
        self._network = network
        self._promise = 0.0
        self._rewiring: str | None = None
        self._broken = 0
        self._least: list[np.ndarray[tuple[int], np.dtype[np.int64]]] = []
        """What blocks carried at every quiet moment since the plan."""
        self._ended: RewiringEnded | None = None
        self.judged = 0

    def see(self, message: Envelope) -> Iterator[str]:
        """To be asked behind the checker of the circuits, which knows what they carry when a cascade is
        over."""
        if message.cause is None and self._rewiring is not None:
            self._least.append(self._network.capacity)
            if self._ended is not None:
                yield from self._judge(self._ended)
        self._follow(message.body)

    def _follow(self, body: Body) -> None:
        if isinstance(body, FabricCommissioned) and isinstance(body.config, DcnConfig):
            self._promise = body.config.topology.promise
        elif isinstance(body, FaultBegan | FaultEnded) and body.kind in LIGHTLESS:
            self._rewiring = None
            self._broken += 1 if isinstance(body, FaultBegan) else -1
        elif isinstance(body, RewiringPlanned) and not self._broken and body.reason != "as-installed":
            self._rewiring, self._ended, self._least = body.rewiring, None, [self._network.capacity]
        elif isinstance(body, RewiringEnded) and body.rewiring == self._rewiring:
            self._ended = body

    def _judge(self, ended: RewiringEnded) -> Iterator[str]:
        self._rewiring = None
        if ended.outcome != "completed":
            return  # what it would have come to is not known
        self.judged += 1
        promised = self._promise * np.minimum(self._least[0], self._least[-1])
        least = np.min(self._least, axis=0)
        for block in np.flatnonzero(least < promised - 1e-6).tolist():
            yield (
                f"{ended.rewiring}: block {block} carried {least[block]} Gb/s meanwhile, promised are "
                f"{promised[block]:.0f}"
            )
