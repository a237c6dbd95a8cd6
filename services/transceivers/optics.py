"""What the link ends receive: losses and bit error rates by the optics of `shared.models.optics`."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from schemas.names import Join
from services.transceivers.design import design_of
from services.transceivers.light_paths import LIGHT_PATHS, fabric_pairs
from services.transceivers.marks import at_either, marks_of
from services.transceivers.state import BOTH_STRANDS, NO_END, TransceiversState
from shared.models.optics.fabric_links import rounded, strand_log10_bers
from shared.models.optics.impaired_lanes import Wrong, changed_lanes
from shared.models.optics.impairments import Impairment
from shared.models.optics.link import FloatArray, Strands
from shared.models.optics.made_modules import Lanes
from shared.models.optics.modules import LANES_PER_LINK
from shared.models.optics.palomar import DECIMALS
from shared.models.superpod.wiring import IntArray


def of_joins(state: TransceiversState, joins: tuple[Join, ...]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(loss in dB, log10 of the BER that the + face ends receive, the same of the − face ends) of clean
    links, each of shape (16 × joins,)."""
    loss_db, at_north, at_south = fabric_pairs(state).of_joins(joins)
    return loss_db + state.config.fibre_loss_db, at_north, at_south


def loss_db(state: TransceiversState, ends: IntArray) -> FloatArray:
    """Of the worse strand's fibre and OCS, of these connected ends, wherever their fibres were patched to."""
    between = LIGHT_PATHS[state.kind].between(state, ends, state.peer[ends].astype(np.int64))
    found: FloatArray = between.loss_db.max(axis=-1) + state.config.fibre_loss_db
    return found


def path_loss_db(state: TransceiversState, ends: IntArray | slice) -> FloatArray:
    """Of the worse strand, from module to module, with all that is wrong on the way: to the digit to which an
    OCS's losses are known, so that all who show a loss show the same. NaN where no circuit is wanted."""
    numbers = np.arange(len(state.peer))[ends]
    found: FloatArray = state.loss_db[numbers].copy()
    changed = np.flatnonzero(differ(state, numbers) & (state.peer[numbers] != NO_END))
    if len(changed):
        strands, _ = strands_between(state, numbers[changed])
        found[changed] = strands.loss_db.max(axis=-1) + state.config.fibre_loss_db
    return np.round(found, DECIMALS)


def receiving(state: TransceiversState, ends: IntArray | slice) -> npt.NDArray[np.bool_]:
    """Which of these ends have light to measure: both strands are made, the far end's laser sends, and the
    own module is there to measure."""
    sound = ~(state.failed[ends] | state.failed[state.peer[ends]])
    found: npt.NDArray[np.bool_] = sound & (state.lit[ends] == BOTH_STRANDS)
    return found


def differ(state: TransceiversState, ends: IntArray) -> npt.NDArray[np.bool_]:
    """Which of the links of these ends carry other light than the table of pairs has it."""
    return at_either(marks_of(state).unlike, state, ends)


def log10_ber(state: TransceiversState, ends: IntArray) -> FloatArray:
    """Of the worst lane that each of these connected ends receives, with all that is wrong with the link."""
    peers = state.peer[ends].astype(np.int64)
    found = LIGHT_PATHS[state.kind].clean_log10_ber(state, ends, peers)
    changed = np.flatnonzero(differ(state, ends))
    if len(changed):
        found[changed] = lane_log10_bers(state, ends[changed]).max(axis=-1)
    return rounded(found)


def unlike_log10_ber(state: TransceiversState, ends: IntArray) -> FloatArray:
    """The same of ends whose links all `differ`."""
    return rounded(lane_log10_bers(state, ends).max(axis=-1))


def lane_log10_bers(state: TransceiversState, ends: IntArray) -> FloatArray:
    """Of every lane that these connected ends receive, of shape (ends, 8), strand after strand."""
    found = strand_log10_bers(design_of(state.config), *strands_between(state, ends))
    return found.reshape(len(ends), LANES_PER_LINK)


def strands_between(
    state: TransceiversState, ends: IntArray, wrong: Mapping[int, Impairment] | None = None
) -> tuple[Strands, Lanes]:
    """What lies between these ends and their far ends, and how the modules of both are: as made, and what is
    wrong with them; with `wrong` that instead of what really is."""
    impaired = state.impaired if wrong is None else wrong
    peers = state.peer[ends].astype(np.int64)
    paths = LIGHT_PATHS[state.kind]
    between, made = paths.between(state, ends, peers), paths.lanes(state, ends, peers)
    near, far = Wrong(impaired, ends), Wrong(impaired, peers)
    strands = Strands(
        between,
        near.dirt_db,
        far.dirt_db,
        near.lost_db,
        far.lost_db,
        np.broadcast_to(near.leak_db, between.loss_db.shape),
    )
    return strands, changed_lanes(made, near, far)
