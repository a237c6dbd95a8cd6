"""Lays out tables for their destination: a terminal, whose width they fit, or a pipe."""

import re
import shutil
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from ops.report.state_colours import coloured

GAP, NARROW_GAP = 3, 2
"""Spaces between columns. The smaller number is used only if the table would not fit otherwise."""
TEXT_MIN = 10
"""Minimum width to which columns of text are cut, before other columns are left out."""
WIDTH_MIN = 20
"""The narrowest terminal for which tables are laid out."""
IDENTITIES = ("NAME", "ID", "KEY", "NUMBER", "AHEAD")
"""Headings of the column that `-o name` prints, in order of preference. If a table has none of them, it is
the first column."""
ELLIPSIS = "…"
COMMAND, CONTINUED = "lightwave ", " \\"
"""The start of a line that users copy into a shell, and the line continuation."""
_WHOLE = re.compile(
    r"-|[×+-]? ?[0-9][0-9,.:/dhmsu]*(e[+-]?[0-9]+)?( ?%|[a-z]{1,2})?"  # a number, a time, a duration
    r"|[\w@.+-]+(/[\w@.+-]+)+"  # a name
)
"""A cell that must not be cut, because a cut number, time or name reads as a different one."""

_EMPTY = re.compile(r"-|0(\.0+)?( ?%)?")
"""A cell without a value, or with zero."""
MOSTLY = 0.5
"""Minimum share of empty cells of a column that is left out before full ones."""
BELOW_INDENT = 4
"""Indent of a text below its row."""
ABOVE_INDENT = 2
"""Indent of rows below the value that they share."""

Cells = list[list[str]]


