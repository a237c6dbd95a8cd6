"""The loss of a strand from one link end to the other: fibre and connectors, and the OCS between.

Insertion loss of a Palomar: typically below 2 dB over all pairs of ports, with a tail from splices and
connectors, and below the goal of 3 dB (Lightwave Fabrics 4.1.1). The papers give no more of the distribution;
its shape here is an assumption: 95 % of pairs evenly between 0.9 and 1.7 dB, the rest evenly up to 2.9 dB.
"""

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from schemas.names import Join
from shared.draws import draw_uniform_array
from shared.geometry import JOINS_KEPT_MAX, STRANDS, IntArray, join_ports

OCS_LOSS_SHARE = (0.0, 0.95, 1.0)
OCS_LOSS_DB = (0.9, 1.7, 2.9)
"""Quantiles of the insertion loss, joined by straight lines."""
PORTS_MAX = 512
LAUNCH_POWER_DBM = 0.0
"""Transmit power of one lane into the fibre: an assumption, until the optics are modelled element by
element."""


def ocs_loss_db(
    seed: int, fabric: str, ocs: IntArray, north: IntArray, south: IntArray
) -> npt.NDArray[np.float64]:
    """Insertion loss of some (OCS, North port, South port), same shape; a pair has the same loss at all
    times."""
    pair = (ocs * PORTS_MAX + north) * PORTS_MAX + south
    drawn = draw_uniform_array(seed, fabric, "insertion-loss", pair.astype(np.uint64))
    return np.interp(drawn, OCS_LOSS_SHARE, OCS_LOSS_DB)


@lru_cache(maxsize=JOINS_KEPT_MAX)
def links_loss_db(seed: int, fabric: str, joins: tuple[Join, ...]) -> npt.NDArray[np.float64]:
    """Insertion loss of the worse strand of every link of some joins, read-only, of shape (16 × joins,)."""
    strands_db = ocs_loss_db(seed, fabric, *join_ports(joins)).reshape(-1, STRANDS)
    loss_db: npt.NDArray[np.float64] = strands_db.max(axis=1)
    loss_db.flags.writeable = False
    return loss_db
