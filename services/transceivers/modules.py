"""The modules that are at the link ends now: how old they are, and what is known of them."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from services.transceivers.design import design_of
from services.transceivers.state import Module, TransceiversState
from shared.basics.units import US_PER_DAY
from shared.models.assumptions import assumed
from shared.models.optics.fabric_links import Pairs, pairs
from shared.models.optics.made_modules import MadeModules
from shared.models.superpod.wiring import IntArray
from shared.models.telemetry.modules_now import ModulesNow, modules_now

US_PER_YEAR = 365 * US_PER_DAY
FIRST = 0
"""The generation of the modules that a fabric was commissioned with."""


def modules_of(state: TransceiversState) -> ModulesNow:
    """What is at the ends, made where nobody has asked for it since the state was."""
    if state.modules is None:
        replaced = {end: (module.generation, module.since_us) for end, module in state.replaced.items()}
        state.modules = modules_now(
            state.seed,
            state.fabric,
            len(state.peer),
            state.commissioned_us,
            replaced,
            lambda made: _pairs(state, made),
        )
    return state.modules


def _pairs(state: TransceiversState, made: MadeModules | None) -> Pairs | None:
    """All links that a superpod could be asked for, over these modules."""
    if state.kind != "superpod":
        return None
    design = design_of(state.config)
    first = pairs(state.seed, state.fabric, state.cubes, design, state.technology)
    return first if made is None else first.over(made, state.replaced)


def generation_of(state: TransceiversState, end: int) -> int:
    return state.replaced[end].generation if end in state.replaced else FIRST


def replace_module(state: TransceiversState, end: int) -> None:
    """There is a new one at this end from now on."""
    before = modules_of(state)
    module = Module(generation_of(state, end) + 1, state.now_us)
    state.replaced[end] = module
    state.modules = before.replaced(state.seed, state.fabric, end, module.generation, module.since_us)


def modules_then(state: TransceiversState, then: Mapping[int, Module | None]) -> ModulesNow:
    """As they were when these ends had these modules, None the first one; without a table of links, where
    that is another than now."""
    differs = {end: module for end, module in then.items() if module != state.replaced.get(end)}
    if not differs:
        return modules_of(state)
    first = Module(FIRST, state.commissioned_us)
    rows = {end: module or first for end, module in differs.items()}
    return modules_of(state).others(
        state.seed, state.fabric, {end: (module.generation, module.since_us) for end, module in rows.items()}
    )


def aged(state: TransceiversState, ends: IntArray, at_us: int) -> npt.NDArray[np.float64]:
    """What share of its bias as new each laser of these ends needs more at a moment, of shape (n, 8)."""
    modules = modules_of(state)
    age_us = np.maximum(at_us - modules.since_us[ends], 0)
    found: npt.NDArray[np.float64] = modules.calibration.ageing[ends] * (age_us / US_PER_YEAR)[:, None]
    return found


def usually_aged(state: TransceiversState, ends: IntArray, at_us: int) -> npt.NDArray[np.float64]:
    """The same, as whoever follows the readings of each end holds it for usual. That is learned over months:
    far too slowly to take in what wear-out does in days, and fast enough for what is usual in years."""
    return aged(state, ends, at_us - round(assumed("bias_baseline_days") * US_PER_DAY))
