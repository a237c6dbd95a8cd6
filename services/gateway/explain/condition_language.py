"""Conditions about resources, as users write them: `slices.pod-0/slice-42.state == degraded`.

    condition  one or more tests, with `and`, `or`, `not` and parentheses
    test       KIND.NAME.FIELD OPERATOR VALUE      operators: == (or =) != < <= > >=
               KIND.NAME.FIELD in [VALUE, VALUE]
               KIND.NAME exists                    or absent
               count(KIND) OPERATOR NUMBER         of one fabric
               count(KIND, FIELD == VALUE and …) OPERATOR NUMBER
               share(KIND, FIELD == VALUE and …) OPERATOR NUMBER

Fields and values are written as in `get --where` (`services.gateway.resources.field_values`). A test of a
field is false while the resource does not exist, for any operator. A share, from 0 to 1, is of the resources
that have not ended; its test is false while there is none.
"""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from schemas.limits import COUNT_MAX
from schemas.resource_kinds import CLOCK_FIELDS, KINDS, MEAN_FIELDS, find_kind
from services.gateway.explain.condition_logic import (
    ConditionSource,
    ConditionTerm,
    ConditionTest,
    DecidedTerms,
    Junction,
    NamedResource,
    Negation,
    Outcomes,
    Row,
    RowTest,
)
from services.gateway.hidden_truth import HIDES_TRUTH, TRUTH_DOCUMENTS
from services.gateway.resources.field_values import RowField, TextCheck
from services.gateway.resources.fixed_fields import fixed_field
from services.gateway.resources.row_fields import RowFields, fields_within, without_none
from services.gateway.runtime_ports import KindView
from shared.basics.errors import InvalidInput
from shared.basics.spelling import truncated
from shared.basics.time_grammar import is_relative
from shared.basics.value_words import read_number, read_whole

TEXT_MAX = 2_000
"""Maximum number of characters of a condition."""
DEPTH_MAX = 32
"""Maximum nesting of parentheses and `not`."""
COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
"""Operator → the comparison of two numbers."""
OPERATORS = tuple(COMPARED)
_TOKEN = re.compile(
    r"""\s*(?:(?P<sign>==|!=|<=|>=|[=<>()\[\],])|"(?P<double>[^"]*)"|'(?P<single>[^']*)'"""
    r"""|(?P<word>[^\s()\[\],"'=!<>]+))"""
)

Views = Mapping[str, KindView[Any, Any]]
"""The word of a kind of resource → how it is read."""


@dataclass
class Condition:
    """A parsed condition."""

    text: str
    fabric: str
    """The fabric of counts."""
    whole: ConditionTerm | Junction | Negation | None = None
    terms: list[ConditionTerm] = field(default_factory=list)
    """Its tests, in order."""
    named: list[NamedResource] = field(default_factory=list)
    """All resources that are named."""
    resources: list[NamedResource] = field(default_factory=list)
    """Resources whose fields are tested."""
    counts: bool = False
    """Whether it has counts."""
    long_fields: set[str] = field(default_factory=set)
    """Words of the kinds of which a long field may be tested."""
    changes_with_time: bool = False
    """Whether it can change while no document does: it tests a field that changes with time alone, or
    compares with a time before now."""

    def holds(self, source: ConditionSource) -> bool:
        """Whether it is true of this twin."""
        return self.whole is not None and self.whole(source)

    def outcomes(self, source: ConditionSource, is_decided: DecidedTerms) -> Outcomes:
        """The values that it has now or can have later, if the decided terms keep their values."""
        return frozenset({False}) if self.whole is None else self.whole.outcomes(source, is_decided)


@dataclass(frozen=True, slots=True)
class ConditionReader:
    """How conditions are read: `fabric` is that of counts, `whole` makes a full name from (word of a kind,
    written name), and `views` are the kinds of resources of the twin. Times before now count from `now_us`.
    `allow_clock_fields` also allows the fields that change with time alone. `check` makes the check of the
    texts that rows of a kind can have."""

    fabric: str
    whole: Callable[[str, str], str]
    views: Views
    now_us: int
    allow_clock_fields: bool = False
    check: Callable[[KindView[Any, Any]], TextCheck] | None = None


def read_condition(text: str, reader: ConditionReader) -> Condition:
    """Parse a condition; raise InvalidInput if it is invalid."""
    return _Parser(text, reader).condition()


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    at: int
    is_quoted: bool = False


def _tokens(text: str) -> list[_Token]:
    if len(text) > TEXT_MAX:
        raise InvalidInput(f"condition: has {len(text)} characters; must have at most {TEXT_MAX}")
    found, at, end = [], 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            raise InvalidInput(
                f"condition: syntax error at {truncated(repr(text[at:].strip()))}; must be an operator "
                "(== != < <= > >= in), a name, a value in quotes, a parenthesis or a comma"
            )
        kind = str(match.lastgroup)
        sign = "==" if kind == "sign" and match[kind] == "=" else match[kind]
        found.append(_Token(sign, match.start(kind), kind in ("double", "single")))
        at = match.end()
    return found


