"""The JSON results of an experiment with known runs, number for number. Changes must be deliberate; `make
golden` writes the file again."""

import json
import os
from pathlib import Path
from typing import Any

from ops.experiments.dataset import RunRow
from ops.experiments.loader import plan_experiment
from ops.experiments.result_json import results_json
from ops.experiments.results import results_of
from ops.experiments.schema import Experiment
from ops.experiments.seed_stopping_rule import seed_of
from ops.experiments.sweep_result import SweepResult

KEPT = Path(__file__).parent / "experiment.json"
DIGITS = 9
EXPERIMENT = {
    "title": "Technicians",
    "question": "Do more help?",
    "fabric": {"days": 1.0, "set": {"failures.enabled": False}},
    "measure": ("goodput", "queue_h_p95"),
    "vary": {"grid": {"repairs.technicians": [1, 4]}},
    "seeds": {"count": 24},
    "compare": {"against": {"repairs.technicians": 1}},
    "claim": {
        "measure": "goodput",
        "of": {"repairs.technicians": 4},
        "over": {"repairs.technicians": 1},
        "more_than": 0.01,
    },
}


def rounded(value: Any) -> Any:
    """Round numbers to digits that are the same on every machine."""
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def test_no_result_changed_silently() -> None:
    plan = plan_experiment(Experiment.model_validate(EXPERIMENT), Path())
    rows = {}
    for place, variant in enumerate(plan.variants):
        for n in range(24):
            figures = {
                "goodput": 0.6 + 0.01 * (n % 7) + 0.002 * ((3 * n + place) % 5) + 0.03 * place,
                "queue_h_p95": float(2 ** (n % 6)) + place,
            }
            error = "ValueError: odd" if (place, n) == (1, 5) else None
            reported = dict.fromkeys(figures) if error else figures
            row = RunRow(variant.key, seed_of(plan, variant, n), reported, 10, "00", error)
            rows[row.key] = row
    content = rounded(results_json(results_of(plan, SweepResult(rows, 24, is_enough=True))))
    made = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    if os.environ.get("GOLDEN") == "write":
        KEPT.write_text(made, encoding="utf-8")
    assert made == KEPT.read_text(encoding="utf-8")
