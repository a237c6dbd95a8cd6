"""The modules now at the link ends of a fabric, including replacements.

Manufactured properties, calibration, acceptance and link figures: copies of the fabric's cached originals,
with different rows for replaced ends.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np

from shared.models.optics.manufactured_modules import (
    ManufacturedModules,
    manufacture_modules,
    manufactured_modules,
)
from shared.models.optics.pod_links import LinkTable
from shared.models.superpod.wiring import IntArray
from shared.models.telemetry.false_alarms import FalseAlarms
from shared.models.telemetry.module_readings import ModuleCalibration, calibrate_modules, module_calibration
from shared.models.telemetry.outlier_thresholds import ExpectationOffsets, acceptance, accepted

ArraysT = TypeVar("ArraysT", ManufacturedModules, ModuleCalibration, ExpectationOffsets)


@dataclass(frozen=True, slots=True)
class InstalledModules:
    """By link end. `since_us`: when each was installed. `pairs`: link figures of a fabric with OCSes."""

    made: ManufacturedModules
    calibration: ModuleCalibration
    doubts: FalseAlarms
    since_us: IntArray
    pairs: LinkTable | None

    @property
    def accepted(self) -> ExpectationOffsets:
        """Errors of the acceptance values."""
        return self.doubts.accepted

    def replaced(self, seed: int, fabric: str, end: int, generation: int, at_us: int) -> "InstalledModules":
        """With another module at an end."""
        found = self.others(seed, fabric, {end: (generation, at_us)})
        pairs = None if self.pairs is None else self.pairs.renewed(found.made, end)
        doubts = self.doubts.renewed(found.accepted, end)
        return InstalledModules(found.made, found.calibration, doubts, found.since_us, pairs)

    def others(self, seed: int, fabric: str, modules: Mapping[int, tuple[int, int]]) -> "InstalledModules":
        """With these modules, each (generation, since when), at some ends, and no table of links."""
        made, monitors, off = self.made, self.calibration, self.accepted
        for generation in sorted({generation for generation, _ in modules.values()}):
            ends = np.array([end for end, row in modules.items() if row[0] == generation], dtype=np.int64)
            made = with_rows(made, ends, manufacture_modules(seed, fabric, ends, generation))
            monitors = with_rows(monitors, ends, calibrate_modules(seed, fabric, ends, generation))
            off = with_rows(off, ends, accepted(seed, fabric, ends, generation))
        since_us = self.since_us.copy()
        since_us[list(modules)] = [at_us for _, at_us in modules.values()]
        return InstalledModules(made, monitors, FalseAlarms(off), since_us, None)


def installed_modules(
    seed: int,
    fabric: str,
    ends: int,
    commissioned_us: int,
    replaced: Mapping[int, tuple[int, int]],
    pairs: Callable[[ManufacturedModules | None], LinkTable | None],
) -> InstalledModules:
    """The modules of a fabric with this many ends.

    `replaced` has (generation, since when) of replaced modules. `pairs` makes the table of links for some
    modules, None for the original ones.
    """
    first = InstalledModules(
        manufactured_modules(seed, fabric, ends),
        module_calibration(seed, fabric, ends),
        FalseAlarms(acceptance(seed, fabric, ends)),
        np.full(ends, commissioned_us, dtype=np.int64),
        None,
    )
    now = first.others(seed, fabric, replaced) if replaced else first
    table = pairs(now.made if replaced else None)
    return InstalledModules(now.made, now.calibration, now.doubts, now.since_us, table)


def with_rows(whole: ArraysT, ends: IntArray, rows: ArraysT) -> ArraysT:
    """A copy with these rows for these ends."""
    found: list[Any] = []
    for field in fields(whole):
        array = getattr(whole, field.name).copy()
        array[ends] = getattr(rows, field.name)
        array.flags.writeable = False
        found.append(array)
    return type(whole)(*found)
