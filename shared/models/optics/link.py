"""A link through a Palomar element by element, and what its receivers make of the light.

[LF] 3.1, 3.3, 4.1.1, 4.1.2, Appendix B. Seen from one end, an element knows only its own part of the path:
what it loses, and what it sends back of the light that arrives. Both directions share one strand, so the
end's own light, sent back, comes in beside the far end's in the same band: one reflection is enough. Its
power over that of the signal is (own launch + reflection − losses to the element and back) − received; all
add up as powers, with what leaks through the end's own circulator.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from shared.models.assumptions import assumed
from shared.models.optics.fec import post_fec_ber
from shared.models.optics.modules import (
    MODULE_KINDS,
    SPAN_NM,
    LaneRate,
    ModuleKind,
    lane_rate,
)
from shared.models.optics.receiver import BER_THRESHOLD, Receiver

FloatArray = npt.NDArray[np.float64]

FIRST_NM = 1_271.0
"""Of the CWDM grid in the O band (ITU-T G.694.2)."""
LIGHT_NM_PER_S = 2.99792458e17
PENALTY_MAX_DB = 40.0
"""Where dispersion leaves nothing of the signal."""


@dataclass(frozen=True, slots=True)
class Element:
    """One piece of the path, as light meets it on the way out. `loss_db` it takes each way; of light that
    arrives it sends `return_db` back (negative; None: nothing). Arrays of one broadcast shape."""

    name: str
    loss_db: FloatArray
    return_db: FloatArray | None = None


@dataclass(frozen=True, slots=True)
class Switched:
    """What the OCS puts between two ends, as arrays of one broadcast shape: insertion loss, and what the port
    on this end's side and the one on the far side send back."""

    loss_db: FloatArray
    near_return_db: FloatArray
    far_return_db: FloatArray

    def reversed(self) -> "Switched":
        """As the other end sees it."""
        return Switched(self.loss_db, self.far_return_db, self.near_return_db)


DIRECT = Switched(np.asarray(0.0), np.asarray(-np.inf), np.asarray(-np.inf))
"""Fibre that runs from end to end: no OCS loses anything, and no port of one sends anything back."""


@dataclass(frozen=True, slots=True)
class LinkDesign:
    """Modules and fibre of a link. Powers are averages of one lane; `fibre_loss_db` is that of both ends'
    fibres and connectors together."""

    rate: LaneRate = field(default_factory=lambda: lane_rate("50G-PAM4"))
    kind: ModuleKind = MODULE_KINDS["cwdm4-bidi"]
    launch_dbm: float = field(default_factory=lambda: assumed("laser_launch_dbm"))
    fibre_loss_db: float = field(default_factory=lambda: assumed("fibre_loss_db"))
    length_km: float = field(default_factory=lambda: assumed("fibre_length_km"))
    mitigation: bool = True
    soft_fec: bool = True

    @property
    def receiver(self) -> Receiver:
        return Receiver(self.rate, self.mitigation, self.soft_fec)

    def path(
        self, ocs: Switched, near_excess_db: FloatArray | float = 0.0, far_excess_db: FloatArray | float = 0.0
    ) -> tuple[Element, ...]:
        """From this end's laser to the far end's receiver. The excess is that of dirty connectors."""
        mux, none = _assumed("mux_loss_db"), np.asarray(0.0)
        circulator, crosstalk, port, connector = none, None, None, None
        near_port_db, far_port_db = None, None
        if self.kind.bidi:
            circulator, crosstalk = _assumed("circulator_loss_db"), _assumed("circulator_crosstalk_db")
            port, connector = _assumed("circulator_return_db"), _assumed("connector_return_db")
            near_port_db, far_port_db = ocs.near_return_db, ocs.far_return_db
        fibre_db = 0.5 * self.fibre_loss_db
        return (
            Element("mux", mux),
            Element("circulator", circulator, crosstalk),
            Element("circulator port", none, port),
            Element("near fibre", np.asarray(fibre_db + near_excess_db), connector),
            Element("near OCS port", none, near_port_db),
            Element("OCS", ocs.loss_db),
            Element("far OCS port", none, far_port_db),
            Element("far fibre", np.asarray(fibre_db + far_excess_db), connector),
            Element("far circulator port", none, port),
            Element("far circulator", circulator),
            Element("demux", mux),
        )


def _assumed(name: str) -> FloatArray:
    return np.asarray(assumed(name))


