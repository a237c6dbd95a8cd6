"""The elements of a link's path, their losses and the reflected light."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
Decibels = float | FloatArray
"""A single number if all values are equal: for few lanes a numpy call costs more than its computation."""
NOTHING_DB = 0.0


class Element(NamedTuple):
    """One piece of the path, as seen on the way out; arrays of one broadcast shape.

    `loss_db` is its loss each way, `return_db` the reflection of arriving light (negative; None: none).
    """

    name: str
    loss_db: Decibels
    return_db: Decibels | None = None


def loss_db(path: Iterable[Element]) -> Decibels:
    """Loss of the whole path, one way."""
    total_db: Decibels = NOTHING_DB
    for element in path:
        total_db = _behind(total_db, element)
    return total_db


def reflections(path: Iterable[Element], launch_dbm: float) -> Iterator[tuple[str, Decibels]]:
    """(element, power in dBm) of all own light that returns to this end's receiver."""
    there_db: Decibels = NOTHING_DB
    # Own light after loss `twice_db`, forth and back.
    twice_db, own_dbm = there_db, launch_dbm - 2.0 * there_db
    for element in path:
        if element.return_db is not None:
            if twice_db is not there_db:
                twice_db, own_dbm = there_db, launch_dbm - 2.0 * there_db
            yield element.name, own_dbm + element.return_db
        there_db = _behind(there_db, element)


def _behind(there_db: Decibels, element: Element) -> Decibels:
    """Loss up to behind an element; nothing is added for an element without loss."""
    loss_db = element.loss_db
    return there_db if isinstance(loss_db, float) and not loss_db else there_db + loss_db


def strongest_and_rest(powers_dbm: list[Decibels]) -> FloatArray:
    """The strongest of powers of one broadcast shape and the sum of the others, in mW, both of that shape; 0
    for none."""
    shape = np.broadcast(*powers_dbm).shape
    each = np.empty((len(powers_dbm), *shape))
    for place, power_dbm in enumerate(powers_dbm):
        each[place] = power_dbm
    each /= 10.0
    powers = 10.0**each
    found = np.empty((2, *shape))
    strongest, rest = found[0, ...], found[1, ...]
    np.maximum.reduce(powers, axis=0, initial=0.0, out=strongest)
    # numpy adds so few numbers in sequence: the last bit does not depend on the number of lanes.
    np.add.reduce(powers, axis=0, out=rest)
    rest -= strongest
    np.maximum(rest, 0.0, out=rest)
    return found
