"""Configuration, parts and messages of a field of lamps."""

from functools import lru_cache
from typing import Annotated, Literal

import numpy as np

from schemas.body import Body, Model
from schemas.config.failures import FailureRates, FailuresConfig
from schemas.config.parameter import parameter, same_parameter_as
from schemas.config.pods import FabricConfig
from schemas.names import TargetName
from schemas.subjects import SubjectMark
from shared.basics.errors import InvalidInput
from shared.models.faults.fault_definition import FaultDefinition
from shared.models.plant.plant_format import Axis, LinkEnds, PartKind, Plant

MASTS, LAMPS_PER_MAST = 3, 2
LAMPS = MASTS * LAMPS_PER_MAST
BRIGHTNESS_MAX = 9


class LampHardware(Model):
    """Empty: every field has the same parts."""


class LampFailuresConfig(FailureRates):
    enabled: bool = same_parameter_as(FailuresConfig, "enabled")
    bulb_per_day: float = parameter(
        0.0, "share of bulbs that fail in a day", unit="1/day", source="assumption", ge=0, le=100
    )
    common_seed: int | None = same_parameter_as(FailuresConfig, "common_seed")
    until_days: float | None = same_parameter_as(FailuresConfig, "until_days")


class LampFieldConfig(FabricConfig):
    kind: Literal["lamp-field"] = "lamp-field"
    brightness: int = 3
    failures: LampFailuresConfig = LampFailuresConfig()

    @property
    def hardware(self) -> LampHardware:
        return LampHardware()


def check_brightness(config: LampFieldConfig) -> None:
    """Raises InvalidInput if the lamps cannot be this bright."""
    if config.brightness > BRIGHTNESS_MAX:
        raise InvalidInput(f"brightness: must be at most {BRIGHTNESS_MAX}")


@lru_cache(maxsize=1)
def lamp_field_plant(_hardware: object = None) -> Plant:
    """Return the plant: each lamp shines at a lamp on the next mast, which is also its far end back.

    Lamps are parts of kind `end`, so that the known faults of link ends can strike them.
    """
    far = np.roll(np.arange(LAMPS), LAMPS_PER_MAST)[:, None]
    kinds = (
        PartKind("mast", "mast", "mast-{mast}", "mast-1"),
        PartKind("end", "lamp", "mast-{mast}/lamp-{lamp}", "mast-1/lamp-0", "mast"),
    )
    axes = {"mast": Axis("mast", MASTS), "lamp": Axis("lamp", LAMPS_PER_MAST)}
    drivers = np.arange(LAMPS) // LAMPS_PER_MAST
    return Plant("field", axes, kinds, "mast", LinkEnds("end", "end", far, "mast", drivers))


BULB = FaultDefinition(
    strikes="end",
    example="mast-1/lamp-0",
    rate="bulb_per_day",
    repair_time="bulb_repair_h",
    repair_priority=1,
    meaning="the bulb is burnt out; its lamp is dark",
    needs="mast",
)


class LampOut(Body):
    """A lamp is out. `shines_at` is the mast that its light no longer reaches."""

    writer = "lamps"
    lamp: TargetName
    shines_at: Annotated[int, SubjectMark("mast")]


class LampLit(Body):
    writer = "lamps"
    lamp: TargetName
