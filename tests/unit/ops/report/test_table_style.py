"""Tables fit the terminal, and are plain and complete without one."""

import re
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.report.state_colours import COLOUR_OF
from ops.report.table_style import (
    CONTINUED,
    ELLIPSIS,
    WIDTH_MIN,
    TableStyle,
    cut,
    display_width,
    styled,
    wrap_words,
)
from ops.report.tables import text_table
from schemas.api.forecast import ForecastSummary
from schemas.api.network_rows import GroupState
from schemas.api.rows import ModuleCondition
from schemas.body import Model
from schemas.documents.dcn import RewiringState
from schemas.documents.pods import CubeDocument, FaultDocument, LinkState, OcsDocument, SliceState
from schemas.documents.repairs import RepairState, VerdictDocument
from schemas.messages.topology import RewiringOutcome

HEADS = ("NAME", "STATE", "COUNT", "AT", "TARGET", "REASON")
ROWS = [
    [
        "pod-0/slice-8",
        "queued",
        1_024,
        "1d02:15:04",
        "pod-0/cube-12/+y/7",
        "needs 4 healthy cubes: 0 are idle",
    ],
    ["pod-0/slice-193", "running", 8, "-", "pod-0/ocs-3", None],
]
words = st.text(st.sampled_from("abcdefgh -/:.,0123456789é漢"), min_size=1, max_size=60)
tables = st.integers(1, 9).flatmap(
    lambda count: st.tuples(
        st.lists(
            st.text(st.sampled_from("ABCDEFG-"), min_size=1, max_size=16), min_size=count, max_size=count
        ),
        st.lists(st.lists(words, min_size=count, max_size=count), min_size=0, max_size=6),
    )
)


LAYOUT = ("wide_only", "indent", "as_list", "keep", "below", "above", "whole")


def laid_out(width: int | None, headers: object = HEADS, rows: object = ROWS, **options: object) -> list[str]:
    style = TableStyle(on_terminal=width is not None, fixed_width=width)
    arguments = {name: options.pop(name) for name in LAYOUT if name in options}
    for name, value in options.items():
        setattr(style, name, value)
    with styled(style):
        return style.wrapped(text_table(headers, rows, **arguments)).splitlines()  # type: ignore[arg-type]  # any table


@given(tables, st.integers(WIDTH_MIN, 200), st.integers(0, 4), st.booleans())
def test_no_line_is_wider_than_the_terminal(
    table: tuple[list[str], list[list[str]]], width: int, indent: int, as_list: bool
) -> None:
    for line in laid_out(width, *table, indent=indent, as_list=as_list):
        assert display_width(line) <= width


@given(tables)
def test_a_pipe_gets_every_cell_whole_as_columns_three_apart(
    table: tuple[list[str], list[list[str]]],
) -> None:
    headers, rows = table
    cells = [[cell.strip() or "-" for cell in row] for row in rows]
    lines = laid_out(None, headers, cells, wide_only=headers[1:])
    widths = [max(map(len, column)) for column in zip(headers, *cells, strict=True)]
    expected = [
        "   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (headers, *cells)
    ]
    assert lines == expected


@pytest.mark.parametrize("width", range(40, 140, 5))
def test_numbers_times_and_names_are_never_cut(width: int) -> None:
    shown = " ".join(laid_out(width))
    for word in re.findall(rf"[^ ]*{ELLIPSIS}", shown):
        assert word in ("needs…", "healthy…", "4…", "cubes:…", "0…", "are…", ELLIPSIS) or word[:-1] in (
            "needs 4 healthy cubes: 0 are idle"
        )
    assert "pod-0/slice-193" in shown, "the name is there in full"


def test_a_terminal_leaves_out_wide_columns_unless_all_fit() -> None:
    wide_only = ("COUNT", "TARGET")
    assert "COUNT" not in laid_out(70, wide_only=wide_only)[0]
    assert "COUNT" in laid_out(200, wide_only=wide_only)[0]
    assert "COUNT" in laid_out(None, wide_only=wide_only)[0]
    assert laid_out(70, wide_only=wide_only, wide=True) == laid_out(None)


