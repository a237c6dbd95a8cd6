"""What a lane of each rate is made of: laser and receiver by their own figures.

[LF] 3.3.1, Appendix C.1. A module of a faster generation has parts made for its rate; at an older rate it
runs as the modules of that rate do. Figures that no paper gives are assumptions.
"""

from dataclasses import dataclass
from typing import Literal

from shared.models.assumptions import assumed
from shared.models.optics.module_kinds import LaneRate

LaserName = Literal["EML", "DML"]
CirculatorName = Literal["integrated", "external"]


@dataclass(frozen=True, slots=True)
class LaneParts:
    """`launch_dbm`: average power of a lane into the mux. `extinction_db`: highest level over the lowest.
    `noise_pa_per_rthz`: of the amplifier and all that processing adds."""

    launch_dbm: float
    extinction_db: float
    intensity_noise_db_per_hz: float
    noise_pa_per_rthz: float


@dataclass(frozen=True, slots=True)
class Laser:
    """How light is modulated, against an externally modulated laser. `launch_db` more of it is launched, the
    extinction ratio is `extinction_db` higher; `chirp` widens its spectrum. Where it is `steady`, its
    frequency does not follow the data, so that the beat with a reflection has a tone that can be found."""

    launch_db: float
    extinction_db: float
    chirp: float
    steady: bool


def laser_of(name: LaserName) -> Laser:
    """An externally modulated laser (EML) or one whose own current is modulated (DML). [LF] Appendix C.1:
    modules have EMLs, for the sake of interference. Of a DML the frequency follows the current by some
    gigahertz, and no notch finds the beat of two such lasers."""
    if name == "EML":
        return Laser(0.0, 0.0, assumed("laser_chirp"), True)
    return Laser(
        assumed("directly_modulated_launch_db"),
        assumed("directly_modulated_extinction_db") - assumed("laser_extinction_db"),
        assumed("directly_modulated_chirp"),
        False,
    )


@dataclass(frozen=True, slots=True)
class Circulator:
    """What one takes each way, what it lets from the own transmitter to the own receiver, and what the
    connector takes that joins it to the module (None: it is inside)."""

    loss_db: float
    crosstalk_db: float
    connector_db: float | None


def circulator_of(name: CirculatorName) -> Circulator:
    """[LF] Appendix B: the first were external, and could be used again with the next generation; integrated
    ones lose less."""
    if name == "integrated":
        return Circulator(assumed("circulator_loss_db"), assumed("circulator_crosstalk_db"), None)
    return Circulator(
        assumed("external_circulator_loss_db"),
        assumed("external_circulator_crosstalk_db"),
        assumed("external_circulator_connector_db"),
    )


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
