"""The rows of `lightwave reproduce` for people: a table, and beneath it why what does not hold does not."""

from typing import Any

from ops.common.tables import columns

HEADERS = ("CLAIM", "PAPER", "MEASURED", "UNIT", "TOLERANCE", "HOLDS", "HOW", "SOURCE")


def table(rows: list[dict[str, Any]]) -> str:
    """All rows, how many hold, and the notes of those that do not."""
    lines = [columns(HEADERS, [cells(row) for row in rows]), "", summary(rows)]
    lines += [f"  {row['name']}: {row['note']}" for row in rows if not row["holds"]]
    return "\n".join(lines)


def summary(rows: list[dict[str, Any]]) -> str:
    kept = sum(row["holds"] for row in rows)
    return f"{kept} of {len(rows)} hold" + ("" if kept == len(rows) else "; those that do not:")


def cells(row: dict[str, Any]) -> list[str]:
    """What a row shows, in the order of HEADERS."""
    return [
        row["name"],
        figure(row["paper_value"]),
        figure(row["measured"]),
        row["unit"],
        tolerance(row["tolerance"]),
        "yes" if row["holds"] else "NO",
        row["how"],
        row["source"],
    ]


def tolerance(allowed: float | str) -> str:
    """`± 0.02`, `exact`, or the side to be on."""
    if isinstance(allowed, str):
        return allowed
    return "exact" if allowed == 0 else f"± {figure(float(f'{allowed:.2g}'))}"


def figure(value: float) -> str:
    """Whole numbers whole, with thousands apart; others to four digits."""
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.1f}" if abs(value) >= 1000 else f"{value:.4g}"
