"""The shell of every HTML report: one self-contained page with a title, one style and sections.

Plots come from `ops.report.plots`, so that a page without plots does not import plotly.
"""

import re
from collections.abc import Iterable, Sequence
from html import escape

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1100px; margin: 2em auto; padding: 0 1.5em;
  color: #222 }
table { border-collapse: collapse; font-size: 13px; margin-bottom: 2em }
th { border-bottom: 2px solid #222; text-align: left; position: sticky; top: 0; background: #fff }
th, td { padding: 3px 10px; vertical-align: top } td { border-bottom: 1px solid #ddd }
td.figure { text-align: right; white-space: nowrap } tr.no { background: #fff1ee }
pre { background: #f4f4f4; padding: .6em; overflow: auto }
svg { width: 100%; height: auto } svg text { font: 12px system-ui, sans-serif; fill: #333 }
ul.legend { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: .2em 1.4em }
.legend i { display: inline-block; width: 1em; height: 1em; margin-right: .4em; vertical-align: -.1em;
  border: 1px solid #999 }
.answer { font-size: 18px } .note { color: #666; font-size: 13px }
"""
"""The style of all reports. A report adds only the rules of its own charts."""


_COMMAND = re.compile(r"`([^`]+)`")


def html_page(
    title: str, sections: Iterable[str], *, style: str = "", script: str = "", heading: bool = True
) -> str:
    """Return a whole page of these sections, which are HTML.

    The title is text; without `heading` it is only the title of the window. `style` has more CSS rules,
    `script` is JavaScript that the sections need.
    """
    scripts = f"<script>{script}</script>" if script else ""
    body = "\n".join([*([f"<h1>{escape(title)}</h1>"] if heading else []), *filter(None, sections)])
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{STYLE}{style}</style>{scripts}</head><body>\n{body}\n</body></html>"
    )


def paragraph(text: str, css_class: str = "") -> str:
    """Return a paragraph of text. Text between backticks is a command."""
    shown = _COMMAND.sub(r"<code>\1</code>", escape(text))
    return f"<p{_class(css_class)}>{shown}</p>"


def table(headers: Sequence[str], rows: Iterable[str]) -> str:
    """Return a table with these headers; `table_row` makes its rows."""
    head = "".join(f"<th>{escape(header)}</th>" for header in headers)
    body = "\n".join(rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>"


def table_row(cells: Sequence[str], figures: Sequence[int] = (), attributes: str = "") -> str:
    """Return a row of these cells, which are HTML. The cells at the positions in `figures` are numbers."""
    shown = "".join(
        f"<td{_class('figure' if place in figures else '')}>{cell}</td>" for place, cell in enumerate(cells)
    )
    return f"<tr{attributes}>{shown}</tr>"


def legend(colours: Iterable[tuple[str, str]], more: str = "") -> str:
    """Return a legend of (colour, meaning), followed by `more` items in HTML."""
    items = (f'<li><i style="background:{colour}"></i>{escape(words)}</li>' for colour, words in colours)
    return f'<ul class="legend">{"".join(items)}{more}</ul>'


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""
