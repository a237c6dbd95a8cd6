"""Bit error rates of all possible pairings of a pod's link ends: [LF] 4.1.2, Figure 13.

An end on a + face can be paired with the − face end of the same dimension and index of every cube, its own
included, and vice versa: 6,144 ends × 64 partners for 64 cubes. An end of cube a on a + face and its partner
of cube b are joined by N[2a] → S[2b+1] and N[2b+1] → S[2a]. Each end receives independently: loss is the same
both ways, but reflections and modules are not.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from shared.basics.errors import InvalidInput
from shared.models.optics.lane_ber import received_light
from shared.models.optics.link_design import FloatArray, LinkDesign, OcsPath, Strands
from shared.models.optics.module_kinds import MODULE_KINDS
from shared.models.optics.ocs_strands import strands_of
from shared.models.optics.pod_links import lanes_of, strand_log10_bers
from shared.models.optics.receiver import BER_THRESHOLD
from shared.models.superpod.wiring import (
    DIMENSIONS,
    ENDS_PER_CUBE,
    FACE_LINKS,
    OCS_COUNT,
    STRANDS,
    IntArray,
    ocs_radix,
)

SingleArray = npt.NDArray[np.float32]
ENDS_PER_LINK = 2


@dataclass(frozen=True, slots=True)
class Conditions:
    """The pod to qualify: OCSes of a seed, and links of a design with two strands.

    `return_loss_db`, if given, replaces the manufactured reflection of every port of every OCS.
    """

    seed: int
    fabric: str = "pod-0"
    cubes: int = 64
    design: LinkDesign = field(default_factory=LinkDesign)
    return_loss_db: float | None = None


@dataclass(frozen=True, slots=True)
class Qualification:
    """Results in arrays of shape (link ends, partner cubes).

    log10 of the worst lane's bit error rate before the outer code, the number of that lane among the link's
    8, and its strand's loss in the OCS, received power (less the dispersion penalty) and interference
    relative to the signal.
    """

    conditions: Conditions
    log10_ber: SingleArray
    lane: npt.NDArray[np.uint8]
    insertion_loss_db: SingleArray
    received_dbm: SingleArray
    interference_db: SingleArray
    threshold_ber: float = BER_THRESHOLD

    @property
    def threshold_log10(self) -> float:
        return float(np.log10(self.threshold_ber))

    @property
    def median_margin_orders(self) -> float:
        """Orders of magnitude between the median pairing and the threshold."""
        return self.threshold_log10 - float(np.median(self.log10_ber))

    @property
    def pairings_above(self) -> int:
        return int((self.log10_ber > self.threshold_log10).sum())

    @property
    def ends_above(self) -> int:
        """Link ends that fail with at least one partner."""
        return int((self.log10_ber > self.threshold_log10).any(axis=1).sum())

    @property
    def qualified(self) -> bool:
        return self.pairings_above == 0

    def worst(self, count: int) -> list[tuple[int, int]]:
        """(link end, partner cube) of the pairings with the highest bit error rates, worst first."""
        flat = self.log10_ber.ravel()
        order = np.lexsort((np.arange(flat.size), -flat))[:count]
        return [
            (int(place) // self.log10_ber.shape[1], int(place) % self.log10_ber.shape[1]) for place in order
        ]


def qualify_pod(conditions: Conditions) -> Qualification:
    """All pairings of a pod, OCS by OCS so that each fits the processor's cache.

    InvalidInput for links without the pod's two strands.
    """
    cubes, kind = conditions.cubes, conditions.design.kind
    if kind.strands_per_link != STRANDS:
        fit = ", ".join(name for name, other in MODULE_KINDS.items() if other.strands_per_link == STRANDS)
        strands = f"{kind.strands_per_link} strands a link, but the pod has {STRANDS}"
        raise InvalidInput(f"module: {kind.name} has {strands}; must be one of {fit}")
    shape = (DIMENSIONS, FACE_LINKS, ENDS_PER_LINK, cubes, cubes)
    floats = np.empty((4, *shape), dtype=np.float32)
    lane = np.empty(shape, dtype=np.uint8)
    for ocs in range(OCS_COUNT):
        for side in range(ENDS_PER_LINK):
            at = (*divmod(ocs, FACE_LINKS), side)
            floats[:, *at], lane[at] = _worst_lane(conditions, *_ends(ocs, side, cubes))
    # Ends are numbered by cube, then face (dimension and side), then index.
    log10_ber, loss_db, received_dbm, interference_db = floats.transpose(0, 4, 1, 3, 2, 5).reshape(
        4, cubes * ENDS_PER_CUBE, cubes
    )
    lanes = lane.transpose(3, 0, 2, 1, 4).reshape(cubes * ENDS_PER_CUBE, cubes)
    return Qualification(conditions, log10_ber, lanes, loss_db, received_dbm, interference_db)


def _ends(ocs: int, side: int, cubes: int) -> tuple[IntArray, IntArray]:
    """(ends, peers), each of shape (cubes, cubes).

    The ends on the + (0) or − (1) faces of all cubes on an OCS, and all ends that each of them can be joined
    with.
    """
    dimension, index = divmod(ocs, FACE_LINKS)
    cube = np.arange(cubes) * ENDS_PER_CUBE + index
    near, far = (cube + (2 * dimension + face) * FACE_LINKS for face in (side, 1 - side))
    ends, peers = np.broadcast_arrays(near[:, None], far[None, :])
    return ends, peers


def _worst_lane(
    conditions: Conditions, ends: IntArray, peers: IntArray
) -> tuple[FloatArray, npt.NDArray[np.uint8]]:
    """((log10 BER, OCS loss, received power, interference), lane) of the worst lane that each end
    receives."""
    seed, fabric, cubes = conditions.seed, conditions.fabric, conditions.cubes
    ocs = strands_of(seed, fabric, ends, peers, ocs_radix(cubes))
    if conditions.return_loss_db is not None:
        every = np.full(ocs.loss_db.shape, conditions.return_loss_db)
        ocs = OcsPath(ocs.loss_db, every, every)
    lanes = lanes_of(seed, fabric, cubes, ends, peers)
    rates = strand_log10_bers(conditions.design, Strands(ocs), lanes).reshape(ends.size, -1)
    link, worst = np.arange(ends.size), rates.argmax(axis=1)
    strand, lane = np.divmod(worst, lanes.lanes)
    strand += link * STRANDS
    strands, single = Strands(ocs).each().part(strand), lanes.each().single(strand, lane)
    light = received_light(conditions.design, strands, single)
    columns = (
        light.received_dbm - single.of_design(conditions.design.penalties_db),
        light.interference_db,
    )
    figures = (rates[link, worst], strands.ocs.loss_db, *(column[:, 0] for column in columns))
    return np.stack(figures).reshape(4, *ends.shape), worst.astype(np.uint8).reshape(ends.shape)
