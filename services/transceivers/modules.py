"""The modules at the link ends now: their age and calibration."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from services.transceivers.state import ReplacedModule, TransceiversState
from shared.basics.units import US_PER_DAY
from shared.models.assumptions import assumed
from shared.models.fabric_plants import plant_of
from shared.models.optics.link_design import LinkDesign, design_of
from shared.models.optics.manufactured_modules import ManufacturedModules
from shared.models.optics.pod_links import LinkTable, link_table
from shared.models.superpod.wiring import IntArray
from shared.models.telemetry.installed_modules import InstalledModules, installed_modules

US_PER_YEAR = 365 * US_PER_DAY
FIRST_GENERATION = 0
"""The generation of the modules that a fabric was commissioned with."""
FABRICS_KEPT_MAX = 8
"""Maximum number of cached fabrics; one of 64 cubes takes 7 MB."""


def modules_of(state: TransceiversState) -> InstalledModules:
    """The installed modules, computed if they are not cached."""
    if state.modules is None:
        state.modules = _modules_of_fabric(
            _Fabric(
                state.seed,
                state.fabric,
                len(state.peer),
                state.cubes if plant_of(state.kind, state.pod).population("ocs") else None,
                design_of(state.config),
                state.technology,
                state.commissioned_us,
            ),
            tuple(state.replaced.items()),
        )
    return state.modules


@dataclass(frozen=True, slots=True)
class _Fabric:
    """What determines the modules and links of a fabric; the key of the cache."""

    seed: int
    name: str
    ends: int
    cubes: int | None
    """None if the fabric has no OCSes."""
    design: LinkDesign
    technology: str
    commissioned_us: int


@lru_cache(maxsize=FABRICS_KEPT_MAX)
def _modules_of_fabric(fabric: _Fabric, replaced: tuple[tuple[int, ReplacedModule], ...]) -> InstalledModules:
    """Cached, because the many forecasts of one point in time need the same modules."""
    others = {end: (module.generation, module.since_us) for end, module in replaced}

    def over(made: ManufacturedModules | None) -> LinkTable | None:
        if fabric.cubes is None:
            return None
        first = link_table(fabric.seed, fabric.name, fabric.cubes, fabric.design, fabric.technology)
        return first if made is None else first.over(made, others)

    return installed_modules(fabric.seed, fabric.name, fabric.ends, fabric.commissioned_us, others, over)


def generation_of(state: TransceiversState, end: int) -> int:
    return state.replaced[end].generation if end in state.replaced else FIRST_GENERATION


def replace_module(state: TransceiversState, end: int) -> None:
    """Put a new module at this end."""
    before = modules_of(state)
    module = ReplacedModule(generation_of(state, end) + 1, state.now_us)
    state.replaced[end] = module
    state.modules = before.replaced(state.seed, state.fabric, end, module.generation, module.since_us)


def modules_at(state: TransceiversState, then: Mapping[int, ReplacedModule | None]) -> InstalledModules:
    """The modules with other ones at these ends; None means the original module.

    If any differs from the current one, the result has no table of links.
    """
    differs = {end: module for end, module in then.items() if module != state.replaced.get(end)}
    if not differs:
        return modules_of(state)
    first = ReplacedModule(FIRST_GENERATION, state.commissioned_us)
    rows = {end: module or first for end, module in differs.items()}
    return modules_of(state).others(
        state.seed, state.fabric, {end: (module.generation, module.since_us) for end, module in rows.items()}
    )


def bias_ageing(state: TransceiversState, ends: IntArray, at_us: int) -> npt.NDArray[np.float64]:
    """Increase of each laser's bias by ageing, as a share of its bias when new, of shape (n, 8)."""
    modules = modules_of(state)
    age_us = np.maximum(at_us - modules.since_us[ends], 0)
    ageing: npt.NDArray[np.float64] = modules.calibration.ageing[ends] * (age_us / US_PER_YEAR)[:, None]
    return ageing


def expected_bias_ageing(state: TransceiversState, ends: IntArray, at_us: int) -> npt.NDArray[np.float64]:
    """The bias ageing that a baseline of past readings expects.

    The baseline adapts over months. That is too slow to absorb wear-out, which takes days, and fast enough
    for normal ageing, which takes years.
    """
    return bias_ageing(state, ends, at_us - round(assumed("bias_baseline_days") * US_PER_DAY))
