"""Names of fields as clients write them: as in JSON (`chips_used`), or as headings of tables (`CHIPS-USED`).

The end `_us` may be left out. If a column shows something else than the field of its name, such as CUBES of
slices their number, capitals mean the column, and small letters the field.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel

from schemas.api.rows import SliceRow
from schemas.body import Model
from schemas.names import FAULT_KINDS, FaultKind
from schemas.resource_kinds import (
    BLOCKS,
    CLOCK_FIELDS,
    CUBES,
    DRILLS,
    FABRICS,
    FAULTS,
    LINKS,
    MEAN_FIELDS,
    REWIRINGS,
    SCHEDULES,
    SLICES,
    SPAN_FIELDS,
    VERDICTS,
    CellFormat,
    Column,
    ResourceKind,
)
from services.gateway.resources.field_bounds import Bounds, bounds_of, is_share
from services.gateway.resources.field_values import (
    ORDERS,
    TWISTED,
    Ratio,
    RowField,
    RowTest,
    SizeCheck,
    TextCheck,
    Unit,
)
from shared.basics.checks import closest_match_hint
from shared.basics.errors import InvalidInput
from shared.basics.field_tests import EQUAL, UNEQUAL, FieldTest
from shared.basics.spelling import truncated

PLAIN = (str, int, float, bool, FaultKind)
UNIT_ENDS = ("", "_us")
"""Ends of fields that may be left out."""
_UNITS: Mapping[CellFormat, Unit] = {
    "ratio": "ratio",
    "time": "time",
    **dict.fromkeys(("span", "elapsed", "remaining"), "span"),
    **dict.fromkeys(("share", "whole-share", "fine-share", "share-change"), "share"),
}
_NUMBERS: Mapping[CellFormat, Any] = {
    **dict.fromkeys(("ratio", "time", "span", "elapsed", "remaining"), int),
    **dict.fromkeys(("share", "whole-share", "fine-share", "share-change", "gbps", "ber", "loss-db"), float),
}
"""Format of a column → the type of its values, if they are numbers."""


@dataclass(frozen=True, slots=True)
class ComputedColumn:
    """The type of the values of a plain column that is not a field of the rows, and the words that it shows
    besides."""

    kind: Any
    words: tuple[str, ...] = ()


COMPUTED: Mapping[tuple[str, str], ComputedColumn] = {
    (FABRICS.word, "STATE"): ComputedColumn(Literal["alive", "retired"]),
    **{
        (FABRICS.word, heading): ComputedColumn(int)
        for heading in ("RUNNING", "DEGRADED", "RECOVERING", "QUEUED", "FAULTS", "REPAIRS")
    },
    (FABRICS.word, "REWIRING"): ComputedColumn(bool),
    (CUBES.word, "DRAINED"): ComputedColumn(bool, ("draining",)),
    (SLICES.word, "CUBES"): ComputedColumn(int),
    (VERDICTS.word, "BATCH"): ComputedColumn(str),
    (LINKS.word, "GEN"): ComputedColumn(int),
    (BLOCKS.word, "GBPS"): ComputedColumn(int),
    (REWIRINGS.word, "BECAUSE"): ComputedColumn(str),
    (FAULTS.word, "REQUESTED-BY"): ComputedColumn(str),
    (DRILLS.word, "FAULTS"): ComputedColumn(int),
    (DRILLS.word, "STATUS"): ComputedColumn(
        Literal["running", "completed", "stopped", "cancelled", "failed"]
    ),
    (SCHEDULES.word, "DEVIATED"): ComputedColumn(bool),
    **{(SCHEDULES.word, heading): ComputedColumn(str) for heading in ("OUTCOME", "RUNNING", "REASON")},
}
"""(word of a kind, heading) → its type. Columns of other formats have the type of their format."""


OTHER_COLUMNS: Mapping[str, tuple[Column[Any], ...]] = {
    LINKS.word: (
        Column("GEN", lambda row: row.generation),
        Column("AGE", lambda row: (row.installed_us, None), "elapsed"),
    ),
}
"""Word of a kind → columns of other tables of its rows, such as the one with module readings."""


class RowFields:
    """The fields of a model of rows, and the columns of the table of its kind. `check` refuses texts that a
    field can never have."""

    def __init__(
        self, model: type[Model], kind: ResourceKind[Any] | None = None, check: TextCheck | None = None
    ) -> None:
        self._model, self._check = model, check
        self._word = "" if kind is None else kind.word
        columns = () if kind is None else (*kind.columns, *OTHER_COLUMNS.get(kind.word, ()))
        self._columns = {_as_field(column.heading): column for column in columns}
        self._plain = plain_fields(model)

    @property
    def names(self) -> list[str]:
        """The fields, and the headings of columns that show something else."""
        return [
            *self._plain,
            *(row.heading for name, row in self._columns.items() if self._same(name) is None),
        ]

    def find(self, written: str) -> list[RowField]:
        """What a name means, the first meaning first; empty if it has none. A nested field is written with
        dots. Bare numbers are microseconds only if the name ends with `_us`."""
        has_unit = _as_field(written).endswith("_us")
        return [
            replace(
                one,
                bounds=self._bounds(one),
                needs_unit=one.unit in ("time", "span") and not has_unit,
                check=None if "." in written else self._check,
            )
            for one in self._meanings(written)
        ]

    def _bounds(self, field: RowField) -> Bounds:
        """The bounds of a field, also by the size of the fabrics if the check knows it."""
        low, high = bounds_of(self._word, field.name, field.kind)
        most = self._check.most(field.name) if isinstance(self._check, SizeCheck) else None
        if field.kind is not int or most is None:
            return low, high
        return low, most if high is None else min(high, most)

    def _meanings(self, written: str) -> list[RowField]:
        if "." in written:
            return self._nested(tuple(written.split(".")))
        name = _as_field(written)
        field, column = self._same(name), self._columns.get(name)
        as_field = [] if field is None else [self._of_field(field)]
        as_column = [] if column is None else [self._of_column(column, field)]
        return (as_field or as_column) if written == written.lower() else [*as_column, *as_field]

    def required(self, written: str, label: str) -> list[RowField]:
        """As `find`; raise InvalidInput, starting with `label`, if the name has no meaning."""
        found = self.find(written)
        if not found:
            hint = closest_match_hint(_as_field(written), self.names)
            raise InvalidInput(f"{label}: no such field; must be one of {', '.join(self.names)}{hint}")
        return found

    def test(self, fields: Sequence[RowField], sign: str, texts: Sequence[str], now_us: int) -> RowTest:
        """The test of a field with these meanings: the first one that can have the values. Raise InvalidInput
        if none can."""
        if sign in ORDERS:
            numbers = [field for field in fields if field.is_number]
            return (numbers or fields)[0].ordered(sign, texts[0], now_us)
        problem: InvalidInput | None = None
        for field in fields:
            try:
                equal = field.equal(texts, now_us)
            except InvalidInput as error:
                problem = problem or error
                continue
            return equal if sign != UNEQUAL else _unequal(equal)
        assert problem is not None  # noqa: S101 -- a name has a meaning
        raise problem

    def tests(self, tests: Sequence[FieldTest], now_us: int) -> list[RowTest]:
        """The tests that a row must pass. Equalities of one field are one test: the row has one of the
        values."""
        equal: dict[str, dict[str, list[str]]] = {}
        found: list[RowTest] = []
        for one in tests:
            fields = self.required(one.field, f"where {truncated(repr(one.text))}")
            if one.sign in EQUAL:
                equal.setdefault(_as_field(one.field), {}).setdefault(one.field, []).extend(one.values)
            else:
                found.append(self.test(fields, one.sign, one.values, now_us))
        for spellings in equal.values():
            some = [self.test(self.find(name), "=", texts, now_us) for name, texts in spellings.items()]
            found.append(some[0] if len(some) == 1 else _any_of(some))
        return found

    def _same(self, name: str) -> str | None:
        """The field of this name, which may lack the end of its unit."""
        return next((name + end for end in UNIT_ENDS if name + end in self._plain), None)

    def _of_field(self, name: str) -> RowField:
        kind, annotation = self._plain[name], self._model.model_fields[name].annotation
        column = self._columns.get(name)
        unit = _unit(name, kind) or (_UNITS.get(column.format, "") if column and kind is float else "")
        clock = name in CLOCK_FIELDS or name in MEAN_FIELDS

        def plain(row: Any, _now_us: int) -> Any:
            return getattr(row, name)

        if (self._model, name) == (SliceRow, "shape"):

            def shapes(row: Any, _now_us: int) -> Any:
                return (row.shape, row.shape + TWISTED) if row.twisted else row.shape

            return RowField(name, kind, shapes, "shape", nullable=False, key=plain)
        return RowField(name, kind, plain, unit, is_nullable(annotation), changes_with_time=clock)

    def _of_column(self, column: Column[Any], field: str | None) -> RowField:
        computed = COMPUTED.get((self._word, column.heading))
        same = None if field is None or computed is not None else self._of_field(field)
        if same is not None and column.format in ("plain", "time", "span", "queue-reason"):
            return replace(same, name=column.heading, is_shown=True)
        kind = _NUMBERS.get(column.format, str) if computed is None else computed.kind

        def value(row: Any, now_us: int) -> Any:
            shown = _column_value(column, row, now_us)
            if kind is not str or field is None:
                return shown
            return (*_items(shown), *_items(getattr(row, field)))  # with the names as the field has them

        def key(row: Any, now_us: int) -> Any:
            return _column_value(column, row, now_us)

        return RowField(
            column.heading,
            kind,
            value,
            _UNITS.get(column.format, ""),
            is_shown=True,
            words=() if computed is None else computed.words,
            changes_with_time=column.format in ("elapsed", "remaining") or column.heading in CLOCK_HEADINGS,
            key=key,
        )

    def _nested(self, names: tuple[str, ...]) -> list[RowField]:
        kind: Any = self._model
        annotation: Any = None
        for name in names:
            known = fields_within(kind)
            if name not in known:
                return []
            annotation = known[name]
            kind = without_none(annotation)
        plain = plain_type(annotation)
        if plain is None:
            return []
        clock = any(name in CLOCK_FIELDS or name in MEAN_FIELDS for name in names)
        return [
            RowField(
                ".".join(names),
                plain,
                lambda row, _now_us: _below(row, names),
                _unit(names[-1], plain),
                changes_with_time=clock,
            )
        ]


def _unequal(equal: RowTest) -> RowTest:
    return lambda row: not equal(row)


def _any_of(tests: Sequence[RowTest]) -> RowTest:
    return lambda row: any(test(row) for test in tests)


CLOCK_HEADINGS = frozenset({"TIME", "WAIT-MEDIAN", "WAIT-P95", "USED-MEAN", "PRODUCTIVE"})
"""Computed columns that change with time alone, besides lengths of time up to now."""


def plain_fields(model: type[Model]) -> dict[str, Any]:
    """Field → type of its value or list items, for fields with plain values."""
    types = {name: plain_type(field.annotation) for name, field in model.model_fields.items()}
    return {name: kind for name, kind in types.items() if kind is not None}


def plain_type(annotation: Any) -> Any:
    """The type of a plain value, or of the items of a list; None for other types."""
    kinds = [kind for kind in get_args(annotation) if kind is not NoneType]
    if get_origin(annotation) is dict:
        return None
    if get_origin(annotation) is tuple:
        return plain_type(kinds[0])
    if annotation in PLAIN or get_origin(annotation) is Literal:
        return annotation
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return None
    return plain_type(kinds[0]) if kinds else None  # the one type next to None


def is_nullable(annotation: Any) -> bool:
    """Whether a field of this type may have no value, or no item."""
    return NoneType in get_args(annotation) or get_origin(annotation) is tuple


def fields_within(kind: Any) -> dict[str, object]:
    """The fields of a model, or the keys of a table, with the types of their values; else empty."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return {name: info.annotation for name, info in kind.model_fields.items()}
    if get_origin(kind) is dict:
        keys, value = get_args(kind)
        return dict.fromkeys(FAULT_KINDS if keys is FaultKind else map(str, get_args(keys)), value)
    return {}


