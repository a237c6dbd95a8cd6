"""Light of every lane at the link ends of a fabric, the input of telemetry.

Most ends do not change from one frame to the next, so only changed ones are computed.

The eye quality is the signal-to-noise ratio at the slicer, as in CMIS (eSNR). With M evenly spaced levels a
decision is wrong with probability Φ(−q), where q is half the distance of two levels over the noise. The mean
power of the levels is (M² − 1) ÷ 3 · q² times that of the noise. So the ratio follows from the decision
errors, with interference counted as noise.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from shared.models.optics.lane_ber import received_light, with_bursts
from shared.models.optics.link_design import FloatArray, LinkDesign, OcsPath, Strands
from shared.models.optics.manufactured_modules import Lanes
from shared.models.optics.module_kinds import LANES_PER_LINK
from shared.models.optics.pod_links import kernel_of
from shared.models.optics.receiver import Receiver
from shared.models.superpod.wiring import ENDS_PER_CUBE, IntArray

Q_MAX, STEPS = 14.0, 2_800
"""Beyond it a decision is wrong less than once in 10^44. With steps of 0.005 linear interpolation has an
error of 2e-5 dB there, and less than 0.01 dB where Q is above a half."""


@lru_cache(maxsize=16)
def _table(share: float) -> tuple[FloatArray, FloatArray]:
    """(log10 of the raw bit error rate ascending, Q) for this share of wrong bits of a wrong decision."""
    q = np.linspace(Q_MAX, 0.0, STEPS + 1)
    wrong = [0.5 * share * math.erfc(one / math.sqrt(2.0)) for one in q.tolist()]
    return np.log10(wrong), q


def slicer_snr_db(log10_raw_ber: FloatArray, receiver: Receiver) -> FloatArray:
    """From the decision errors before any code, of its shape; −inf if decisions are guesses."""
    rates, q = _table(receiver.errors_per_decision)
    found = np.interp(log10_raw_ber, rates, q)
    with np.errstate(divide="ignore"):
        ratio: FloatArray = 10.0 * np.log10((receiver.levels**2 - 1) / 3.0 * found**2)
    return ratio


FABRICS_KEPT_MAX = 16
"""Fabrics whose light is cached: some 5 megabytes each for 64 cubes."""


@dataclass(frozen=True, slots=True)
class LaneLight:
    """Received light of every lane, of shape (ends, 8 lanes), strand after strand.

    Average power on the photodiode, reflected own light relative to it (MPI), signal to noise at the slicer,
    and log10 of the errors before the inner code and before the outer one, both including bursts.
    """

    received_dbm: FloatArray
    interference_db: FloatArray
    snr_db: FloatArray
    log10_raw_ber: FloatArray
    log10_ber: FloatArray


def lane_light(design: LinkDesign, strands: Strands, lanes: Lanes) -> LaneLight:
    """For all lanes of some ends, with strands of shape (ends, strands of a link)."""
    flat, rows, kernel = strands.each(), lanes.each(), kernel_of(design)
    light = received_light(design, flat, rows)
    raw = kernel.raw_log10_ber(light, rows)
    found = (
        light.received_dbm,
        light.interference_db,
        slicer_snr_db(raw, design.receiver),
        with_bursts(raw, rows),
        kernel.lane_log10_ber(flat, rows),
    )
    return LaneLight(*(array.reshape(-1, LANES_PER_LINK) for array in found))


class KnownLight:
    """`lane_light` of the ends of a fabric with cached results, bit-identical."""

    def __init__(self, design: LinkDesign, ends: int) -> None:
        self.design = design
        self._ends = ends
        self._given: list[FloatArray] = []
        self._found = np.empty((len(fields(LaneLight)), ends, LANES_PER_LINK))

    def of(self, ends: IntArray, strands: Strands, lanes: Lanes) -> LaneLight:
        """The light of these ends, of shape (n,), by number."""
        given = list(_given(strands, lanes, len(ends)))
        widths = [array.shape[1] for array in given]
        if widths != [array.shape[1] for array in self._given]:
            self._given = [np.full((self._ends, width), np.nan) for width in widths]
        changed = np.zeros(len(ends), dtype=np.bool_)
        for known, array in zip(self._given, given, strict=True):
            changed |= _any(known[ends] != array)
        if changed.any():
            rows = np.flatnonzero(changed)
            found = lane_light(self.design, _strands(strands, rows), lanes.part(rows))
            for place, field in enumerate(fields(LaneLight)):
                self._found[place, ends[rows]] = getattr(found, field.name)
            for known, array in zip(self._given, given, strict=True):
                known[ends[rows]] = array[rows]
        return LaneLight(*(array[ends] for array in self._found))


@lru_cache(maxsize=2 * FABRICS_KEPT_MAX)
def known_light(seed: int, fabric: str, cubes: int, design: LinkDesign, of: str) -> KnownLight:  # noqa: ARG001 -- two fabrics have two
    """Cached for a fabric, with `of` for actual and for expected light separately."""
    return KnownLight(design, cubes * ENDS_PER_CUBE)


def _any(differs: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Whether any value of a row is true, of shape (n,): column by column, because rows are short."""
    found = differs[:, 0].copy()
    for column in range(1, differs.shape[1]):
        found |= differs[:, column]
    return found


def _strands(strands: Strands, rows: npt.NDArray[np.intp]) -> Strands:
    """The strands of some ends, where each field is one value or of shape (ends, strands)."""
    whole = strands.shape
    each = strands.each()
    numbers = np.arange(len(each.ocs.loss_db)).reshape(whole)[rows]
    part = each.part(numbers.ravel())

    def shaped(array: FloatArray) -> FloatArray:
        return array.reshape(numbers.shape) if array.ndim else array

    return Strands(
        OcsPath(*(shaped(getattr(part.ocs, field.name)) for field in fields(part.ocs))),
        *(shaped(getattr(part, field.name)) for field in fields(part) if field.name != "ocs"),
    )


def _given(strands: Strands, lanes: Lanes, count: int) -> Iterator[FloatArray]:
    """All numbers that the light depends on, each of shape (ends, some)."""
    for whole in (strands.ocs, strands, lanes):
        for field in fields(whole):
            value = getattr(whole, field.name)
            if isinstance(value, np.ndarray):
                array = value if value.ndim else value.reshape(1)
                width = math.prod(array.shape[1:])
                yield np.broadcast_to(array, (count, *array.shape[1:])).reshape(count, width)
