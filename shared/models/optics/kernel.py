"""The bit error rates of a whole pod at once, or of the few strands that change.

Of all that a receiver's bit error rate depends on, only received power and interference change while a pod
runs. So its logarithm is tabulated over the two once, by the plain chain itself (which stays its oracle, here
`plain_log10_ber`), and read between the entries by straight lines. What is the same for the lanes of a strand
is computed once a strand. numpy only, in single precision.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from shared.models.optics.link import (
    FloatArray,
    LinkDesign,
    Switched,
    arriving,
    dispersed,
    dispersion_penalty_db,
    lanes_nm,
    loss_db,
    reflections,
)
from shared.models.optics.receiver import Receiver

SingleArray = npt.NDArray[np.float32]

STEP_DB = 1.0 / 8.0
RECEIVED_DBM, INTERFERENCE_DB = (-42.0, 5.0), (-80.0, 20.0)
"""The grid of a table. A rate of 1e-15 falls at most with the square of the signal and in proportion to the
interference: curvatures of 15 · (ln 10 ÷ 5)² = 3.2 and 15 · (ln 10 ÷ 10)² = 0.8 a square dB. A straight line
errs by an eighth of that times the square of the step: 0.006 and 0.002 in log10 of the rate."""
LOG10_BER_MIN = -40.0
"""Lower rates count as this one."""


@dataclass(frozen=True, slots=True)
class BerTable:
    """log10 of the bit error rate over a grid of received power (rows) and interference (columns)."""

    flat: SingleArray
    columns: int

    def log10_ber(self, received_dbm: SingleArray, interference_db: SingleArray) -> SingleArray:
        """Of some lanes, in their shape. Beyond the grid its edge counts."""
        entry, down = _between(received_dbm, RECEIVED_DBM)
        column, right = _between(interference_db, INTERFERENCE_DB)
        entry *= self.columns
        entry += column
        above = self._along(entry, right)
        entry += self.columns
        found = self._along(entry, right)
        found -= above
        found *= down
        found += above
        return found

    def _along(self, entry: npt.NDArray[np.intp], right: SingleArray) -> SingleArray:
        """On one row: this entry and the next, weighed."""
        here = self.flat.take(entry)
        step = self.flat[1:].take(entry)
        step -= here
        step *= right
        step += here
        return step


@lru_cache(maxsize=16)
def ber_table(receiver: Receiver) -> BerTable:
    """The table of a receiver: some 300,000 evaluations of the plain chain, once."""
    received = _axis(RECEIVED_DBM)
    interference = _axis(INTERFERENCE_DB)
    log10_ber = np.maximum(receiver.log10_ber(received[:, None], interference[None, :]), LOG10_BER_MIN)
    flat = log10_ber.astype(np.float32).ravel()
    flat.flags.writeable = False
    return BerTable(flat, len(interference))


def _axis(limits: tuple[float, float]) -> FloatArray:
    return np.linspace(limits[0], limits[1], round((limits[1] - limits[0]) / STEP_DB) + 1)


def _between(value: SingleArray, limits: tuple[float, float]) -> tuple[npt.NDArray[np.intp], SingleArray]:
    """(entry at or before, share of the way to the next) along one axis."""
    last = (limits[1] - limits[0]) / STEP_DB
    position = value - np.float32(limits[0])
    position *= np.float32(1.0 / STEP_DB)
    # The last entry has none after it: what lies there is read just before it.
    np.maximum(position, np.float32(0.0), out=position)
    np.minimum(position, np.float32(last - 0.001), out=position)
    before = position.astype(np.intp)
    position -= before
    return before, position


@dataclass(frozen=True, slots=True)
class Strands:
    """What may change of some strands, one value each, in single precision: the OCS between two ends as one
    of them sees it, and what dirty connectors at this end and the far one add."""

    loss_db: SingleArray
    near_return_db: SingleArray
    far_return_db: SingleArray
    near_excess_db: SingleArray
    far_excess_db: SingleArray


def strands(
    ocs: Switched, near_excess_db: FloatArray | float = 0.0, far_excess_db: FloatArray | float = 0.0
) -> Strands:
    """Some strands from arrays of any broadcast shape; the result is flat."""
    arrays = np.broadcast_arrays(
        ocs.loss_db, ocs.near_return_db, ocs.far_return_db, near_excess_db, far_excess_db
    )
    return Strands(*(array.astype(np.float32).ravel() for array in arrays))


class LaneKernel:
    """Loss to bit error rate for links of one design.

    An end's own light comes back from (1) before its connectors, (2) its OCS port, (3) beyond the OCS and
    (4) beyond the far connectors. With all losses there and back against the signal's one way, the shares of
    the received power are in proportion to t, t ÷ x², t ÷ (x · l)² and 1 ÷ t, where l is the OCS's loss, x
    what the near connectors add and t everything that changes, each as a factor.
    """

    def __init__(self, design: LinkDesign) -> None:
        nothing = np.zeros(())
        path = design.path(Switched(nothing, nothing, nothing))
        self.table = ber_table(design.receiver)
        self.lanes = len(lanes_nm(design.kind))
        penalty_db = dispersion_penalty_db(
            design.receiver.symbol_gbd, lanes_nm(design.kind), design.length_km
        )
        clear_dbm = float(design.launch_dbm - loss_db(path))
        self._penalty_db = penalty_db.astype(np.float32)
        self._lane_dbm = (clear_dbm - penalty_db).astype(np.float32)
        shares = dict.fromkeys(_PLACES.values(), 0.0)
        for name, power_dbm in reflections(path, design.launch_dbm):
            shares[_PLACES[name]] += 10.0 ** ((float(power_dbm) - clear_dbm) / 10.0)
        self._shares = {place: np.float32(share) for place, share in shares.items()}

    def arriving(self, of: Strands) -> tuple[SingleArray, SingleArray]:
        """(received power in dBm, interference over signal in dB), of shape (strands, lanes) both, with the
        dispersion's penalty as loss of the signal."""
        share = self._shares
        near_excess = of.near_excess_db * _NEPER_PER_DB
        changing = of.loss_db * _NEPER_PER_DB
        changing += near_excess
        far = of.far_return_db * _NEPER_PER_DB
        np.exp(far, out=far)
        far *= share["far port"]
        far += share["far"]
        far *= np.exp(_THERE_AND_BACK * changing)
        near_excess *= _THERE_AND_BACK
        near_excess += of.near_return_db * _NEPER_PER_DB
        near = np.exp(near_excess, out=near_excess)
        near *= share["near port"]
        near += far
        near += share["near"]
        changing += of.far_excess_db * _NEPER_PER_DB
        total = np.exp(changing)
        near *= total
        near += share["far end"] / total
        with np.errstate(divide="ignore"):
            interference_db = np.log(near, out=near)
        interference_db *= _DB_PER_NEPER
        changing *= _DB_PER_NEPER
        return self._lane_dbm - changing[:, None], self._penalty_db + interference_db[:, None]

    def log10_ber(self, of: Strands) -> SingleArray:
        """log10 of the bit error rate before the outer code, of shape (strands, lanes)."""
        return self.table.log10_ber(*self.arriving(of))