def test_columns_without_room_are_named() -> None:
    lines = laid_out(50)
    assert lines[-1].startswith("(no room for ") or "(no room for " in "\n".join(lines)


def test_one_row_is_a_list_if_it_is_one_object_or_does_not_fit() -> None:
    single_row = ROWS[:1]
    expected = ["NAME", "STATE", "COUNT", "AT", "TARGET", "REASON"]
    assert [line.split()[0] for line in laid_out(200, rows=single_row, as_list=True)] == expected
    assert [line.split()[0] for line in laid_out(60, rows=single_row)][:5] == expected[:5]
    assert laid_out(None, rows=single_row, as_list=True)[0].split() == expected, "in a pipe it is a table"
    assert laid_out(60, rows=single_row, as_list=True, columns=("STATE",)) == ["STATE", "queued"]


def test_columns_have_the_requested_order_and_may_have_no_headings() -> None:
    assert laid_out(None, columns=("STATE", "NAME"))[1].split() == ["queued", "pod-0/slice-8"]
    assert laid_out(None, columns=("STATE",), headers=["A"]) == []

    style = TableStyle(headers=False)
    with styled(style):
        assert len(text_table(HEADS, ROWS).splitlines()) == len(ROWS)


def test_states_have_colours_that_are_no_part_of_the_text() -> None:
    style = TableStyle(colour=True)
    with styled(style):
        plain = text_table(("NAME", "STATE"), [["a", "down"], ["b", "up"], ["down", "odd"]])
    assert "\x1b" not in plain
    shown = style.shown(plain).splitlines()
    assert shown[1:] == ["a      \x1b[31mdown\x1b[0m", "b      \x1b[32mup\x1b[0m", "down   odd"]
    assert style.shown("a line that no table wrote: down") == "a line that no table wrote: down"


def field_states(model: type[Model], field: str) -> Any:
    return model.model_fields[field].annotation


STATES: list[Any] = [
    LinkState,
    SliceState,
    RepairState,
    RewiringState,
    GroupState,
    ModuleCondition,
    field_states(ForecastSummary, "status"),
    RewiringOutcome,
    field_states(OcsDocument, "state"),
    field_states(FaultDocument, "state"),
    field_states(VerdictDocument, "state"),
    field_states(CubeDocument, "health"),
]


@pytest.mark.parametrize("states", STATES)
def test_every_state_has_a_colour(states: object) -> None:
    assert {state for state in get_args(states) if state not in COLOUR_OF} == set()


def test_text_wraps_between_words_and_commands_can_still_be_pasted() -> None:
    style = TableStyle(on_terminal=True, fixed_width=30)
    assert style.wrapped("  one two three four five six seven") == "  one two three four five six\n    seven"
    command = "  lightwave forecast --inject ocs:ocs-7 --days 0.5 --future 2"
    lines = style.wrapped(command).split("\n")
    assert all(line.endswith(CONTINUED) for line in lines[:-1])
    assert "".join(line.removesuffix("\\") for line in lines).split() == command.split()
    assert style.wrapped("x" * 70).split("\n")[0] == "x" * 30
    assert wrap_words("short", 30) == ["short"]


@given(words, st.integers(1, 80))
def test_a_cut_text_fits_and_says_that_it_is_cut(text: str, width: int) -> None:
    shown = cut(text, width)
    assert display_width(shown) <= width
    assert (shown == text) == (display_width(text) <= width)
    assert shown == text or shown.endswith(ELLIPSIS)


MEANT = "the share of all chips that worked on a job whose results were kept, from 0 to 1"


@pytest.mark.parametrize("width", [40, 80, 120, 300])
def test_texts_that_would_be_cut_continue_below_their_rows(width: int) -> None:
    rows = [[f"section.a_name_of_a_parameter_{n}", "0.5", MEANT if n else None] for n in range(3)]
    shown = laid_out(width, ("NAME", "DEFAULT", "MEANING"), rows, below="MEANING")
    assert max(map(display_width, shown)) <= width
    assert "…" not in "".join(shown)
    assert " ".join(" ".join(shown).split()).count(MEANT) == 2
    assert len(shown) == 4 or width < 300


