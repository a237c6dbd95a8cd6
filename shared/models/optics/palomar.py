"""Palomar OCSes as manufactured from a seed: mirrors in use, insertion loss of port pairs, and reflections.

[LF] 3.2.2 (mirrors), 4.1.1 and Figure 10 (losses). An OCS is a function of (seed, fabric, OCS number): the
same on every call, and computable without the others. Insertion loss of N → S, in dB:

    collimator N + mirror N + splices and connectors N + deflection(N, S) + the same three of S

So three numbers for each port and one table for all OCSes give every pair. Assumptions (the split of the sum
and the spread of each part) are in `shared.models.assumptions`. All values are rounded to 0.0001 dB, so
differences in the last bit between machines have no effect.

Switches of the other technologies of Table C.1 are assumed to have a Palomar's losses, scaled by the bounds
in the table, and its reflections: no paper has their distributions.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from shared.basics.errors import InvalidInput
from shared.basics.keyed_random import draw_uniform_array
from shared.models.assumptions import assumed
from shared.models.ocs.parts import BOARDS_PER_ARRAY
from shared.models.ocs_technologies import ocs_technology
from shared.models.superpod.wiring import OCS_COUNT, PALOMAR_RADIX, IntArray

FloatArray = npt.NDArray[np.float64]

MIRRORS_PER_DIE = 176
"""The best 136 of them are used ([LF] 3.2.2); a switch with more ports has mirrors in the same proportion."""
INSERTION_LOSS_TYPICAL_DB = 2.0
RETURN_LOSS_TYPICAL_DB = -46.0
RETURN_LOSS_SPECIFIED_DB = -38.0
"""[LF] 3.2.1, 4.1.1: losses typically below 2 dB, ideally below 3 dB; reflections typically −46 dB, and none
above −38 dB."""

DECIMALS = 4
DRAWS_PER_OCS = 1_024
"""More than the mirrors of a die, so the draws of two OCSes never overlap."""
PORTS_MAX = 768
FABRICS_KEPT_MAX = 128
"""Fabrics whose OCSes are cached: a third of a megabyte each."""


@dataclass(frozen=True, slots=True)
class ManufacturedOcses:
    """Some OCSes of one fabric, read-only. `north` and `south` arrays have one row per OCS and one column per
    port.

    `*_mirror` is the mirror behind each port, ascending. `*_loss_db` is the loss of a port's own collimator,
    mirror, splices and connectors. `*_return_loss_db` is its reflection (negative). `deflection_loss_db` is
    over all pairs of mirrors, the same for all OCSes.
    """

    north_mirror: IntArray
    south_mirror: IntArray
    north_loss_db: FloatArray
    south_loss_db: FloatArray
    north_return_loss_db: FloatArray
    south_return_loss_db: FloatArray
    deflection_loss_db: FloatArray

    @property
    def ports(self) -> int:
        return int(self.north_mirror.shape[1])

    def insertion_loss_db(self) -> FloatArray:
        """Every pair of ports, of shape (OCSes, North ports, South ports)."""
        loss_db = self.deflection_loss_db[self.north_mirror[:, :, None], self.south_mirror[:, None, :]]
        loss_db += self.north_loss_db[:, :, None]
        loss_db += self.south_loss_db[:, None, :]
        return loss_db


def mirror_count(ports: int) -> int:
    """Mirrors on a die of a switch with this many ports on each side: 176 for 136."""
    return math.ceil(ports * MIRRORS_PER_DIE / PALOMAR_RADIX)


def manufacture(
    seed: int, fabric: str, ocs: IntArray, ports: int = PALOMAR_RADIX, technology: str = "palomar"
) -> ManufacturedOcses:
    """The OCSes with these numbers, of shape (n,), in the same order; `ports` as `ocs_radix` gives them."""
    if not 1 <= ports <= PORTS_MAX:
        raise InvalidInput(f"ports: {ports} is not allowed; must be between 1 and {PORTS_MAX}")
    die = np.uint64(DRAWS_PER_OCS) * ocs.astype(np.uint64)[:, None]
    north = _side(seed, fabric, "north", die, ports)
    south = _side(seed, fabric, "south", die, ports)
    losses_db = [north[1], south[1], _deflection_loss_db(mirror_count(ports))]
    if technology != "palomar":
        bound_db = ocs_technology(technology).insertion_loss_below_db
        share = bound_db / ocs_technology("palomar").insertion_loss_below_db
        losses_db = [_fixed(np.round(share * loss_db, DECIMALS)) for loss_db in losses_db]
    return ManufacturedOcses(north[0], south[0], losses_db[0], losses_db[1], north[2], south[2], losses_db[2])


@lru_cache(maxsize=FABRICS_KEPT_MAX)
def manufactured_ocses(
    seed: int,
    fabric: str,
    ports: int = PALOMAR_RADIX,
    ocs_count: int = OCS_COUNT,
    technology: str = "palomar",
) -> ManufacturedOcses:
    """All OCSes of a fabric, cached."""
    return manufacture(seed, fabric, np.arange(ocs_count), ports, technology)


def insertion_loss_db(
    seed: int,
    fabric: str,
    ocs: IntArray,
    north: IntArray,
    south: IntArray,
    ports: int = PALOMAR_RADIX,
    technology: str = "palomar",
) -> FloatArray:
    """Insertion loss of some circuits (OCS, North port, South port), of their common (broadcast) shape.

    The same as `manufactured_ocses(…).insertion_loss_db()[ocs, north, south]`, without the other pairs.
    """
    made = manufactured_ocses(seed, fabric, ports, technology=technology)
    at_north, at_south = _place(made, ocs, north), _place(made, ocs, south)
    loss_db: FloatArray = made.deflection_loss_db[
        made.north_mirror.take(at_north), made.south_mirror.take(at_south)
    ]
    # Summed in the order of the whole table, so both give the same bits.
    return loss_db + made.north_loss_db.take(at_north) + made.south_loss_db.take(at_south)


def return_loss_db(
    seed: int, fabric: str, ocs: IntArray, side: str, port: IntArray, ports: int = PALOMAR_RADIX
) -> FloatArray:
    """Reflection of some ports of one side ("N" or "S"), in dB of the arriving light (negative)."""
    if side not in ("N", "S"):
        raise InvalidInput(f"side: {side!r} is not a side of an OCS; must be 'N' or 'S'")
    made = manufactured_ocses(seed, fabric, ports)
    table_db = made.north_return_loss_db if side == "N" else made.south_return_loss_db
    found: FloatArray = table_db.take(_place(made, ocs, port))
    return found


def _place(made: ManufacturedOcses, ocs: IntArray, port: IntArray) -> IntArray:
    """Positions in a flat (OCS, port) table."""
    shape = made.north_mirror.shape
    try:
        return np.ravel_multi_index((ocs, port), shape)
    except ValueError as error:
        raise InvalidInput(
            f"OCS {_span(ocs)}, port {_span(port)}: does not exist; "
            f"OCS must be between 0 and {shape[0] - 1}, port between 0 and {shape[1] - 1}"
        ) from error


def _span(numbers: IntArray) -> str:
    least, greatest = int(np.min(numbers)), int(np.max(numbers))
    return str(least) if least == greatest else f"{least} to {greatest}"


def _side(
    seed: int, fabric: str, side: str, die: npt.NDArray[np.uint64], ports: int
) -> tuple[IntArray, FloatArray, FloatArray]:
    """(mirror, loss, return loss) of every port of one side of some OCSes, each of shape (OCSes, ports)."""

    def drawn(what: str, size: int) -> FloatArray:
        counts = (die + np.arange(size, dtype=np.uint64)).astype(np.uint64)
        return draw_uniform_array(seed, fabric, f"palomar {side} {what}", counts)

    mirror_db = _mirror_loss_db(drawn("mirror", mirror_count(ports)))
    best = np.sort(np.argsort(mirror_db, axis=1, kind="stable")[:, :ports], axis=1)
    loss_db = np.take_along_axis(mirror_db, best, axis=1)
    loss_db += assumed("ocs_collimator_loss_db") + _splice_loss_db(drawn("splice", ports))
    return_db = _return_loss_db(drawn("return loss", ports))
    return _fixed(best), _fixed(loss_db), _fixed(return_db)


def _fixed(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same array, read-only, because all callers share it."""
    array.flags.writeable = False
    return array


