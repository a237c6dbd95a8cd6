"""The page that draws the categories of chip-time."""

import re
from typing import Any
from xml.etree import ElementTree as ET

from ops.report.goodput_page import CATEGORY_STYLES, FILLER, NOT_FILLER, category_bands, goodput_page
from shared.basics.units import US_PER_HOUR
from shared.models.jobs.goodput_accounting import sum_by_category
from shared.models.jobs.goodput_categories import CATEGORIES as OF_SLICES

HOUR_US = 10 * US_PER_HOUR
"""One hour of ten chips."""


def span(n: int, chip_us: dict[str, int], filler_chip_us: dict[str, int] | None = None) -> dict[str, Any]:
    return {
        "since_us": n * US_PER_HOUR,
        "until_us": (n + 1) * US_PER_HOUR,
        "total_chip_us": sum(chip_us.values()),
        "chip_us": chip_us,
        "filler_chip_us": filler_chip_us or {},
    }


def whole(spans: list[dict[str, Any]]) -> str:
    every = {
        name: sum_by_category([span_row[name] for span_row in spans])
        for name in ("chip_us", "filler_chip_us")
    }
    all_of_it = every | {"total_chip_us": sum(span_row["total_chip_us"] for span_row in spans)}
    return goodput_page("Where <time> went", "A note.", [("pod-0", all_of_it, spans)])


FIRST = span(0, {"productive": HOUR_US * 3 // 4, "lost": HOUR_US // 4}, {"productive": HOUR_US // 4})
SECOND = span(1, {"productive": HOUR_US // 2, "idle_unwanted": HOUR_US // 2})


def test_every_column_is_full_and_filler_is_separate() -> None:
    drawn = {band.words: list(band.shares) for band in category_bands([FIRST, SECOND])}
    assert drawn == {
        f"productive{NOT_FILLER}": [0.5, 0.5],
        f"lost{NOT_FILLER}": [0.25, 0],
        FILLER[0]: [0.25, 0],
        "idle while none waits": [0, 0.5],
    }


def test_categories_of_slices_are_below_filler_and_the_rest_above() -> None:
    all_us = dict.fromkeys(CATEGORY_STYLES, US_PER_HOUR)
    words = [band.words for band in category_bands([span(0, all_us, {"startup": 1})])]
    place = words.index(FILLER[0])
    assert words[:place] == [
        CATEGORY_STYLES[name][0] + NOT_FILLER for name in CATEGORY_STYLES if name in OF_SLICES
    ]
    assert len(words) == len(CATEGORY_STYLES) + 1


def test_a_category_without_a_colour_is_drawn() -> None:
    assert [band.words for band in category_bands([span(0, {"on_loan": HOUR_US})])] == ["on loan"]


def test_the_page_needs_no_network_and_shows_what_it_draws() -> None:
    text = whole([FIRST, SECOND])
    assert "http" not in text
    assert "<script" not in text
    assert "Where &lt;time&gt; went" in text
    (drawing,) = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    svg = ET.fromstring(drawing)  # noqa: S314 -- our own
    assert svg.attrib["aria-label"].startswith("Where the chip-time of pod-0 went from 0d00:00:00 to ")
    assert [len(rect.findall("title")) for rect in svg.findall("rect")] == [1] * 5
    cells = ("productive, production and research", "10.0", "50.00 %")
    whole_row = [f"<td>{cells[0]}</td>", *(f'<td class="figure">{cell}</td>' for cell in cells[1:])]
    assert "".join(whole_row) in text
    legend = re.findall(r"</i>([^<]*)</li>", text)
    of_slices = [f"{words}{NOT_FILLER}" for words in ("lost", "productive")]
    assert legend == ["idle while none waits", FILLER[0], *of_slices]


def test_no_time_is_reported_and_not_drawn() -> None:
    text = whole([span(0, {"productive": 0})])
    assert "No time has passed" in text
    assert "<svg" not in text