@dataclass
class TableStyle:
    """The style of tables. The default is plain, full text, as for a pipe or a file.

    - `on_terminal`: tables fit the terminal, and leave out columns that are only for `-o wide`.
    - `fixed_width` replaces the width of the terminal, in characters.
    - `wide`: show every column in full. `columns`: show only these headings, which the user
      typed as `typed_columns` has them. `names_only`: show only names.
    - `headers`: show the line of headings. `colour`: colour states.

    `lines` collects each printed line of the tables, with colours. `headings` and `names` collect those of
    the tables.
    """

    on_terminal: bool = False
    colour: bool = False
    wide: bool = False
    headers: bool = True
    columns: tuple[str, ...] = ()
    typed_columns: Mapping[str, str] = field(default_factory=dict)
    names_only: bool = False
    fixed_width: int | None = None
    lines: dict[str, str] = field(default_factory=dict)
    headings: dict[str, None] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)

    @property
    def width(self) -> int | None:
        """Return the maximum characters per line of a table; None if tables are shown in full."""
        return None if self.wide else self._screen_width()

    def _screen_width(self) -> int | None:
        """Return the columns of the terminal, from COLUMNS or the window; None in a pipe."""
        if not self.on_terminal:
            return None
        return max(WIDTH_MIN, self.fixed_width or shutil.get_terminal_size().columns)

    def unknown_columns(self) -> list[str]:
        """Return the chosen columns that no table had. Empty if there was no table."""
        return [name for name in self.columns if self.headings and name not in self.headings]

    def shown(self, text: str) -> str:
        """Return the text with the colours of its tables."""
        if not self.colour:
            return text
        return "\n".join(self.lines.get(line, line) for line in text.split("\n"))

    def wrapped(self, text: str) -> str:
        """Return the text with long lines broken between words, except for tables."""
        width = self.width
        if width is None:
            return text
        lines: list[str] = []
        for line in text.split("\n"):
            if line in self.lines:
                lines.append(line)
            elif line.lstrip().startswith(COMMAND):
                *first, last = wrap_words(line, width - len(CONTINUED))
                lines += [*(f"{part}{CONTINUED}" for part in first), last]
            else:
                lines += wrap_words(line, width)
        return "\n".join(lines)

    def lay_out(
        self,
        headers: Sequence[str],
        rows: Cells,
        wide_only: Collection[str] = (),
        *,
        indent: int = 0,
        as_list: bool = False,
        keep: Collection[str] = (),
        below: str | None = None,
        above: str | None = None,
        whole: Collection[str] = (),
    ) -> str:
        """Lay out a table. On a terminal, the columns in `wide_only` are left out if not all fit, then those
        without values, but not those in `keep`, such as the sort key. With `as_list`, a single row becomes a
        list with one line per column there. The texts of the column `below` continue below their rows if they
        would be cut. If that is not enough, each new value of the column `above` is a line above its rows.
        Cells of the columns in `whole` are not cut."""
        self.headings.update(dict.fromkeys(headers))
        if self.names_only:
            self.names += _identities(headers, rows)
            return ""
        heads, chosen = _selected(
            headers, rows, self._positions(headers, rows, {*wide_only} - {*keep}, indent)
        )
        may_be_list = self.on_terminal and len(rows) == 1 and self.headers and not self.columns
        if may_be_list and (as_list or not (indent or self._fits(heads, chosen, indent))):
            return self._list(headers, rows[0], indent)
        apart: list[str] = []  # columns with lines of their own
        for name in (below, above):
            is_fit = self._fits(*_without(heads, chosen, apart), indent)
            if name in heads and not self.columns and not is_fit:
                apart.append(str(name))
        if apart:
            titles, texts = (name if name in apart else None for name in (above, below))
            return "\n".join(self._lines_apart(heads, chosen, indent, (keep, whole), titles, texts))
        return "\n".join(self._lines(heads, chosen, indent, keep, whole)) if heads else ""

    def _lines_apart(
        self,
        headers: list[str],
        rows: Cells,
        indent: int,
        preferred: tuple[Collection[str], Collection[str]],
        above: str | None,
        below: str | None,
    ) -> Iterator[str]:
        """The lines of a table with the values of `above` over the rows they belong to, and the texts of
        `below` under their rows. `preferred` are the columns to keep, and those that are not cut."""
        others = _without(headers, rows, [name for name in (above, below) if name is not None])
        inner = indent if above is None else indent + ABOVE_INDENT
        lines = [*self._lines(*others, inner, *preferred)]
        first = 1 if self.headers else 0
        width = self.width or WIDTH_MIN
        if above is not None and self.headers:
            yield " " * indent + above
        yield from lines[:first]
        shown = None
        for line, row in zip(lines[first:], rows, strict=False):
            if above is not None and shown != (title := row[headers.index(above)]):
                yield from wrap_words(" " * indent + title, width)
                shown = title
            yield line
            if below is not None and (text := row[headers.index(below)]) != "-":
                yield from wrap_words(" " * (inner + BELOW_INDENT) + text, width, hanging=0)
        yield from lines[first + len(rows) :]

    def _positions(
        self, headers: Sequence[str], rows: Cells, wide_only: Collection[str], indent: int
    ) -> list[int]:
        if self.columns:
            return [headers.index(name) for name in self.columns if name in headers]
        if self.width is None or not wide_only or self._fits(headers, rows, indent):
            return [*range(len(headers))]
        return [n for n, name in enumerate(headers) if name not in wide_only]

    def _fits(self, headers: Sequence[str], rows: Cells, indent: int) -> bool:
        return self.width is None or indent + _total(_widths([[*headers], *rows]), NARROW_GAP) <= self.width

    def _lines(
        self,
        headers: list[str],
        rows: Cells,
        indent: int,
        keep: Collection[str] = (),
        whole: Collection[str] = (),
    ) -> Iterator[str]:
        left_out: list[str] = []
        gap, table = GAP, [headers, *rows]
        if self.width is not None:
            gap, table, left_out = _fitted(
                headers, rows, self.width - indent, keep, whole, keep_all=bool(self.columns)
            )
        shown = table if self.headers else table[1:]
        measure = len if self.width is None else display_width
        widths = [max(map(measure, column)) for column in zip(*shown, strict=True)] if shown else []
        margin, between = " " * indent, " " * gap
        for number, row in enumerate(shown):
            pads = [" " * (width - measure(cell)) for width, cell in zip(widths, row, strict=True)]
            plain = margin + between.join(map("".join, zip(row, pads, strict=True))).rstrip()
            is_head = self.headers and number == 0
            paint = [*row] if is_head else [*map(coloured, table[0], row)]
            self.lines[plain] = margin + between.join(map("".join, zip(paint, pads, strict=True))).rstrip()
            yield plain
        if left_out:
            note = f"(no room for {', '.join(left_out)}; -o wide shows all)"
            yield from wrap_words(margin + note, self.width or len(note))

    def _list(self, headers: Sequence[str], row: Sequence[str], indent: int) -> str:
        """Return one object as a list with one line per column. Long values take several lines."""
        start = indent + max(map(display_width, headers)) + GAP
        margin = " " * indent
        entries = [self.entry(margin + head, cell, start) for head, cell in zip(headers, row, strict=True)]
        return "\n".join(line for lines in entries for line in lines)

    def entry(self, title: str, value: str, start: int = 0) -> list[str]:
        """Return a line of a list: the title, and the value from column `start` on. On a terminal, a long
        value continues below its start, and the value of a state has its colour."""
        start = max(start, display_width(title))
        width = self._screen_width()
        first = title + " " * (start - display_width(title))
        if width is None:
            return [f"{first}{value}"]
        if width - start < TEXT_MIN:
            found = wrap_words(f"{title} {value}", width)
        else:
            parts = wrap_words(value, width - start, hanging=0)
            found = [first + parts[0], *(" " * start + part for part in parts[1:])]
        paint = coloured(title.strip().rstrip(":"), value)
        self.lines |= {line: line for line in found}
        if len(found) == 1 and paint != value:
            self.lines[found[0]] = first + paint
        return found


