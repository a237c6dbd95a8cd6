"""Results as Markdown: every figure of the JSON, with its interval."""

import json
from pathlib import Path

import pytest

from tools.experiment_summaries import main

GOLDEN = Path(__file__).parents[3] / "golden" / "experiment.json"


def test_each_variant_is_a_row_and_each_measure_a_column(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = json.loads(GOLDEN.read_text(encoding="utf-8")) | {"cpu_s": 3_725.0, "software": "1+abc"}
    path = tmp_path / "technicians.json"
    path.write_text(json.dumps(content))
    main([str(path)])
    assert capsys.readouterr().out == (
        "### technicians\n\n"
        "Do more help? **The claim holds**: the difference of goodput is 2.98 ± 0.18 points; the claim is "
        "more than 1 points.\n\n"
        "| `repairs.technicians` | `goodput` | `queue_h_p95` | `goodput`, more |\n"
        "| --- | --- | --- | --- |\n"
        "| 1 | 63.15 ± 0.88 % | 10.5 (6.9 to 16.0) | – |\n"
        "| 4 | 66.05 ± 0.88 % | 10.6 (7.0 to 15.4) | 2.98 ± 0.18 points |\n\n"
        "47 runs in 1h2m of a processor, build `1+abc`.\n\n"
    )
