"""`lightwave reproduce -o html`: the papers' charts with their stated points, and every claim, in one file
that works offline."""

from html import escape
from typing import Any

from ops.local.software_version import VERSION
from ops.report.html_shell import paragraph, table, table_row
from ops.report.plots import plot_section, plots_page
from ops.reproduce.claim import ClaimRow, EvidenceKind
from ops.reproduce.claim_tables import HEADERS, by_kind, claim_cells, claim_summary, heading

PAPER_VALUE, MEASURED = 1, 2
"""Columns that contain numbers."""


def claims_page(rows: list[ClaimRow], charts: list[Any]) -> str:
    """Return the whole HTML page: charts first, then a table of claims per kind of evidence."""
    note = (
        f"{claim_summary(rows)}. [LF] is Lightwave Fabrics, [T4] TPU v4, NSDI 2024 Resiliency at Scale, "
        f"Jupiter Evolving a paper at SIGCOMM 2022. Computed by lightwave {VERSION} when this page was made. "
        "Circles in the charts are the values that the papers state; those of NSDI 2024 are digitised from "
        "its figure, to 2 points."
    )
    tables = [_table(kind, of_kind) for kind, of_kind in by_kind(rows)]
    return plots_page(
        "Claims of the papers, recomputed", [paragraph(note), *map(plot_section, charts), *tables]
    )


def _table(kind: EvidenceKind, rows: list[ClaimRow]) -> str:
    name = escape(kind.replace(" ", "-"))
    heads = [head.capitalize() for head in HEADERS]
    return f'<h2 id="{name}">{escape(heading(kind, rows))}</h2>\n{table(heads, map(_row, rows))}'


def _row(row: ClaimRow) -> str:
    name, *others = (escape(cell) for cell in claim_cells(row))
    notes = "".join(f'<div class="note">{escape(note)}</div>' for note in (row.basis, row.note) if note)
    claim = f'{escape(row.claim)}<div class="note">{name}</div>{notes}'
    attributes = f' id="{name}" class="{"yes" if row.holds else "no"}"'
    return table_row([claim, *others], (PAPER_VALUE, MEASURED), attributes)
