"""What the link ends receive: losses and bit error rates by the optics of `shared.models.optics`."""

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from schemas.config import TransceiversConfig
from schemas.names import Join
from services.transceivers.design import design_of
from services.transceivers.light_paths import LIGHT_PATHS, fabric_pairs
from services.transceivers.state import BOTH_STRANDS, TransceiversState
from shared.models.optics.fabric_links import rounded, worst_lane_log10_ber
from shared.models.optics.kernel import LaneKernel, strands
from shared.models.optics.link import DIRECT, FloatArray, LinkDesign, loss_db
from shared.models.optics.modules import LANES_PER_LINK
from shared.models.optics.palomar import DECIMALS
from shared.models.superpod.wiring import IntArray


@lru_cache(maxsize=64)
def received_dbm_without_loss(config: TransceiversConfig) -> float:
    """What would be received over a path without fibre and OCS: launch less the losses of both modules."""
    design = design_of(config)
    return design.launch_dbm - float(loss_db(design.path(DIRECT))) + design.fibre_loss_db


def of_joins(state: TransceiversState, joins: tuple[Join, ...]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(loss in dB, log10 of the BER that the + face ends receive, the same of the − face ends) of clean
    links, each of shape (16 × joins,)."""
    loss_db, at_north, at_south = fabric_pairs(state).of_joins(joins)
    return loss_db + state.config.fibre_loss_db, at_north, at_south


def path_loss_db(state: TransceiversState, ends: IntArray | slice) -> FloatArray:
    """Of the worse strand, from module to module, dirty connectors counted: to the digit to which an OCS's
    losses are known, so that all who show a loss show the same. NaN where no circuit is wanted."""
    loss_db = state.loss_db[ends] + state.excess_db[ends] + state.excess_db[state.peer[ends]]
    found: FloatArray = np.round(loss_db, DECIMALS)
    return found


def receiving(state: TransceiversState, ends: IntArray | slice) -> npt.NDArray[np.bool_]:
    """Which of these ends have light to measure: both strands are made, the far end's laser sends, and the
    own module is there to measure."""
    sound = (state.failed[ends] == 0) & (state.failed[state.peer[ends]] == 0)
    found: npt.NDArray[np.bool_] = sound & (state.lit[ends] == BOTH_STRANDS)
    return found


def log10_ber(state: TransceiversState, ends: IntArray) -> FloatArray:
    """Of the worst lane that each of these connected ends receives, dirty connectors counted."""
    peers = state.peer[ends].astype(np.int64)
    paths = LIGHT_PATHS[state.kind]
    found = paths.clean_log10_ber(state, ends, peers)
    near_db, far_db = state.excess_db[ends], state.excess_db[peers]
    dirty = np.flatnonzero((near_db > 0) | (far_db > 0))
    if len(dirty):
        switched = paths.between(state, ends[dirty], peers[dirty])
        excess_db = near_db[dirty, None], far_db[dirty, None]
        found[dirty] = worst_lane_log10_ber(design_of(state.config), switched, *excess_db).max(axis=-1)
    return rounded(found)


def lane_bers(state: TransceiversState, ends: IntArray) -> npt.NDArray[np.float32]:
    """Of every lane that these connected ends receive, of shape (ends, 8), strand after strand: to a
    hundredth of an order of magnitude, for people to read."""
    peers = state.peer[ends].astype(np.int64)
    between = LIGHT_PATHS[state.kind].between(state, ends, peers)
    of = strands(between, state.excess_db[ends][:, None], state.excess_db[peers][:, None])
    log10_ber = _kernel(design_of(state.config)).log10_ber(of)
    found: npt.NDArray[np.float32] = np.float32(10.0) ** log10_ber.reshape(len(ends), LANES_PER_LINK)
    return found


@lru_cache(maxsize=8)
def _kernel(design: LinkDesign) -> LaneKernel:
    return LaneKernel(design)
