"""A link through an OCS element by element, and what its receivers make of the light.

[LF] 3.1, 3.3, 4.1.1, 4.1.2, Appendix B. Seen from one end, an element knows only its own part of the path:
what it loses, and what it sends back of the light that arrives. Both directions share one strand, so the
end's own light, sent back, comes in beside the far end's: one reflection is enough. Its power over that of
the signal is (own launch + reflection − losses to the element and back) − received. The strongest of them
and all others together go to the receiver (`receiver`), with what leaks through the end's own circulator.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from shared.models.assumptions import assumed
from shared.models.optics.fec import post_fec_ber
from shared.models.optics.lane_parts import CirculatorName, LaserName, circulator_of, laser_of, parts_of
from shared.models.optics.manufactured_modules import AS_DESIGNED, Lanes, extinctions_db
from shared.models.optics.module_kinds import MODULE_KINDS, SPAN_NM, LaneRate, ModuleKind, lane_rate
from shared.models.optics.path import (
    NOTHING_DB,
    Decibels,
    Element,
    loss_db,
    reflections,
    strongest_and_rest,
)
from shared.models.optics.receiver import BER_THRESHOLD, Receiver

FloatArray = npt.NDArray[np.float64]

# The wavelengths of a strand's lanes, and what fibre does to each: chromatic dispersion.
#
# [LF] 3.3.1: both grids fill 80 nm, over which dispersion differs from lane to lane.

FIRST_NM = 1_271.0
"""Of the CWDM grid in the O band (ITU-T G.694.2)."""
LIGHT_NM_PER_S = 2.99792458e17
PENALTY_MAX_DB = 40.0
"""Where dispersion leaves nothing of the signal."""


def lanes_nm(kind: ModuleKind) -> FloatArray:
    """Wavelengths of a strand's lanes, of shape (lanes,): 20 or 10 nm apart over the span of 80 nm."""
    return FIRST_NM + kind.spacing_nm * np.arange(SPAN_NM // kind.spacing_nm, dtype=np.float64)


def dispersion_ps_per_nm(wavelength_nm: FloatArray, length_km: float) -> FloatArray:
    """Chromatic dispersion of so much fibre (ITU-T G.652): slope ÷ 4 · (λ − λ₀⁴ ÷ λ³)."""
    zero_nm, slope = assumed("fibre_zero_dispersion_nm"), assumed("fibre_dispersion_slope")
    wavelength = np.asarray(wavelength_nm, dtype=np.float64)
    found: FloatArray = 0.25 * slope * (wavelength - zero_nm**4 / wavelength**3) * length_km
    return found


def dispersion_penalty_db(
    symbol_gbd: float, wavelength_nm: FloatArray, length_km: float, chirp: float | None = None
) -> FloatArray:
    """What the spread of a symbol costs: −5 log₁₀(1 − (4 B D σ)²), where σ is the spectral width of a laser,
    B λ² ÷ c √(1 + α²): what modulation alone gives it, and its chirp α (None: that of an externally modulated
    one)."""
    symbol_hz = symbol_gbd * 1e9
    chirped = np.hypot(1.0, assumed("laser_chirp") if chirp is None else chirp)
    width_nm = np.asarray(wavelength_nm) ** 2 * symbol_hz / LIGHT_NM_PER_S * chirped
    spread = 4.0 * symbol_hz * 1e-12 * dispersion_ps_per_nm(wavelength_nm, length_km) * width_nm
    left = np.maximum(1.0 - spread**2, 10.0 ** (-PENALTY_MAX_DB / 5.0))
    found: FloatArray = -5.0 * np.log10(left)
    return found


@dataclass(frozen=True, slots=True)
class OcsPath:
    """What the OCS puts between two ends, as arrays of one broadcast shape: insertion loss, and what the port
    on this end's side and the one on the far side send back."""

    loss_db: FloatArray
    near_return_db: FloatArray
    far_return_db: FloatArray

    def over(self, shape: tuple[int, ...]) -> "OcsPath":
        """The same at every place of a shape."""
        arrays = (self.loss_db, self.near_return_db, self.far_return_db)
        return OcsPath(*(np.broadcast_to(array, shape) for array in arrays))

    def reversed(self) -> "OcsPath":
        """As the other end sees it."""
        return OcsPath(self.loss_db, self.far_return_db, self.near_return_db)


DIRECT = OcsPath(np.asarray(0.0), np.asarray(-np.inf), np.asarray(-np.inf))
"""Fibre that runs from end to end: no OCS loses anything, and no port of one sends anything back."""


@dataclass(frozen=True, slots=True)
class Strands:
    """All that may change of some strands, as one of the ends sees it: the OCS between, and at this end and
    the far one what dirty connectors take (`excess`), what is lost behind them without reflection (`lost`),
    and at this end how much more the circulator leaks. Arrays of one broadcast shape."""

    ocs: OcsPath
    near_excess_db: FloatArray = field(default_factory=lambda: np.asarray(0.0))
    far_excess_db: FloatArray = field(default_factory=lambda: np.asarray(0.0))
    near_lost_db: FloatArray = field(default_factory=lambda: np.asarray(0.0))
    far_lost_db: FloatArray = field(default_factory=lambda: np.asarray(0.0))
    near_leak_db: FloatArray = field(default_factory=lambda: np.asarray(0.0))

    @property
    def shape(self) -> tuple[int, ...]:
        """Of all arrays together."""
        switched = (self.ocs.loss_db, self.ocs.near_return_db, self.ocs.far_return_db)
        return np.broadcast_shapes(*(array.shape for array in (*switched, *self._by_end)))

    @property
    def loss_db(self) -> FloatArray:
        """Of all that may change, one way."""
        dirt_db = self.near_excess_db + self.far_excess_db
        found: FloatArray = self.ocs.loss_db + dirt_db + (self.near_lost_db + self.far_lost_db)
        return found

    @property
    def _by_end(self) -> tuple[FloatArray, ...]:
        excess, lost = (self.near_excess_db, self.far_excess_db), (self.near_lost_db, self.far_lost_db)
        return (*excess, *lost, self.near_leak_db)

    def each(self) -> "Strands":
        """Flat: one value of each a strand; what is wrong with none, or with all alike, stays one value."""
        shape = self.shape
        switched = (self.ocs.loss_db, self.ocs.near_return_db, self.ocs.far_return_db)
        return Strands(
            OcsPath(*(np.broadcast_to(array, shape).ravel() for array in switched)),
            *(np.broadcast_to(array, shape).ravel() if array.ndim else array for array in self._by_end),
        )

    def part(self, numbers: npt.NDArray[np.intp]) -> "Strands":
        """Some of them, where they are flat; what is one for all stays so."""
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
    """Modules and fibre of a link. Powers are averages of one lane, that of the laser by default as the
    modules of the rate have it; `fibre_loss_db` is that of both ends' fibres and connectors together."""

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
        """`launch_dbm`, or what the parts of the rate launch."""
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
        """Of lasers that are as designed."""
        return parts_of(self.rate).extinction_db + laser_of(self.laser).extinction_db

    def extinction_of(self, lanes: Lanes) -> FloatArray:
        """The extinction ratios of lanes as made, or of the design."""
        if lanes.extinction_db is None:
            return np.asarray(self.extinction_db)
        more_db = laser_of(self.laser).extinction_db
        return lanes.extinction_db + more_db if more_db else lanes.extinction_db

    @property
    def penalties_db(self) -> FloatArray:
        """What dispersion costs each lane of a strand, of shape (lanes,)."""
        chirp = laser_of(self.laser).chirp
        return dispersion_penalty_db(self.receiver.symbol_gbd, lanes_nm(self.kind), self.length_km, chirp)

    @property
    def lane_losses_db(self) -> FloatArray:
        """What each lane of a strand loses more than the first, in both multiplexers: light of the n-th
        bounces n times off their filters. Of shape (lanes,)."""
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
        # The two fibres of an external circulator to its module reflect to the laser, or nothing.
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
    """What the connectors of an end send back: as clean ones do, and a share of what dirt takes out of the
    light."""
    dirt, clean = (10.0 ** (assumed(name) / 10.0) for name in ("dirt_return_db", "connector_return_db"))
    if not excess_db.any():  # as nearly all are
        return 10.0 * math.log10(clean)
    taken = -np.expm1(-excess_db * math.log(10.0) / 10.0)
    found: FloatArray = 10.0 * np.log10(clean + dirt * taken)
    return found


@dataclass(frozen=True, slots=True)
class Arrival:
    """What arrives at an end, lane by lane, in one broadcast shape: average power of the signal in dBm, the
    strongest of all that is sent back of the end's own light over it, and the others together, in dB."""

    received_dbm: FloatArray
    strongest_db: FloatArray
    rest_db: FloatArray

    @property
    def interference_db(self) -> FloatArray:
        """All of it over the signal: the MPI."""
        with np.errstate(divide="ignore"):  # a duplex link has none
            total: FloatArray = 10.0 * np.log10(
                10.0 ** (self.strongest_db / 10) + 10.0 ** (self.rest_db / 10)
            )
        return total

    def part(self, numbers: npt.NDArray[np.intp]) -> "Arrival":
        """Some of the strands, where these are of shape (strands, lanes)."""
        fields = (self.received_dbm, self.strongest_db, self.rest_db)
        return Arrival(*(field.take(numbers, axis=0) for field in fields))

    def single(self, strand: npt.NDArray[np.intp], lane: npt.NDArray[np.intp]) -> "Arrival":
        """Some lanes, each as the only one of a strand, as `Lanes.single` has them."""
        fields = (self.received_dbm, self.strongest_db, self.rest_db)
        return Arrival(*(field[strand, lane][:, None] for field in fields))


@dataclass(frozen=True, slots=True)
class LaneResult:
    """What an end makes of it, one array of the broadcast shape each. Rates: `raw_ber` of the decisions,
    `ber` before the outer code, `post_fec_ber` after it; `margin` in orders of magnitude of `ber` below its
    threshold. `interference_db` is over the received power."""

    received_dbm: FloatArray
    interference_db: FloatArray
    penalty_db: FloatArray
    raw_ber: FloatArray
    ber: FloatArray
    log10_ber: FloatArray
    post_fec_ber: FloatArray

    @property
    def margin(self) -> FloatArray:
        orders: FloatArray = np.log10(BER_THRESHOLD) - self.log10_ber
        return orders


def arriving(design: LinkDesign, strands: Strands, lanes: Lanes = AS_DESIGNED) -> Arrival:
    """At the near end, of shape (…, lanes) for strands of shape (…)."""
    return along(design.path(strands.per_lane()), design.launched_dbm, design.lane_losses_db, lanes)


def along(path: tuple[Element, ...], launched_dbm: float, losses_db: FloatArray, lanes: Lanes) -> Arrival:
    """The same along a path, for what a design launches and what each of its lanes loses more."""
    bounced_db = lanes.of_design(losses_db)
    lost_db = loss_db(path) + bounced_db
    received_dbm = launched_dbm + lanes.far_launch_db - lost_db
    back = strongest_and_rest([power_dbm for _, power_dbm in reflections(path, launched_dbm)])
    with np.errstate(divide="ignore"):  # a duplex link has none, and another perhaps only one
        back_dbm = 10.0 * np.log10(back)
    # The own light passes the same multiplexers, there and back.
    relative_db = lanes.near_launch_db - bounced_db - received_dbm
    strongest_db, rest_db = back_dbm[0] + relative_db, back_dbm[1] + relative_db
    if strongest_db.shape == received_dbm.shape:
        return Arrival(received_dbm, strongest_db, rest_db)
    return Arrival(*np.broadcast_arrays(received_dbm, strongest_db, rest_db))


def evaluate(design: LinkDesign, strands: Strands, lanes: Lanes = AS_DESIGNED) -> LaneResult:
    """What the near end receives, of shape (…, lanes) for strands of shape (…)."""
    arrival = arriving(design, strands, lanes)
    log10_ber = arrived_log10_ber(design, arrival, lanes)
    ber = 10.0**log10_ber
    return LaneResult(
        arrival.received_dbm,
        arrival.interference_db,
        np.broadcast_to(lanes.of_design(design.penalties_db), ber.shape),
        10.0 ** arrived_log10_ber(design, arrival, lanes, design.receiver.uncoded()),
        ber,
        log10_ber,
        post_fec_ber(ber),
    )


def arrived_log10_ber(
    design: LinkDesign, arrival: Arrival, lanes: Lanes = AS_DESIGNED, receiver: Receiver | None = None
) -> FloatArray:
    """log10 of the bit error rate before the outer code, of the arrival's shape."""
    return with_bursts(decided_log10_ber(design, arrival, lanes, receiver), lanes)


def decided_log10_ber(
    design: LinkDesign, arrival: Arrival, lanes: Lanes = AS_DESIGNED, receiver: Receiver | None = None
) -> FloatArray:
    """The same by noise and interference alone, without errors in bursts. Dispersion counts as loss of the
    signal alone: of what comes back of the near end's own light, no symbol has to be told from the next.
    A receiver that needs more light errs as one that gets less of all."""
    return received_log10_ber(
        receiver or design.receiver, arrival, lanes, design.extinction_of(lanes), design.penalties_db
    )


def received_log10_ber(
    receiver: Receiver, arrival: Arrival, lanes: Lanes, extinction_db: FloatArray, penalties_db: FloatArray
) -> FloatArray:
    """The same for a receiver, the lanes' extinction ratios and the penalties of a design's lanes."""
    penalty_db = lanes.of_design(penalties_db)
    return receiver.log10_ber(
        arrival.received_dbm - penalty_db - lanes.sensitivity_db,
        arrival.strongest_db + penalty_db,
        arrival.rest_db + penalty_db,
        lanes.offset_ghz,
        extinction_db,
    )


def with_bursts(log10_ber: FloatArray, lanes: Lanes) -> FloatArray:
    """With the errors that a receiver makes however much light it gets, and the inner code cannot mend: a
    floor that is assumed, as bursts would leave it."""
    bursts = assumed("burst_error_ber") * 10.0**lanes.burst_orders
    found: FloatArray = np.log10(10.0**log10_ber + bursts)
    return found


def log10_ber(design: LinkDesign, strands: Strands, lanes: Lanes = AS_DESIGNED) -> FloatArray:
    """The plain chain: log10 of the bit error rate before the outer code, of shape (…, lanes)."""
    return arrived_log10_ber(design, arriving(design, strands, lanes), lanes)
