"""Every heading of every table can be filtered and sorted by, with the values that the table shows."""

import random
from collections.abc import Sequence
from types import NoneType
from typing import Any, Literal, get_args, get_origin

import pytest
from pydantic import BaseModel

from ops.cli.common.kind_tables import table_of
from schemas.body import Model
from schemas.names import FaultKind
from schemas.resource_kinds import KINDS, SPAN_FIELDS, Column, ResourceKind
from services.gateway.resources import kind_views
from services.gateway.resources.field_bounds import SHARES
from services.gateway.resources.row_fields import COMPUTED, OTHER_COLUMNS, RowFields
from services.gateway.resources.selection import Selection, select
from services.gateway.runtime_ports import KindView
from shared.basics.errors import InvalidInput
from shared.basics.field_tests import FieldTest, split_test
from shared.basics.time_format import format_time
from shared.basics.units import US_PER_S

NOW_US = 40 * 86_400 * US_PER_S
ROWS = 24
VIEWS: dict[str, KindView[Any, Any]] = {
    view.kind.word: view for view in vars(kind_views).values() if isinstance(view, KindView)
}
TEXTS = ("pod-0/cube-3", "pod-0/cube-12", "pod-1/ocs-7", "dcn-0/block-3/trunk-7")
SMALL = {"hosts_down": (0, 1, 16), "chips_used": (0, 1, 64), "blocks_down": (0,), "ocs_down": (0,)}
"""Fields that are at most this in every fabric, and differences that cannot be negative."""
COLUMNS = [(word, column) for word, kind in KINDS.items() for column in kind.columns]


def drawn_value(annotation: Any, draw: random.Random, name: str = "") -> Any:
    """A random value of a type."""
    kinds = get_args(annotation)
    if NoneType in kinds:
        others = [kind for kind in kinds if kind is not NoneType]
        return None if draw.random() < 0.3 else drawn_value(others[0], draw, name)
    if annotation is bool:
        return draw.random() < 0.5
    if annotation is int and name in SMALL:
        return draw.choice(SMALL[name])
    if annotation is int:
        is_time = name.endswith("_us")
        return draw.randrange(0, NOW_US) if is_time else draw.choice((0, 1, 64, 1_234, 40_000))
    if annotation is float and (name in SHARES or name == "ber"):
        return draw.choice((0.0, 0.04, 0.5, 0.123_456, 0.999_9, 1.0, 2.4e-5))
    if annotation is float:
        return draw.choice((0.0, 0.04, 0.5, 0.123_456, 0.999_9, 1.0, 2.4e-5, 1_234.567))
    if annotation is FaultKind:
        return draw.choice(("ocs", "host", "laser"))
    if get_origin(annotation) is Literal:
        return draw.choice(kinds)
    if get_origin(annotation) is tuple:
        count = draw.randrange(3) if kinds[-1] is Ellipsis else len(kinds)
        return tuple(drawn_value(kinds[0], draw, name) for _ in range(count))
    if get_origin(annotation) is dict:
        return {}
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return row(annotation, draw)
    if kinds:  # an annotated type
        return drawn_value(kinds[0], draw, name)
    return "4x4x8" if name == "shape" else draw.choice(TEXTS)


def row(model: type[BaseModel], draw: random.Random) -> Any:
    fields = {name: drawn_value(info.annotation, draw, name) for name, info in model.model_fields.items()}
    return model.model_construct(**fields)


def rows(word: str) -> list[Any]:
    """Random rows of a kind with distinct names."""
    draw = random.Random(word)
    drawn_rows = [row(VIEWS[word].row, draw) for _ in range(ROWS)]
    changes: list[dict[str, Any]] = [{"name": f"pod-{n % 2}/cube-{n}"} for n in range(ROWS)]
    for change, drawn_row in zip(changes, drawn_rows, strict=True):
        if getattr(drawn_row, "expires_us", None) is not None:
            change["expires_us"] = NOW_US + drawn_row.expires_us
        if word == "fabrics" and drawn_row.cubes is not None:
            change["healthy"] = drawn_row.cubes // 2
        if word == "slices" and drawn_row.reason is not None:
            change.update(queue_position=None, promised_us=None)
    return [
        drawn_row.model_copy(update=change) for drawn_row, change in zip(drawn_rows, changes, strict=True)
    ]


def cells(kind: ResourceKind[Any], listed: Sequence[Any], heading: str) -> list[str]:
    """The cells that the table shows under a heading, one per row."""
    headings, table = table_of(kind, listed, NOW_US)
    if heading not in headings:
        return []  # no row has this column
    shown = [line[list(headings).index(heading)] for line in table]
    texts = {None: "-", True: "yes", False: "no"}
    return [texts[cell] if cell is None or isinstance(cell, bool) else str(cell) for cell in shown]


