"""What the link ends receive: losses and bit error rates by the optics of `shared.models.optics`."""

from collections.abc import Iterable, Mapping
from typing import Protocol

import numpy as np
import numpy.typing as npt

from schemas.names import Join
from services.transceivers.modules import modules_of
from services.transceivers.state import BOTH_STRANDS, NO_END, EndMasks, TransceiversState
from shared.models.ocs.patches import port_at
from shared.models.optics.fabric_links import LinkTable, direct_log10_bers, rounded, strand_log10_bers
from shared.models.optics.impairments import ImpairedEnds, Impairment, changed_lanes
from shared.models.optics.link import DIRECT, FloatArray, OcsPath, Strands
from shared.models.optics.link_design import design_of
from shared.models.optics.manufactured_modules import Lanes, lanes_between
from shared.models.optics.module_kinds import LANES_PER_LINK
from shared.models.optics.ocs_strands import strands_of
from shared.models.optics.palomar import DECIMALS
from shared.models.superpod.wiring import ENDS_PER_CUBE, FACE_LINKS, STRANDS, IntArray, end_at, ocs_radix
from shared.models.telemetry.inspections import matrix_off_db

# Which link ends are unlike sound ones, as arrays: what is asked of many ends at once.
#
# It follows from what is wrong with ends and where fibres were moved; whoever changes one of these forgets
# it.

BoolArray = npt.NDArray[np.bool_]


def masks_of(state: TransceiversState) -> EndMasks:
    """Made where nobody has asked since they were forgotten."""
    if state.masks is None:
        moved = _mask(state, (end_at(ocs, port).number for _, ocs, port in map(port_at, state.patched)))
        changed = _mask(state, (end for end, wrong in state.impaired.items() if wrong.changes_light))
        dropped = _mask(state, (end for end, wrong in state.impaired.items() if wrong.dropped))
        state.masks = EndMasks(moved, moved | changed, dropped)
    return state.masks


def invalidate_masks(state: TransceiversState) -> None:
    """Something else is wrong now, or a fibre was moved."""
    state.masks = None


def at_either_end(marked: BoolArray, state: TransceiversState, ends: IntArray) -> BoolArray:
    """Which of these ends are marked, or the far ends of their links."""
    peers = state.peer[ends]
    found: BoolArray = marked[ends] | (marked[peers] & (peers != NO_END))
    return found


def _mask(state: TransceiversState, ends: Iterable[int]) -> BoolArray:
    found = np.zeros(len(state.peer), dtype=np.bool_)
    found[list(ends)] = True
    return found


# What lies between the two ends of a link in each kind of pod: the one thing in which their optics differ.
#
# In a superpod an OCS, whose losses and reflections go by the pair of its ports; in a static pod nothing but
# the fibres.


class LightPaths(Protocol):
    """What lies between two ends, given by their numbers."""

    def clean_log10_ber(self, state: TransceiversState, ends: IntArray, peers: IntArray) -> FloatArray:
        """log10 of the bit error rate of the worst lane that each of these ends receives from its peer, by
        clean connectors; of their shape."""

    def between(self, state: TransceiversState, ends: IntArray, peers: IntArray) -> OcsPath:
        """As the ends see it, strand by strand: of shape (ends, strands)."""

    def lanes(self, state: TransceiversState, ends: IntArray, peers: IntArray) -> Lanes:
        """As the modules at both ends were made: of shape (ends, strands, lanes)."""

    def off_db(self, state: TransceiversState, ends: IntArray, peers: IntArray) -> FloatArray:
        """How far what is known of the loss in between is off, strand by strand; of shape (ends, strands)."""


