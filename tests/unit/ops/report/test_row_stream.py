"""Tables whose rows arrive one by one fit the terminal, and are complete in a pipe."""

import pytest

from ops.report.row_stream import RowStream
from ops.report.table_style import TableStyle, display_width, styled

HEADS, WIDTHS, WIDE = ("TIME", "ID", "TYPE", "CAUSE", "WHAT"), (16, 28, 20, 28, 0), ("ID", "CAUSE")
ROW = ["3d02:15:04.123", "scheduler@pod-0/42", "RecoveryCostsReported", None, "it says 漢字 " * 20]


def lines(style: TableStyle) -> list[str]:
    with styled(style):
        table = RowStream(HEADS, WIDTHS, WIDE)
        return [table.headings(), table.row(ROW)]


@pytest.mark.parametrize("width", [20, 40, 80, 120, 200])
def test_rows_fit_the_terminal_and_start_with_the_time(width: int) -> None:
    heads, row = lines(TableStyle(on_terminal=True, fixed_width=width))
    assert max(map(display_width, (heads, row))) <= width
    assert row.startswith("3d02:15:04.123")
    assert ("ID" in heads) == (width == 200)


def test_a_pipe_gets_every_row_in_full() -> None:
    heads, row = lines(TableStyle())
    assert heads.split() == [*HEADS]
    assert row.endswith(str(ROW[-1]).rstrip())
    assert row.index("漢") > row.index("-   ")


def test_rows_follow_the_options_of_tables() -> None:
    assert lines(TableStyle(columns=("WHAT", "TIME")))[0].split() == ["WHAT", "TIME"]
    assert lines(TableStyle(headers=False))[0] == ""
    assert lines(TableStyle(names_only=True)) == ["", "scheduler@pod-0/42"]
    wide = lines(TableStyle(on_terminal=True, fixed_width=40, wide=True))
    assert wide == lines(TableStyle())
