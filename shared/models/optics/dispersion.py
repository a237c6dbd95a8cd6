"""The wavelengths of a strand's lanes, and what fibre does to each: chromatic dispersion.

[LF] 3.3.1: both grids fill 80 nm, over which dispersion differs from lane to lane.
"""

import numpy as np
import numpy.typing as npt

from shared.models.assumptions import assumed
from shared.models.optics.modules import SPAN_NM, ModuleKind

FloatArray = npt.NDArray[np.float64]

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
