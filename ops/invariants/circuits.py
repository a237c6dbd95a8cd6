"""Circuits: one circuit per port, no slice changes another's, and an OCS without control connects none.

Spare ports: a fibre moves only off a dead mirror, to a mirror that no fibre uses, and no fibre moves back."""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from schemas.config.pods import FabricConfig
from schemas.config.runtime_parameters import parameter_or
from schemas.envelope import Envelope
from schemas.messages.ocs import (
    CircuitsConnected,
    CircuitsDisconnected,
    CircuitsParked,
    CircuitsRestored,
    CrossConnectsDropped,
    CrossConnectsMade,
    CrossConnectsRemoved,
    CrossConnectsTaken,
    OcsDown,
    OcsFreed,
    OcsHeld,
    OcsPartDown,
    OcsPartUp,
    OcsRestarted,
    OcsRestarting,
    PortDown,
    PortPatched,
    PortsDown,
    PortUp,
)
from schemas.messages.scheduler import ConnectCircuits, DisconnectCircuits, LeaveCircuits
from schemas.messages.sequencer import FabricCommissioned
from schemas.names import number_of
from shared.models.network.blocks import network_of
from shared.models.network.wiring import wiring_of
from shared.models.ocs.parts import PART, part_word
from shared.models.ocs_technologies import TECHNOLOGIES
from shared.models.superpod.wiring import FACE_LINKS, OCS_COUNT, STRANDS, join_ports, ocs_radix

SOFTWARE = "software"
"""The software of an OCS, which restarts: counted with its parts."""
ManualCircuit = CrossConnectsTaken | CrossConnectsMade | CrossConnectsRemoved | CrossConnectsDropped
MANUAL = (CrossConnectsTaken, CrossConnectsMade, CrossConnectsRemoved, CrossConnectsDropped)
NO_SLICE = "no slice"
"""Owner of circuits that stay connected although no slice has them."""


