"""Components of a lane of each rate: laser, receiver and circulator figures.

[LF] 3.3.1, Appendix C.1. A module of a faster generation has components for its rate; at an older rate it
performs like the modules of that rate. Figures that no paper gives are assumptions.
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

    `noise_pa_per_rthz`: of the amplifier and all added processing noise.
    """

    launch_dbm: float
    extinction_db: float
    intensity_noise_db_per_hz: float
    noise_pa_per_rthz: float


@dataclass(frozen=True, slots=True)
class Laser:
    """Modulation of the light, relative to an externally modulated laser.

    It launches `launch_db` more, and its extinction ratio is `extinction_db` higher; `chirp` widens its
    spectrum. If `steady`, its frequency does not follow the data, so the beat with a reflection has a
    detectable tone.
    """

    launch_db: float
    extinction_db: float
    chirp: float
    steady: bool


def laser_of(name: LaserName) -> Laser:
    """An externally modulated laser (EML) or a directly modulated one (DML).

    [LF] Appendix C.1: modules use EMLs because of interference. The frequency of a DML follows its current by
    some gigahertz, and no notch finds the beat of two such lasers.
    """
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
    """Loss in each direction, crosstalk from the own transmitter to the own receiver, and loss of the
    connector to the module (None: integrated)."""

    loss_db: float
    crosstalk_db: float
    connector_db: float | None


def circulator_of(name: CirculatorName) -> Circulator:
    """[LF] Appendix B: the first circulators were external and reusable with the next generation; integrated
    ones lose less."""
    if name == "integrated":
        return Circulator(assumed("circulator_loss_db"), assumed("circulator_crosstalk_db"), None)
    return Circulator(
        assumed("external_circulator_loss_db"),
        assumed("external_circulator_crosstalk_db"),
        assumed("external_circulator_connector_db"),
    )


FAST_GBPS = 100
"""From this rate on, lanes have their own components."""


def parts_of(rate: LaneRate) -> LaneParts:
    """The components of modules for this rate."""
    made_for = "_fast" if rate.gbps >= FAST_GBPS else ""
    return LaneParts(
        launch_dbm=assumed(f"laser{made_for}_launch_dbm"),
        extinction_db=assumed("laser_extinction_db"),
        intensity_noise_db_per_hz=assumed("laser_intensity_noise_db_per_hz"),
        noise_pa_per_rthz=assumed(f"receiver{made_for}_noise_pa_per_rthz"),
    )
