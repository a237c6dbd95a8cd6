"""Static pods: fibres join neighbours only, so a slice of several cubes is a box of adjacent ones."""

from collections.abc import Iterator

from schemas.config import StaticPodConfig
from schemas.envelope import Envelope
from schemas.scheduler import ConnectCircuits, CubeSwapped, DisconnectCircuits, SliceAdmitted
from schemas.sequencer import FabricCommissioned

SIDE = 4
"""Cubes along each dimension of the grid, which is a torus; cubes are numbered x-major."""


class BoxChecker:
    """Follows where slices of a static pod lie. Idle for any other kind of fabric."""

    def __init__(self) -> None:
        self._is_static = False
        self._cubes: dict[str, int] = {}
        """Slice → how many cubes it has."""

    def see(self, message: Envelope) -> Iterator[str]:
        body = message.body
        if isinstance(body, FabricCommissioned):
            self._is_static = isinstance(body.config, StaticPodConfig)
        elif not self._is_static:
            return
        elif isinstance(body, SliceAdmitted):
            self._cubes[body.slice] = len(body.cubes)
            if len(body.cubes) > 1:
                yield from self._lie(body)
        elif isinstance(body, CubeSwapped):
            if self._cubes.get(body.slice) != 1:
                yield f"{body.slice} has {self._cubes.get(body.slice)} cubes and leaves cube {body.left}"
        elif isinstance(body, ConnectCircuits | DisconnectCircuits):
            yield f"{body.slice} commands circuits where no OCS is"

    def _lie(self, body: SliceAdmitted) -> Iterator[str]:
        """What is wrong with where a slice lies: along each of its own dimensions, its cubes must follow one
        another along one dimension of the grid, a different one for each."""
        wanted = [side // SIDE for side in body.shape]
        if body.twisted:
            yield f"{body.slice} is twisted on fixed fibres"
        if wanted[0] * wanted[1] * wanted[2] != len(set(body.cubes)):
            yield f"{body.slice} has cubes {body.cubes}, its shape takes {wanted}"
            return
        places = [(cube // (SIDE * SIDE), cube // SIDE % SIDE, cube % SIDE) for cube in body.cubes]
        used = set()
        for own, stride in enumerate((wanted[1] * wanted[2], wanted[2], 1)):
            steps = {
                tuple((b - a) % SIDE for a, b in zip(places[n], places[n + stride], strict=True))
                for n in range(len(places) - stride)
                if n // stride % wanted[own] + 1 < wanted[own]
            }
            if not steps:
                continue
            used |= steps
            if len(steps) > 1 or sorted(next(iter(steps))) != [0, 0, 1]:
                yield f"{body.slice} lies on {body.cubes}, which are no box of adjacent cubes"
                return
        if len(used) != sum(side > 1 for side in wanted):
            yield f"{body.slice} lies on {body.cubes}, two of its dimensions along one of the grid"
