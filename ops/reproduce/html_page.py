"""`lightwave reproduce -o html`: the figures of the papers with their points, and every claim; one file that
needs no network."""

from html import escape
from typing import Any

from plotly.offline import get_plotlyjs

from ops.local.software_version import VERSION
from ops.reproduce.claim import EvidenceKind
from ops.reproduce.claim_tables import HEADERS, by_kind, claim_cells, claim_summary, heading

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1200px; margin: 2em auto; color: #222 }
table { border-collapse: collapse; font-size: 13px; width: 100% }
th { text-align: left; border-bottom: 2px solid #222; position: sticky; top: 0; background: #fff }
th, td { padding: 3px 8px; vertical-align: top }
td { border-bottom: 1px solid #ddd }
td.figure { text-align: right; white-space: nowrap }
tr.no { background: #fff1ee }
.note { color: #666; font-size: 12px }
"""


def html_page(rows: list[dict[str, Any]], charts: list[Any]) -> str:
    """A whole HTML page: charts above, the claims below, each kind of evidence in a table of its own."""
    drawn = "\n".join(
        chart.to_html(include_plotlyjs=False, full_html=False, default_height="520px") for chart in charts
    )
    tables = "\n".join(_table(kind, of_kind) for kind, of_kind in by_kind(rows))
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Claims of the papers, recomputed</title>
<style>{STYLE}</style><script>{get_plotlyjs()}</script></head><body>
<h1>Claims of the papers, recomputed</h1>
<p>{escape(claim_summary(rows))}.
[LF] is Lightwave Fabrics, [T4] TPU v4, NSDI 2024 Resiliency at Scale, Jupiter Evolving a paper of SIGCOMM
2022. Computed by lightwave {VERSION} when
this page was made; circles in the figures are what the papers state.</p>
{drawn}
{tables}
</body></html>
"""


def _table(kind: EvidenceKind, rows: list[dict[str, Any]]) -> str:
    heads = "".join(f"<th>{escape(head.capitalize())}</th>" for head in HEADERS)
    body = "\n".join(_row(row) for row in rows)
    return (
        f'<h2 id="{escape(kind.replace(" ", "-"))}">{escape(heading(kind, rows))}</h2>\n'
        f"<table><thead><tr>{heads}</tr></thead><tbody>\n{body}\n</tbody></table>"
    )


def _row(row: dict[str, Any]) -> str:
    name, paper, measured, *others = (escape(cell) for cell in claim_cells(row))
    notes = "".join(f'<div class="note">{escape(said)}</div>' for said in (row["basis"], row["note"]) if said)
    rest = "".join(f"<td>{cell}</td>" for cell in others)
    return (
        f'<tr id="{name}" class="{"yes" if row["holds"] else "no"}"><td>{escape(row["claim"])}'
        f'<div class="note">{name}</div>{notes}</td>'
        f'<td class="figure">{paper}</td><td class="figure">{measured}</td>{rest}</tr>'
    )
