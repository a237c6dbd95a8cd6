"""Losses and bit error rates at the link ends, by the optics of `shared.models.optics`.

The optics of the kinds of pods differ only in what lies between the two ends of a link. In a superpod it is
an OCS, whose losses and reflections depend on the pair of ports. In a static pod it is only fibre.
"""

from collections.abc import Iterable, Mapping
from typing import Protocol

import numpy as np
import numpy.typing as npt

from schemas.names import Join
from services.transceivers.modules import modules_of
from services.transceivers.state import BOTH_STRANDS, EndMasks, TransceiversState
from shared.models.ocs.patched_fibres import port_at
from shared.models.optics.impairments import ImpairedEnds, Impairment, changed_lanes
from shared.models.optics.link_design import DIRECT, FloatArray, OcsPath, Strands, design_of
from shared.models.optics.manufactured_modules import Lanes, lanes_between
from shared.models.optics.module_kinds import LANES_PER_LINK
from shared.models.optics.ocs_strands import strands_of
from shared.models.optics.palomar import DECIMALS
from shared.models.optics.pod_links import LinkTable, direct_log10_bers, rounded, strand_log10_bers
from shared.models.plant.plant_format import NO_END
from shared.models.superpod.wiring import ENDS_PER_CUBE, FACE_LINKS, STRANDS, IntArray, end_at, ocs_radix
from shared.models.telemetry.outlier_thresholds import matrix_off_db

BoolArray = npt.NDArray[np.bool_]


def masks_of(state: TransceiversState) -> EndMasks:
    """The masks of ends that differ from sound ones, computed if they are not cached.

    They follow from `impaired` and `patched`. Code that changes either calls `invalidate_masks`.
    """
    if state.masks is None:
        moved = _mask(state, (end_at(ocs, port).number for _, ocs, port in map(port_at, state.patched)))
        changed = _mask(state, (end for end, wrong in state.impaired.items() if wrong.changes_light))
        dropped = _mask(state, (end for end, wrong in state.impaired.items() if wrong.dropped))
        misreading = {end: wrong for end, wrong in state.impaired.items() if wrong.misreads}
        state.masks = EndMasks(moved, moved | changed, dropped, misreading)
    return state.masks


def invalidate_masks(state: TransceiversState) -> None:
    """Discard the masks after a change of impairments or patches."""
    state.masks = None


def at_either_end(marked: BoolArray, state: TransceiversState, ends: IntArray) -> BoolArray:
    """Which of these ends are marked, or the far ends of their links."""
    peers = state.peer[ends]
    either: BoolArray = marked[ends] | (marked[peers] & (peers != NO_END))
    return either


def _mask(state: TransceiversState, ends: Iterable[int]) -> BoolArray:
    mask = np.zeros(len(state.peer), dtype=np.bool_)
    mask[list(ends)] = True
    return mask


class LightPaths(Protocol):
    """The optics between two ends, given by their numbers."""

    def clean_worst_lane_log10_ber(
        self, state: TransceiversState, ends: IntArray, peers: IntArray
    ) -> FloatArray:
        """log10 of the bit error rate of the worst lane that each end receives from its peer, with clean
        connectors.

        Of the shape of `ends`.
        """

    def between(self, state: TransceiversState, ends: IntArray, peers: IntArray) -> OcsPath:
        """The path of each strand as the ends see it, of shape (ends, strands)."""

    def lanes(self, state: TransceiversState, ends: IntArray, peers: IntArray) -> Lanes:
        """The lanes as the modules at both ends were made, of shape (ends, strands, lanes)."""

    def off_db(self, state: TransceiversState, ends: IntArray, peers: IntArray) -> FloatArray:
        """The error of the known loss of the path, of shape (ends, strands)."""


class ThroughOcs:
    """Links through an OCS; both fibres enter the same one."""

    def clean_worst_lane_log10_ber(
        self, state: TransceiversState, ends: IntArray, peers: IntArray
    ) -> FloatArray:
        """Read from the table of the fabric's pairs."""
        cube, rest = np.divmod(ends, ENDS_PER_CUBE)
        face, index = np.divmod(rest, FACE_LINKS)
        ocs, is_plus = face // 2 * FACE_LINKS + index, face % 2 == 0
        far = peers // ENDS_PER_CUBE
        plus, minus = np.where(is_plus, cube, far), np.where(is_plus, far, cube)
        _, at_plus, at_minus = fabric_pairs(state).at(ocs, plus, minus)
        log10_bers: FloatArray = np.where(is_plus, at_plus, at_minus)
        return log10_bers

    def between(self, state: TransceiversState, ends: IntArray, peers: IntArray) -> OcsPath:
        radix = ocs_radix(state.cubes)
        return strands_of(state.seed, state.fabric, ends, peers, radix, state.technology, state.patched)

    def lanes(self, state: TransceiversState, ends: IntArray, peers: IntArray) -> Lanes:
        return lanes_between(modules_of(state).made, ends, peers, STRANDS)

    def off_db(self, state: TransceiversState, ends: IntArray, peers: IntArray) -> FloatArray:
        """The error of the factory's loss matrix."""
        return matrix_off_db(state.seed, state.fabric, ends, peers)


