"""The elements of a link's path, and light's way along them: what it loses, and what is sent back of it."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
Decibels = float | FloatArray
"""A number where all are alike: of few lanes a call of numpy costs more than what it computes."""
NOTHING_DB = 0.0


class Element(NamedTuple):
    """One piece of the path, as light meets it on the way out. `loss_db` it takes each way; of light that
    arrives it sends `return_db` back (negative; None: nothing). Arrays of one broadcast shape."""

    name: str
    loss_db: Decibels
    return_db: Decibels | None = None


def loss_db(path: Iterable[Element]) -> Decibels:
    """Of the whole path, one way."""
    total_db: Decibels = NOTHING_DB
    for element in path:
        total_db = _behind(total_db, element)
    return total_db


def reflections(path: Iterable[Element], launch_dbm: float) -> Iterator[tuple[str, Decibels]]:
    """(element, power in dBm) of everything that comes back to this end's receiver of its own light."""
    there_db: Decibels = NOTHING_DB
    # Own light that has passed `twice_db` there and back.
    twice_db, own_dbm = there_db, launch_dbm - 2.0 * there_db
    for element in path:
        if element.return_db is not None:
            if twice_db is not there_db:
                twice_db, own_dbm = there_db, launch_dbm - 2.0 * there_db
            yield element.name, own_dbm + element.return_db
        there_db = _behind(there_db, element)


def _behind(there_db: Decibels, element: Element) -> Decibels:
    """What is lost behind an element; where it takes nothing, nothing is added."""
    loss_db = element.loss_db
    return there_db if isinstance(loss_db, float) and not loss_db else there_db + loss_db


def strongest_and_rest(powers_dbm: list[Decibels]) -> FloatArray:
    """Of powers of one broadcast shape, in mW, both of that shape; of none of them 0."""
    shape = np.broadcast(*powers_dbm).shape
    each = np.empty((len(powers_dbm), *shape))
    for place, power_dbm in enumerate(powers_dbm):
        each[place] = power_dbm
    each /= 10.0
    powers = 10.0**each
    found = np.empty((2, *shape))
    strongest, rest = found[0, ...], found[1, ...]
    np.maximum.reduce(powers, axis=0, initial=0.0, out=strongest)
    # So few numpy adds one after the other: the last bit does not depend on how many lanes there are.
    np.add.reduce(powers, axis=0, out=rest)
    rest -= strongest
    np.maximum(rest, 0.0, out=rest)
    return found
