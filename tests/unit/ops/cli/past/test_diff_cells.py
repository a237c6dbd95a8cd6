"""The cells of `lightwave diff` on a terminal start with the words that differ."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.cli.past.diff import COMMON_MIN, _table, differing_parts
from ops.client.differences import FieldDifference
from ops.report.table_style import TableStyle, styled

words = st.lists(st.text("abc0,", min_size=1, max_size=8), max_size=8).map(" ".join)


@given(words, words, words)
def test_only_a_long_common_start_is_left_out(common: str, before: str, after: str) -> None:
    one, two = f"{common} {before}", f"{common} {after}"
    first, second = differing_parts(one, two)
    if (first, second) == (one, two):
        return
    cut = len(one) - len(first.removeprefix("…").lstrip())
    assert one[:cut] == two[:cut]
    assert len(one[:cut].rstrip()) >= COMMON_MIN
    assert two.endswith(second.removeprefix("…").lstrip())
    assert first.split(" ")[1:2] != second.split(" ")[1:2]


@pytest.mark.parametrize("width", [80, 100])
def test_the_part_that_differs_is_visible(width: int) -> None:
    start = "needs 16 cubes in one pod, of which none is free before the repair of cube-3: "
    rows = [FieldDifference("slices", "pod-0/slice-336", "reason", f"{start}0 idle", f"{start}4 idle")] * 2
    style = TableStyle(on_terminal=True, fixed_width=width)
    with styled(style):
        shown = _table(rows)
    assert "… 0 idle" in shown
    assert "… 4 idle" in shown
    with styled(TableStyle()):
        assert f"{start}0 idle" in _table(rows)


def test_values_that_are_not_texts_are_unchanged() -> None:
    with styled(TableStyle(on_terminal=True, fixed_width=80)):
        shown = _table([FieldDifference("slices", "pod-0/slice-3", "reason", None, "x")] * 2)
    assert "None" not in shown
