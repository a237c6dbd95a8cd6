"""What a lane of each rate is made of: laser and receiver by their own figures.

[LF] 3.3.1, Appendix C.1. A module of a faster generation has parts made for its rate; at an older rate it
runs as the modules of that rate do. Figures that no paper gives are assumptions.
"""

from dataclasses import dataclass

from shared.models.assumptions import assumed
from shared.models.optics.modules import LaneRate


@dataclass(frozen=True, slots=True)
class LaneParts:
    """`launch_dbm`: average power of a lane into the mux. `extinction_db`: highest level over the lowest.
    `noise_pa_per_rthz`: of the amplifier and all that processing adds."""

    launch_dbm: float
    extinction_db: float
    intensity_noise_db_per_hz: float
    noise_pa_per_rthz: float


FAST_GBPS = 100
"""From this rate on, parts of their own."""


def parts_of(rate: LaneRate) -> LaneParts:
    """Of the modules made for this rate."""
    made_for = "_fast" if rate.gbps >= FAST_GBPS else ""
    return LaneParts(
        launch_dbm=assumed(f"laser{made_for}_launch_dbm"),
        extinction_db=assumed("laser_extinction_db"),
        intensity_noise_db_per_hz=assumed("laser_intensity_noise_db_per_hz"),
        noise_pa_per_rthz=assumed(f"receiver{made_for}_noise_pa_per_rthz"),
    )
