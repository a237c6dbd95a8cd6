"""Rewirings of a datacenter network: one at a time, in stages, each of which begins and ends once.

No stage breaks the capacity floor, and nothing changes in a domain that has lost control."""

from collections.abc import Iterator

import numpy as np

from ops.invariants.network_circuits import NetworkCircuitChecker
from schemas.body import Body
from schemas.config.runtime_parameters import parameter_or
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

CONTROL_DOMAINS = 4
CAPACITY_FAULT_KINDS = frozenset({"ocs", "rack", "power", "port", "block", "bundle"})
"""Kinds of faults that reduce capacity. The capacity floor does not cover them."""


class StageChecker:
    """Every stage that begins ends once: either its new circuits carry traffic, or the circuits that it
    removed do so again.

    Every command in between has one answer.
    """

    def __init__(self) -> None:
        self._planned: set[str] = set()
        self._stage: tuple[str, int] | None = None
        """The stage in progress."""
        self._taken_back = False
        self._command: RewireCircuits | None = None

    def see(self, message: Envelope) -> Iterator[str]:
        body = message.body
        if isinstance(body, RewiringPlanned):
            if self._planned:
                yield f"{body.rewiring} is planned while {min(self._planned)} is in progress"
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
                yield f"{body.rewiring} stage {body.stage} ends, but {self._stage} is in progress"
            self._stage = None
        elif isinstance(body, RewiringEnded):
            if body.rewiring not in self._planned:
                yield f"{body.rewiring} ends, but was not planned"
            if self._stage is not None or self._command is not None:
                yield f"{body.rewiring} ends in the middle of a stage"
            self._planned.discard(body.rewiring)

    def _begin(self, body: StageBegun) -> Iterator[str]:
        stage = body.rewiring, body.stage
        if body.rewiring not in self._planned:
            yield f"{body.rewiring} stage {body.stage} begins, but was not planned"
        if body.takes_back and (self._stage != stage or self._taken_back):
            yield f"{body.rewiring} stage {body.stage} is rolled back, but {self._stage} is in progress"
        elif not body.takes_back and self._stage is not None:
            yield f"{body.rewiring} stage {body.stage} begins while {self._stage} is in progress"
        self._stage, self._taken_back = stage, body.takes_back

    def _answer(self, body: CircuitsRewired | RewiringRefused) -> Iterator[str]:
        command, self._command = self._command, None
        if command is None or (command.rewiring, command.stage) != (body.rewiring, body.stage):
            yield f"{body.rewiring} stage {body.stage}: the OCSes answer a command that was not sent"
        elif isinstance(body, CircuitsRewired) and (
            set(body.removed) != set(command.removed) or {*body.made, *body.missing} != set(command.made)
        ):
            yield f"{body.rewiring} stage {body.stage}: the OCSes connected other circuits than commanded"


class ControlChecker:
    """A domain without control fails static: no stage begins in it, and commands sent meanwhile are not
    executed."""

    def __init__(self) -> None:
        self._each = 1
        """Number of OCSes per domain."""
        self._lost: dict[int, int] = {}
        self._without_control_since_command = False

    def see(self, message: Envelope) -> Iterator[str]:
        body = message.body
        if isinstance(body, FabricCommissioned):
            network = body.config.network_hardware
            self._each = 1 if network is None else network.racks * network.switches // CONTROL_DOMAINS
        elif isinstance(body, ControlLost) or (isinstance(body, OcsesDown) and not body.ocses):
            self._lost[number_of(body.part)] = self._lost.get(number_of(body.part), 0) + 1
        elif isinstance(body, ControlRegained) or (isinstance(body, OcsesUp) and not body.ocses):
            self._lost[number_of(body.part)] -= 1
        elif isinstance(body, StageBegun) and not body.takes_back:
            for domain in self._without_control({ocs for ocs, _, _ in body.drained}):
                yield f"{body.rewiring} stage {body.stage} begins, but control-{domain} is lost"
        elif isinstance(body, RewireCircuits):
            self._without_control_since_command = bool(
                self._without_control({ocs for ocs, _, _ in (*body.removed, *body.made)})
            )
        elif isinstance(body, CircuitsRewired) and self._without_control_since_command:
            yield f"{body.rewiring} stage {body.stage} is executed in a domain that was without control"

    def _without_control(self, ocses: set[int]) -> list[int]:
        return sorted({ocs // self._each for ocs in ocses if self._lost.get(ocs // self._each, 0) > 0})


class CapacityFloorChecker:
    """No stage reduces the capacity of a block below the required share of its capacity before or after the
    rewiring, whichever is less.

    Checked only if no capacity fault occurs meanwhile, because the capacity floor does not cover faults.
    """

    def __init__(self, network: NetworkCircuitChecker) -> None:
        self._network = network
        self._capacity_floor = 0.0
        self._rewiring: str | None = None
        self._broken = 0
        self._least: list[np.ndarray[tuple[int], np.dtype[np.int64]]] = []
        """Capacity of the blocks at the end of every cascade since the plan."""
        self._ended: RewiringEnded | None = None
        self.judged = 0

    def see(self, message: Envelope) -> Iterator[str]:
        """Must run after the circuit checker, which knows the capacity at the end of a cascade."""
        if message.cause is None and self._rewiring is not None:
            self._least.append(self._network.capacity)
            if self._ended is not None:
                yield from self._judge(self._ended)
        self._follow(message.body)

    def _follow(self, body: Body) -> None:
        if isinstance(body, FabricCommissioned):
            self._capacity_floor = parameter_or(body.config, "topology.capacity_floor", 0.0)
        elif isinstance(body, FaultBegan | FaultEnded) and body.kind in CAPACITY_FAULT_KINDS:
            self._rewiring = None
            self._broken += 1 if isinstance(body, FaultBegan) else -1
        elif isinstance(body, RewiringPlanned) and not self._broken and body.reason != "as-installed":
            self._rewiring, self._ended, self._least = body.rewiring, None, [self._network.capacity]
        elif isinstance(body, RewiringEnded) and body.rewiring == self._rewiring:
            self._ended = body

    def _judge(self, ended: RewiringEnded) -> Iterator[str]:
        self._rewiring = None
        if ended.outcome != "completed":
            return  # the capacity without faults is not known
        self.judged += 1
        required = self._capacity_floor * np.minimum(self._least[0], self._least[-1])
        least = np.min(self._least, axis=0)
        for block in np.flatnonzero(least < required - 1e-6).tolist():
            yield (
                f"{ended.rewiring}: block {block} carried {least[block]} Gb/s meanwhile; must be at least "
                f"{required[block]:.0f}"
            )