class FixedFibres:
    """Links over fixed fibres, without a switch."""

    def clean_worst_lane_log10_ber(
        self, state: TransceiversState, ends: IntArray, peers: IntArray
    ) -> FloatArray:
        design = design_of(state.config)
        return direct_log10_bers(modules_of(state).made, design, ends, peers)

    def between(
        self,
        state: TransceiversState,  # noqa: ARG002 -- all fibres are alike
        ends: IntArray,
        peers: IntArray,  # noqa: ARG002 -- all fibres are alike
    ) -> OcsPath:
        """No loss, at every end and strand."""
        return DIRECT.over((len(ends), STRANDS))

    def lanes(self, state: TransceiversState, ends: IntArray, peers: IntArray) -> Lanes:
        return lanes_between(modules_of(state).made, ends, peers, STRANDS)

    def off_db(
        self,
        state: TransceiversState,  # noqa: ARG002 -- all fibres are alike
        ends: IntArray,
        peers: IntArray,  # noqa: ARG002 -- all fibres are alike
    ) -> FloatArray:
        """Zero: there is no switch whose loss must be known."""
        return np.zeros((len(ends), STRANDS))


THROUGH_OCS, FIXED_FIBRES = ThroughOcs(), FixedFibres()
LIGHT_PATHS: dict[str, LightPaths] = {"superpod": THROUGH_OCS, "static-pod": FIXED_FIBRES}
"""Kind of fabric → optics between the ends of its links."""


def fabric_pairs(state: TransceiversState) -> LinkTable:
    """The table of all possible links of a superpod. Raises LookupError for other kinds."""
    table = modules_of(state).pairs
    if table is None:
        raise LookupError(f"{state.fabric}: a {state.kind} has no OCSes")
    return table


def of_joins(state: TransceiversState, joins: tuple[Join, ...]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(loss in dB, log10 of the BER that the + face ends receive, the same of the − face ends) of clean
    links, each of shape (16 × joins,)."""
    loss_db, at_north, at_south = fabric_pairs(state).of_joins(joins)
    return loss_db + state.config.fibre_loss_db, at_north, at_south


def loss_db(state: TransceiversState, ends: IntArray) -> FloatArray:
    """Loss in dB of the worse strand's fibre and OCS, for connected ends, with patches applied."""
    between = LIGHT_PATHS[state.kind].between(state, ends, state.peer[ends].astype(np.int64))
    worse_db: FloatArray = between.loss_db.max(axis=-1) + state.config.fibre_loss_db
    return worse_db


def path_loss_db(state: TransceiversState, ends: IntArray | slice) -> FloatArray:
    """Loss in dB of the worse strand from module to module, with all impairments on the path.

    It is rounded to the precision of an OCS's losses, so that every display shows the same value. NaN where
    no circuit is wanted.
    """
    numbers = np.arange(len(state.peer))[ends]
    path_db: FloatArray = state.loss_db[numbers].copy()
    changed = np.flatnonzero(differs_from_table(state, numbers) & (state.peer[numbers] != NO_END))
    if len(changed):
        strands, _ = strands_between(state, numbers[changed])
        path_db[changed] = strands.loss_db.max(axis=-1) + state.config.fibre_loss_db
    return np.round(path_db, DECIMALS)


def receiving(state: TransceiversState, ends: IntArray | slice) -> npt.NDArray[np.bool_]:
    """Which of these ends receive light that they can measure.

    Both strands must be made, the far laser must send, and the own module must work.
    """
    sound = ~(state.failed[ends] | state.failed[state.peer[ends]])
    lit: npt.NDArray[np.bool_] = sound & (state.lit[ends] == BOTH_STRANDS)
    return lit


def differs_from_table(state: TransceiversState, ends: IntArray) -> npt.NDArray[np.bool_]:
    """Which of these ends have links whose light differs from the table of pairs."""
    return at_either_end(masks_of(state).changed, state, ends)


def worst_lane_log10_ber(state: TransceiversState, ends: IntArray) -> FloatArray:
    """log10 of the bit error rate of the worst lane that each connected end receives, with all
    impairments."""
    peers = state.peer[ends].astype(np.int64)
    log10_bers = LIGHT_PATHS[state.kind].clean_worst_lane_log10_ber(state, ends, peers)
    changed = np.flatnonzero(differs_from_table(state, ends))
    if len(changed):
        log10_bers[changed] = lane_log10_bers(state, ends[changed]).max(axis=-1)
    return rounded(log10_bers)


def impaired_worst_lane_log10_ber(state: TransceiversState, ends: IntArray) -> FloatArray:
    """Like `worst_lane_log10_ber`, for ends whose links all differ from the table."""
    return rounded(lane_log10_bers(state, ends).max(axis=-1))


def lane_log10_bers(state: TransceiversState, ends: IntArray) -> FloatArray:
    """log10 of the bit error rate of every lane that these ends receive, of shape (ends, 8), strand by
    strand."""
    log10_bers = strand_log10_bers(design_of(state.config), *strands_between(state, ends))
    return log10_bers.reshape(len(ends), LANES_PER_LINK)


def strands_between(
    state: TransceiversState, ends: IntArray, wrong: Mapping[int, Impairment] | None = None
) -> tuple[Strands, Lanes]:
    """The strands between these ends and their far ends, and the lanes of both modules with their
    impairments.

    If `wrong` is given, it replaces the actual impairments.
    """
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
