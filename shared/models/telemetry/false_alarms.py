"""Link ends that may raise a false alarm on some circuits although nothing is wrong
(`outlier_thresholds.may_false_alarm`).

The error of the expected values depends on the modules and the pair of ports and never changes. So it is
computed once for every possible circuit of an end, when the end is first needed.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace

import numpy as np
import numpy.typing as npt

from shared.models.superpod.wiring import ENDS_PER_CUBE, FACE_LINKS, IntArray
from shared.models.telemetry.module_readings import FloatArray
from shared.models.telemetry.outlier_thresholds import ExpectationOffsets, may_false_alarm

PairsOffDb = Callable[[IntArray, IntArray], FloatArray]
"""(ends, peers) → error of the expected loss between them, of shape (n, strands)."""


@dataclass(slots=True)
class FalseAlarms:
    """By link end and cube of the far end, for modules as they were `accepted`. `known`, by end, marks those
    computed."""

    accepted: ExpectationOffsets
    table: npt.NDArray[np.bool_] = field(init=False)
    known: npt.NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        ends = len(self.accepted.bias)
        self.table = np.zeros((ends, ends // ENDS_PER_CUBE), dtype=np.bool_)
        self.known = np.zeros(ends, dtype=np.bool_)

    def of(self, ends: IntArray, peers: IntArray, off_db: PairsOffDb) -> npt.NDArray[np.bool_]:
        """Which of these ends may raise a false alarm on circuits to these peers."""
        known = self.known[ends]
        if not known.all():
            self._ask(np.unique(ends[~known]), off_db)
        found: npt.NDArray[np.bool_] = self.table[ends, peers // ENDS_PER_CUBE]
        return found

    def renewed(self, accepted: ExpectationOffsets, end: int) -> "FalseAlarms":
        """With another module at an end."""
        found = FalseAlarms(accepted)
        found.table[:], found.known[:] = self.table, self.known
        found.known[end] = False
        return found

    def _ask(self, ends: IntArray, off_db: PairsOffDb) -> None:
        cubes = self.table.shape[1]
        own = np.repeat(ends, cubes)
        far = np.tile(np.arange(cubes), len(ends)) * ENDS_PER_CUBE + opposite_places(own % ENDS_PER_CUBE)
        part = rows_of_ends(self.accepted, own)
        off = replace(part, rx_db=part.rx_db + off_db(own, far))
        self.table[ends] = may_false_alarm(off).reshape(len(ends), cubes)
        self.known[ends] = True


def opposite_places(places: IntArray) -> IntArray:
    """The link end of another cube that is on the same OCS as each of these, both from 0 to 95."""
    face, index = np.divmod(places, FACE_LINKS)
    found: IntArray = (face ^ 1) * FACE_LINKS + index
    return found


def rows_of_ends(whole: ExpectationOffsets, ends: IntArray) -> ExpectationOffsets:
    """The rows of these ends."""
    return ExpectationOffsets(*(getattr(whole, one.name)[ends] for one in fields(ExpectationOffsets)))