@dataclass(frozen=True, slots=True)
class LaneResult:
    """What arrives at an end, one array of the broadcast shape each. Rates: `raw_ber` of the decisions,
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


def loss_db(path: Iterable[Element]) -> FloatArray:
    """Of the whole path, one way."""
    total_db: FloatArray = np.asarray(0.0)
    for element in path:
        total_db = total_db + element.loss_db
    return total_db


def reflections(path: Iterable[Element], launch_dbm: float) -> Iterator[tuple[str, FloatArray]]:
    """(element, power in dBm) of everything that comes back to this end's receiver of its own light."""
    there_db: FloatArray = np.asarray(0.0)
    for element in path:
        if element.return_db is not None:
            yield element.name, launch_dbm - 2.0 * there_db + element.return_db
        there_db = there_db + element.loss_db


def arriving(
    design: LinkDesign,
    ocs: Switched,
    near_excess_db: FloatArray | float = 0.0,
    far_excess_db: FloatArray | float = 0.0,
) -> tuple[FloatArray, FloatArray]:
    """(average power of a lane in dBm, interference over it in dB) at the near end's receiver."""
    path = design.path(ocs, near_excess_db, far_excess_db)
    received_dbm = design.launch_dbm - loss_db(path)
    back_mw: FloatArray = np.asarray(0.0)
    for _, power_dbm in reflections(path, design.launch_dbm):
        back_mw = back_mw + 10.0 ** (power_dbm / 10.0)
    with np.errstate(divide="ignore"):  # a duplex link has none
        interference_db: FloatArray = 10.0 * np.log10(back_mw) - received_dbm
    return received_dbm, interference_db


def evaluate(
    design: LinkDesign,
    ocs: Switched,
    near_excess_db: FloatArray | float = 0.0,
    far_excess_db: FloatArray | float = 0.0,
    wavelength_nm: FloatArray | None = None,
) -> LaneResult:
    """What the near end receives, over arrays of one broadcast shape, such as (link ends, lanes)."""
    received_dbm, interference_db = arriving(design, ocs, near_excess_db, far_excess_db)
    receiver = design.receiver
    wavelengths = lanes_nm(design.kind) if wavelength_nm is None else wavelength_nm
    penalty_db = dispersion_penalty_db(receiver.symbol_gbd, wavelengths, design.length_km)
    arrives = dispersed(received_dbm, interference_db, penalty_db)
    ber = receiver.ber(*arrives)
    return LaneResult(
        np.broadcast_to(received_dbm, ber.shape),
        np.broadcast_to(interference_db, ber.shape),
        np.broadcast_to(penalty_db, ber.shape),
        receiver.uncoded().ber(*arrives),
        ber,
        receiver.log10_ber(*arrives),
        post_fec_ber(ber),
    )


# --- wavelengths and dispersion -----------------------------------------------------------------------------


def lanes_nm(kind: ModuleKind) -> FloatArray:
    """Wavelengths of a strand's lanes, of shape (lanes,): 20 or 10 nm apart over the span of 80 nm."""
    return FIRST_NM + kind.spacing_nm * np.arange(SPAN_NM // kind.spacing_nm, dtype=np.float64)


def dispersion_ps_per_nm(wavelength_nm: FloatArray, length_km: float) -> FloatArray:
    """Chromatic dispersion of so much fibre (ITU-T G.652): slope ÷ 4 · (λ − λ₀⁴ ÷ λ³)."""
    zero_nm, slope = assumed("fibre_zero_dispersion_nm"), assumed("fibre_dispersion_slope")
    wavelength = np.asarray(wavelength_nm, dtype=np.float64)
    found: FloatArray = 0.25 * slope * (wavelength - zero_nm**4 / wavelength**3) * length_km
    return found


def dispersion_penalty_db(symbol_gbd: float, wavelength_nm: FloatArray, length_km: float) -> FloatArray:
    """What the spread of a symbol costs: −5 log₁₀(1 − (4 B D σ)²), where σ is the spectral width that
    modulation gives a laser without chirp, B λ² ÷ c."""
    symbol_hz = symbol_gbd * 1e9
    width_nm = np.asarray(wavelength_nm) ** 2 * symbol_hz / LIGHT_NM_PER_S
    spread = 4.0 * symbol_hz * 1e-12 * dispersion_ps_per_nm(wavelength_nm, length_km) * width_nm
    left = np.maximum(1.0 - spread**2, 10.0 ** (-PENALTY_MAX_DB / 5.0))
    found: FloatArray = -5.0 * np.log10(left)
    return found


def dispersed(
    received_dbm: FloatArray, interference_db: FloatArray, penalty_db: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """(received power, interference over it) with dispersion's penalty taken. It counts as loss of the signal
    alone: of what comes back of the near end's own light, no symbol has to be told from the next."""
    return received_dbm - penalty_db, interference_db + penalty_db