def selected(word: str, listed: Sequence[Any], *tests: str, sort: str | None = None) -> list[Any]:
    view = VIEWS[word]
    page = select(
        view.row,
        listed,
        Selection([split_test(text) for text in tests], sort),
        kind=view.kind,
        now_us=NOW_US,
    )
    return page.rows


@pytest.mark.parametrize(
    ("word", "column"), COLUMNS, ids=[f"{word}-{column.heading}" for word, column in COLUMNS]
)
def test_a_cell_selects_the_rows_that_show_it(word: str, column: Column[Any]) -> None:
    listed, kind = rows(word), KINDS[word]
    shown = cells(kind, listed, column.heading)
    for text in dict.fromkeys(shown):
        if text in ("", "-") and (word, column.heading) == ("verdicts", "BATCH"):
            continue  # a batch with a single verdict is not shown, but can be named
        if column.format == "list":
            items = {item for item in text.split(",") if item}
            expected = [row for row, cell in zip(listed, shown, strict=True) if items & set(cell.split(","))]
            tests = [f"{column.heading}={item}" for item in items or ["null"]]
        else:
            expected = [row for row, cell in zip(listed, shown, strict=True) if cell == text]
            tests = [f"{column.heading}={text}"]
        if column.format == "share-change":
            continue  # below
        selection = selected(word, listed, *tests)
        if column.format == "list" and not items:
            expected = [row for row, cell in zip(listed, shown, strict=True) if not cell]
        assert {*map(id, expected)} <= {*map(id, selection)}, text
        if column.format not in ("list", "queue-reason") and column.heading != "SHAPE":
            assert len(selection) == len(expected), text


def test_a_change_is_filtered_by_its_new_value() -> None:
    listed = rows("rewirings")
    shown = cells(KINDS["rewirings"], listed, "USE")
    assert any(" → " in cell for cell in shown)
    for cell in shown:
        after = cell.rpartition(" → ")[2]
        expected = [
            row.name for row, change in zip(listed, shown, strict=True) if change.endswith(f"→ {after}")
        ]
        if after != "-":
            assert [row.name for row in selected("rewirings", listed, f"USE={after}")] == expected


@pytest.mark.parametrize(
    ("word", "column"), COLUMNS, ids=[f"{word}-{column.heading}" for word, column in COLUMNS]
)
def test_every_heading_sorts_and_pages(word: str, column: Column[Any]) -> None:
    listed, view = rows(word), VIEWS[word]
    fields = RowFields(view.row, view.kind)
    for written in (column.heading, column.heading.lower()):
        assert fields.find(written), written
        for sort in (written, f"-{written}"):
            whole = selected(word, listed, sort=sort)
            paged: list[Any] = []
            cursor = None
            while len(paged) < ROWS:
                page = select(view.row, listed, Selection((), sort, 7, cursor), kind=view.kind, now_us=NOW_US)
                paged += page.rows
                cursor = page.cursor
            assert [row.name for row in paged] == [row.name for row in whole]


@pytest.mark.parametrize("word", KINDS)
def test_numeric_columns_can_be_compared(word: str) -> None:
    """A comparison divides the rows that have a value into two parts."""
    listed, view = rows(word), VIEWS[word]
    for name in RowFields(view.row, view.kind).names:
        (first, *_) = RowFields(view.row, view.kind).find(name)
        if not first.is_number:
            with pytest.raises(InvalidInput, match="is not a number"):
                selected(word, listed, f"{name}>1")
            continue
        units = {"time": ("1h", "2d"), "span": ("1s", "1h")}
        plain = ("0.5", "1") if first.bounds[1] == 1 else ("0.5", "8", "64"[: 0 if first.bounds[1] else 2])
        for limit in filter(None, units.get(first.unit, plain)):
            parts = [selected(word, listed, f"{name}{sign}{limit}") for sign in ("<", ">=")]
            has_list = any(isinstance(first.value(row, NOW_US), tuple) for row in listed)
            if not has_list:
                assert len({*map(id, parts[0])} & {*map(id, parts[1])}) == 0
                with_value = selected(word, listed, f"{name}!=null") if first.nullable else listed
                assert len(parts[0]) + len(parts[1]) == len(with_value)


def test_computed_columns_are_exactly_those_that_are_not_fields() -> None:
    for word, kind in KINDS.items():
        fields = RowFields(VIEWS[word].row)
        for column in kind.columns:
            if column.format == "plain" and not fields.find(column.heading):
                assert (word, column.heading) in COMPUTED, f"{word} {column.heading} needs a type"
    tables = [(word, (*kind.columns, *OTHER_COLUMNS.get(word, ()))) for word, kind in KINDS.items()]
    headings = {(word, column.heading) for word, columns in tables for column in columns}
    assert COMPUTED.keys() <= headings


def test_durations_are_fields() -> None:
    names = {name for view in VIEWS.values() for name in _all_fields(view.row)}
    assert {"waited_us", "left_us", "median_us"} <= SPAN_FIELDS & names


