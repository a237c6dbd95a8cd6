"""The rows of `lightwave reproduce` for people: a table per kind of evidence, followed by the reasons why
claims do not hold."""

from ops.report.tables import text_table
from ops.reproduce.claim import EVIDENCE_MEANING, ClaimRow, EvidenceKind

HEADERS = ("CLAIM", "PAPER", "MEASURED", "UNIT", "TOLERANCE", "HOLDS", "KIND", "HOW", "SOURCE")
WIDE_ONLY = ("KIND", "HOW", "SOURCE")
"""Columns that a terminal leaves out if not all fit. KIND is in the heading of each table."""


def claim_table(rows: list[ClaimRow]) -> str:
    """Return a table of the rows of each kind below its heading, the counts, and the notes of those that do
    not hold. On a terminal the tables fit its width."""
    lines: list[str] = []
    for kind, of_kind in by_kind(rows):
        cells = [claim_cells(row) for row in of_kind]
        lines += [heading(kind, of_kind), text_table(HEADERS, cells, WIDE_ONLY), ""]
    lines.append(claim_summary(rows))
    failing = [row for row in rows if not row.holds]
    if failing:
        lines += ["", "Claims that do not hold:"]
        lines += [f"  {row.name} ({row.kind}): {row.note}" for row in failing]
    return "\n".join(lines)


def by_kind(rows: list[ClaimRow]) -> list[tuple[EvidenceKind, list[ClaimRow]]]:
    """Return the rows of each kind that has any, predictions first."""
    groups = ((kind, [row for row in rows if row.kind == kind]) for kind in EvidenceKind)
    return [(kind, of_kind) for kind, of_kind in groups if of_kind]


def heading(kind: EvidenceKind, rows: list[ClaimRow]) -> str:
    """Return a heading such as `CALIBRATED, 14 of 14 hold: …`."""
    return f"{kind.upper()}, {_count(rows)} hold: {EVIDENCE_MEANING[kind]}"


def claim_summary(rows: list[ClaimRow]) -> str:
    """Count the predictions that hold, then the rows of every other kind."""
    predicted = [row for row in rows if row.kind == EvidenceKind.PREDICTED]
    apart = [(kind, of_kind) for kind, of_kind in by_kind(rows) if kind != EvidenceKind.PREDICTED]
    lines = [f"{_count(predicted)} predictions hold" if predicted else "no predictions among these"]
    if apart:
        lines.append("others: " + ", ".join(f"{kind} {_count(of_kind)}" for kind, of_kind in apart))
    return "; ".join(lines)


def claim_cells(row: ClaimRow) -> list[str]:
    """Return the cells of a row, in the order of HEADERS."""
    return [
        row.name,
        figure(row.paper_value),
        figure(row.measured),
        row.unit,
        tolerance(row.tolerance),
        "yes" if row.holds else "NO",
        row.kind,
        row.how,
        row.source,
    ]


def tolerance(allowed: float | str) -> str:
    """Format a tolerance: `± 0.02`, `exact`, or the required side."""
    if isinstance(allowed, str):
        return allowed
    return "exact" if allowed == 0 else f"± {figure(float(f'{allowed:.2g}'))}"


def figure(value: float) -> str:
    """Format a number: whole numbers with thousands separators, others to four digits."""
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.1f}" if abs(value) >= 1000 else f"{value:.4g}"


def _count(rows: list[ClaimRow]) -> str:
    return f"{sum(row.holds for row in rows)} of {len(rows)}"
