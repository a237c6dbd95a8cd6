"""The wiring of a superpod: to which OCS and port each face of a cube leads, and the numbers of its parts.

Geometry after Lightwave Fabrics (appendix A, Fig. A.1; 3.1, 4.1.1) and TPU v4 (2.2, Fig. 1). The OCS of
dimension d and face index i is number 16·d + i. The two strands of a module are an N/S pair, on one duplex
port ([LF] 3.1): there, cube c's "+d" module has duplex port 2c (North 2c and South 2c), its "−d" module
duplex port 2c + 1. A link of cube a's + face with cube b's − face is two circuits: strand 0 is
N[2a] → S[2b+1], strand 1 is N[2b+1] → S[2a].
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from shared.models.ocs.patched_fibres import SIDES

DIMENSIONS = 3
FACE_LINKS = 16
"""Links on one face of a cube: 4 × 4 chips."""
FACES = ("+x", "-x", "+y", "-y", "+z", "-z")
STRANDS = 2
CUBE_SIDE = 4
"""Chips along an edge of a cube."""
CHIPS_PER_CUBE = CUBE_SIDE**3
HOSTS_PER_CUBE = 16
CHIPS_PER_HOST = 4
ENDS_PER_CUBE = len(FACES) * FACE_LINKS
OCS_COUNT = DIMENSIONS * FACE_LINKS
SPARE_PORTS = 8
PALOMAR_RADIX = 136

IntArray = npt.NDArray[np.int64]
Numbers = TypeVar("Numbers", int, IntArray)
JOINS_KEPT_MAX = 256
"""Joins whose ports and ends are cached: those of a slice are needed six times over its life."""


def ocs_radix(cubes: int) -> int:
    """Duplex ports on one side of an OCS: two per cube and 8 spares, at least Palomar's 136."""
    return max(PALOMAR_RADIX, STRANDS * cubes + SPARE_PORTS)


def port_of_face(cube: Numbers, face: Numbers) -> Numbers:
    """The duplex port of a module: its strands enter North and South there."""
    return STRANDS * cube + face % 2


def side_of(face: Numbers, strand: Numbers) -> Numbers:
    """The side of its OCS that a strand of a module on this face enters, 0 for North.

    The two ends of a link are on opposite sides.
    """
    return (face + strand) % 2


@dataclass(frozen=True, slots=True)
class LinkEnd:
    """One optical module on a cube's face. `index` is its face index, 0 … 15."""

    cube: int
    face: int
    index: int

    @property
    def number(self) -> int:
        return self.cube * ENDS_PER_CUBE + self.face * FACE_LINKS + self.index

    @property
    def dimension(self) -> int:
        return self.face // 2

    @property
    def is_plus(self) -> bool:
        """Whether the end is on a + face."""
        return self.face % 2 == 0

    @property
    def ocs(self) -> int:
        return self.dimension * FACE_LINKS + self.index

    @property
    def port(self) -> int:
        """The duplex port of its OCS (`port_of_face`)."""
        return port_of_face(self.cube, self.face)

    def side(self, strand: int) -> str:
        """The side of its OCS that a strand enters (`side_of`)."""
        return SIDES[side_of(self.face, strand)]

    @property
    def chip(self) -> tuple[int, int, int]:
        """The chip of the cube that uses this end, as (x, y, z) in 0 … 3."""
        far = 3 if self.is_plus else 0
        first, second = divmod(self.index, 4)
        return ((far, first, second), (first, far, second), (first, second, far))[self.dimension]

    def name(self, fabric: str) -> str:
        return f"{fabric}/cube-{self.cube}/{FACES[self.face]}/{self.index}"


def link_end(number: int) -> LinkEnd:
    """The link end with this number: 96 × cube + 16 × face + index."""
    cube, rest = divmod(number, ENDS_PER_CUBE)
    face, index = divmod(rest, FACE_LINKS)
    return LinkEnd(cube, face, index)


