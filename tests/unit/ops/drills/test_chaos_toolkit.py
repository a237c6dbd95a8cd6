"""The unmodified Chaos Toolkit accepts drill documents."""

from pathlib import Path

import pytest
from chaoslib.experiment import ensure_experiment_is_valid

from ops.sites.yaml_reader import parse_yaml

ROOT = Path(__file__).parents[4]


@pytest.mark.parametrize("document", ["ops/drills/template.yaml", "tests/unit/ops/drills/good_drill.yaml"])
def test_the_chaos_toolkit_validates_a_document(document: str) -> None:
    """`chaos validate` raises InvalidExperiment, also for arguments that the functions do not take."""
    experiment = parse_yaml((ROOT / document).read_text(encoding="utf-8"))[0]
    assert ensure_experiment_is_valid(experiment) is None