class CircuitChecker:
    """Follows every port of every OCS: joins commanded for slices, and circuits that the mirrors make.

    `_stale` are circuits that no slice wants, but that an OCS without its controller cannot disconnect."""

    def __init__(self) -> None:
        self._joins: dict[tuple[int, int], tuple[int, str]] = {}
        self._north = np.full((0, 0), -1)
        self._south = np.full((0, 0), -1)
        self._latches = False
        self._out: Counter[tuple[int, str]] = Counter()
        """(OCS, kind of part) → number of broken parts."""
        self._held: set[int] = set()
        self._stale: dict[tuple[int, int], int] = {}
        """(OCS, North port) → South port."""
        self._by_hand: dict[tuple[int, int], int] = {}
        """The same for circuits that operators made and that no slice wants."""

    def see(self, message: Envelope) -> Iterator[str]:
        body = message.body
        if isinstance(body, FabricCommissioned) and body.config.pod_ocs is not None:
            radix = ocs_radix(parameter_or(body.config, "pod.cubes", 0))
            self._latches = TECHNOLOGIES[body.config.pod_ocs.technology].latching
            self._north = np.full((OCS_COUNT, radix), -1)
            self._south = np.full((OCS_COUNT, radix), -1)
        elif isinstance(body, ConnectCircuits):
            yield from self._command(body)
        elif isinstance(body, DisconnectCircuits):
            yield from self._withdraw(body)
        elif isinstance(body, LeaveCircuits):
            yield from self._leave(body)
        elif isinstance(body, CircuitsConnected):
            yield from self._make(body)
        elif isinstance(body, CircuitsDisconnected):
            yield from self._disconnect(body)
        elif isinstance(body, CircuitsRestored):
            for port, far in body.circuits:
                yield from self._light(body.ocs, port, far)
                if (body.ocs, port) in self._by_hand:
                    yield f"OCS {body.ocs} restores N{port} for a slice, but it has a manual cross-connect"
        elif isinstance(body, OcsDown):
            self._north[body.ocs] = -1
            self._south[body.ocs] = -1
            self._forget_stale(body.ocs)
        elif isinstance(body, PortDown):
            self._darken(body.ocs, body.side, (body.port,))
        elif isinstance(body, PortsDown):
            self._darken(body.ocs, body.side, body.ports)
        elif isinstance(body, MANUAL):
            for north, south in body.circuits:
                yield from self._of_hand(body, north, south)
        else:
            yield from self._control(message)

    def _of_hand(self, body: ManualCircuit, north: int, south: int) -> Iterator[str]:
        """Check one manual cross-connect: requested, made, removed or dropped."""
        ocs, what = body.ocs, f"OCS {body.ocs}: manual cross-connect N{north} to S{south}"
        if isinstance(body, CrossConnectsTaken):
            near = [
                at for at, far in self._by_hand.items() if at == (ocs, north) or (at[0], far) == (ocs, south)
            ]
            if near or any(_face(ocs, port) in self._joins for port in (north, south)):
                yield f"{what} takes a port that is in use"
            self._by_hand[ocs, north] = south
            return
        if self._by_hand.get((ocs, north)) != south:
            yield f"{what} was never requested"
        if isinstance(body, CrossConnectsMade):
            yield from self._light(ocs, north, south)
            return
        self._by_hand.pop((ocs, north), None)
        if self._north[ocs, north] != -1 and self._frozen(ocs):
            self._stale[ocs, north] = south
            if isinstance(body, CrossConnectsRemoved):
                yield f"{what} is removed without its controller"
        self._north[ocs, north] = -1
        self._south[ocs, south] = -1

    def _control(self, message: Envelope) -> Iterator[str]:
        """Check the control of an OCS, and its mirrors while control is lost."""
        body = message.body
        if isinstance(body, OcsPartDown):
            self._out[_part(body.part)] += 1
        elif isinstance(body, OcsPartUp):
            self._out[_part(body.part)] -= 1
        elif isinstance(body, OcsRestarting):
            self._out[body.ocs, SOFTWARE] = 1
        elif isinstance(body, OcsRestarted):
            self._out[body.ocs, SOFTWARE] = 0
        elif isinstance(body, OcsHeld):
            self._held.add(body.ocs)
        elif isinstance(body, OcsFreed):
            self._held.discard(body.ocs)
            if self._frozen(body.ocs) or any(ocs == body.ocs for ocs, _ in self._stale):
                yield f"OCS {body.ocs} is freed, but without its controller or with stale circuits"
        elif isinstance(body, CircuitsParked):
            if self._frozen(body.ocs):
                yield f"OCS {body.ocs} parks mirrors without its controller"
            if dict(body.circuits) != {n: s for (ocs, n), s in self._stale.items() if ocs == body.ocs}:
                yield f"OCS {body.ocs} parks other circuits than those that were released"
            self._forget_stale(body.ocs)

    def _frozen(self, ocs: int) -> bool:
        """Whether the OCS executes no command and its mirrors stay where they are.

        This is the case without a controller or, if its mirrors latch, without the parts that move them.
        """
        return any(
            count > 0 and self._freezes(word, count) for (one, word), count in self._out.items() if one == ocs
        )

    def _freezes(self, word: str, count: int) -> bool:
        if word == SOFTWARE or PART[word].effect == "commands":
            return True
        return self._latches and PART[word].effect in ("light", "mirrors") and count > PART[word].spare

    def _forget_stale(self, ocs: int) -> None:
        self._stale = {at: south for at, south in self._stale.items() if at[0] != ocs}

    def _disconnect(self, body: CircuitsDisconnected) -> Iterator[str]:
        ocs, north, south = join_ports(body.joins)
        made = self._north[ocs, north]
        if np.any((made != -1) & (made != south)):
            yield f"{body.slice} disconnects a circuit that is not its own"
        if any(self._out.values()):
            for one, near, far in np.stack([ocs, north, south], axis=1)[made != -1].tolist():
                if self._frozen(one):
                    self._stale[one, near] = far
        self._north[ocs, north] = -1
        self._south[ocs, south] = -1

    def _command(self, body: ConnectCircuits) -> Iterator[str]:
        for dimension, north, south in body.joins:
            for key, side in (((2 * dimension, north), "North"), ((2 * dimension + 1, south), "South")):
                far = south if side == "North" else north
                if key in self._joins and self._joins[key] != (far, NO_SLICE):
                    other = self._joins[key][1]
                    yield f"{side} ports of cube {key[1]}, dimension {dimension}, are commanded for {other}"
            self._joins[2 * dimension, north] = (south, body.slice)
            self._joins[2 * dimension + 1, south] = (north, body.slice)

    def _withdraw(self, body: DisconnectCircuits) -> Iterator[str]:
        for dimension, north, south in body.joins:
            kept = self._joins.pop((2 * dimension, north), None)
            self._joins.pop((2 * dimension + 1, south), None)
            if kept not in ((south, body.slice), (south, NO_SLICE)):
                yield f"{body.slice} releases join {(dimension, north, south)}, which was {kept}"

    def _leave(self, body: LeaveCircuits) -> Iterator[str]:
        for dimension, north, south in body.joins:
            kept = self._joins.get((2 * dimension, north))
            if kept != (south, body.slice):
                yield f"{body.slice} leaves join {(dimension, north, south)}, which was {kept}"
            self._joins[2 * dimension, north] = (south, NO_SLICE)
            self._joins[2 * dimension + 1, south] = (north, NO_SLICE)

    def _make(self, body: CircuitsConnected) -> Iterator[str]:
        ocs, north, south = join_ports(body.joins)
        missing = np.isin(ocs, body.missing_ocs)
        for number, port in body.missing_ports:
            missing |= (ocs == number) & (north == port)
        for one, port in self._by_hand:
            if np.any((ocs == one) & ((north == port) | (south == self._by_hand[one, port]))):
                yield f"{body.slice} has a port of OCS {one} that has a manual cross-connect"
        ocs, north, south = ocs[~missing], north[~missing], south[~missing]
        near, far = self._north[ocs, north], self._south[ocs, south]
        if np.any((near != -1) & (near != south)) or np.any((far != -1) & (far != north)):
            yield f"{body.slice} gets a circuit on a port that already has one"
        if self._held or self._stale:
            new = near == -1
            for circuit in np.stack([ocs, north, south], axis=1)[new].tolist():
                yield from self._may_make(*circuit)
        self._north[ocs, north] = south
        self._south[ocs, south] = north

    def _light(self, ocs: int, north: int, south: int) -> Iterator[str]:
        if self._north[ocs, north] != -1 or self._south[ocs, south] != -1:
            yield f"OCS {ocs} restores N{north} to S{south}, but one of the ports has a circuit"
        yield from self._may_make(ocs, north, south)
        self._north[ocs, north] = south
        self._south[ocs, south] = north

    def _may_make(self, ocs: int, north: int, south: int) -> Iterator[str]:
        """Check a new circuit. A stale one, which the mirrors never disconnected, may be used again."""
        if self._stale.get((ocs, north)) == south:
            del self._stale[ocs, north]
        elif ocs in self._held:
            yield f"OCS {ocs} makes N{north} to S{south}, but its control is lost"
        elif any(one == ocs and (near == north or far == south) for (one, near), far in self._stale.items()):
            yield f"OCS {ocs} makes N{north} to S{south}, but one of the ports has a stale circuit"

    def _darken(self, ocs: int, side: str, ports: Sequence[int]) -> None:
        near, far = (self._north, self._south) if side == "N" else (self._south, self._north)
        for port in ports:
            other = near[ocs, port]
            near[ocs, port] = -1
            if other != -1:
                far[ocs, other] = -1
        for (one, north), south in list(self._stale.items()):
            if one == ocs and (north if side == "N" else south) in ports:
                del self._stale[one, north]