class _Parser:
    def __init__(self, text: str, reader: ConditionReader) -> None:
        fabric = reader.fabric
        self._text = text
        self._reader = reader
        self._full_name = reader.whole
        self._views = reader.views
        self._tokens = _tokens(text)
        self._next = 0
        self._depth = 0
        self._found = Condition(text, fabric)

    def condition(self) -> Condition:
        self._found.whole = self._any(self._test)
        if self._next < len(self._tokens):
            raise self._expected("`and`, `or` or the end")
        return self._found

    # --- and, or, not ---------------------------------------------------------------------------------------

    def _any(self, test: Callable[[], Any]) -> Any:
        sides = [self._every(test)]
        while self._has("or"):
            sides.append(self._every(test))
        return sides[0] if len(sides) == 1 else Junction(tuple(sides), needs_all=False)

    def _every(self, test: Callable[[], Any]) -> Any:
        sides = [self._one(test)]
        while self._has("and"):
            sides.append(self._one(test))
        return sides[0] if len(sides) == 1 else Junction(tuple(sides), needs_all=True)

    def _one(self, test: Callable[[], Any]) -> Any:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise InvalidInput(f"condition: is nested too deeply; must have at most {DEPTH_MAX} levels")
        try:
            if self._has("not"):
                return Negation(self._one(test))
            if self._has("("):
                inner = self._any(test)
                self._take(")")
                return inner
            return test()
        finally:
            self._depth -= 1

    # --- tests ----------------------------------------------------------------------------------------------

    def _test(self) -> ConditionTerm:
        first = self._next
        word = self._word("a test such as cubes.pod-0/cube-12.health == unhealthy")
        if word == "count" and self._has("("):
            return self._count(first)
        if word == "share" and self._has("("):
            return self._share(first)
        kind, _, rest = word.partition(".")
        name, _, path = rest.partition(".")
        view = _view(self._views, kind)
        if not name:
            raise InvalidInput(
                f"condition {truncated(repr(word))}: must be KIND.NAME.FIELD, such as "
                "cubes.pod-0/cube-12.health"
            )
        resource = (view.kind.word, self._full_name(view.kind.word, name))
        self._found.named.append(resource)
        if not path:
            is_there = self._has("exists")
            if not is_there and not self._has("absent"):
                raise self._expected(f"`exists` or `absent` after {truncated(word)}, or a field of it")
            return self._term(
                first,
                resource,
                lambda source: (source.row(*resource) is not None) == is_there,
                lambda source: "absent" if source.row(*resource) is None else "exists",
                tests_field=False,
            )
        matches, tested = self._comparison(view, path)
        self._found.resources.append(resource)

        def holds(source: ConditionSource) -> bool:
            row = source.row(*resource)
            return row is not None and matches(row)

        def value(source: ConditionSource) -> object:
            row = source.row(*resource)
            return "absent" if row is None else tested.value(row, self._reader.now_us)

        return self._term(first, resource, holds, value, fixed=fixed_field(view.kind.word, tested.name))

    def _term(
        self,
        first: int,
        resource: NamedResource | None,
        holds: ConditionTest,
        value: Callable[[ConditionSource], object],
        *,
        tests_field: bool = True,
        fixed: str | None = None,
    ) -> ConditionTerm:
        """The term that consists of the tokens from number `first` to the one before the next."""
        end = self._tokens[self._next].at if self._next < len(self._tokens) else len(self._text)
        text = self._text[self._tokens[first].at : end].strip()
        term = ConditionTerm(text, resource, tests_field, holds, value, fixed)
        self._found.terms.append(term)
        return term

    def _count(self, first: int) -> ConditionTerm:
        view = _view(self._views, self._word("a kind"))
        matches: RowTest | None = None
        if self._has(","):
            matches = self._any(lambda: self._comparison(view, self._word("a field"))[0])
        self._take(")")
        sign = self._sign()
        number = self._word("a number")
        most = read_whole(number)
        if most is None or not 0 <= most <= COUNT_MAX:
            raise InvalidInput(
                f"count {truncated(repr(number))}: must be a whole number between 0 and {COUNT_MAX:,}"
            )
        self._found.counts = True
        word, compare = view.kind.word, COMPARED[sign]

        def count(source: ConditionSource) -> int:
            return source.count(word, matches)

        return self._term(first, None, lambda source: compare(count(source), most), count)

    def _share(self, first: int) -> ConditionTerm:
        view = _view(self._views, self._word("a kind"))
        self._take(",")
        matches: RowTest = self._any(lambda: self._comparison(view, self._word("a field"))[0])
        self._take(")")
        compare = COMPARED[self._sign()]
        written = self._word("a number")
        number = read_number(written)
        if number is None or not 0 <= number <= 1:
            raise InvalidInput(f"share {truncated(repr(written))}: must be a number between 0 and 1")
        self._found.counts = True
        word, is_finished = view.kind.word, view.kind.is_finished

        def is_current(row: Row) -> bool:
            return is_finished is None or not is_finished(row)

        def passes(row: Row) -> bool:
            return is_current(row) and matches(row)

        def share(source: ConditionSource) -> float | None:
            current = source.count(word, is_current)
            return source.count(word, passes) / current if current else None

        def holds(source: ConditionSource) -> bool:
            found = share(source)
            return found is not None and compare(found, number)

        return self._term(first, None, holds, share)

    def _comparison(self, view: KindView[Any, Any], path: str) -> tuple[RowTest, RowField]:
        """(the test of a field, the field), from its operator on."""
        fields, found = _field(view, path, self._reader)
        if path not in view.row.model_fields or path in view.left_out:
            self._found.long_fields.add(view.kind.word)
        is_list = self._has("in")
        sign = "in" if is_list else self._sign()
        values = self._list() if is_list else [self._value()]
        if any(field.changes_with_time for field in found) or any(map(is_relative, values)):
            self._found.changes_with_time = True
        return fields.test(found, sign, values, self._reader.now_us), found[0]

    # --- tokens ---------------------------------------------------------------------------------------------

    def _has(self, text: str) -> bool:
        """Whether this token is next; if so, take it."""
        if self._next < len(self._tokens):
            token = self._tokens[self._next]
            if token.text == text and not token.is_quoted:
                self._next += 1
                return True
        return False

    def _take(self, text: str) -> None:
        if not self._has(text):
            raise self._expected(f"`{text}`")

    def _sign(self) -> str:
        for sign in OPERATORS:
            if self._has(sign):
                return sign
        raise self._expected(f"one of {' '.join(OPERATORS)}")

    def _word(self, what: str) -> str:
        token = self._tokens[self._next] if self._next < len(self._tokens) else None
        if token is None or token.is_quoted or re.match(r"[=!<>()\[\],]", token.text):
            raise self._expected(what)
        self._next += 1
        return token.text

    def _value(self) -> str:
        token = self._tokens[self._next] if self._next < len(self._tokens) else None
        if token is not None and token.is_quoted:
            self._next += 1
            return token.text
        return self._word("a value")

    def _list(self) -> list[str]:
        self._take("[")
        values = [self._value()]
        while self._has(","):
            values.append(self._value())
        self._take("]")
        return values

    def _expected(self, what: str) -> InvalidInput:
        if self._next >= len(self._tokens):
            return InvalidInput(f"condition {truncated(repr(self._text))}: ends where {what} is expected")
        found = self._text[self._tokens[self._next].at :]
        return InvalidInput(f"condition: at {truncated(repr(found))} {what} is expected")


