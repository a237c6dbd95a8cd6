"""The report of a drill as text for a terminal of 80 columns."""

import textwrap
from typing import TYPE_CHECKING

from ops.drills.report_tables import ReportTable, report_facts, report_tables, verdict_sentence
from ops.report.safe_text import one_line

if TYPE_CHECKING:
    from schemas.api.drill_journal import DrillJournal

WIDTH = 80
GAP = 2
"""Spaces between columns."""
CELL_MIN = 8
"""Narrowest width to which a column is wrapped."""


def text_report(record: "DrillJournal") -> str:
    """The whole report; no line is wider than 80 columns unless one word is."""
    facts = [_fact(word, fact) for word, fact in report_facts(record)]
    sections = [_wrapped(verdict_sentence(record)), "\n".join(facts)]
    sections += [f"{table.title}\n{_table(table)}" for table in report_tables(record)]
    return "\n\n".join(sections) + "\n"


def _wrapped(text: str) -> str:
    return textwrap.fill(one_line(text), WIDTH, break_long_words=False, break_on_hyphens=False)


def _fact(word: str, fact: str) -> str:
    return textwrap.fill(
        one_line(fact),
        WIDTH,
        initial_indent=f"{word + ':':<14}",
        subsequent_indent=" " * 14,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _table(table: ReportTable) -> str:
    """The table with its last column wrapped; other columns too if they leave it no room."""
    rows = [[one_line(cell) for cell in row] for row in table.rows]
    widths = [max(map(len, column)) for column in zip(table.headers, *rows, strict=True)]
    room = WIDTH - GAP * (len(widths) - 1)
    while sum(widths) > room:
        widest = max(range(len(widths)), key=lambda n: widths[n])
        least = max(CELL_MIN, len(table.headers[widest]))
        if widths[widest] <= least:
            break
        widths[widest] = max(least, widths[widest] - (sum(widths) - room))
    lines = []
    for row in [list(table.headers), *rows]:
        lines += _row_lines(row, widths)
    return "\n".join(line.rstrip() for line in lines)


def _row_lines(row: list[str], widths: list[int]) -> list[str]:
    """One row, on several lines if a cell is wider than its column."""
    cells = [
        textwrap.wrap(cell, width, break_on_hyphens=False) or [""]
        for cell, width in zip(row, widths, strict=True)
    ]
    tall = max(map(len, cells))
    padded = [cell + [""] * (tall - len(cell)) for cell in cells]
    gap = " " * GAP
    return [
        gap.join(f"{text:<{width}}" for text, width in zip(line, widths, strict=True))
        for line in zip(*padded, strict=True)
    ]
