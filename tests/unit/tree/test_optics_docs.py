"""docs/optics.md states what the code has: its assumptions, and what is calibrated."""

import re
from pathlib import Path

import numpy as np

from shared.models.assumptions import ASSUMPTIONS
from shared.models.optics.link import LinkDesign, Switched, evaluate
from shared.models.optics.modules import LANE_RATES
from shared.models.optics.palomar import manufactured_ocses
from shared.models.optics.qualification import Conditions, qualify_pod
from shared.models.optics.receiver import BER_THRESHOLD
from shared.models.optics.sensitivity import sensitivity_dbm

PAGE = (Path(__file__).resolve().parents[3] / "docs/optics.md").read_text()
SUFFIXES = {
    "dB": "_db",
    "dBm": "_dbm",
    "nm": "_nm",
    "km": "_km",
    "dB/Hz": "_db_per_hz",
    "A/W": "_a_per_w",
    "pA/√Hz": "_pa_per_rthz",
}


def rows(title: str) -> list[list[str]]:
    """The cells of a section's table, without its head."""
    section = PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    table = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("|")]
    return table[2:]


def test_every_assumption_stands_in_the_documentation_as_it_is() -> None:
    found = [[cell.strip("`| ") for cell in row] for row in rows("All assumptions")]
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


def test_what_is_calibrated_gives_what_the_documentation_says() -> None:
    plain, mitigated, coded, both = (
        sensitivity_dbm("50G-PAM4", -32.0, mitigation=mitigation, soft_fec=soft_fec)
        for soft_fec in (False, True)
        for mitigation in (False, True)
    )
    median_db = np.asarray(np.median(manufactured_ocses(7, "pod-0").insertion_loss_db()))
    typical = Switched(median_db, np.asarray(-46.0), np.asarray(-46.0))
    margin, bare = (
        float(evaluate(LinkDesign(mitigation=aided, soft_fec=aided), typical).margin.min())
        for aided in (True, False)
    )
    figures = [float(re.findall(r"[\d.]+", row[2])[0]) for row in rows("What is calibrated, and to what")]
    assert figures == [round(plain - mitigated, 2), round(plain - coded, 2), round(margin, 2)]
    said = re.search(r"both aids together gain ([\d.]+) dB; .* has ([\d.]+) orders", PAGE)
    assert said is not None
    assert [float(said[1]), float(said[2])] == [round(plain - both, 2), round(bare, 2)]


def test_twice_the_rate_has_no_room_as_the_documentation_says() -> None:
    found = qualify_pod(Conditions(7, design=LinkDesign(rate=LANE_RATES["100G-PAM4"])))
    above = found.log10_ber > np.log10(BER_THRESHOLD)
    assert 0.38 < above.mean() < 0.42
    assert above.reshape(6_144, -1).any(axis=1).all(), "every end"
    assert 0.045 < found.median_margin_orders < 0.055
