"""Circuits as arrays of their OCSes and ports."""

from dataclasses import dataclass

import numpy as np

from services.ocs.state import IntArray


@dataclass(frozen=True, slots=True)
class Circuits:
    """Circuits by their numbers of OCS, North port and South port, each of shape (circuits,), made by
    `circuits_of`.

    `north_at` and `south_at` are the places of their ports in an array of shape (OCSes, radix) that is laid
    out flat, which reads and writes them in a third of the time; `ocses` are the OCSes, each once.
    """

    ocs: IntArray
    north: IntArray
    south: IntArray
    north_at: IntArray
    south_at: IntArray
    ocses: tuple[int, ...]


def circuits_of(ocs: IntArray, north: IntArray, south: IntArray, radix: int) -> Circuits:
    """These circuits of OCSes with so many ports on each side."""
    ocses = tuple(np.flatnonzero(np.bincount(ocs)).tolist())
    return Circuits(ocs, north, south, ocs * radix + north, ocs * radix + south, ocses)
