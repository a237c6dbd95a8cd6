"""docs/ocs.md states what the code has: the parts, what they draw, what they cost."""

from pathlib import Path

from schemas.config import FailuresConfig, RepairsConfig
from shared.models.ocs.availability import light, lost_light, serviceable
from shared.models.ocs.parts import PARTS, power_w

PAGE = (Path(__file__).resolve().parents[3] / "docs/ocs.md").read_text()
RATES = FailuresConfig().ocs_per_day, RepairsConfig().ocs_repair_h / 24.0


def test_every_part_stands_in_the_documentation_as_it_is() -> None:
    section = PAGE.partition("\n## Parts\n")[2].partition("\n## ")[0]
    table = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("|")]
    assert [row[:6] for row in table[2:]] == [
        [
            part.word,
            str(part.count),
            str(part.spare),
            f"{part.watts:g}",
            f"{part.share:.0%}".replace("%", " %"),
            "yes" if part.swapped_hot else "no",
        ]
        for part in PARTS
    ]
    assert f"{power_w():g} W of the 108 W" in section


def test_what_the_closed_form_comes_to_stands_there_too() -> None:
    assert f"nothing to repair: {100 * serviceable(*RATES):.3f} %" in PAGE
    assert f"no circuit dark through the chassis: {100 * light(*RATES):.3f} %" in PAGE
    lost = lost_light(*RATES)
    for words, amount in (("driver boards", lost["driver"]), ("power of the chassis", lost["ocs"])):
        assert f"| {words} | {100 * amount:.4f} % |" in PAGE
    for words, amount in (("two fans of four", lost["fan"]), ("both supplies", lost["supply"])):
        assert f"| {words} | {1e8 * amount:.1f}·10⁻⁶ % |" in PAGE
