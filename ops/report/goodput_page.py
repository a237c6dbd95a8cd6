"""A self-contained HTML page of chip-time: stacked columns over time, and a table."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, TypeAlias

from ops.report.html_shell import html_page, legend, paragraph, table, table_row
from shared.basics.time_format import format_chip_hours, format_time
from shared.models.jobs.goodput_categories import CATEGORIES

CATEGORY_STYLES: Mapping[str, tuple[str, str]] = {
    "productive": ("productive", "#2b7a3f"),
    "uncommitted": ("not kept by a checkpoint yet", "#86c995"),
    "startup": ("start-up", "#f2c14e"),
    "checkpointing": ("checkpointing", "#8e6bbf"),
    "degraded": ("degraded", "#e08e45"),
    "recovering": ("recovering", "#4f9bd9"),
    "lost": ("lost", "#c0392b"),
    "held_back": ("held back", "#6f8f9c"),
    "idle_wanted": ("idle while slices wait", "#b8b8b8"),
    "idle_unwanted": ("idle while none waits", "#dedede"),
    "drained": ("drained", "#7a6a53"),
    "unhealthy": ("unhealthy", "#3b3b3b"),
}
"""Category → (its words, colour), from the bottom of a column to the top."""
NOT_FILLER = ", production and research"
"""Suffix of the words of slice categories, because the chart shows filler separately."""
FILLER = ("filler, any activity", "#1f6f8b")
OTHER = "#ff66cc"
"""Colour of a category without a colour in the table."""
WIDTH, HEIGHT, LEFT, BOTTOM = 1_000, 380, 48, 24
STYLE = """
rect:hover { stroke: #000; stroke-width: 1 }
"""
CHIP_HOURS, SHARE = 1, 2
"""Columns of the table that contain numbers."""


GoodputSpan: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CategoryBand:
    """A band of the chart: one category's share of each column, 0 to 1."""

    words: str
    colour: str
    shares: Sequence[float]


def goodput_page(
    title: str, note: str, charts: Sequence[tuple[str, GoodputSpan, Sequence[GoodputSpan]]]
) -> str:
    """Return a whole HTML page with a chart per fabric: its name, its whole span and the parts of it, as
    `spans` of `/v1/goodput`."""
    sections = [_section(name, whole, spans) for name, whole, spans in charts]
    explained = f"{note} Filler has its own colour. Every chip-second has exactly one colour."
    return html_page(title, [paragraph(explained), *sections], style=STYLE)


def category_bands(spans: Sequence[GoodputSpan]) -> list[CategoryBand]:
    """Return the bands of the categories that have any chip-time, from the bottom to the top."""
    categories = dict.fromkeys(
        [*CATEGORY_STYLES, *(category for span in spans for category in span["chip_us"])]
    )
    found = [
        _band(category, [_share_without_filler(span, category) for span in spans]) for category in categories
    ]
    filler = [sum(span["filler_chip_us"].values()) / span["total_chip_us"] for span in spans]
    found.insert(list(CATEGORY_STYLES).index("held_back"), CategoryBand(FILLER[0], FILLER[1], filler))
    return [band for band in found if any(band.shares)]


def _band(category: str, shares: Sequence[float]) -> CategoryBand:
    words, colour = CATEGORY_STYLES.get(category, (category.replace("_", " "), OTHER))
    return CategoryBand(f"{words}{NOT_FILLER if category in CATEGORIES else ''}", colour, shares)


def _share_without_filler(span: GoodputSpan, category: str) -> float:
    """Return the share of a category without filler."""
    chip_us = span["chip_us"].get(category, 0) - span["filler_chip_us"].get(category, 0)
    return float(chip_us / span["total_chip_us"])


def _section(name: str, whole: GoodputSpan, spans: Sequence[GoodputSpan]) -> str:
    spans = [span for span in spans if span["total_chip_us"]]
    if not spans:
        return f"<h2>{escape(name)}</h2><p>No time has passed.</p>"
    drawn = category_bands(spans)
    colours = legend((band.colour, band.words) for band in reversed(drawn))
    return f"<h2>{escape(name)}</h2>\n{_chart(name, spans, drawn)}\n{colours}\n{_table(whole)}"


def _chart(name: str, spans: Sequence[GoodputSpan], drawn: Sequence[CategoryBand]) -> str:
    begin_us, end_us = spans[0]["since_us"], spans[-1]["until_us"]
    scale = (WIDTH - LEFT) / (end_us - begin_us)
    label = (
        f"Where the chip-time of {name} went from {format_time(begin_us)} "
        f"to {format_time(end_us)}, as shares of all"
    )
    columns = []
    for n, span in enumerate(spans):
        x = LEFT + (span["since_us"] - begin_us) * scale
        width = (span["until_us"] - span["since_us"]) * scale
        columns += list(_column(n, span, drawn, x, width))
    return (
        f'<svg viewBox="0 0 {WIDTH + 8} {HEIGHT + BOTTOM}" role="img" aria-label="{escape(label)}">'
        f"{''.join(columns)}{''.join(_axes(begin_us, end_us))}</svg>"
    )


def _column(
    n: int, span: GoodputSpan, drawn: Sequence[CategoryBand], x: float, width: float
) -> Iterator[str]:
    """Yield one span's column, from the bottom to the top."""
    when = f"{format_time(span['since_us'])} to {format_time(span['until_us'])}"
    y = float(HEIGHT)
    for band in drawn:
        tall = band.shares[n] * (HEIGHT - 10)
        y -= tall
        if tall:
            yield (
                f'<rect x="{x:.2f}" y="{y:.2f}" width="{width:.2f}" height="{tall:.2f}" fill="{band.colour}">'
                f"<title>{escape(band.words)}: {100 * band.shares[n]:.2f} %, {escape(when)}</title></rect>"
            )


def _axes(begin_us: int, end_us: int) -> Iterator[str]:
    for percent in (0, 25, 50, 75, 100):
        y = HEIGHT - percent / 100 * (HEIGHT - 10)
        yield f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{percent} %</text>'
    for n in range(5):
        at_us, x = begin_us + (end_us - begin_us) * n // 4, LEFT + (WIDTH - LEFT) * n / 4
        anchor = ("start", "middle", "middle", "middle", "end")[n]
        time = escape(format_time(at_us))
        yield f'<text x="{x:.1f}" y="{HEIGHT + 17}" text-anchor="{anchor}">{time}</text>'


def _table(whole: GoodputSpan) -> str:
    """Return the totals as a table."""
    total = whole["total_chip_us"]
    rows = []
    for band in reversed(category_bands([whole])):
        (share,) = band.shares
        cells = (escape(band.words), format_chip_hours(share * total), f"{100 * share:.2f} %")
        rows.append(table_row(cells, (CHIP_HOURS, SHARE)))
    return table(("chips were", "chip-hours", "share"), rows)
