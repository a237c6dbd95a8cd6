"""Conditions about resources, as users write them: `slices.pod-0/slice-42.state == degraded`.

    condition  one or more tests, with `and`, `or`, `not` and parentheses
    test       KIND.NAME.FIELD OPERATOR VALUE      operators: == != < <= > >=
               KIND.NAME.FIELD in [VALUE, VALUE]
               KIND.NAME exists                    or absent
               count(KIND) OPERATOR NUMBER         of one fabric
               count(KIND, FIELD == VALUE and …) OPERATOR NUMBER

Values are written as in `get --where`: `null` is no value, and a list equals each of its items. A test of a
field is false while the resource does not exist, for any operator.
"""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import NoneType
from typing import Any, get_args, get_origin

from pydantic import TypeAdapter

from schemas.body import Model
from schemas.names import FAULT_KINDS, FaultKind
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
)
from services.gateway.resources.selection import (
    FINITE,
    columns,
    has_one_of,
    is_one_of,
    plain_type,
    value_of,
    values_of,
)
from services.gateway.runtime_ports import KindView
from shared.basics.errors import InvalidInput
from shared.basics.spelling import truncated

TEXT_MAX = 2_000
"""Maximum number of characters of a condition."""
DEPTH_MAX = 32
"""Maximum nesting of parentheses and `not`."""
ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
EQUALS: dict[str, Callable[[Any, Any], bool]] = {"==": operator.eq, "!=": operator.ne}
OPERATORS = (*EQUALS, *ORDERS)
_TOKEN = re.compile(
    r"""\s*(?:(?P<sign>==|!=|<=|>=|[<>()\[\],])|"(?P<double>[^"]*)"|'(?P<single>[^']*)'"""
    r"""|(?P<word>[^\s()\[\],"'=!<>]+))"""
)

Views = Mapping[str, KindView[Any, Any]]
"""The word of a kind of resource → how it is read."""
RowTest = Callable[[Row], bool]


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

    def holds(self, source: ConditionSource) -> bool:
        """Whether it is true of this twin."""
        return self.whole is not None and self.whole(source)

    def outcomes(self, source: ConditionSource, is_decided: DecidedTerms) -> Outcomes:
        """The values that it has now or can have later, if the decided terms keep their values."""
        return frozenset({False}) if self.whole is None else self.whole.outcomes(source, is_decided)


def read_condition(
    text: str,
    fabric: str,
    whole: Callable[[str, str], str],
    views: Views,
    *,
    allow_clock_fields: bool = False,
) -> Condition:
    """Parse a condition; raise InvalidInput if it is invalid. `whole` makes a full name from (word of a kind,
    written name); `views` are the kinds of resources of the twin. `allow_clock_fields` also allows the fields
    that change with time alone."""
    return _Parser(text, fabric, whole, views, allow_clock_fields=allow_clock_fields).condition()


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
        found.append(_Token(match[kind], match.start(kind), kind in ("double", "single")))
        at = match.end()
    return found


