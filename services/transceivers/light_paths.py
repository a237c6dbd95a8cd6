"""What lies between the two ends of a link in each kind of pod: the one thing in which their optics differ.

In a superpod an OCS, whose losses and reflections go by the pair of its ports; in a static pod nothing but
the fibres.
"""

from typing import Protocol

import numpy as np

from services.transceivers.design import design_of
from services.transceivers.modules import modules_of
from services.transceivers.state import TransceiversState
from shared.models.optics.fabric_links import Pairs, direct_log10_bers
from shared.models.optics.link import DIRECT, FloatArray, Switched
from shared.models.optics.made_modules import Lanes, lanes_between
from shared.models.optics.strands import strands_of
from shared.models.superpod.wiring import ENDS_PER_CUBE, FACE_LINKS, STRANDS, IntArray, ocs_radix
from shared.models.telemetry.looks import matrix_off_db


class LightPaths(Protocol):
    """What lies between two ends, given by their numbers."""

    def clean_log10_ber(self, state: TransceiversState, ends: IntArray, peers: IntArray) -> FloatArray:
        """log10 of the bit error rate of the worst lane that each of these ends receives from its peer, by
        clean connectors; of their shape."""

    def between(self, state: TransceiversState, ends: IntArray, peers: IntArray) -> Switched:
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

    def between(self, state: TransceiversState, ends: IntArray, peers: IntArray) -> Switched:
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
    ) -> Switched:
        """Nothing, at every end and strand."""
        return DIRECT.over((len(ends), STRANDS))

    def lanes(self, state: TransceiversState, ends: IntArray, peers: IntArray) -> Lanes:
        return lanes_between(modules_of(state).made, ends, peers, STRANDS)

    def off_db(
        self,
        state: TransceiversState,  # noqa: ARG002 -- all fibres are known
        ends: IntArray,
        peers: IntArray,  # noqa: ARG002 -- all fibres are known
    ) -> FloatArray:
        """By nothing: there is no switch whose loss would have to be known."""
        return np.zeros((len(ends), STRANDS))


LIGHT_PATHS: dict[str, LightPaths] = {"superpod": ThroughOcs(), "static-pod": FixedFibres()}
"""Kind of fabric → what lies between the ends of its links."""


def fabric_pairs(state: TransceiversState) -> Pairs:
    """All links that a superpod could be asked for."""
    found = modules_of(state).pairs
    if found is None:
        raise LookupError(f"{state.fabric}: a {state.kind} has no OCSes")
    return found
