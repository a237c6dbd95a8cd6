"""Errors of values in an experiment's document show them as in the file, and name every allowed form."""

import re
from pathlib import Path

import pytest

from ops.experiments.loader import read_experiment
from shared.basics.errors import InvalidInput

DOCUMENT = "title: t\nquestion: q\nfabric: {{days: {days}, set: {set}}}\nseeds: {seeds}\nmeasure: [goodput]\n"
GOOD = {"days": "1", "set": "{}", "seeds": "2"}
SEEDS = "must be a whole number, or a mapping with first, count, "


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("seeds", "2.0", f"seeds: 2.0 is not allowed; {SEEDS}"),
        ("seeds", '"2"', f"seeds: '2' is not allowed; {SEEDS}"),
        ("seeds", "1e1", f"seeds: 10.0 is not allowed; {SEEDS}"),
        ("seeds", "true", f"seeds: true is not allowed; {SEEDS}"),
        ("seeds", "null", f"seeds: null is not allowed; {SEEDS}"),
        ("seeds", "{count: true}", "seeds.count: true is not allowed; must be a whole number"),
        ("days", "false", "fabric.days: false is not allowed; must be a number"),
        ("days", ".nan", "fabric.days: .nan is not allowed; must be a finite number"),
        ("days", "-.inf", "fabric.days: -.inf is not allowed; must be a finite number"),
        ("days", '"10"', "fabric.days: '10' is not allowed; must be a number"),
        (
            "set",
            "{failures.host_per_day: 0.1@12h}",
            "'failures.host_per_day=0.1@12h': is a change at a time; write it in fabric.changes",
        ),
    ],
)
def test_a_value_that_is_not_allowed(tmp_path: Path, field: str, value: str, sentence: str) -> None:
    path = tmp_path / "document.yaml"
    path.write_text(DOCUMENT.format(**GOOD | {field: value}))
    with pytest.raises(InvalidInput, match=re.escape(sentence)):
        read_experiment(path)