def _all_fields(model: type[BaseModel]) -> set[str]:
    names = set(model.model_fields)
    for info in model.model_fields.values():
        for kind in (info.annotation, *get_args(info.annotation)):
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                names |= _all_fields(kind)
    return names


class Sample(Model):
    """A row with a field of every type."""

    name: str
    state: Literal["up", "down"]
    drained: bool
    chips: int
    share: float
    slices: tuple[str, ...]
    reason: str | None
    changed_us: int
    waited_us: int
    cubes: int | None


ONE = Sample(
    name="pod-0/cube-3",
    state="up",
    drained=True,
    chips=64,
    share=0.5,
    slices=("pod-0/slice-1",),
    reason=None,
    changed_us=2 * 3_600 * US_PER_S,
    waited_us=90 * US_PER_S,
    cubes=None,
)
TRUE = (
    *("drained=yes", "drained=true", "drained=1", "drained=on", "drained=YES", "drained==True"),
    *("chips=64", "chips=64.0", "chips=6.4e1", "CHIPS=64", "chips>63.5", "chips>=64", "chips<=64.0"),
    *("chips in [1, 64]", "chips!=65", "name=cube-3", "name=pod-0/cube-3", "name='cube-3'", "state!=down"),
    *("slices=slice-1", "slices=pod-0/slice-1", "reason=null", "cubes=null", "share=0.5", "share<0.6"),
    *("changed_us=7200000000", "changed=2h", "changed=0d02:00:00", "changed=0d02:00", "changed<0d02:01"),
    *("changed=-38h", "changed>=38h ago", "waited=90s", "WAITED=1m30s", "waited_us=90000000", "waited<2m"),
)
FALSE = (
    "drained=no",
    "drained=0",
    "chips=65",
    "chips>64",
    "chips<64",
    "reason=x",
    "changed>0d02:00",
    "cubes=1",
)
NEVER = {
    "drained=maybe": "drained: 'maybe' is not allowed; must be yes or no",
    "chips=64.5": "chips: '64.5' is not allowed; must be a whole number",
    "chips=064": "chips: '064' is not allowed; must be a whole number without a zero in front",
    "chips=many": "chips: 'many' is not allowed; must be a whole number",
    "chips>many": "chips: 'many' is not allowed; must be a whole number",
    "chips=null": "chips: 'null' is not allowed; must be a whole number",
    "share=nan": "share: 'nan' is not allowed; must be a finite number",
    "state=dwon": "state: 'dwon' is not allowed; must be up or down; the nearest is down",
    "state=null": "state: 'null' is not allowed; must be one of up, down",
    "state>up": "state: is not a number; the operator must be =, ==, != or `in [a, b]`",
    "changed=+2h": "changed_us: '+2h' is not allowed; is ambiguous; write -2h",
    "waited=soon": "waited_us: 'soon' is not allowed; must be a duration like 30s",
    "waited>1": "waited_us: '1' is not allowed; must be a duration like 30s, 15m or 1d12h (waited_us takes a",
    "WAITED=5": "waited_us: '5' is not allowed; must be a duration like 30s",
    "changed>7": "changed_us: '7' is not allowed",
    "changed_us=-7": "changed_us: '-7' is not allowed; must be at least 0",
    "waited_us<0": "waited_us: '< 0' is not allowed; no value is below 0",
    "chips=-64": "chips: '-64' is not allowed; must be at least 0",
    "chips<0": "chips: '< 0' is not allowed; no value is below 0",
    "share=500%": "share: '500%' is not allowed; must be between 0 and 1, or between 0% and 100%",
    "share>2": "share: '2' is not allowed; must be between 0 and 1",
    "share>100%": "share: '> 100%' is not allowed; no value is above 1",
    "share in [0.1, -1]": "share: '-1' is not allowed; must be between 0 and 1",
    "colour=red": "where 'colour=red': no such field; must be one of name, state, drained",
    "chisp=64": "the nearest is chips",
    "chips": "where 'chips': must be FIELD=VALUE, such as state=down",
}


def passes(text: str) -> bool:
    """Whether the sample passes a filter at 40 h."""
    tests: list[FieldTest] = [split_test(text)]
    return all(test(ONE) for test in RowFields(Sample).tests(tests, 40 * 3_600 * US_PER_S))


@pytest.mark.parametrize("text", TRUE)
def test_values_are_read_by_the_type_of_the_field(text: str) -> None:
    assert passes(text)


@pytest.mark.parametrize("text", FALSE)
def test_other_values_do_not_pass(text: str) -> None:
    assert not passes(text)


@pytest.mark.parametrize("text", NEVER)
def test_a_value_that_the_field_can_never_have_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        passes(text)
    assert NEVER[text] in str(refused.value)


def test_several_values_of_one_field_are_alternatives() -> None:
    tests = [split_test(text) for text in ("chips=1", "chips=64", "state=up")]
    assert all(test(ONE) for test in RowFields(Sample).tests(tests, 0))
    assert format_time(ONE.changed_us) == "0d02:00:00"