def ocs_of(number: int) -> int:
    """The OCS of the link end with this number, without creating a `LinkEnd`."""
    face, index = divmod(number % ENDS_PER_CUBE, FACE_LINKS)
    return face // 2 * FACE_LINKS + index


def is_plus(number: int) -> bool:
    """Whether the link end with this number is on a + face, without creating a `LinkEnd`."""
    return not number // FACE_LINKS % 2


def end_at(ocs: int, port: int) -> LinkEnd:
    """The link end whose fibres are on this duplex port; spare ports have none and are not valid."""
    dimension, index = divmod(ocs, FACE_LINKS)
    return LinkEnd(port // STRANDS, 2 * dimension + port % 2, index)


def strand_at(side: str, port: int) -> int:
    """The strand of that link end which enters this port."""
    return (SIDES.index(side) + port) % 2


def host_of_chip(chip: tuple[int, int, int]) -> int:
    """The host (0 … 15) of a chip of a cube: 2 × 2 × 1 chips a host (the twin's convention)."""
    x, y, z = chip
    return (x // 2) * 8 + (y // 2) * 4 + z


def chip_in_cube(chip: tuple[int, int, int]) -> int:
    """The number (0 … 63) of a chip in its cube: four per host, numbered 2 × (x mod 2) + y mod 2 (the twin's
    convention)."""
    x, y, _ = chip
    return CHIPS_PER_HOST * host_of_chip(chip) + 2 * (x % 2) + y % 2


@lru_cache(maxsize=JOINS_KEPT_MAX)
def join_columns(joins: tuple[tuple[int, int, int], ...]) -> tuple[IntArray, IntArray, IntArray]:
    """Some joins as (dimension, cube of the + face, cube of the − face), read-only, of shape (joins,)."""
    dimension, plus, minus = np.array([*chain.from_iterable(joins)], dtype=np.int64).reshape(-1, 3).T
    return _fixed(dimension), _fixed(plus), _fixed(minus)


@lru_cache(maxsize=JOINS_KEPT_MAX)
def join_ports(joins: tuple[tuple[int, int, int], ...]) -> tuple[IntArray, IntArray, IntArray]:
    """The circuits of some joins as (OCS, North port, South port), read-only, each of shape (32 × joins,).

    A join (d, a, b) is N[2a] → S[2b+1] and N[2b+1] → S[2a] on the 16 OCSes of dimension d. Ordered by join,
    face index, strand.
    """
    dimension, plus, minus = (column[:, None] for column in join_columns(joins))
    index, strand = np.divmod(np.arange(FACE_LINKS * STRANDS), STRANDS)
    plus_port, minus_port = STRANDS * plus, STRANDS * minus + 1
    norths = np.where(strand == 0, plus_port, minus_port)
    souths = np.where(strand == 0, minus_port, plus_port)
    return _fixed(dimension * FACE_LINKS + index), _fixed(norths), _fixed(souths)


@lru_cache(maxsize=JOINS_KEPT_MAX)
def join_ends(joins: tuple[tuple[int, int, int], ...]) -> tuple[IntArray, IntArray]:
    """The link ends of some joins as numbers (of + faces, of − faces), read-only, each of shape
    (16 × joins,)."""
    dimension, plus, minus = (column[:, None] for column in join_columns(joins))
    plus_ends = plus * ENDS_PER_CUBE + 2 * dimension * FACE_LINKS + np.arange(FACE_LINKS)
    minus_ends = minus * ENDS_PER_CUBE + (2 * dimension + 1) * FACE_LINKS + np.arange(FACE_LINKS)
    return _fixed(plus_ends), _fixed(minus_ends)


def _fixed(array: IntArray) -> IntArray:
    """One-dimensional and read-only: all callers with the same joins share the array."""
    flat = array.ravel()
    flat.flags.writeable = False
    return flat
