"""Whether a condition is true now, and whether it still can become true.

Every command that waits uses this. A resource that has ended, that no longer exists, or whose fabric has
retired never changes again. A test of it has its final value, and so has a condition whose other tests do not
matter.
"""

from collections.abc import Sequence

from schemas.api.conditions import ConditionReport, ConditionTermReport
from schemas.name_parts import fabric_part
from schemas.names import number_of
from schemas.resource_kinds import FABRICS, KINDS
from services.gateway.explain.bisect import parse_named_condition
from services.gateway.explain.condition_language import Condition
from services.gateway.explain.condition_logic import (
    ConditionTerm,
    NamedResource,
    Row,
    RowTest,
    count_rows,
)
from services.gateway.fabrics import commissioned_fabrics, retired_us
from services.gateway.resources.kind_views import views_of
from services.gateway.runtime_ports import TwinPorts
from shared.basics.time_format import format_time

REASONS_MAX = 3
"""Maximum number of reasons in a report."""


def report_condition(twin: TwinPorts, text: str, fabric: str | None) -> ConditionReport:
    """The condition now. Raise InvalidInput if it is invalid, or names hardware or a fabric that cannot
    exist."""
    condition = parse_named_condition(twin, text, fabric, allow_clock_fields=True)
    source = PresentRows(twin, condition)
    clock = twin.clock.show()
    terms = [
        ConditionTermReport(text=term.text, value=value_text(term.value(source)), holds=term(source))
        for term in condition.terms
    ]
    holds = condition.holds(source)
    can_hold = holds or True in condition.outcomes(source, source.is_decided)
    reasons = () if can_hold else source.reasons()
    return ConditionReport(
        condition=condition.text,
        fabric=condition.fabric,
        now_us=clock.now_us,
        stands_still=clock.paused and clock.until_us is None,
        holds=holds,
        can_hold=can_hold,
        reasons=reasons,
        terms=tuple(terms),
    )


def value_text(value: object) -> str:
    """A value in the form of a list filter."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ", ".join(map(value_text, value))
    return "null" if value is None else str(value)


class PresentRows:
    """The rows of a condition's resources, each read once."""

    def __init__(self, twin: TwinPorts, condition: Condition) -> None:
        self._twin, self._condition = twin, condition
        self._views = views_of(twin)
        self._fabrics = frozenset(commissioned_fabrics(twin))
        self._rows: dict[NamedResource, Row | None] = {}
        self._listings: dict[str, Sequence[Row]] = {}

    def row(self, word: str, name: str) -> Row | None:
        """One resource of a kind; None if it does not exist."""
        resource = (word, name)
        if resource not in self._rows:
            fabric = fabric_part(name)
            found = fabric in self._fabrics
            self._rows[resource] = self._views[word].find(self._twin, fabric, name) if found else None
        return self._rows[resource]

    def count(self, word: str, test: RowTest | None) -> int:
        """The number of resources of a kind in the fabric of the condition that pass a test; without one, of
        all."""
        return count_rows(self._listing(word), test)

    def _listing(self, word: str) -> Sequence[Row]:
        if word not in self._listings:
            view = self._views[word]
            listing = view.listing
            if view.short_listing is not None and word not in self._condition.long_fields:
                listing = view.short_listing
            self._listings[word] = listing(self._twin, self._condition.fabric)
        return self._listings[word]

    def is_decided(self, term: ConditionTerm) -> bool:
        """Whether the term has its final value."""
        if term.resource is None:
            return retired_us(self._twin, self._condition.fabric) is not None
        word, name = term.resource
        if retired_us(self._twin, fabric_part(name)) is not None:
            return True
        row = self.row(word, name)
        if row is None:
            return self._is_gone(word, name)
        if term.fixed is not None:
            return True
        # An ended resource is kept only for a while, so its existence is not decided.
        return term.tests_field and _ended_us(row) is not None

    def reasons(self) -> tuple[str, ...]:
        """What has ended, so that the condition cannot become true."""
        found = [self._reason(term) for term in self._condition.terms if self.is_decided(term)]
        return tuple(dict.fromkeys(found))[:REASONS_MAX]

    def _reason(self, term: ConditionTerm) -> str:
        word, name = term.resource or (FABRICS.word, self._condition.fabric)
        fabric = fabric_part(name)
        ended_us = retired_us(self._twin, fabric)
        if ended_us is not None:
            return f"{fabric} retired at {format_time(ended_us)}"
        row = self.row(word, name)
        if row is None:
            return f"{KINDS[word].title} {name} no longer exists"
        if term.fixed is not None:
            return f"{term.fixed} of {name} is {value_text(term.value(self))} and never changes"
        state = value_text(getattr(row, KINDS[word].state_field, None))
        return f"{name} ended as {state} at {format_time(_ended_us(row))}"

    def _is_gone(self, word: str, name: str) -> bool:
        """Whether a resource that does not exist will never exist: numbers rise and are never reused, so
        there are later ones."""
        kind, fabric = KINDS[word], fabric_part(name)
        if kind.parts or kind is FABRICS or fabric not in self._fabrics:
            return False
        stem, _, digits = name.rpartition("-")
        if not digits.isdecimal():
            return False
        names = self._twin.documents.all(fabric, kind.documents[0])
        return any(other.startswith(f"{stem}-") and number_of(other) > int(digits) for other in names)


def _ended_us(row: Row) -> int | None:
    ended_us: int | None = getattr(row, "ended_us", None)
    return ended_us