class _Parser:
    def __init__(
        self,
        text: str,
        fabric: str,
        whole: Callable[[str, str], str],
        views: Views,
        *,
        allow_clock_fields: bool,
    ) -> None:
        self._text = text
        self._allow_clock_fields = allow_clock_fields
        self._full_name = whole
        self._views = views
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
        matches = self._comparison(view, path)
        names = tuple(path.split("."))
        self._found.resources.append(resource)

        def holds(source: ConditionSource) -> bool:
            row = source.row(*resource)
            return row is not None and matches(row)

        def value(source: ConditionSource) -> object:
            row = source.row(*resource)
            return "absent" if row is None else _below(row, names)

        return self._term(first, resource, holds, value)

    def _term(
        self,
        first: int,
        resource: NamedResource | None,
        holds: ConditionTest,
        value: Callable[[ConditionSource], object],
        *,
        tests_field: bool = True,
    ) -> ConditionTerm:
        """The term that consists of the tokens from number `first` to the one before the next."""
        end = self._tokens[self._next].at if self._next < len(self._tokens) else len(self._text)
        text = self._text[self._tokens[first].at : end].strip()
        term = ConditionTerm(text, resource, tests_field, holds, value)
        self._found.terms.append(term)
        return term

    def _count(self, first: int) -> ConditionTerm:
        view = _view(self._views, self._word("a kind"))
        matches: RowTest | None = None
        if self._has(","):
            matches = self._any(lambda: self._comparison(view, self._word("a field")))
        self._take(")")
        sign = self._sign()
        number = self._word("a number")
        if not re.fullmatch(r"[0-9]{1,9}", number):
            raise InvalidInput(f"count {truncated(repr(number))}: must be a whole number of at least 0")
        self._found.counts = True
        word, compare, most = view.kind.word, (EQUALS | ORDERS)[sign], int(number)

        def count(source: ConditionSource) -> int:
            rows = source.rows(word)
            return len(rows) if matches is None else sum(map(matches, rows))

        return self._term(first, None, lambda source: compare(count(source), most), count)

    def _comparison(self, view: KindView[Any, Any], path: str) -> RowTest:
        """The test of a field, from its operator on."""
        names = tuple(path.split("."))
        if not self._allow_clock_fields:
            _check_time(view, names)
        leaf = _leaf(view, names)
        if self._has("in"):
            return leaf.equal(self._list())
        sign = self._sign()
        value = self._value()
        if sign not in ORDERS:
            equal = leaf.equal([value])
            return equal if sign == "==" else lambda row: not equal(row)
        return leaf.ordered(sign, value)

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


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A plain field: `above` is the path to its holder, and `model` the holder's type (None for a table,
    whose key it is)."""

    above: tuple[str, ...]
    name: str
    model: type[Model] | None
    kind: Any

    def equal(self, texts: Sequence[str]) -> RowTest:
        above, name = self.above, self.name
        if self.model is None:
            adapter = TypeAdapter(self.kind, config=FINITE)
            wanted = frozenset(None if text == "null" else value_of(adapter, name, text) for text in texts)
            return lambda row: is_one_of(_below(row, (*above, name)), wanted)
        wanted = values_of(self.model, name, texts)

        def matches(row: Row) -> bool:
            holder = _below(row, above)
            return None in wanted if holder is None else has_one_of(holder, name, wanted)

        return matches

    def ordered(self, sign: str, text: str) -> RowTest:
        if self.kind not in (int, float):
            raise InvalidInput(f"{self.name}: is not a number; the operator must be ==, != or `in [a, b]`")
        limit = value_of(TypeAdapter(float, config=FINITE), self.name, text)
        path, compare = (*self.above, self.name), ORDERS[sign]

        def matches(row: Row) -> bool:
            value = _below(row, path)
            values = value if isinstance(value, tuple) else (value,)
            return any(item is not None and compare(item, limit) for item in values)

        return matches


def _below(value: Any, path: Sequence[str]) -> Any:
    for name in path:
        if value is None:
            return None
        value = value.get(name) if isinstance(value, dict) else getattr(value, name)
    return value


def _view(views: Views, word: str) -> KindView[Any, Any]:
    kind = find_kind(word)
    if kind is None:
        raise InvalidInput(
            f"condition: no such kind {truncated(repr(word))}; must be one of {', '.join(KINDS)}"
        )
    return views[kind.word]


def _check_time(view: KindView[Any, Any], names: Sequence[str]) -> None:
    for name in names:
        if name in CLOCK_FIELDS or name in MEAN_FIELDS:
            raise InvalidInput(
                f"condition: {view.kind.word} field {name!r} changes with time alone, so no message "
                "could be named; must be another field"
            )


def _leaf(view: KindView[Any, Any], names: Sequence[str]) -> _Leaf:
    """The plain field at this path; raise InvalidInput if there is none."""
    model: type[Model] | None = view.row
    kind: Any = view.row
    for n, name in enumerate(names):
        model = kind if isinstance(kind, type) and issubclass(kind, Model) else None
        known = _known(kind)
        if name not in known:
            allowed = ", ".join(
                field for field in known if field not in CLOCK_FIELDS and field not in MEAN_FIELDS
            )
            raise InvalidInput(
                f"condition: {view.kind.word} have no field "
                f"{truncated(repr('.'.join(names[: n + 1])))}; must be one of {allowed}"
            )
        kind = _inner(known[name])
    plain = columns(model).get(names[-1]) if model is not None else plain_type(kind)
    if plain is None:
        inner = _known(kind)
        hint = f"; must be one of its fields {', '.join(inner)}" if inner else ""
        raise InvalidInput(
            f"condition: {view.kind.word} field {'.'.join(names)!r} is not a plain value{hint}"
        )
    return _Leaf(tuple(names[:-1]), names[-1], model, plain)


def _known(kind: Any) -> dict[str, object]:
    """The fields of a model, or the keys of a table, with the types of their values."""
    if isinstance(kind, type) and issubclass(kind, Model):
        return {name: info.annotation for name, info in kind.model_fields.items()}
    if get_origin(kind) is dict:
        keys, value = get_args(kind)
        return dict.fromkeys(FAULT_KINDS if keys is FaultKind else map(str, get_args(keys)), value)
    return {}


def _inner(annotation: Any) -> Any:
    """A type without `or None`."""
    kinds = [kind for kind in get_args(annotation) if kind is not NoneType]
    optional = len(kinds) == 1 and NoneType in get_args(annotation)
    return kinds[0] if optional else annotation