def test_columns_without_values_are_left_out_first_and_the_sort_key_never() -> None:
    heads = ("NAME", "SITE", "ZERO", "NONE", "MOSTLY", "USED", "LOST", "DOWN", "LAST")
    rows = [
        [f"pod-{n}", "campus", "0", "-", "1.5%" if n == 7 else "0.00%", "51.5%", "2.25%", "3", "-"]
        for n in range(8)
    ]
    full = len(laid_out(300, heads, rows)[0])
    seen: list[str] = []
    for width in range(full, WIDTH_MIN, -1):
        left = laid_out(width, heads, rows, keep=("DOWN",))[0].split()
        assert "DOWN" in left, (width, left)
        seen += [head for head in heads if head not in left and head not in seen]
    assert seen == ["LAST", "NONE", "ZERO", "MOSTLY", "LOST", "USED", "SITE"][: len(seen)]
    assert len(seen) >= 5


VARIANT_HEADS = ["VARIANT", "MEASURE", "FIGURE", "NOTE"]
VARIANT_ROWS = [
    ["repairs.off_hours_technicians 0", "goodput", "89.6 ± 2.7 %", "-"],
    ["repairs.off_hours_technicians 0", "chip_hours_unhealthy_a_day", "1116 (0 to 15295) chip-hours", "-"],
    ["repairs.off_hours_technicians 1", "goodput", "90.1 ± 5.6 %", "from one run, by its batches"],
]
APART = {"below": "NOTE", "above": "VARIANT", "whole": ("MEASURE", "FIGURE")}


def test_values_that_rows_share_are_above_them_if_there_is_no_room() -> None:
    assert laid_out(70, VARIANT_HEADS, VARIANT_ROWS, **APART) == [
        "VARIANT",
        "  MEASURE                      FIGURE",
        "repairs.off_hours_technicians 0",
        "  goodput                      89.6 ± 2.7 %",
        "  chip_hours_unhealthy_a_day   1116 (0 to 15295) chip-hours",
        "repairs.off_hours_technicians 1",
        "  goodput                      90.1 ± 5.6 %",
        "      from one run, by its batches",
    ]
    bare = TableStyle(on_terminal=True, fixed_width=70, headers=False)
    with styled(bare):
        lines = text_table(VARIANT_HEADS, VARIANT_ROWS, **APART).splitlines()  # type: ignore[arg-type]  # as above
    assert lines[:2] == ["repairs.off_hours_technicians 0", "  goodput                      89.6 ± 2.7 %"]


@pytest.mark.parametrize("options", [{}, {"wide": True}])
def test_a_wide_terminal_and_wide_output_have_them_in_every_row(options: dict[str, object]) -> None:
    lines = laid_out(70 if options else 160, VARIANT_HEADS, VARIANT_ROWS, **APART, **options)
    assert [line.split("   ")[0] for line in lines] == ["VARIANT", *(row[0] for row in VARIANT_ROWS)]
    assert lines == laid_out(None, VARIANT_HEADS, VARIANT_ROWS, **APART)


@pytest.mark.parametrize("width", range(WIDTH_MIN, 100, 7))
def test_columns_that_must_be_whole_are_left_out_rather_than_cut(width: int) -> None:
    lines = laid_out(width, VARIANT_HEADS, VARIANT_ROWS, **APART)
    assert max(map(display_width, lines)) <= width
    text = "\n".join(lines)
    for row in VARIANT_ROWS:
        for number in (2,) if width > 31 else ():
            assert row[number] in text or "no room for" in text
    if width >= 31:
        assert ELLIPSIS not in text


@given(tables, st.integers(WIDTH_MIN, 200), st.integers(0, 4))
def test_no_line_with_columns_apart_is_wider_than_the_terminal(
    table: tuple[list[str], list[list[str]]], width: int, indent: int
) -> None:
    headers, _ = table
    for line in laid_out(width, *table, indent=indent, above=headers[0], below=headers[-1]):
        assert display_width(line) <= width
