"""Every possible pairing of a pod's link ends, and the bit error rate of each: [LF] 4.1.2, Figure 13.

An end on a + face can be paired with the − face end of the same dimension and index of every cube, its own
included, and the other way round: 6,144 ends × 64 partners for 64 cubes. An end of cube a on a + face and its
partner of cube b are joined by N[2a+s] → S[2b+s] for both strands s. Each end receives by itself: loss is the
same both ways, reflections are not.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from shared.basics.errors import InvalidInput
from shared.models.optics.fabric_links import between
from shared.models.optics.kernel import LaneKernel, SingleArray, Strands, strands
from shared.models.optics.link import LinkDesign, Switched
from shared.models.optics.modules import MODULE_KINDS
from shared.models.optics.palomar import ManufacturedOcses, manufactured_ocses
from shared.models.optics.receiver import BER_THRESHOLD
from shared.models.superpod.wiring import DIMENSIONS, ENDS_PER_CUBE, FACE_LINKS, OCS_COUNT, STRANDS, ocs_radix

SIDES = 2


@dataclass(frozen=True, slots=True)
class Conditions:
    """What is qualified: the OCSes of a seed, and links of a design of two strands. `return_loss_db`, if
    given, is what every port of every OCS reflects, in place of what it was made with."""

    seed: int
    fabric: str = "pod-0"
    cubes: int = 64
    design: LinkDesign = field(default_factory=LinkDesign)
    return_loss_db: float | None = None


@dataclass(frozen=True, slots=True)
class Qualification:
    """What came of it, in arrays of shape (link ends, partner cubes): log10 of the worst lane's bit error
    rate before the outer code, the number of that lane among the link's 8, and its strand's loss in the OCS,
    received power (less the penalty of dispersion) and interference over signal."""

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
        """Link ends that fail with any partner."""
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
    """All pairings of a pod, OCS by OCS: each fits the processor's cache. InvalidInput for links that do not
    have the pod's two strands."""
    cubes, kind = conditions.cubes, conditions.design.kind
    if kind.strands_per_link != STRANDS:
        fit = ", ".join(name for name, other in MODULE_KINDS.items() if other.strands_per_link == STRANDS)
        strands = f"{kind.strands_per_link} strands a link, where the pod has {STRANDS}"
        raise InvalidInput(f"module {kind.name}: {strands}; allowed: {fit}")
    kernel = LaneKernel(conditions.design)
    made = manufactured_ocses(conditions.seed, conditions.fabric, ocs_radix(cubes))
    shape = (DIMENSIONS, FACE_LINKS, SIDES, cubes, cubes)
    floats = np.empty((4, *shape), dtype=np.float32)
    lane = np.empty(shape, dtype=np.uint8)
    for ocs in range(OCS_COUNT):
        for side, of in enumerate(_both_sides(made, ocs, conditions)):
            at = (*divmod(ocs, FACE_LINKS), side)
            floats[:, *at], lane[at] = _worst_lane(kernel, of, cubes)
    # Ends are numbered by cube, then face (dimension and side), then index.
    log10_ber, loss_db, received_dbm, interference_db = floats.transpose(0, 4, 1, 3, 2, 5).reshape(
        4, cubes * ENDS_PER_CUBE, cubes
    )
    lanes = lane.transpose(3, 0, 2, 1, 4).reshape(cubes * ENDS_PER_CUBE, cubes)
    return Qualification(conditions, log10_ber, lanes, loss_db, received_dbm, interference_db)


def _both_sides(made: ManufacturedOcses, ocs: int, conditions: Conditions) -> Iterator[Strands]:
    """What the North ends of an OCS see of all their partners, then what the South ends do; strands in order
    of (cube, partner, strand)."""
    north = between(made, ocs, conditions.cubes)
    if conditions.return_loss_db is not None:
        every = np.asarray(conditions.return_loss_db)
        north = Switched(north.loss_db, every, every)
    yield strands(north)
    arrays = np.broadcast_arrays(north.loss_db, north.far_return_db, north.near_return_db)
    yield strands(Switched(*(array.swapaxes(0, 1) for array in arrays)))


def _worst_lane(kernel: LaneKernel, of: Strands, cubes: int) -> tuple[SingleArray, npt.NDArray[np.uint8]]:
    """((log10 BER, OCS loss, received power, interference), lane): the worst lane of each (cube, partner)."""
    received_dbm, interference_db = kernel.arriving(of)
    log10_ber = kernel.table.log10_ber(received_dbm, interference_db)
    links = cubes * cubes
    lanes = log10_ber.reshape(links, -1)
    lane = lanes.argmax(axis=1)
    link = np.arange(links)
    strand = link * STRANDS + lane // kernel.lanes
    figures = (
        lanes[link, lane],
        of.loss_db[strand],
        received_dbm.reshape(links, -1)[link, lane],
        interference_db.reshape(links, -1)[link, lane],
    )
    square = np.stack(figures).reshape(4, cubes, cubes)
    return square, lane.astype(np.uint8).reshape(cubes, cubes)