_STYLE: ContextVar[TableStyle] = ContextVar("table_style")


def current_style() -> TableStyle:
    """Return the style of the current command; plain outside of commands."""
    return _STYLE.get(None) or TableStyle()


@contextmanager
def styled(style: TableStyle) -> Iterator[TableStyle]:
    """Lay out tables in this style within the context."""
    token = _STYLE.set(style)
    try:
        yield style
    finally:
        _STYLE.reset(token)


def display_width(text: str) -> int:
    """Return the number of terminal columns that the text takes: 2 for a wide character, 0 for a combining
    one."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
    )


def cut(text: str, width: int) -> str:
    """Cut the text to this width, with an ellipsis if it is longer."""
    if display_width(text) <= width:
        return text
    kept = text[: max(0, width - 1)]
    while display_width(kept) > width - 1:
        kept = kept[:-1]
    return f"{kept.rstrip()}{ELLIPSIS}"


def wrap_words(line: str, width: int, hanging: int = 2) -> list[str]:
    """Break the line between words so that each part fits. Parts after the first are indented by `hanging`
    more. A word longer than a line is broken."""
    if display_width(line) <= width:
        return [line]
    margin = line[: len(line) - len(line.lstrip())][: width // 2]
    found, current, fresh = [], margin, True
    for word in line.split():
        word_left = word
        if not fresh and display_width(current) + 1 + display_width(word_left) > width:
            found.append(current)
            current, fresh = margin + " " * hanging, True
        while fresh and display_width(current) + display_width(word_left) > width:
            taken = _prefix(word_left, width - display_width(current))
            found.append(current + taken)
            word_left, current = word_left[len(taken) :], margin + " " * hanging
        current, fresh = current + ("" if fresh else " ") + word_left, False
    return [*found, current]


def _prefix(word: str, width: int) -> str:
    """Return the longest prefix of a word that fits, with at least one character."""
    length = max(1, width)
    while length > 1 and display_width(word[:length]) > width:
        length -= 1
    return word[:length]


def _identities(headers: Sequence[str], rows: Cells) -> list[str]:
    heading = next((name for name in IDENTITIES if name in headers), headers[0])
    position = [*headers].index(heading)
    return [row[position] for row in rows]


def _selected(headers: Sequence[str], rows: Cells, positions: Sequence[int]) -> tuple[list[str], Cells]:
    return [headers[n] for n in positions], [[row[n] for n in positions] for row in rows]


def _without(headers: list[str], rows: Cells, names: Collection[str]) -> tuple[list[str], Cells]:
    return _selected(headers, rows, [n for n, name in enumerate(headers) if name not in names])


def _widths(table: Cells) -> list[int]:
    return [max(map(display_width, column)) for column in zip(*table, strict=True)]


def _total(widths: Sequence[int], gap: int) -> int:
    return sum(widths) + gap * (len(widths) - 1)


def _fitted(
    headers: list[str],
    rows: Cells,
    width: int,
    keep: Collection[str],
    whole: Collection[str] = (),
    *,
    keep_all: bool,
) -> tuple[int, Cells, list[str]]:
    """Return (gap, table, headings left out) of a table that fits the width.

    Columns without values are left out first, then the widest texts are cut; names are not cut, and neither
    are the columns in `whole`. If that is not enough, other columns are left out, the emptiest first, then
    from the right, but not the last one.
    Those in `keep` are the last to go. With `keep_all`, every column is cut instead.
    """
    left_out: list[str] = []

    def leave_out(gone: int) -> None:
        nonlocal headers, rows
        left_out.append(headers[gone])
        headers, rows = _selected(headers, rows, [n for n in range(len(headers)) if n != gone])

    every = headers
    while not keep_all and len(headers) > 1 and _total(_widths([headers, *rows]), NARROW_GAP) > width:
        gone, emptiness = _emptiest(headers, rows, keep)
        if emptiness < 1:
            break
        leave_out(gone)
    while True:
        widths = _widths([headers, *rows])
        found = _cut_widths(headers, rows, widths, width, whole)
        if found is not None or len(headers) <= 1:
            break
        if keep_all:
            found = NARROW_GAP, _evenly(widths, width)
            break
        gone, emptiness = _emptiest(headers, rows, keep)
        leave_out(gone if emptiness >= MOSTLY else _rightmost(headers, keep))
    gap, widths = found or (NARROW_GAP, [width])
    table = [[cut(cell, most) for cell, most in zip(row, widths, strict=True)] for row in (headers, *rows)]
    return gap, table, [heading for heading in every if heading in left_out]


def _may_go(headers: Sequence[str], keep: Collection[str]) -> list[int]:
    """The positions of the columns that can be left out: never the names of the rows, and those in `keep` if
    there are no others."""
    name = next((one for one in IDENTITIES if one in headers), headers[0])
    others = [n for n, heading in enumerate(headers) if n != [*headers].index(name)]
    return [n for n in others if headers[n] not in keep] or others


def _emptiest(headers: Sequence[str], rows: Cells, keep: Collection[str]) -> tuple[int, float]:
    """(position, share of its cells that are empty or zero) of the emptiest column."""
    shares = {
        n: sum(_EMPTY.fullmatch(row[n]) is not None for row in rows) / max(1, len(rows))
        for n in _may_go(headers, keep)
        if headers[n] not in keep
    }
    return max(((n, share) for n, share in shares.items()), key=lambda pair: pair[::-1], default=(1, 0.0))


def _rightmost(headers: Sequence[str], keep: Collection[str]) -> int:
    """The position of the column to leave out if none is empty: the one before the last."""
    found = _may_go(headers, keep)
    return found[-2] if len(found) > 1 and found[-1] == len(headers) - 1 else found[-1]


def _cut_widths(
    headers: list[str], rows: Cells, widths: list[int], width: int, whole: Collection[str]
) -> tuple[int, list[int]] | None:
    """Return (gap, width of each column) with which the table fits; None if it cannot."""
    for gap in (GAP, NARROW_GAP):
        if _total(widths, gap) <= width:
            return gap, widths
    texts = [
        n
        for n, head in enumerate(headers)
        if head not in {*IDENTITIES, *whole} and not all(_WHOLE.fullmatch(row[n]) for row in rows)
    ]
    floor = {n: min(widths[n], max(TEXT_MIN, display_width(headers[n]))) for n in texts}
    found = [*widths]
    while _total(found, NARROW_GAP) > width:
        wider = [(found[n], n) for n in texts if found[n] > floor[n]]
        if not wider:
            return None
        widest, n = max(wider)
        found[n] = widest - 1
    return NARROW_GAP, found


def _evenly(widths: list[int], width: int) -> list[int]:
    """Return the widths with the widest ones cut until all fit, but none below 1."""
    found = [*widths]
    while _total(found, NARROW_GAP) > width and max(found) > 1:
        found[found.index(max(found))] -= 1
    return found
