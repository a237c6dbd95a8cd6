"""The modules that are at the link ends of a fabric now, where some were replaced since it was commissioned:
as made, as their monitors were calibrated, as they were accepted, and what links over them receive.

Copies of what is at hand for all fabrics alike, in which the rows of replaced ends are others.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np

from shared.models.optics.fabric_links import Pairs
from shared.models.optics.made_modules import MadeModules, made_modules, manufacture_modules
from shared.models.superpod.wiring import IntArray
from shared.models.telemetry.doubts import Doubts
from shared.models.telemetry.looks import Off, acceptance, accepted
from shared.models.telemetry.readings import Calibration, calibrated, calibration

ArraysT = TypeVar("ArraysT", MadeModules, Calibration, Off)


@dataclass(frozen=True, slots=True)
class ModulesNow:
    """By link end. `since_us`: when each was put there. `pairs` of a fabric with OCSes."""

    made: MadeModules
    calibration: Calibration
    doubts: Doubts
    since_us: IntArray
    pairs: Pairs | None

    @property
    def accepted(self) -> Off:
        """How far what acceptance told of each is off."""
        return self.doubts.accepted

    def replaced(self, seed: int, fabric: str, end: int, generation: int, at_us: int) -> "ModulesNow":
        """With another module at an end."""
        found = self.others(seed, fabric, {end: (generation, at_us)})
        pairs = None if self.pairs is None else self.pairs.renewed(found.made, end)
        doubts = self.doubts.renewed(found.accepted, end)
        return ModulesNow(found.made, found.calibration, doubts, found.since_us, pairs)

    def others(self, seed: int, fabric: str, modules: Mapping[int, tuple[int, int]]) -> "ModulesNow":
        """With these modules, each (generation, since when), at some ends, and no table of links."""
        made, monitors, off = self.made, self.calibration, self.accepted
        for generation in sorted({generation for generation, _ in modules.values()}):
            ends = np.array([end for end, row in modules.items() if row[0] == generation], dtype=np.int64)
            made = renewed(made, ends, manufacture_modules(seed, fabric, ends, generation))
            monitors = renewed(monitors, ends, calibrated(seed, fabric, ends, generation))
            off = renewed(off, ends, accepted(seed, fabric, ends, generation))
        since_us = self.since_us.copy()
        since_us[list(modules)] = [at_us for _, at_us in modules.values()]
        return ModulesNow(made, monitors, Doubts(off), since_us, None)


def modules_now(
    seed: int,
    fabric: str,
    ends: int,
    commissioned_us: int,
    replaced: Mapping[int, tuple[int, int]],
    pairs: Callable[[MadeModules | None], Pairs | None],
) -> ModulesNow:
    """Of a fabric with so many ends: `replaced` has (generation, since when) of those that have another
    module than at first, and `pairs` makes the table of links over some modules, None for the first ones."""
    first = ModulesNow(
        made_modules(seed, fabric, ends),
        calibration(seed, fabric, ends),
        Doubts(acceptance(seed, fabric, ends)),
        np.full(ends, commissioned_us, dtype=np.int64),
        None,
    )
    now = first.others(seed, fabric, replaced) if replaced else first
    table = pairs(now.made if replaced else None)
    return ModulesNow(now.made, now.calibration, now.doubts, now.since_us, table)


def renewed(whole: ArraysT, ends: IntArray, rows: ArraysT) -> ArraysT:
    """A copy in which the rows of these ends are these."""
    found: list[Any] = []
    for field in fields(whole):
        array = getattr(whole, field.name).copy()
        array[ends] = getattr(rows, field.name)
        array.flags.writeable = False
        found.append(array)
    return type(whole)(*found)
