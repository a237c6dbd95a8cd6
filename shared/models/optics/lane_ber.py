"""Bit error rate of every lane of a link, from the losses and reflections on its path.

The chain: launch power less the loss of the path is the received power. Reflections of the end's own light
are interference relative to it (`link_design.LinkDesign.path`). The receiver turns both into decision errors
(`receiver.Receiver.log10_ber`), to which burst errors are added. `lane_log10_ber` is the whole chain;
`fast_lane_ber` computes the same for all links of a pod, from tables.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shared.models.assumptions import assumed
from shared.models.optics.fec import post_fec_ber
from shared.models.optics.link_design import FloatArray, LinkDesign, Strands
from shared.models.optics.manufactured_modules import AS_DESIGNED, Lanes
from shared.models.optics.path_losses import Element, loss_db, reflections, strongest_and_rest
from shared.models.optics.receiver import BER_THRESHOLD, Receiver


@dataclass(frozen=True, slots=True)
class ReceivedLight:
    """Light arriving at an end, by lane, in one broadcast shape.

    Average power of the signal in dBm; the strongest reflection of the end's own light and the sum of the
    others, both relative to it in dB.
    """

    received_dbm: FloatArray
    strongest_db: FloatArray
    rest_db: FloatArray

    @property
    def interference_db(self) -> FloatArray:
        """All reflections relative to the signal: the MPI."""
        with np.errstate(divide="ignore"):  # a duplex link has none
            total: FloatArray = 10.0 * np.log10(
                10.0 ** (self.strongest_db / 10) + 10.0 ** (self.rest_db / 10)
            )
        return total

    def part(self, numbers: npt.NDArray[np.intp]) -> "ReceivedLight":
        """Some of the strands, for arrays of shape (strands, lanes)."""
        fields = (self.received_dbm, self.strongest_db, self.rest_db)
        return ReceivedLight(*(field.take(numbers, axis=0) for field in fields))

    def single(self, strand: npt.NDArray[np.intp], lane: npt.NDArray[np.intp]) -> "ReceivedLight":
        """Some lanes, each as the only one of a strand, as in `Lanes.single`."""
        fields = (self.received_dbm, self.strongest_db, self.rest_db)
        return ReceivedLight(*(field[strand, lane][:, None] for field in fields))


@dataclass(frozen=True, slots=True)
class LaneResult:
    """Reception at an end, one array of the broadcast shape for each figure.

    Rates: `raw_ber` of the decisions, `ber` before the outer code, `post_fec_ber` after it. `margin` is in
    orders of magnitude of `ber` below its threshold. `interference_db` is relative to the received power.
    """

    received_dbm: FloatArray
    interference_db: FloatArray
    penalty_db: FloatArray
    raw_ber: FloatArray
    ber: FloatArray
    log10_ber: FloatArray
    post_fec_ber: FloatArray

    @property
    def margin(self) -> FloatArray:
        orders: FloatArray = np.log10(BER_THRESHOLD) - self.log10_ber
        return orders


def received_light(design: LinkDesign, strands: Strands, lanes: Lanes = AS_DESIGNED) -> ReceivedLight:
    """Light at the near end, of shape (…, lanes) for strands of shape (…)."""
    return light_along_path(
        design.path(strands.per_lane()), design.launched_dbm, design.lane_losses_db, lanes
    )


def light_along_path(
    path: tuple[Element, ...], launched_dbm: float, losses_db: FloatArray, lanes: Lanes
) -> ReceivedLight:
    """The same along a path, for the design's launch power and the extra loss of each lane."""
    bounced_db = lanes.of_design(losses_db)
    lost_db = loss_db(path) + bounced_db
    received_dbm = launched_dbm + lanes.far_launch_db - lost_db
    back = strongest_and_rest([power_dbm for _, power_dbm in reflections(path, launched_dbm)])
    with np.errstate(divide="ignore"):  # a duplex link has none, and another perhaps only one
        back_dbm = 10.0 * np.log10(back)
    # The own light passes the same multiplexers, forth and back.
    relative_db = lanes.near_launch_db - bounced_db - received_dbm
    strongest_db, rest_db = back_dbm[0] + relative_db, back_dbm[1] + relative_db
    if strongest_db.shape == received_dbm.shape:
        return ReceivedLight(received_dbm, strongest_db, rest_db)
    return ReceivedLight(*np.broadcast_arrays(received_dbm, strongest_db, rest_db))


def evaluate(design: LinkDesign, strands: Strands, lanes: Lanes = AS_DESIGNED) -> LaneResult:
    """Reception at the near end, of shape (…, lanes) for strands of shape (…)."""
    light = received_light(design, strands, lanes)
    log10_ber = log10_ber_with_bursts(design, light, lanes)
    ber = 10.0**log10_ber
    return LaneResult(
        light.received_dbm,
        light.interference_db,
        np.broadcast_to(lanes.of_design(design.penalties_db), ber.shape),
        10.0 ** log10_ber_with_bursts(design, light, lanes, design.receiver.uncoded()),
        ber,
        log10_ber,
        post_fec_ber(ber),
    )


def log10_ber_with_bursts(
    design: LinkDesign, light: ReceivedLight, lanes: Lanes = AS_DESIGNED, receiver: Receiver | None = None
) -> FloatArray:
    """log10 of the bit error rate before the outer code, of the light's shape."""
    return with_bursts(log10_ber_without_bursts(design, light, lanes, receiver), lanes)


def log10_ber_without_bursts(
    design: LinkDesign, light: ReceivedLight, lanes: Lanes = AS_DESIGNED, receiver: Receiver | None = None
) -> FloatArray:
    """The same from noise and interference alone, without burst errors.

    Dispersion counts as loss of the signal only, because reflected light has no symbols to decide. A receiver
    that needs more light has the errors of one that gets less of all light.
    """
    return receiver_log10_ber(
        receiver or design.receiver, light, lanes, design.extinction_of(lanes), design.penalties_db
    )


def receiver_log10_ber(
    receiver: Receiver,
    light: ReceivedLight,
    lanes: Lanes,
    extinction_db: FloatArray,
    penalties_db: FloatArray,
) -> FloatArray:
    """The same for a receiver, the lanes' extinction ratios and the penalties of a design's lanes."""
    penalty_db = lanes.of_design(penalties_db)
    return receiver.log10_ber(
        light.received_dbm - penalty_db - lanes.sensitivity_db,
        light.strongest_db + penalty_db,
        light.rest_db + penalty_db,
        lanes.offset_ghz,
        extinction_db,
    )


def with_bursts(log10_ber: FloatArray, lanes: Lanes) -> FloatArray:
    """Adds the errors that a receiver makes at any power and that the inner code cannot correct.

    This floor is assumed, as bursts would cause it.
    """
    bursts = assumed("burst_error_ber") * 10.0**lanes.burst_orders
    found: FloatArray = np.log10(10.0**log10_ber + bursts)
    return found


def lane_log10_ber(design: LinkDesign, strands: Strands, lanes: Lanes = AS_DESIGNED) -> FloatArray:
    """The reference chain: log10 of the bit error rate before the outer code, of shape (…, lanes)."""
    return log10_ber_with_bursts(design, received_light(design, strands, lanes), lanes)
