"""Bit error rates of a whole pod at once, or of a few changed strands.

In nearly all lanes the two lasers are so far apart that no beat is in band. Their errors depend only on
received power, for each of the few extinction ratios of lasers. The logarithm is tabulated once with the
reference chain (`lane_ber.lane_log10_ber`, also the test oracle) and interpolated linearly. The few lanes
whose lasers are close and whose beat can matter use the reference chain.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import scipy  # which loads scipy.special when it is first used

from shared.models.optics.fec import decoded_log10
from shared.models.optics.lane_ber import (
    ReceivedLight,
    lane_log10_ber,
    light_along_path,
    receiver_log10_ber,
    with_bursts,
)
from shared.models.optics.link_design import DIRECT, FloatArray, LinkDesign, Strands
from shared.models.optics.manufactured_modules import EXTINCTION_STEP_DB, Lanes
from shared.models.optics.multipath_interference import has_a_tone, in_reach, products
from shared.models.optics.path_losses import loss_db
from shared.models.optics.receiver import NONE, Receiver

IntArray = npt.NDArray[np.intp]

STEP_DB = 1.0 / 64.0
RECEIVED_DBM = (-42.0, 12.0)
"""The grid of a table. A rate of 1e-15 falls at most with the square of the signal, a curvature of 15 · (ln
10 ÷ 5)² = 3.2 per square dB, and with the inner code no faster at the same rate. The error of a straight line
is an eighth of that times the square of the step: 0.0001 in log10 of the rate."""
LOG10_BER_MIN = -40.0
"""Lower rates count as this one."""
HIDDEN = 0.004
"""Negligible share of a rate: 0.002 in its log10."""
CAUTION = 2.0
"""Safety factor on the largest swing of a beat before it is ignored: slicers are not in the
middle of an eye."""


@dataclass(frozen=True, slots=True)
class BerTable:
    """log10 of the bit error rate without interference over a grid of received power.

    One row for every extinction ratio, starting at `first_db`.
    """

    flat: FloatArray
    entries: int
    first_db: float

    def interpolated_log10_ber(
        self, received_dbm: FloatArray, extinction_db: FloatArray | None
    ) -> FloatArray:
        """For lanes, in their shape. Values outside the grid use its edge."""
        position = (received_dbm - RECEIVED_DBM[0]) * (1.0 / STEP_DB)
        # The last entry has no successor: such values are read just before it.
        position.clip(0.0, self.entries - 1.001, out=position)
        entry = position.astype(np.intp)
        position -= entry
        if extinction_db is not None:
            row = (extinction_db - self.first_db) * (1.0 / EXTINCTION_STEP_DB)
            entry += np.rint(row).astype(np.intp) * self.entries
        here = self.flat.take(entry)
        found: FloatArray = here + position * (self.flat[1:].take(entry) - here)
        return found


@lru_cache(maxsize=64)
def ber_table(receiver: Receiver, extinctions_db: tuple[float, ...]) -> BerTable:
    """The table of a receiver for these extinction ratios, in the steps to which lasers are set."""
    entries = round((RECEIVED_DBM[1] - RECEIVED_DBM[0]) / STEP_DB) + 1
    received_dbm = np.linspace(*RECEIVED_DBM, entries)
    ratios = np.array(extinctions_db)[:, None]
    table = receiver.log10_ber(received_dbm, NONE, extinction_db=ratios)
    flat = np.append(np.maximum(table, LOG10_BER_MIN).ravel(), LOG10_BER_MIN)
    flat.flags.writeable = False
    return BerTable(flat, entries, extinctions_db[0])


class LaneKernel:
    """Bit error rates of links of one design from their losses."""

    def __init__(self, design: LinkDesign) -> None:
        self.design = design
        # Properties that a design would recompute on each access.
        self._receiver, self._raw_receiver = design.receiver, design.receiver.uncoded()
        self._bandwidth_ghz = self._receiver.bandwidth_ghz
        self._launched_dbm, self._lane_losses_db = design.launched_dbm, design.lane_losses_db
        clear_db = loss_db(design.path(Strands(DIRECT))) + self._lane_losses_db
        self._lane_dbm = self._launched_dbm - clear_db
        self._penalties_db = design.penalties_db
        self._set_alike = ber_table(self._receiver, (design.extinction_db,))
        self._as_set = ber_table(self._receiver, design.extinctions_db)
        self._raw_alike = ber_table(self._raw_receiver, (design.extinction_db,))
        self._raw_as_set = ber_table(self._raw_receiver, design.extinctions_db)
        self._closes = _closes(design, notched=False), _closes(design, notched=True)

    def lane_log10_ber(self, strands: Strands, lanes: Lanes) -> FloatArray:
        """log10 of the bit error rate before the outer code, of shape (strands, lanes).

        `strands` has one value for each strand, and `lanes` one row for each strand or one for all.
        """
        if self.design.kind.bidi and lanes.offset_ghz is None:
            return lane_log10_ber(self.design, strands, lanes)
        reads_dbm = self.received_dbm(strands, lanes) - (self._penalties_db + lanes.sensitivity_db)
        table = self._set_alike if lanes.extinction_db is None else self._as_set
        found = with_bursts(table.interpolated_log10_ber(reads_dbm, self.design.extinction_of(lanes)), lanes)
        if lanes.offset_ghz is None or not self.design.kind.bidi:
            return found
        beating = in_reach(lanes.offset_ghz, self._bandwidth_ghz)
        places, strand, lane = _places(beating, found.shape)
        if not len(places):
            return found
        # Each of these lanes becomes a separate strand.
        single = lanes.single(strand, lane)
        path = self.design.path(strands.part(strand).per_lane())
        light = light_along_path(path, self._launched_dbm, self._lane_losses_db, single)
        # Lanes where bursts dominate any beat are skipped.
        most = self._at_most(light, single, reads_dbm.take(places)[:, None])[:, 0]
        few = np.flatnonzero(most > found.take(places) + math.log10(HIDDEN))
        if len(few):
            light, single = light.part(few), single.part(few)
            exact = self._exact(self._receiver, light, single)
            found.put(places.take(few), with_bursts(exact, single))
        return found

    def _exact(self, receiver: Receiver, light: ReceivedLight, lanes: Lanes) -> FloatArray:
        """The reference chain, without bursts."""
        extinction_db = self.design.extinction_of(lanes)
        return receiver_log10_ber(receiver, light, lanes, extinction_db, self._penalties_db)

    def _at_most(self, light: ReceivedLight, lanes: Lanes, reads_dbm: FloatArray) -> FloatArray:
        """An upper bound of the rate with any beat.

        Every decision has the smallest Q of the worst one, in an eye that is closed by the largest swing of
        the strongest reflection, with the noise of all others.
        """
        receiver = self._receiver
        table = self._raw_alike if lanes.extinction_db is None else self._raw_as_set
        decisions, ln10 = 2.0 * (receiver.levels - 1), math.log(10.0)
        share = receiver.errors_per_decision
        worst = table.interpolated_log10_ber(reads_dbm, self.design.extinction_of(lanes)) * ln10
        worst = worst + math.log(decisions / share)
        q = -scipy.special.ndtri_exp(np.minimum(worst, math.log(0.5)))
        notched = has_a_tone(np.asarray(lanes.offset_ghz)) & receiver.mitigation
        closes = np.where(notched, self._closes[1], self._closes[0])
        closed = CAUTION * closes * 10.0 ** (light.strongest_db / 20.0)
        noise = closes * 10.0 ** (light.rest_db / 20.0) / math.sqrt(2.0)
        left = q * np.maximum(1.0 - closed, 0.0) / np.hypot(1.0, q * noise)
        raw = (scipy.special.log_ndtr(-left) + math.log(share)) / ln10
        found: FloatArray = decoded_log10(raw, share) if receiver.soft_fec else raw
        return found

    def raw_log10_ber(self, light: ReceivedLight, lanes: Lanes) -> FloatArray:
        """log10 of the decision errors before the inner code, from noise and interference only, without
        bursts.

        Of the light's shape (strands, lanes), with `lanes` as in `log10_ber`.
        """
        if self.design.kind.bidi and lanes.offset_ghz is None:
            return self._exact(self._raw_receiver, light, lanes)
        reads_dbm = light.received_dbm - (self._penalties_db + lanes.sensitivity_db)
        table = self._raw_alike if lanes.extinction_db is None else self._raw_as_set
        found = table.interpolated_log10_ber(reads_dbm, self.design.extinction_of(lanes))
        if lanes.offset_ghz is None or not self.design.kind.bidi:
            return found
        beating = in_reach(lanes.offset_ghz, self._bandwidth_ghz)
        places, strand, lane = _places(beating, found.shape)
        if len(places):
            single = light.single(strand, lane), lanes.single(strand, lane)
            found.put(places, self._exact(self._raw_receiver, *single))
        return found

    def received_dbm(self, strands: Strands, lanes: Lanes) -> FloatArray:
        """Average received power, of the same shape."""
        found: FloatArray = self._lane_dbm - strands.loss_db[:, None] + lanes.far_launch_db
        return found


def _closes(design: LinkDesign, *, notched: bool) -> float:
    """The largest share of an eye that the swing of a beat closes, per field of the beating light.

    It applies between the highest levels at the lowest extinction ratio.
    """
    levels = design.receiver.relative_levels(np.asarray(design.extinctions_db[0]))
    eye = 0.5 * float(levels[1] - levels[0])
    beats = products(levels[:, None], np.array([float(notched)]))
    return 2.0 * float(np.abs(beats).max()) / eye


def _places(where: npt.NDArray[np.bool_], shape: tuple[int, int]) -> tuple[IntArray, IntArray, IntArray]:
    """(number, strand, lane) of the true positions of a shape."""
    places = np.flatnonzero(where if where.shape == shape else np.broadcast_to(where, shape))
    strand, lane = np.divmod(places, shape[1])
    return places, strand, lane