def without_none(annotation: Any) -> Any:
    """A type without `or None`."""
    kinds = [kind for kind in get_args(annotation) if kind is not NoneType]
    optional = len(kinds) == 1 and NoneType in get_args(annotation)
    return kinds[0] if optional else annotation


def _unit(name: str, kind: Any) -> Unit:
    if kind is float and is_share(name):
        return "share"
    if not name.endswith("_us") or kind is not int:
        return ""
    return "span" if name in SPAN_FIELDS else "time"


def _below(value: Any, path: Sequence[str]) -> Any:
    for name in path:
        if value is None:
            return None
        value = value.get(name) if isinstance(value, dict) else getattr(value, name)
    return value


def _column_value(column: Column[Any], row: Any, now_us: int) -> Any:
    """The value that a column shows, in a form that can be compared: of a change, the value after it."""
    found: Any = column.value(row)
    comparable = _COMPARED.get(column.format)
    return found if found is None or comparable is None else comparable(found, now_us)


def _elapsed_us(span: tuple[int | None, int | None], now_us: int) -> int | None:
    from_us, to_us = span
    return None if from_us is None else max(0, (now_us if to_us is None else to_us) - from_us)


_COMPARED: Mapping[CellFormat, Callable[[Any, int], Any]] = {
    "ratio": lambda value, _: None if None in value else Ratio(*value),
    "list": lambda value, _: tuple(value),
    "elapsed": _elapsed_us,
    "remaining": lambda value, now_us: value - now_us,
    "share-change": lambda value, _: value[1],
    "queue-reason": lambda value, _: value[1],
}


def _items(value: Any) -> tuple[Any, ...]:
    if value is None:
        return ()
    return value if isinstance(value, tuple) else (value,)


def _as_field(name: str) -> str:
    """A heading in the form of a field: `use_out` for `USE-OUT`."""
    return name.lower().replace("-", "_")