def _mirror_loss_db(drawn: FloatArray) -> FloatArray:
    """Log-logistic about its median: as the log-normal, with a quantile in closed form."""
    odds = drawn / (1.0 - drawn)
    return np.round(assumed("ocs_mirror_loss_db") * odds ** assumed("ocs_mirror_loss_spread"), DECIMALS)


def _splice_loss_db(drawn: FloatArray) -> FloatArray:
    """Exponential, cut where a port is spliced again."""
    mean_db, most_db = assumed("ocs_splice_loss_db"), assumed("ocs_splice_loss_max_db")
    within = drawn * -math.expm1(-most_db / mean_db)
    return np.round(-mean_db * np.log1p(-within), DECIMALS)


def _return_loss_db(drawn: FloatArray) -> FloatArray:
    """Logistic about −46 dB, cut at −38 dB: a port that fails the specification is reworked."""
    spread_db = assumed("ocs_return_loss_spread_db")
    margin = (RETURN_LOSS_SPECIFIED_DB - RETURN_LOSS_TYPICAL_DB) / spread_db
    within = drawn / (1.0 + math.exp(-margin))
    return np.round(RETURN_LOSS_TYPICAL_DB + spread_db * np.log(within / (1.0 - within)), DECIMALS)


@lru_cache(maxsize=8)
def _deflection_loss_db(mirrors: int) -> FloatArray:
    """Over all pairs of mirrors (N, S): grows with the square of the angle between two facing dies."""
    loss_db = np.round(assumed("ocs_deflection_loss_db") * squared_deflection(mirrors), DECIMALS)
    return _fixed(loss_db)


@lru_cache(maxsize=8)
def squared_deflection(mirrors: int) -> FloatArray:
    """Over all pairs of mirrors (N, S), read-only: the squared deflection angle relative to the largest.

    The dies are grids, 11 × 16 for 176 mirrors. The angle is the lateral distance of the two mirrors over the
    distance of the dies, so only its ratio to the largest one, across the diagonal, matters.
    """
    rows = max(1, round(math.sqrt(mirrors * 11 / 16)))
    columns = math.ceil(mirrors / rows)
    row, column = np.divmod(np.arange(mirrors), columns)
    square = (row[:, None] - row) ** 2 + (column[:, None] - column) ** 2
    largest = max(1, (rows - 1) ** 2 + (columns - 1) ** 2)
    return _fixed(square / largest)


@lru_cache(maxsize=FABRICS_KEPT_MAX)
def driver_boards(seed: int, fabric: str, radix: int, ocs_count: int) -> IntArray:
    """The driver board, within its array, behind each physical port, of shape (2, OCSes, radix).

    An array's mirrors are assigned to its boards in runs of their numbers, as its wires leave it: 44 of 176
    to each.
    """
    made = manufactured_ocses(seed, fabric, radix, ocs_count)
    mirrors = np.stack([made.north_mirror, made.south_mirror])
    found: IntArray = mirrors * BOARDS_PER_ARRAY // mirror_count(radix)
    found.flags.writeable = False
    return found
