"""The quick form of an experiment: every variant, as small as shows that it runs."""

from dataclasses import replace

from ops.experiments.document import Seeds
from ops.experiments.reading import Planned

SEEDS, DAYS, WARM_UP_DAYS = 2, 1.0, 0.25
WINDOWS = 4
"""Rows of the series that a run has at least."""
HOURS_A_DAY = 24.0


def quick(planned: Planned) -> Planned:
    """The same question of two seeds, a day after a quarter of one; without a precision to be reached. It
    answers nothing: of so little nearly nothing can be told."""
    experiment = planned.experiment
    fabric, seeds, store = experiment.fabric, experiment.seeds, experiment.store
    days = min(fabric.days, DAYS)
    warm_up_days = min(fabric.warm_up_days, WARM_UP_DAYS)
    count = min(seeds.count or SEEDS, SEEDS)
    window_h = min(store.window_h, days * HOURS_A_DAY / WINDOWS)
    small = experiment.model_copy(
        update={
            "fabric": fabric.model_copy(update={"days": days, "warm_up_days": warm_up_days}),
            "seeds": Seeds(first=seeds.first, count=count, common=seeds.common),
            "stop_when": {},
            "store": store.model_copy(update={"window_h": window_h}),
        }
    )
    return replace(planned, experiment=small, is_quick=True)
