"""A link through an OCS element by element: modules, fibres, and the path of the light.

[LF] 3.1, 3.3, 4.1.1, 4.1.2, Appendix B. Seen from one end, an element knows only its own part of the path:
its loss, and the reflection of arriving light. Both directions share one strand, so the end's own reflected
light arrives together with the far end's: one reflection is enough. Its power relative to the signal is (own
launch + reflection − losses to the element and back) − received. The strongest reflection and the sum of all
others go to the receiver (`lane_ber`), with the leakage of the end's own circulator.

Wavelengths: [LF] 3.3.1: both grids fill 80 nm, over which chromatic dispersion differs from lane to lane.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from schemas.config.transceivers import TransceiversConfig
from shared.models.assumptions import assumed
from shared.models.optics.lane_parts import CirculatorName, LaserName, circulator_of, laser_of, parts_of
from shared.models.optics.manufactured_modules import Lanes, extinctions_db
from shared.models.optics.module_kinds import MODULE_KINDS, SPAN_NM, LaneRate, ModuleKind, lane_rate
from shared.models.optics.path_losses import (
    NOTHING_DB,
    Decibels,
    Element,
)
from shared.models.optics.receiver import Receiver

FloatArray = npt.NDArray[np.float64]


FIRST_NM = 1_271.0
"""First wavelength of the CWDM grid in the O band (ITU-T G.694.2)."""
LIGHT_NM_PER_S = 2.99792458e17
PENALTY_MAX_DB = 40.0
"""Penalty at which dispersion leaves nothing of the signal."""


def lanes_nm(kind: ModuleKind) -> FloatArray:
    """Wavelengths of a strand's lanes, of shape (lanes,): 20 or 10 nm apart over the span of 80 nm."""
    return FIRST_NM + kind.spacing_nm * np.arange(SPAN_NM // kind.spacing_nm, dtype=np.float64)


def dispersion_ps_per_nm(wavelength_nm: FloatArray, length_km: float) -> FloatArray:
    """Chromatic dispersion of this length of fibre (ITU-T G.652): slope ÷ 4 · (λ − λ₀⁴ ÷ λ³)."""
    zero_nm, slope = assumed("fibre_zero_dispersion_nm"), assumed("fibre_dispersion_slope")
    wavelength = np.asarray(wavelength_nm, dtype=np.float64)
    found: FloatArray = 0.25 * slope * (wavelength - zero_nm**4 / wavelength**3) * length_km
    return found


def dispersion_penalty_db(
    symbol_gbd: float, wavelength_nm: FloatArray, length_km: float, chirp: float | None = None
) -> FloatArray:
    """Penalty of pulse spreading: −5 log₁₀(1 − (4 B D σ)²).

    σ is the spectral width of a laser, B λ² ÷ c √(1 + α²), from modulation and its chirp α (None: that of an
    externally modulated laser).
    """
    symbol_hz = symbol_gbd * 1e9
    chirped = np.hypot(1.0, assumed("laser_chirp") if chirp is None else chirp)
    width_nm = np.asarray(wavelength_nm) ** 2 * symbol_hz / LIGHT_NM_PER_S * chirped
    spread = 4.0 * symbol_hz * 1e-12 * dispersion_ps_per_nm(wavelength_nm, length_km) * width_nm
    left = np.maximum(1.0 - spread**2, 10.0 ** (-PENALTY_MAX_DB / 5.0))
    found: FloatArray = -5.0 * np.log10(left)
    return found


@dataclass(frozen=True, slots=True)
class OcsPath:
    """The OCS between two ends, as arrays of one broadcast shape.

    Insertion loss, and the reflections of the port on this end's side and of the port on the far side.
    """

    loss_db: FloatArray
    near_return_db: FloatArray
    far_return_db: FloatArray

    def over(self, shape: tuple[int, ...]) -> "OcsPath":
        """Broadcast to a shape."""
        arrays = (self.loss_db, self.near_return_db, self.far_return_db)
        return OcsPath(*(np.broadcast_to(array, shape) for array in arrays))

    def reversed(self) -> "OcsPath":
        """As seen from the other end."""
        return OcsPath(self.loss_db, self.far_return_db, self.near_return_db)


DIRECT = OcsPath(np.asarray(0.0), np.asarray(-np.inf), np.asarray(-np.inf))
"""Fibre from end to end: no OCS loss and no OCS port reflections."""


@dataclass(frozen=True, slots=True)
class Strands:
    """The variable part of some strands, as one of the ends sees it; arrays of one broadcast shape.

    The OCS between the ends; at both ends the loss of dirty connectors (`excess`) and the loss without
    reflection behind them (`lost`); and at this end the additional leakage of the circulator.
    """

    ocs: OcsPath
    near_excess_db: FloatArray = field(default_factory=lambda: np.asarray(0.0))
    far_excess_db: FloatArray = field(default_factory=lambda: np.asarray(0.0))
    near_lost_db: FloatArray = field(default_factory=lambda: np.asarray(0.0))
    far_lost_db: FloatArray = field(default_factory=lambda: np.asarray(0.0))
    near_leak_db: FloatArray = field(default_factory=lambda: np.asarray(0.0))

    @property
    def shape(self) -> tuple[int, ...]:
        """The broadcast shape of all arrays."""
        switched = (self.ocs.loss_db, self.ocs.near_return_db, self.ocs.far_return_db)
        return np.broadcast_shapes(*(array.shape for array in (*switched, *self._by_end)))

    @property
    def loss_db(self) -> FloatArray:
        """Variable loss, one way."""
        dirt_db = self.near_excess_db + self.far_excess_db
        found: FloatArray = self.ocs.loss_db + dirt_db + (self.near_lost_db + self.far_lost_db)
        return found

    @property
    def _by_end(self) -> tuple[FloatArray, ...]:
        excess, lost = (self.near_excess_db, self.far_excess_db), (self.near_lost_db, self.far_lost_db)
        return (*excess, *lost, self.near_leak_db)

    def each(self) -> "Strands":
        """Flat, with one value for each strand; values that are equal for all stay single values."""
        shape = self.shape
        switched = (self.ocs.loss_db, self.ocs.near_return_db, self.ocs.far_return_db)
        return Strands(
            OcsPath(*(np.broadcast_to(array, shape).ravel() for array in switched)),
            *(np.broadcast_to(array, shape).ravel() if array.ndim else array for array in self._by_end),
        )

    def part(self, numbers: npt.NDArray[np.intp]) -> "Strands":
        """Some of the flat strands; single values stay so."""
        return self._with(lambda array: array.take(numbers) if array.ndim else array)

    def per_lane(self) -> "Strands":
        """With a last axis for the lanes."""
        return self._with(lambda array: array[..., None] if array.ndim else array)

    def _with(self, change: Callable[[FloatArray], FloatArray]) -> "Strands":
        ocs = self.ocs
        switched = OcsPath(*map(change, (ocs.loss_db, ocs.near_return_db, ocs.far_return_db)))
        return Strands(switched, *map(change, self._by_end))


@dataclass(frozen=True, slots=True)
class LinkDesign:
    """Modules and fibre of a link.

    Powers are averages of one lane, by default those of the laser for the rate. `fibre_loss_db` includes the
    fibres and connectors of both ends.
    """

    rate: LaneRate = field(default_factory=lambda: lane_rate("50G-PAM4"))
    kind: ModuleKind = MODULE_KINDS["cwdm4-bidi"]
    launch_dbm: float | None = None
    fibre_loss_db: float = field(default_factory=lambda: assumed("fibre_loss_db"))
    length_km: float = field(default_factory=lambda: assumed("fibre_length_km"))
    mitigation: bool = True
    soft_fec: bool = True
    circulator: CirculatorName = "integrated"
    laser: LaserName = "EML"

    @property
    def receiver(self) -> Receiver:
        """Its notch finds the beat of steady lasers only."""
        return Receiver(self.rate, self.mitigation and laser_of(self.laser).steady, self.soft_fec)

    @property
    def launched_dbm(self) -> float:
        """`launch_dbm`, or the launch power of the rate's laser."""
        if self.launch_dbm is not None:
            return self.launch_dbm
        return parts_of(self.rate).launch_dbm + laser_of(self.laser).launch_db

    @property
    def extinctions_db(self) -> tuple[float, ...]:
        """All extinction ratios that lasers are set to, ascending."""
        more_db = laser_of(self.laser).extinction_db
        return tuple(ratio_db + more_db for ratio_db in extinctions_db())

    @property
    def extinction_db(self) -> float:
        """Extinction ratio of lasers as designed."""
        return parts_of(self.rate).extinction_db + laser_of(self.laser).extinction_db

    def extinction_of(self, lanes: Lanes) -> FloatArray:
        """The extinction ratios of lanes as manufactured, or of the design."""
        if lanes.extinction_db is None:
            return np.asarray(self.extinction_db)
        more_db = laser_of(self.laser).extinction_db
        return lanes.extinction_db + more_db if more_db else lanes.extinction_db

    @property
    def penalties_db(self) -> FloatArray:
        """Dispersion penalty of each lane of a strand, of shape (lanes,)."""
        chirp = laser_of(self.laser).chirp
        return dispersion_penalty_db(self.receiver.symbol_gbd, lanes_nm(self.kind), self.length_km, chirp)

    @property
    def lane_losses_db(self) -> FloatArray:
        """Loss of each lane of a strand beyond the first, in both multiplexers, of shape (lanes,).

        Light of the n-th lane bounces n times off their filters.
        """
        bounces = np.arange(self.kind.lanes_per_strand, dtype=np.float64)
        return 2.0 * assumed("mux_bounce_loss_db") * bounces

    def path(self, strands: Strands) -> tuple[Element, ...]:
        """From this end's laser to the far end's receiver, for the first lane."""
        mux, circulator, joined_db = assumed("mux_loss_db"), NOTHING_DB, None
        crosstalk, port, near_connector_db, far_connector_db, near_port_db, far_port_db = (None,) * 6
        if self.kind.bidi:
            part = circulator_of(self.circulator)
            circulator, joined_db = part.loss_db, part.connector_db
            crosstalk = part.crosstalk_db + strands.near_leak_db
            port = assumed("circulator_return_db")
            near_connector_db, far_connector_db = (
                connector_return_db(excess_db)
                for excess_db in (strands.near_excess_db, strands.far_excess_db)
            )
            near_port_db, far_port_db = strands.ocs.near_return_db, strands.ocs.far_return_db
        fibre_db = 0.5 * self.fibre_loss_db
        near_db = strands.near_excess_db + strands.near_lost_db
        far_db = strands.far_excess_db + strands.far_lost_db
        # The two fibres between an external circulator and its module reflect to the laser, or not at all.
        joins = () if joined_db is None else (joined_db,)
        return (
            Element("mux", mux),
            *(Element("circulator connector", loss_db) for loss_db in joins),
            Element("circulator", circulator, crosstalk),
            Element("circulator port", NOTHING_DB, port),
            Element("near fibre", fibre_db + near_db, near_connector_db),
            Element("near OCS port", NOTHING_DB, near_port_db),
            Element("OCS", strands.ocs.loss_db),
            Element("far OCS port", NOTHING_DB, far_port_db),
            Element("far fibre", fibre_db + far_db, far_connector_db),
            Element("far circulator port", NOTHING_DB, port),
            Element("far circulator", circulator),
            *(Element("far circulator connector", loss_db) for loss_db in joins),
            Element("demux", mux),
        )


def connector_return_db(excess_db: FloatArray) -> Decibels:
    """Reflection of the connectors of an end: that of clean ones plus a share of the light lost to dirt."""
    dirt, clean = (10.0 ** (assumed(name) / 10.0) for name in ("dirt_return_db", "connector_return_db"))
    if not excess_db.any():  # as nearly all are
        return 10.0 * math.log10(clean)
    taken = -np.expm1(-excess_db * math.log(10.0) / 10.0)
    found: FloatArray = 10.0 * np.log10(clean + dirt * taken)
    return found


@lru_cache(maxsize=64)
def design_of(config: TransceiversConfig) -> LinkDesign:
    """The modules and fibre of every link of a fabric."""
    return LinkDesign(
        rate=lane_rate(config.lane_rate),
        fibre_loss_db=config.fibre_loss_db,
        mitigation=config.interference_mitigation,
        soft_fec=config.soft_fec,
        circulator=config.circulator,
        laser=config.laser,
    )
