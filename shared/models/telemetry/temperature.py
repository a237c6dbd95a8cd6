"""Temperature of modules: daily cycle and weather of the hall, rack, place in the rack, and load.

A pure function of (seed, fabric, link end, time, whether it is linked). All of it is assumed.
"""

import math

import numpy as np
import numpy.typing as npt

from shared.basics.keyed_random import draw_bits_array, draw_normal, draw_uniform
from shared.basics.units import US_PER_DAY
from shared.models.assumptions import assumed
from shared.models.superpod.wiring import ENDS_PER_CUBE, IntArray
from shared.models.telemetry.noise import normals

FloatArray = npt.NDArray[np.float64]


def hall_c(seed: int, fabric: str, at_us: int) -> float:
    """Temperature of the air at the racks: a daily swing and weather that changes from day to day."""
    day, within_us = divmod(at_us, US_PER_DAY)
    share = within_us / US_PER_DAY
    phase = draw_uniform(seed, fabric, "warmest hour", 0)
    swing = assumed("hall_daily_swing_k") * math.cos(2.0 * math.pi * (share - phase))
    before, after = (draw_normal(seed, fabric, "weather", number) for number in (day, day + 1))
    eased = 0.5 - 0.5 * math.cos(math.pi * share)
    weather = assumed("hall_weather_sigma_k") * (before + (after - before) * eased)
    return assumed("hall_temperature_c") + swing + weather


def module_temperature_c(
    seed: int, fabric: str, ends: IntArray, at_us: int | IntArray, lit: npt.NDArray[np.bool_]
) -> FloatArray:
    """Case temperature of the modules at these link ends, of shape (n,), each at its time; `lit` if it
    carries a link."""
    racks, places = (ends // ENDS_PER_CUBE).astype(np.uint64), ends.astype(np.uint64)
    rack = normals(draw_bits_array(seed, fabric, "rack warmth", racks), 0)
    place = normals(draw_bits_array(seed, fabric, "module warmth", places), 0)
    work = assumed("module_idle_rise_k") + assumed("module_busy_rise_k") * lit
    found: FloatArray = (
        _hall_c(seed, fabric, at_us)
        + assumed("rack_temperature_sigma_k") * rack
        + assumed("module_temperature_sigma_k") * place
        + work
    )
    return found


def _hall_c(seed: int, fabric: str, at_us: int | IntArray) -> float | FloatArray:
    if isinstance(at_us, int):
        return hall_c(seed, fabric, at_us)
    times, numbers = np.unique(at_us, return_inverse=True)
    return np.array([hall_c(seed, fabric, time) for time in times.tolist()])[numbers]
