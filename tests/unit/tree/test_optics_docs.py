"""The pages on optics match the code: its assumptions, and its calibrated values."""

import re
from pathlib import Path

import pytest

from shared.models.assumptions import ASSUMPTIONS
from shared.models.optics.link_design import LinkDesign
from shared.models.optics.module_kinds import LANE_RATES
from shared.models.optics.qualification import Conditions
from shared.models.optics.sensitivity import sensitivity_dbm
from tests.support.qualified import qualified

DOCS = Path(__file__).resolve().parents[3] / "docs"
REFERENCE = (DOCS / "reference/optics.md").read_text()
RESULTS = (DOCS / "results/optics.md").read_text()
RATES = ("50G-PAM4", "100G-PAM4")
SUFFIXES = {
    "dB": "_db",
    "dBm": "_dbm",
    "nm": "_nm",
    "km": "_km",
    "dB/Hz": "_db_per_hz",
    "A/W": "_a_per_w",
    "pA/√Hz": "_pa_per_rthz",
    "nm/K": "_nm_per_k",
    "GHz": "_ghz",
}


def rows(page: str, title: str) -> list[list[str]]:
    """The cells of a section's table, without its head."""
    section = page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    table = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("|")]
    return table[2:]


def test_every_assumption_is_documented() -> None:
    found = [[cell.strip("`| ") for cell in row] for row in rows(REFERENCE, "All assumptions")]
    expected = [
        [name, f"{assumption.value:g}", assumption.unit, assumption.reason]
        for name, assumption in ASSUMPTIONS.items()
    ]
    assert [[cell for cell in row if cell] for row in found] == [
        [cell for cell in row if cell] for row in expected
    ]


def test_every_assumption_has_a_reason_and_its_unit_last_in_its_name() -> None:
    for name, assumption in ASSUMPTIONS.items():
        assert len(assumption.reason.split()) >= 4, name
        assert name.endswith(SUFFIXES.get(assumption.unit, "")), name


def test_the_calibration_gives_the_documented_figures() -> None:
    plain, mitigated, coded, both = (
        sensitivity_dbm("50G-PAM4", -32.0, mitigation=mitigation, soft_fec=soft_fec)
        for soft_fec in (False, True)
        for mitigation in (False, True)
    )
    usual, fast = (worst_margin(Conditions(0, design=LinkDesign(rate=LANE_RATES[rate]))) for rate in RATES)
    figures = [
        float(re.findall(r"[\d.]+", row[2])[0]) for row in rows(RESULTS, "What is calibrated, and to what")
    ]
    median = qualified(Conditions(0)).median_margin_orders
    gains = [round(plain - mitigated, 2), round(plain - coded, 2)]
    assert figures == [*gains, round(usual, 2), round(median, 2), round(fast, 2)]
    said = re.search(r"Both aids together gain ([\d.]+) dB", " ".join(RESULTS.split()))
    assert said is not None
    assert float(said[1]) == round(plain - both, 2)


@pytest.mark.slow("qualifies a pod with every pairing of parts")
def test_every_pairing_is_as_the_documentation_shows() -> None:
    conditions = (
        Conditions(7),
        Conditions(7, design=LinkDesign(mitigation=False)),
        Conditions(7, design=LinkDesign(soft_fec=False)),
        Conditions(7, design=LinkDesign(mitigation=False, soft_fec=False)),
        Conditions(7, design=LinkDesign(rate=LANE_RATES["100G-PAM4"])),
        Conditions(7, design=LinkDesign(circulator="external")),
        Conditions(7, design=LinkDesign(laser="DML")),
        Conditions(7, design=LinkDesign(laser="DML", launch_dbm=LinkDesign().launched_dbm)),
        Conditions(7, design=LinkDesign(circulator="external", laser="DML")),
        *(Conditions(7, return_loss_db=reflects) for reflects in (-38.0, -35.0, -30.0)),
    )
    expected = []
    for found in map(qualified, conditions):
        worst = found.threshold_log10 - float(found.log10_ber.max())
        expected.append(
            [f"{found.pairings_above:,}", f"{found.ends_above:,}", f"{worst:.2f}".replace("-", "−")]
        )
    stated = rows(RESULTS, "Every pairing of a pod")
    assert [row[1:] for row in stated] == expected


def worst_margin(conditions: Conditions) -> float:
    """Orders of magnitude of a pod's worst pairing."""
    found = qualified(conditions)
    return found.threshold_log10 - float(found.log10_ber.max())