# --- fields -------------------------------------------------------------------------------------------------


def _view(views: Views, word: str) -> KindView[Any, Any]:
    kind = find_kind(word)
    if kind is None:
        raise InvalidInput(
            f"condition: no such kind {truncated(repr(word))}; must be one of {', '.join(KINDS)}"
        )
    if HIDES_TRUTH.get() and kind.word in TRUTH_DOCUMENTS:
        raise InvalidInput(f"condition: {kind.word}: must be another kind; this role may not see {kind.word}")
    return views[kind.word]


def _field(view: KindView[Any, Any], path: str, reader: ConditionReader) -> tuple[RowFields, list[RowField]]:
    """(the fields of a kind, the meanings of a field's path). Raise InvalidInput if it has none, or if it
    changes with time alone and that is not allowed."""
    fields = RowFields(view.row, view.kind, None if reader.check is None else reader.check(view))
    found = fields.find(path)
    if not reader.allow_clock_fields and any(one.changes_with_time for one in found):
        raise InvalidInput(
            f"condition: {view.kind.word} field {path!r} changes with time alone, so no message "
            "could be named; must be another field"
        )
    if not found:
        raise _no_field_error(view, tuple(path.split(".")))
    return fields, found


def _no_field_error(view: KindView[Any, Any], names: Sequence[str]) -> InvalidInput:
    kind: Any = view.row
    for n, name in enumerate(names):
        known = fields_within(kind)
        if n and not known:
            return InvalidInput(
                f"condition: {view.kind.word} field {'.'.join(names[:n])!r} has no fields that can be tested"
            )
        if name not in known:
            steady = [one for one in known if one not in CLOCK_FIELDS and one not in MEAN_FIELDS]
            return InvalidInput(
                f"condition: {view.kind.word} have no field "
                f"{truncated(repr('.'.join(names[: n + 1])))}; must be one of {', '.join(steady)}"
            )
        kind = without_none(known[name])
    inner = fields_within(kind)
    hint = f"; must be one of its fields {', '.join(inner)}" if inner else ""
    return InvalidInput(f"condition: {view.kind.word} field {'.'.join(names)!r} is not a plain value{hint}")
