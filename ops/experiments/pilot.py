"""What an experiment will take, by a pilot of one short run of its first variant."""

from dataclasses import replace
from typing import Any

from ops.experiments.reading import Planned
from ops.experiments.sweep import WAYS, Job, plan_of, rounds, seed_of

PILOT_DAYS = 3.0
BYTES_A_CELL = 5
"""Of a figure in a compressed Parquet file, about; and of what stands around the figures of a file:"""
BYTES_A_FILE = 3_000
S_PER_HOUR = 3_600.0


def estimate(planned: Planned) -> dict[str, Any]:
    """Runs, CPU hours and megabytes: those of the pilot, scaled by days."""
    experiment = planned.experiment
    first = planned.variants[0]
    whole = plan_of(planned, Job(first, seed_of(planned, first, 0)))
    days = whole.warm_up_days + whole.days
    pilot = replace(whole, days=min(PILOT_DAYS, whole.days), warm_up_days=0.0)
    trial = WAYS[pilot.method](pilot)
    seeds = rounds(planned)[-1]
    runs = seeds * len(planned.variants)
    windows = len(whole.moments) - 1 if whole.window_us else 0
    cells = (windows + 1) * (len(experiment.measure) + 4)
    return {
        "method": planned.method.name,
        "why": planned.method.sentence,
        "variants": len(planned.variants),
        "seeds_at_most": seeds,
        "runs_at_most": runs,
        "simulated_days_a_run": days,
        "cpu_s_a_run": round(trial.cpu_s * days / pilot.days, 1),
        "cpu_hours": round(trial.cpu_s * days / pilot.days * runs / S_PER_HOUR, 2),
        "disk_mb": round(runs * (cells * BYTES_A_CELL + 2 * BYTES_A_FILE) / 1e6, 1),
    }
