"""Tables as kubectl prints them: aligned columns, upper-case headers, no boxes."""

import json
from collections.abc import Collection, Sequence

from ops.report.safe_text import one_line
from ops.report.table_style import current_style

Table = tuple[Sequence[str], list[Sequence[object]]]
"""(headers, rows)."""
SHOWN_MIN = 0.0005
"""The least number that three decimals show as other than zero."""


def text_table(
    headers: Sequence[str],
    rows: Sequence[Sequence[object]],
    wide_only: Collection[str] = (),
    *,
    indent: int = 0,
    as_list: bool = False,
    keep: Collection[str] = (),
    below: str | None = None,
    above: str | None = None,
    whole: Collection[str] = (),
) -> str:
    """Format rows as columns separated by three spaces, each line indented.

    On a terminal the table fits its width: the columns in `wide_only` are left out, and text is cut with `…`.
    Columns without values go before others, those in `keep` last. A single row that does not fit, or with
    `as_list`, becomes a list with one line per column. Texts of the column `below` are shown whole, below
    their rows if there is no room; if there still is none, each new value of the column `above` is a line
    above its rows. Cells of the columns in `whole` are not cut.
    """
    cells = [[cell_text(value) for value in row] for row in rows]
    return current_style().lay_out(
        [*headers],
        cells,
        wide_only,
        indent=indent,
        as_list=as_list,
        keep=keep,
        below=below,
        above=above,
        whole=whole,
    )


def display_value(field: str, value: object) -> object:
    """Return a value as every table shows that field: bit error rates by their order of magnitude, losses
    with their significant digits, traffic rates to a tenth. Other values are unchanged."""
    if not isinstance(value, float):
        return value
    if field == "ber":
        return f"{value:.1e}"
    if field.endswith("_gbps"):
        return f"{value:,.1f}"
    return f"{value:.4f}" if field.endswith("_db") else value


def setting_text(value: object) -> str:
    """Return a value as `--set` takes it, and a list of values as YAML in a site file."""
    if isinstance(value, list):
        return json.dumps(value)
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def count_text(number: int, one: str, several: str | None = None) -> str:
    """Return a number with its noun in singular or plural: 1 request, 2 requests."""
    return f"{number:,} {one}" if number == 1 else f"{number:,} {several or f'{one}s'}"


def cell_text(value: object) -> str:
    """Return a value as the cell of a table: `-` for none, yes or no, three decimals. Smaller numbers have
    two significant digits, because they are not zero."""
    if value is None or value == "":
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3f}" if value == 0.0 or abs(value) >= SHOWN_MIN else f"{value:.2g}"
    return one_line(str(value))