class ThroughOcs:
    """Both ends of a link are fibres of one OCS."""

    def clean_log10_ber(self, state: TransceiversState, ends: IntArray, peers: IntArray) -> FloatArray:
        """As the table of the fabric's pairs has it."""
        cube, rest = np.divmod(ends, ENDS_PER_CUBE)
        face, index = np.divmod(rest, FACE_LINKS)
        ocs, is_plus = face // 2 * FACE_LINKS + index, face % 2 == 0
        far = peers // ENDS_PER_CUBE
        plus, minus = np.where(is_plus, cube, far), np.where(is_plus, far, cube)
        _, at_plus, at_minus = fabric_pairs(state).at(ocs, plus, minus)
        found: FloatArray = np.where(is_plus, at_plus, at_minus)
        return found

    def between(self, state: TransceiversState, ends: IntArray, peers: IntArray) -> OcsPath:
        radix = ocs_radix(state.cubes)
        return strands_of(state.seed, state.fabric, ends, peers, radix, state.technology, state.patched)

    def lanes(self, state: TransceiversState, ends: IntArray, peers: IntArray) -> Lanes:
        return lanes_between(modules_of(state).made, ends, peers, STRANDS)

    def off_db(self, state: TransceiversState, ends: IntArray, peers: IntArray) -> FloatArray:
        """By the accuracy of the factory's matrix."""
        return matrix_off_db(state.seed, state.fabric, ends, peers)


class FixedFibres:
    """Ends are joined directly, for good."""

    def clean_log10_ber(self, state: TransceiversState, ends: IntArray, peers: IntArray) -> FloatArray:
        design = design_of(state.config)
        return direct_log10_bers(modules_of(state).made, design, ends, peers)

    def between(
        self,
        state: TransceiversState,  # noqa: ARG002 -- all fibres are alike
        ends: IntArray,
        peers: IntArray,  # noqa: ARG002 -- all fibres are alike
    ) -> OcsPath:
        """Nothing, at every end and strand."""
        return DIRECT.over((len(ends), STRANDS))

    def lanes(self, state: TransceiversState, ends: IntArray, peers: IntArray) -> Lanes:
        return lanes_between(modules_of(state).made, ends, peers, STRANDS)

    def off_db(
        self,
        state: TransceiversState,  # noqa: ARG002 -- all fibres are alike
        ends: IntArray,
        peers: IntArray,  # noqa: ARG002 -- all fibres are alike
    ) -> FloatArray:
        """By nothing: there is no switch whose loss would have to be known."""
        return np.zeros((len(ends), STRANDS))


LIGHT_PATHS: dict[str, LightPaths] = {"superpod": ThroughOcs(), "static-pod": FixedFibres()}
"""Kind of fabric → what lies between the ends of its links."""


def fabric_pairs(state: TransceiversState) -> LinkTable:
    """All links that a superpod could be asked for."""
    found = modules_of(state).pairs
    if found is None:
        raise LookupError(f"{state.fabric}: a {state.kind} has no OCSes")
    return found


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
    changed = np.flatnonzero(differs_from_table(state, numbers) & (state.peer[numbers] != NO_END))
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


def differs_from_table(state: TransceiversState, ends: IntArray) -> npt.NDArray[np.bool_]:
    """Which of the links of these ends carry other light than the table of pairs has it."""
    return at_either_end(masks_of(state).changed, state, ends)


def log10_ber(state: TransceiversState, ends: IntArray) -> FloatArray:
    """Of the worst lane that each of these connected ends receives, with all that is wrong with the link."""
    peers = state.peer[ends].astype(np.int64)
    found = LIGHT_PATHS[state.kind].clean_log10_ber(state, ends, peers)
    changed = np.flatnonzero(differs_from_table(state, ends))
    if len(changed):
        found[changed] = lane_log10_bers(state, ends[changed]).max(axis=-1)
    return rounded(found)


def changed_log10_ber(state: TransceiversState, ends: IntArray) -> FloatArray:
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
    near, far = ImpairedEnds(impaired, ends), ImpairedEnds(impaired, peers)
    strands = Strands(
        between,
        near.dirt_db,
        far.dirt_db,
        near.lost_db,
        far.lost_db,
        np.broadcast_to(near.leak_db, between.loss_db.shape),
    )
    return strands, changed_lanes(made, near, far)