def _face(ocs: int, port: int) -> tuple[int, int]:
    """(face, cube) of a port on either side of an OCS, as joins are keyed.

    Both fibres of a module enter one duplex port. Ports of + faces have even numbers."""
    return 2 * (ocs // FACE_LINKS) + port % STRANDS, port // STRANDS


def _part(target: str) -> tuple[int, str]:
    """(OCS, kind) of a part of an OCS, or of the chassis itself."""
    return number_of(target.split("/")[1]), part_word(target)


# --- spare ports ---

Port = tuple[int, str, int]
"""(OCS, side, number)."""


def _ports_wired(config: FabricConfig) -> int:
    """The ports with a fibre on each side of an OCS; 0 without OCSes."""
    if config.network_hardware is not None:
        return wiring_of(network_of(config.network_hardware)).ports_wired
    return STRANDS * parameter_or(config, "pod.cubes", 0) if config.pod_ocs is not None else 0


class PatchChecker:
    """Follows the port of every fibre, by the port it was wired to, and which ports are down."""

    def __init__(self) -> None:
        self._wired = 0
        self._at: dict[Port, int] = {}
        self._dead: set[Port] = set()
        self._down: set[Port] = set()

    def see(self, message: Envelope) -> Iterator[str]:
        body = message.body
        if isinstance(body, FabricCommissioned):
            self._wired = _ports_wired(body.config)
        elif isinstance(body, PortPatched):
            yield from self._patch(body)
        elif isinstance(body, PortDown | PortUp):
            port = (body.ocs, body.side, body.port)
            if body.spare != self._at.get(port):
                yield f"{_text(port)} is reported at {body.spare}, but its fibre is at {self._at.get(port)}"
            (self._down.add if isinstance(body, PortDown) else self._down.discard)(port)

    def _patch(self, body: PortPatched) -> Iterator[str]:
        port, spare = (body.ocs, body.side, body.port), (body.ocs, body.side, body.spare)
        if port not in self._down:
            yield f"{_text(port)} is patched, but is not down"
        if body.port >= self._wired or body.spare < self._wired:
            yield f"{_text(port)} is patched to {body.spare}; fibres enter 0 to {self._wired - 1}"
        if body.left != self._at.get(port):
            yield f"{_text(port)} leaves {body.left}, but was at {self._at.get(port)}"
        taken = {(ocs, side, at) for (ocs, side, _), at in self._at.items()}
        if spare in taken | self._dead:
            yield f"{_text(port)} is patched to {_text(spare)}, which has a fibre or a dead mirror"
        if spare in self._down:
            yield f"{_text(port)} is patched to {_text(spare)}, which is down"
        self._dead.add((body.ocs, body.side, body.port if body.left is None else body.left))
        self._at[port] = body.spare
        self._down.discard(port)


def _text(port: Port) -> str:
    ocs, side, number = port
    return f"{side}{number} of OCS {ocs}"
