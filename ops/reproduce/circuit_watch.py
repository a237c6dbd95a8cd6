"""Watches the circuits of slices at the OCSes of a lab run. It reads the mirrors, not the emitted
messages."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from schemas.envelope import Envelope
from schemas.messages.ocs import OcsDown, PortDown, PortsDown
from schemas.messages.scheduler import DisconnectCircuits, LeaveCircuits
from schemas.names import number_of
from services.ocs.state import NO_OWNER, OcsState
from shared.engine.site import Site
from shared.models.superpod.wiring import join_ports

Ports = npt.NDArray[np.bool_]


class CircuitWatch:
    """Counts circuits of slices that go dark although their slice did not give them up and nothing at their
    ports failed.

    It compares the state of the OCSes before and after each cascade: a root message and all its effects.
    """

    def __init__(self, fabric: str) -> None:
        self._fabric = fabric
        self._state: OcsState | None = None
        self._made: Ports = np.zeros((0, 0), dtype=np.bool_)
        self._wanted = np.zeros((0, 0), dtype=np.int16)
        self._owner = np.zeros((0, 0), dtype=np.int32)
        self._cut: Counter[int] = Counter()
        self.made = 0
        """Number of circuits of slices that started to carry light."""

    @property
    def cut(self) -> Mapping[str, int]:
        """Circuits cut, by slice."""
        return {f"{self._fabric}/slice-{number}": count for number, count in sorted(self._cut.items())}

    def attach(self, site: Site) -> None:
        """Watch the OCSes of this site from now on. Watches nothing if they do not run."""
        if not any(one.fabric == self._fabric and one.name == "ocs" for one in site.instances):
            return
        state = site.instance(self._fabric, "ocs").state
        if not isinstance(state, OcsState):
            raise TypeError(f"{self._fabric} has no OCSes")
        self._state = state
        self._remember(state)

    def see(self, cascade: Sequence[Envelope]) -> None:
        """Compare the circuits after this cascade with those before it."""
        state = self._state
        if state is None:
            return
        if np.array_equal(state.made, self._made) and np.array_equal(state.wanted, self._wanted):
            if not np.array_equal(state.owner, self._owner):
                self._owner = state.owner.copy()
            return
        stands = state.made & (state.wanted == self._wanted)
        lost = self._made & (self._owner > NO_OWNER) & ~stands
        if lost.any():
            lost &= ~self._explained(cascade)
            self._cut.update(self._owner[lost].tolist())
        self.made += int((state.made & (state.owner > NO_OWNER) & ~self._made).sum())
        self._remember(state)

    def _remember(self, state: OcsState) -> None:
        self._made, self._wanted, self._owner = state.made.copy(), state.wanted.copy(), state.owner.copy()

    def _explained(self, cascade: Sequence[Envelope]) -> Ports:
        """Return (OCSes, radix) by North port: circuits that their own slice gives up in this cascade, or
        that lose their OCS or one of their ports."""
        found = np.zeros_like(self._made)
        for message in cascade:
            match message.body:
                case DisconnectCircuits(slice=name, joins=joins) | LeaveCircuits(slice=name, joins=joins):
                    ocs, north, south = join_ports(joins)
                    own = self._owner[ocs, north] == number_of(name)
                    found[ocs, north] |= own & (self._wanted[ocs, north] == south)
                case OcsDown(ocs=number):
                    found[number] = True
                case PortDown(ocs=number, side=side, port=port):
                    self._at_ports(found, number, side, (port,))
                case PortsDown(ocs=number, side=side, ports=ports):
                    self._at_ports(found, number, side, ports)
                case _:
                    pass
        return found

    def _at_ports(self, found: Ports, ocs: int, side: str, ports: Sequence[int]) -> None:
        if side == "N":
            found[ocs, list(ports)] = True
        else:
            found[ocs] |= np.isin(self._wanted[ocs], ports)
