"""Circuits: one circuit a port, and nobody touches another slice's."""

from collections.abc import Iterator

import numpy as np

from schemas.config import SuperpodConfig
from schemas.envelope import Envelope
from schemas.ocs import CircuitsConnected, CircuitsDisconnected, CircuitsRestored, OcsDown, PortDown
from schemas.scheduler import ConnectCircuits, DisconnectCircuits, LeaveCircuits
from schemas.sequencer import FabricCommissioned
from shared.models.superpod.wiring import OCS_COUNT, join_ports, ocs_radix

NOBODY = "nobody"
"""Whose circuits are that stand although no slice has them."""


class CircuitChecker:
    """Follows every port of every OCS: commanded joins by slice, and circuits that the mirrors make."""

    def __init__(self) -> None:
        self._joins: dict[tuple[int, int], tuple[int, str]] = {}
        self._north = np.full((0, 0), -1)
        self._south = np.full((0, 0), -1)

    def see(self, message: Envelope) -> Iterator[str]:
        body = message.body
        if isinstance(body, FabricCommissioned) and isinstance(body.config, SuperpodConfig):
            radix = ocs_radix(body.config.pod.cubes)
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
            ocs, north, south = join_ports(body.joins)
            made = self._north[ocs, north]
            if np.any((made != -1) & (made != south)):
                yield f"{body.slice} takes away a circuit that is not its own"
            self._north[ocs, north] = -1
            self._south[ocs, south] = -1
        elif isinstance(body, CircuitsRestored):
            for port, far in body.circuits:
                yield from self._light(body.ocs, port, far)
        elif isinstance(body, OcsDown):
            self._north[body.ocs] = -1
            self._south[body.ocs] = -1
        elif isinstance(body, PortDown):
            self._darken(body)

    def _command(self, body: ConnectCircuits) -> Iterator[str]:
        for dimension, north, south in body.joins:
            for key, side in (((2 * dimension, north), "North"), ((2 * dimension + 1, south), "South")):
                far = south if side == "North" else north
                if key in self._joins and self._joins[key] != (far, NOBODY):
                    other = self._joins[key][1]
                    yield f"{side} ports of cube {key[1]}, dimension {dimension}, are commanded for {other}"
            self._joins[2 * dimension, north] = (south, body.slice)
            self._joins[2 * dimension + 1, south] = (north, body.slice)

    def _withdraw(self, body: DisconnectCircuits) -> Iterator[str]:
        for dimension, north, south in body.joins:
            kept = self._joins.pop((2 * dimension, north), None)
            self._joins.pop((2 * dimension + 1, south), None)
            if kept not in ((south, body.slice), (south, NOBODY)):
                yield f"{body.slice} gives up join {(dimension, north, south)}, which was {kept}"

    def _leave(self, body: LeaveCircuits) -> Iterator[str]:
        for dimension, north, south in body.joins:
            kept = self._joins.get((2 * dimension, north))
            if kept != (south, body.slice):
                yield f"{body.slice} leaves join {(dimension, north, south)}, which was {kept}"
            self._joins[2 * dimension, north] = (south, NOBODY)
            self._joins[2 * dimension + 1, south] = (north, NOBODY)

    def _make(self, body: CircuitsConnected) -> Iterator[str]:
        ocs, north, south = join_ports(body.joins)
        missing = np.isin(ocs, body.missing_ocs)
        for number, port in body.missing_ports:
            missing |= (ocs == number) & (north == port)
        ocs, north, south = ocs[~missing], north[~missing], south[~missing]
        near, far = self._north[ocs, north], self._south[ocs, south]
        if np.any((near != -1) & (near != south)) or np.any((far != -1) & (far != north)):
            yield f"{body.slice} gets a circuit on a port that has one"
        self._north[ocs, north] = south
        self._south[ocs, south] = north

    def _light(self, ocs: int, north: int, south: int) -> Iterator[str]:
        if self._north[ocs, north] != -1 or self._south[ocs, south] != -1:
            yield f"OCS {ocs} restores N{north} to S{south}, one of which has a circuit"
        self._north[ocs, north] = south
        self._south[ocs, south] = north

    def _darken(self, body: PortDown) -> None:
        near, far = (self._north, self._south) if body.side == "N" else (self._south, self._north)
        other = near[body.ocs, body.port]
        near[body.ocs, body.port] = -1
        if other != -1:
            far[body.ocs, other] = -1
