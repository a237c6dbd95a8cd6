"""What the link ends receive: losses and bit error rates by the optics of `shared.models.optics`."""

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from schemas.config import TransceiversConfig
from schemas.names import Join
from services.transceivers.state import BOTH_STRANDS, TransceiversState
from shared.models.optics.fabric_links import Pairs, pairs, rounded, worst_lane_log10_ber
from shared.models.optics.kernel import LaneKernel, strands
from shared.models.optics.link import FloatArray, LinkDesign, Switched, loss_db
from shared.models.optics.modules import LANES_PER_LINK, lane_rate
from shared.models.optics.palomar import DECIMALS
from shared.models.optics.strands import strands_of
from shared.models.superpod.wiring import ENDS_PER_CUBE, FACE_LINKS, STRANDS, IntArray, join_ports, ocs_radix


@lru_cache(maxsize=64)
def design_of(config: TransceiversConfig) -> LinkDesign:
    """The links that a configuration asks for."""
    return LinkDesign(
        rate=lane_rate(config.lane_rate),
        fibre_loss_db=config.fibre_loss_db,
        mitigation=config.interference_mitigation,
        soft_fec=config.soft_fec,
    )


@lru_cache(maxsize=64)
def received_dbm_without_loss(config: TransceiversConfig) -> float:
    """What would be received over a path without fibre and OCS: launch less the losses of both modules."""
    nothing = np.asarray(0.0)
    design = design_of(config)
    return (
        design.launch_dbm
        - float(loss_db(design.path(Switched(nothing, nothing, nothing))))
        + (design.fibre_loss_db)
    )


def of_fabric(state: TransceiversState) -> Pairs:
    """All links that the fabric could be asked for."""
    return pairs(state.seed, state.fabric, state.cubes, design_of(state.config))


def of_joins(state: TransceiversState, joins: tuple[Join, ...]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(loss in dB, log10 of the BER that the + face ends receive, the same of the − face ends) of clean
    links, each of shape (16 × joins,)."""
    ocs, north, south = (ports[::STRANDS] for ports in join_ports(joins))
    loss_db, at_north, at_south = of_fabric(state).at(ocs, north // STRANDS, south // STRANDS)
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
    cube, rest = np.divmod(ends, ENDS_PER_CUBE)
    face, index = np.divmod(rest, FACE_LINKS)
    ocs, is_north = face // 2 * FACE_LINKS + index, face % 2 == 0
    far = peers // ENDS_PER_CUBE
    north, south = np.where(is_north, cube, far), np.where(is_north, far, cube)
    _, at_north, at_south = of_fabric(state).at(ocs, north, south)
    found: FloatArray = np.where(is_north, at_north, at_south)
    near_db, far_db = state.excess_db[ends], state.excess_db[peers]
    dirty = np.flatnonzero((near_db > 0) | (far_db > 0))
    if len(dirty):
        switched = strands_of(state.seed, state.fabric, ends[dirty], peers[dirty], ocs_radix(state.cubes))
        excess_db = near_db[dirty, None], far_db[dirty, None]
        found[dirty] = worst_lane_log10_ber(design_of(state.config), switched, *excess_db).max(axis=-1)
    return rounded(found)


def lane_bers(state: TransceiversState, ends: IntArray) -> npt.NDArray[np.float32]:
    """Of every lane that these connected ends receive, of shape (ends, 8), strand after strand: to a
    hundredth of an order of magnitude, for people to read."""
    peers = state.peer[ends].astype(np.int64)
    between = strands_of(state.seed, state.fabric, ends, peers, ocs_radix(state.cubes))
    of = strands(between, state.excess_db[ends][:, None], state.excess_db[peers][:, None])
    log10_ber = _kernel(design_of(state.config)).log10_ber(of)
    found: npt.NDArray[np.float32] = np.float32(10.0) ** log10_ber.reshape(len(ends), LANES_PER_LINK)
    return found


@lru_cache(maxsize=8)
def _kernel(design: LinkDesign) -> LaneKernel:
    return LaneKernel(design)
