"""The structure of a condition: tests of resources, joined by `and`, `or` and `not`.

Each part can be called with a source, and is then true or false. Each also knows the values that it can still
have, given which of its resources can still change. So a condition whose outcome is decided is found at once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Protocol

from schemas.body import Model

Row = Model
RowTest = Callable[[Row], bool]
NamedResource = tuple[str, str]
"""(word of a kind, name)."""


def count_rows(rows: Sequence[Row], test: RowTest | None) -> int:
    """The number of rows that pass a test; without one, of all rows."""
    return len(rows) if test is None else sum(map(test, rows))


class ConditionSource(Protocol):
    """The twin at some time."""

    def row(self, word: str, name: str) -> Row | None:
        """One resource of a kind; None if it does not exist."""

    def count(self, word: str, test: RowTest | None) -> int:
        """The number of resources of a kind in the fabric of the condition that pass a test; without one, of
        all."""


ConditionTest = Callable[[ConditionSource], bool]
DecidedTerms = Callable[["ConditionTerm"], bool]
"""Whether a term has its final value: nothing that it is about can change any more."""
Outcomes = frozenset[bool]
EITHER: Outcomes = frozenset({True, False})


@dataclass(frozen=True, slots=True)
class ConditionTerm:
    """One test of a condition, as written. `resource` is None for a count. `tests_field` is false if it tests
    only whether the resource exists. `value` is what it compares. `fixed` is the field that it tests, if no
    message ever changes it."""

    text: str
    resource: NamedResource | None
    tests_field: bool
    holds: ConditionTest
    value: Callable[[ConditionSource], object]
    fixed: str | None = None

    def __call__(self, source: ConditionSource) -> bool:
        return self.holds(source)

    def outcomes(self, source: ConditionSource, is_decided: DecidedTerms) -> Outcomes:
        """The values that it has now or can have later."""
        return frozenset({self.holds(source)}) if is_decided(self) else EITHER


@dataclass(frozen=True, slots=True)
class Negation:
    """`not`. Its operand is a condition, or the test of a row."""

    operand: Any

    def __call__(self, subject: Any) -> bool:
        return not self.operand(subject)

    def outcomes(self, source: ConditionSource, is_decided: DecidedTerms) -> Outcomes:
        """The values that it has now or can have later."""
        return frozenset(not one for one in self.operand.outcomes(source, is_decided))


@dataclass(frozen=True, slots=True)
class Junction:
    """`and` if `needs_all`, else `or`. All sides are always evaluated, so that the resources of a condition
    do not depend on its other parts."""

    sides: tuple[Any, ...]
    needs_all: bool

    def __call__(self, subject: Any) -> bool:
        values = [side(subject) for side in self.sides]
        return all(values) if self.needs_all else any(values)

    def outcomes(self, source: ConditionSource, is_decided: DecidedTerms) -> Outcomes:
        """The values that it has now or can have later."""
        combine = all if self.needs_all else any
        found: Outcomes = frozenset({self.needs_all})
        for side in self.sides:  # two at a time: never more than four combinations
            pairs = product(found, side.outcomes(source, is_decided))
            found = frozenset(combine(pair) for pair in pairs)
        return found
