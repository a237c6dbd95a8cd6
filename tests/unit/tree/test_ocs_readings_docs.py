"""The documented readings of OCSes are those of the model: fields, thresholds, assumptions."""

from pathlib import Path

from shared.models.ocs.ocs_assumptions import ASSUMPTIONS
from shared.models.telemetry.ocs_fields import OCS_FIELDS

PAGE = (Path(__file__).resolve().parents[3] / "docs/reference/telemetry.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("\n## OCSes\n")[2].partition("\n## ")[0]
ROWS = [line.strip("| ").split(" | ") for line in SECTION.splitlines() if line.startswith("| `")]


def test_every_field_is_documented_with_its_thresholds() -> None:
    told = {row[0].strip("`"): row for row in ROWS if len(row) == 10}
    assert list(told) == list(OCS_FIELDS)
    for name, field in OCS_FIELDS.items():
        bounds = (field.low_alarm, field.low_warning, field.high_warning, field.high_alarm)
        usual = f"{field.usual[0]:g} … {field.usual[1]:g}"
        expected = [
            field.unit,
            field.of,
            usual,
            *("–" if bound is None else f"{bound:g}" for bound in bounds),
        ]
        assert [told[name][1], *told[name][3:9], told[name][9]] == [*expected, field.reason]


def test_every_assumption_of_readings_is_documented() -> None:
    told = [row for row in ROWS if len(row) < 10]
    names = list(ASSUMPTIONS)
    of_readings = names[names.index("drive_full_v") : names.index("piezo_ms")]
    expected = [[f"`{n}`", f"{(a := ASSUMPTIONS[n]).value:g}", a.unit, a.reason] for n in of_readings]
    assert [[cell for cell in row if cell.strip()] for row in told] == [
        [c for c in row if c] for row in expected
    ]