_PLACES = {
    "circulator": "near",
    "circulator port": "near",
    "near fibre": "near",
    "near OCS port": "near port",
    "far OCS port": "far port",
    "far fibre": "far",
    "far circulator port": "far end",
}
"""Where along the path each element that sends light back stands."""
_NEPER_PER_DB = np.float32(np.log(10.0) / 10.0)
_THERE_AND_BACK = np.float32(-2.0)
_DB_PER_NEPER = np.float32(10.0 / np.log(10.0))


def plain_log10_ber(
    design: LinkDesign,
    ocs: Switched,
    near_excess_db: FloatArray | float = 0.0,
    far_excess_db: FloatArray | float = 0.0,
) -> FloatArray:
    """The plain chain in double precision, for arrays of any broadcast shape; lanes are a new last axis."""
    arrives = arriving(
        design,
        Switched(*(array[..., None] for array in (ocs.loss_db, ocs.near_return_db, ocs.far_return_db))),
        np.asarray(near_excess_db)[..., None],
        np.asarray(far_excess_db)[..., None],
    )
    penalty_db = dispersion_penalty_db(design.receiver.symbol_gbd, lanes_nm(design.kind), design.length_km)
    with np.errstate(divide="ignore"):  # a rate too small to write
        found: FloatArray = np.log10(design.receiver.ber(*dispersed(*arrives, penalty_db)))
    return found
