"""The configuration, the parts and the messages of a field of lamps."""

from functools import lru_cache
from typing import Literal, cast

import numpy as np

from schemas.body import Body
from schemas.config.pods import FabricConfig, HardwareConfig
from schemas.names import TargetName
from shared.basics.errors import InvalidInput
from shared.models.plant.plant import Axis, LinkEnds, PartKind, Plant

MASTS, LAMPS_PER_MAST = 3, 2
LAMPS = MASTS * LAMPS_PER_MAST
BRIGHTNESS_MAX = 9


class LampFieldConfig(FabricConfig):
    kind: Literal["lamp-field"] = "lamp-field"
    brightness: int = 3

    @property
    def hardware(self) -> HardwareConfig:
        return cast(HardwareConfig, None)  # every field has the same parts


def check_brightness(config: LampFieldConfig) -> None:
    """InvalidInput unless the lamps can be this bright."""
    if config.brightness > BRIGHTNESS_MAX:
        raise InvalidInput(f"brightness: must be at most {BRIGHTNESS_MAX}")


@lru_cache(maxsize=1)
def lamp_field_plant(_hardware: object = None) -> Plant:
    """Each lamp shines into the lamp on the next mast, and that one back; parts of kind `end`, so that the
    known faults of link ends strike them."""
    far = np.roll(np.arange(LAMPS), LAMPS_PER_MAST)[:, None]
    kinds = (
        PartKind("mast", "mast", "mast-{mast}", "mast-1"),
        PartKind("end", "lamp", "mast-{mast}/lamp-{lamp}", "mast-1/lamp-0", "mast"),
    )
    axes = {"mast": Axis("mast", MASTS), "lamp": Axis("lamp", LAMPS_PER_MAST)}
    drivers = np.arange(LAMPS) // LAMPS_PER_MAST
    return Plant("field", axes, kinds, "mast", LinkEnds("end", "end", far, "mast", drivers))


class LampOut(Body):
    writer = "lamps"
    lamp: TargetName


class LampLit(Body):
    writer = "lamps"
    lamp: TargetName
