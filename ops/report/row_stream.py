"""Tables whose rows arrive one by one, so that the widths of their columns are fixed beforehand."""

from collections.abc import Collection, Sequence

from ops.report.table_style import GAP, IDENTITIES, current_style, cut, display_width
from ops.report.tables import cell_text

LAST_MIN = 40
"""Minimum width of the last column with which a terminal shows all columns."""


class RowStream:
    """A table with these widths of columns in characters; 0 for the last one, which takes the rest.

    It follows the style of the command as other tables do. A terminal that has no room for all columns shows
    none of `wide_only`, and rows are cut to its width. A pipe gets every row in full.
    """

    def __init__(self, headers: Sequence[str], widths: Sequence[int], wide_only: Collection[str]) -> None:
        self._style = current_style()
        self._style.headings.update(dict.fromkeys(headers))
        self._headers, self._widths = headers, widths
        self._shown = self._columns(wide_only)

    def headings(self) -> str:
        """Return the line of headings; empty if the user wants none."""
        style = self._style
        return "" if style.names_only or not style.headers else self.row(self._headers)

    def row(self, cells: Sequence[object]) -> str:
        """Return the line of one row: with `-o name`, its identity."""
        padded = []
        for n in self._shown:
            text = cell_text(cells[n])
            padded.append(text + " " * (self._widths[n] - display_width(text)))
        line = (" " * GAP).join(padded).rstrip()
        width = self._style.width
        return line if width is None else cut(line, width)

    def _columns(self, wide_only: Collection[str]) -> list[int]:
        """The positions of the columns to show."""
        style, heads = self._style, [*self._headers]
        if style.names_only:
            return [heads.index(next((name for name in IDENTITIES if name in heads), heads[0]))]
        if style.columns:
            return [heads.index(name) for name in style.columns if name in heads]
        fixed = sum(self._widths) + GAP * len(heads)
        if style.width is None or fixed + LAST_MIN <= style.width:
            return [*range(len(heads))]
        return [n for n, name in enumerate(heads) if name not in wide_only]
