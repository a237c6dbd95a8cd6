"""Values of a field as clients write them, and the tests that they make.

This is the one reader of the values in FIELD=VALUE: of lists over HTTP, `get --where`, `wait --for` and the
conditions of `bisect`. A value has the type of its field: yes/true/on/1, 64 or 64.0, `50%` of a share, `2h`
of a duration, `3d02:15` or `-2h` of a time. `null` is no value, and of a list no item. A list equals each of
its items.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args, get_origin, runtime_checkable

from pydantic import ConfigDict, TypeAdapter, ValidationError

from schemas.limits import COUNT_MAX
from schemas.names import FABRIC_PATTERN
from services.gateway.resources.field_bounds import (
    UNBOUNDED,
    Bounds,
    bounds_text,
    is_outside,
    never_text,
)
from services.gateway.text.validation_errors import problem_text
from shared.basics.checks import closest_match_hint
from shared.basics.errors import InvalidInput
from shared.basics.parsing import parse_duration_s, parse_sides
from shared.basics.spelling import truncated
from shared.basics.time_format import format_duration
from shared.basics.time_grammar import TIMES_ALLOWED, read_time, time_problem
from shared.basics.units import US_PER_S
from shared.basics.value_words import number_problem, read_flag, read_number, read_whole
from shared.models.superpod.shapes import shape_text

FINITE = ConfigDict(allow_inf_nan=False)
TWISTED = "_T"
"""Suffix of the shape of a twisted slice, where it is shown in one word."""
SHOWN_VALUES_MAX = 50
"""Maximum number of values of one test that are compared as a table shows them, which takes longer."""
ORDERS: Mapping[str, Callable[[Any, tuple[Any, Any]], bool]] = {
    "<": lambda value, limit: value < limit[0],
    "<=": lambda value, limit: value <= limit[1],
    ">": lambda value, limit: value > limit[1],
    ">=": lambda value, limit: value >= limit[0],
}
"""Order → whether a number is on this side of the (first, last) number that a text means."""
_FABRIC = re.compile(rf"{FABRIC_PATTERN}/")
_RATIO = re.compile(r"(-?[0-9]{1,18})/(-?[0-9]{1,18})")
_THOUSANDS = re.compile(r"[-+]?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?")

Unit = Literal["", "time", "span", "share", "ratio", "shape"]
"""How values are written that are not plain numbers or text: times and lengths of time in microseconds,
fractions, pairs of numbers, and shapes of slices."""
RowTest = Callable[[Any], bool]
TextCheck = Callable[["RowField", str], None]
"""Raises InvalidInput for a text that a field can never have in a twin."""


@runtime_checkable
class SizeCheck(Protocol):
    """A check that also knows the size of the fabrics of the rows."""

    def most(self, name: str) -> int | None:
        """The highest number that a field can have; None if the size does not bound it."""


@dataclass(frozen=True, order=True, slots=True)
class Ratio:
    """Two numbers that a table shows with a slash, such as links up and all links."""

    made: int
    of: int

    def __str__(self) -> str:
        return f"{self.made}/{self.of}"


@dataclass(frozen=True, slots=True)
class RowField:
    """A field of a row, or a column of its table, by the name that errors and cursors have.

    - `kind` is the plain type of its value, or of its items.
    - `value` is its value in a row at a simulated time in microseconds. A tuple equals each of its items.
    - `key` is what it sorts by, if that is not the value.
    - `is_shown`: it is a column, whose values may be written as the table shows them.
    - `words` are values that are not of its type.
    - `changes_with_time`: it changes without a message.
    - `bounds` are the lowest and the highest number that it can have.
    - `needs_unit`: the name as written does not show the unit of bare numbers, so they are refused.
    - `check` refuses texts that it can never have."""

    name: str
    kind: Any
    value: Callable[[Any, int], Any]
    unit: Unit = ""
    nullable: bool = True
    is_shown: bool = False
    words: tuple[str, ...] = ()
    changes_with_time: bool = False
    key: Callable[[Any, int], Any] | None = None
    bounds: Bounds = UNBOUNDED
    needs_unit: bool = False
    check: TextCheck | None = None

    @property
    def is_number(self) -> bool:
        return self.kind in (int, float)

    def sort_key(self, row: Any, now_us: int) -> Any:
        """What a row sorts by, as JSON can have it."""
        found = (self.key or self.value)(row, now_us)
        if isinstance(found, Ratio):
            return (found.made, found.of)
        return str(found) if self.words and found is not None else found

    def equal(self, texts: Sequence[str], now_us: int) -> RowTest:
        """The test for one of some values; raise InvalidInput for one that the field can never have."""
        exact: set[Any] = set()
        shown: list[RowTest] = []
        for text in dict.fromkeys(texts):
            if text == "null" or (text == "-" and self.is_shown):
                if not self.nullable:
                    raise self.refusal(text)
                exact.add(None)
            elif text in self.words:
                exact.add(text)
            else:
                self._add(text, now_us, exact, shown)
        if len(shown) > SHOWN_VALUES_MAX:
            raise InvalidInput(f"{self.name}: has {len(shown)} values; must have at most {SHOWN_VALUES_MAX}")

        def matches(row: Any) -> bool:
            value = self.value(row, now_us)
            items = value if isinstance(value, tuple) else (value,)
            if not items:
                return None in exact
            return any(
                item in exact or short_name(item) in exact or any(test(item) for test in shown)
                for item in items
            )

        return matches

    def ordered(self, sign: str, text: str, now_us: int) -> RowTest:
        """The test of an order, such as `> 512`. A row without a value does not pass."""
        if not self.is_number:
            raise InvalidInput(f"{self.name}: is not a number; the operator must be =, ==, != or `in [a, b]`")
        limit, compare = self._numbers(text, now_us), ORDERS[sign]
        if (never := never_text(sign, limit[0], self.bounds)) is not None:
            raise self.refusal(f"{sign} {text}", never)

        def matches(row: Any) -> bool:
            value = self.value(row, now_us)
            items = value if isinstance(value, tuple) else (value,)
            return any(item is not None and compare(_first(item), limit) for item in items)

        return matches

    def refusal(self, text: str, allowed: str | None = None) -> InvalidInput:
        """The error for a value that the field can never have."""
        allowed = allowed or self._allowed(text)
        return InvalidInput(f"{self.name}: {truncated(repr(text))} is not allowed; {allowed}")

    def _add(self, text: str, now_us: int, exact: set[Any], shown: list[RowTest]) -> None:
        """Add the value of a text: an exact one, or a test of what the table shows."""
        if self.unit == "shape":
            exact.add(_shape(self.name, text))
            return
        if not self.is_number:
            exact.add(self._plain(text))
            return
        if self.unit == "ratio" and (pair := _RATIO.fullmatch(text)) is not None:
            if any(is_outside(int(number), self.bounds) for number in pair.groups()):
                raise self.refusal(text, bounds_text(self.bounds))
            exact.add(Ratio(int(pair[1]), int(pair[2])))
            return
        first, last = self._numbers(text, now_us)
        if self.kind is int and not isinstance(first, int):
            raise self.refusal(text)
        exact.add(first)
        if self.unit == "ratio":
            shown.append(lambda value: isinstance(value, Ratio) and value.made == first)
        elif first != last:
            shown.append(lambda value: value is not None and first <= value <= last)
        elif self.unit == "span" and parse_duration_s(text) is not None:
            short = format_duration(first)
            shown.append(lambda value: value is not None and format_duration(value) == short)
        elif self.is_shown and self.kind is float:
            form, scale = _shown_form(text)
            near = form.format(scale * first)
            shown.append(lambda value: value is not None and form.format(scale * value) == near)

    def _numbers(self, text: str, now_us: int) -> tuple[int | float, int | float]:
        """The (first, last) number that a text means; raise InvalidInput if it is not a number."""
        found: int | float | None
        if self.unit == "span" and (span_s := parse_duration_s(text)) is not None:
            return (span_s * US_PER_S,) * 2
        if self.unit == "time" and (meant := read_time(text)) is not None:
            return meant.at(now_us)
        if self.unit == "share" and text.endswith("%"):
            percent = read_number(text[:-1].rstrip())
            found = None if percent is None else percent / 100
        else:
            plain = text.replace(",", "") if self.is_shown and _THOUSANDS.fullmatch(text) else text
            found = read_whole(plain)
            found = read_number(plain) if found is None else found
        if found is None or (self.needs_unit and found):
            raise self.refusal(text)
        if is_outside(found, self.bounds):
            raise self.refusal(text, bounds_text(self.bounds, is_share=self.unit == "share"))
        if self.kind is int and abs(found) > COUNT_MAX:
            raise self.refusal(text, f"must be at most {COUNT_MAX:,}")
        return (found,) * 2

    def _plain(self, text: str) -> Any:
        """The value of a text of a type that is not a number."""
        if self.kind is bool:
            flag = read_flag(text)
            if flag is None:
                raise self.refusal(text)
            return flag
        if self.kind is str and self.check is not None:
            self.check(self, text)
        try:
            return TypeAdapter(self.kind, config=FINITE).validate_strings(text)
        except ValidationError as error:
            is_choice = get_origin(self.kind) is Literal
            hint = closest_match_hint(text, map(str, get_args(self.kind)), 0.7) if is_choice else ""
            raise self.refusal(text, problem_text(error.errors()[0]) + hint) from None

    def _allowed(self, text: str) -> str:
        """What a text must be."""
        if self.kind is bool:
            return "must be yes or no" + "".join(f", or {word}" for word in self.words)
        if self.unit == "time":
            return f"{time_problem(text, TIMES_ALLOWED)}{self._bare_numbers()}"
        if self.unit == "span":
            return f"must be a duration like 30s, 15m or 1d12h{self._bare_numbers()}"
        if self.unit == "ratio":
            return "must be a whole number, or two like 60/64"
        if self.unit == "share":
            return f"{number_problem(text.removesuffix('%'), whole=False)} like 0.5, or a percentage like 50%"
        if self.is_number:
            return number_problem(text, whole=self.kind is int)
        if get_origin(self.kind) is Literal:
            return f"must be one of {', '.join(map(str, get_args(self.kind)))}"
        return "it always has a value"

    def _bare_numbers(self) -> str:
        """Whether a number without a unit is allowed, and by which name of the field."""
        if not self.needs_unit:
            return ", or a number of microseconds"
        return f" ({self.name} takes a number of microseconds)" if self.name.endswith("_us") else ""


def _first(value: Any) -> Any:
    """The number that an order compares: of two with a slash, the first."""
    return value.made if isinstance(value, Ratio) else value


def _shape(name: str, text: str) -> str:
    """A shape as in rows; with the suffix `_T`, as shown in tables, only of twisted slices."""
    sides = parse_sides(text.removesuffix(TWISTED))
    if sides is None:
        raise InvalidInput(
            f"{name} {truncated(repr(text))}: must be a shape like 4x4x8, or 4x4x8_T for a twisted one"
        )
    return shape_text(sides) + (TWISTED if text.endswith(TWISTED) else "")


def short_name(value: object) -> object:
    """A name without its fabric, as tables show it; any other value unchanged."""
    fabric = _FABRIC.match(value) if isinstance(value, str) else None
    return value if fabric is None else fabric.string[fabric.end() :]


def _shown_form(text: str) -> tuple[str, int]:
    """(format, factor) with which a number is shown with as many digits as in a text."""
    number, _, exponent = text.lower().removesuffix("%").partition("e")
    decimals = min(len(number.strip().partition(".")[2]), 17)
    return f"{{:.{decimals}{'e' if exponent else 'f'}}}", 100 if text.endswith("%") else 1
