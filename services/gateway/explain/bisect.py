"""Finds when a condition became true: folds the log through a span and checks the condition after every
cascade that changed one of its resources.

A binary search would not work, because conditions can change several times. Within a cascade, the deciding
message is found from the changes that its services made to their documents, one after another.
"""

from dataclasses import dataclass, replace

from schemas.api.bisect import Bisection, ConditionTransition
from schemas.envelope import Envelope
from schemas.limits import COUNT_MAX
from schemas.name_parts import fabric_part, last_part
from schemas.resource_kinds import FABRICS, KINDS
from services.gateway.explain.condition_language import Condition, ConditionReader, read_condition
from services.gateway.explain.condition_logic import Row, RowTest
from services.gateway.explain.walked_rows import WalkedRows
from services.gateway.fabrics import (
    default_fabric,
    example_fabric,
    fabric_plant,
    is_fabric_like,
    site_of,
    sites,
)
from services.gateway.log.history import STATE_MESSAGES
from services.gateway.requested_time import commissioning
from services.gateway.resources.kind_views import views_of
from services.gateway.resources.missing_object import missing_error
from services.gateway.resources.text_values import TextValues
from services.gateway.runtime_ports import PastPort, TwinPorts
from services.gateway.text.messages import log_message
from shared.basics.errors import InvalidInput, NotFound
from shared.basics.spelling import truncated
from shared.basics.time_format import format_time
from shared.storage.snapshots.document_changes import CascadeStep, DocumentWalk, MessageEffect

FOLDED_MESSAGES_MAX = 20_000
"""Maximum number of messages folded for one answer: one or two seconds."""
TURNS_MAX = 1_000
"""Maximum number of transitions in one answer."""


STATE_MESSAGE_TYPES = frozenset(kind for kinds in STATE_MESSAGES.values() for kind in kinds)
"""Message types that report a new state of a resource."""


@dataclass(frozen=True, slots=True)
class LogSpan:
    """A span of a site's log, by numbers of messages and by simulated time."""

    site: str
    start: int
    end: int
    from_us: int
    to_us: int
    seen: int = 0
    """One bit for each resource of the condition that has existed so far."""

    @property
    def cursor(self) -> str:
        numbers = (self.start, self.end, self.from_us, self.to_us, self.seen)
        return ":".join([self.site, *map(str, numbers)])


def span_from_cursor(twin: TwinPorts, site: str, cursor: str) -> LogSpan:
    """The span that a cursor continues; raise InvalidInput if it is invalid. Clients can send any text."""
    name, *numbers = cursor.split(":")
    if (
        name == site
        and len(numbers) == 5
        and all(number.isdecimal() and len(number) <= 20 for number in numbers)
    ):
        span = LogSpan(name, *map(int, numbers))
        if span.start <= span.end <= twin.log.end(site) and span.from_us <= span.to_us <= COUNT_MAX:
            return span
    raise InvalidInput(f"cursor {truncated(repr(cursor))}: must be a cursor returned for this condition")


def parse_condition(twin: TwinPorts, text: str, fabric: str | None) -> tuple[Condition, str]:
    """(condition, its site). Raise InvalidInput if it is invalid or about several sites. Names without a
    fabric, and counts, belong to `fabric`."""
    condition = parse_named_condition(twin, text, fabric)
    try:
        fabrics = [fabric_part(name) for _, name in condition.named]
        condition_sites = {
            site_of(twin, name) for name in [*fabrics, *([condition.fabric] if condition.counts else [])]
        }
    except NotFound as error:
        raise InvalidInput(f"condition: {error}") from None
    if len(condition_sites) > 1:
        several = " and ".join(site for site in sites(twin) if site in condition_sites)
        raise InvalidInput(f"condition: is about sites {several}; must be about resources of one site")
    return condition, condition_sites.pop()


def parse_named_condition(
    twin: TwinPorts, text: str, fabric: str | None, *, allow_clock_fields: bool = False
) -> Condition:
    """The condition, with full names. Raise InvalidInput if it is invalid, or names hardware that cannot
    exist, and NotFound if there is no fabric `fabric`."""
    default, problem = _default_or_problem(twin, fabric)
    try:
        reader = ConditionReader(
            default,
            lambda word, name: _full_name(twin, default, word, name, problem),
            views_of(twin),
            twin.clock.show().now_us,
            allow_clock_fields=allow_clock_fields,
            check=lambda view: TextValues(twin, view),
        )
        condition = read_condition(text, reader)
        if condition.counts and problem is not None:
            raise problem
        for word, name in condition.named:
            _check_name(twin, word, name)
    except NotFound as error:
        raise InvalidInput(f"condition: {error}") from None
    return condition


def _default_or_problem(twin: TwinPorts, fabric: str | None) -> tuple[str, InvalidInput | None]:
    """The fabric of counts and short names. If there is no default, the error for a condition with any."""
    try:
        return default_fabric(twin, fabric), None
    except InvalidInput as error:
        return example_fabric(twin), error


def _full_name(
    twin: TwinPorts, fabric: str, word: str, name: str, problem: InvalidInput | None = None
) -> str:
    if word == FABRICS.word or is_fabric_like(twin, fabric_part(name)):
        return name
    if problem is not None:
        raise problem
    return f"{fabric}/{name}"


def _check_name(twin: TwinPorts, word: str, name: str) -> None:
    """Raise NotFound for hardware that can never exist: it comes and goes only with its fabric."""
    kind, fabric = KINDS[word], fabric_part(name)
    if kind is FABRICS:
        return
    plant = fabric_plant(twin, fabric)
    if kind.parts and not (plant.contains(name) and plant.parse(name).kind in kind.parts):
        raise missing_error(twin, kind, name, fabric)


def search_span(
    twin: TwinPorts, past: PastPort, condition: Condition, span: LogSpan, *, every: bool
) -> Bisection:
    """The transitions of a condition in a span, as far as one answer reaches: the first time that it becomes
    true, or every change with `every`. Raise InvalidInput if one of its resources never existed."""
    walk, is_over = past.walk(span.site, span.start), past.deadline()
    start_position = walk.position
    search = _Search(twin, walk, condition, span.seen)
    held_at_start, transitions = search.is_held, list[ConditionTransition]()
    is_done = held_at_start and not every
    for step in () if is_done else walk.steps(span.end):
        message = search.transition(step)
        if message is not None and (every or search.is_held):
            transitions.append(ConditionTransition(holds=search.is_held, message=log_message(twin, message)))
            is_done = not every
        folded = walk.position - start_position
        if is_done or len(transitions) >= TURNS_MAX or folded >= FOLDED_MESSAGES_MAX or is_over():
            break
    else:
        if not is_done:
            search.check_seen(span)
            is_done = True
    if not is_done:
        past.leave(span.site, walk)
    return Bisection(
        condition=condition.text,
        site=span.site,
        from_us=span.from_us,
        to_us=span.to_us,
        reached_us=walk.at_us,
        held_at_start=held_at_start,
        transitions=tuple(transitions),
        messages=walk.position - start_position,
        cursor=None if is_done else replace(span, start=walk.position, seen=search.seen).cursor,
    )


class _Search:
    """A condition along a walk: whether it is true now, and which of its resources have existed so far."""

    def __init__(self, twin: TwinPorts, walk: DocumentWalk, condition: Condition, seen: int) -> None:
        self.seen = seen
        self._twin = twin
        self._walk = walk
        self._rows = WalkedRows(twin, walk, condition)
        self._condition = condition
        self.is_held = self._holds()

    def transition(self, step: CascadeStep) -> Envelope | None:
        """The message of a cascade that changed the condition; None if it did not change."""
        if not step.readings and not step.changes_fabrics:
            return None
        self._walk.watched.clear()
        self._rows.advance(change.key for reading in step.readings for change in reading.changes)
        is_held, was_held = self._holds(), self.is_held
        self.is_held = is_held
        if is_held == was_held:
            return None
        return step.messages[0] if step.changes_fabrics else self._deciding_message(step)

    def _deciding_message(self, step: CascadeStep) -> Envelope:
        """The message after which the condition has its final value of the cascade."""
        over = self._rows.over
        for reading in reversed(step.readings):
            over |= {change.key: change.before for change in reversed(reading.changes)}
        self._rows.advance(over)
        was_held, deciding = not self.is_held, step.readings[-1]
        for reading in step.readings:
            after = {change.key: change.after for change in reading.changes}
            over |= after
            self._rows.advance(after)
            holds = self._holds()
            if holds != was_held:
                was_held, deciding = holds, reading
        over.clear()
        return self._explaining_message(deciding)

    def _explaining_message(self, reading: MessageEffect) -> Envelope:
        """The message that explains a change to people: what a service emitted about it, else
        what it read."""
        names = {change.key[2] for change in reading.changes}
        own = {kind for name in names for kind in STATE_MESSAGES.get(last_part(name).rpartition("-")[0], ())}
        for types in (own, STATE_MESSAGE_TYPES):
            for message in reading.emitted:
                if message.type in types and not names.isdisjoint(log_message(self._twin, message).about):
                    return message
        return reading.message

    def check_seen(self, span: LogSpan) -> None:
        for number, (word, name) in enumerate(self._condition.resources):
            if not self.seen >> number & 1:
                fabric = fabric_part(name)
                _, commissioned_us = commissioning(self._twin, span.site, fabric)
                why = f"; {fabric} was commissioned at {format_time(commissioned_us)}"
                raise InvalidInput(
                    f"condition: {KINDS[word].title} {name} did not exist at any time from "
                    f"{format_time(span.from_us)} to {format_time(span.to_us)}"
                    f"{why if commissioned_us > span.to_us else ''}"
                )

    def _holds(self) -> bool:
        return self._condition.holds(self)

    def row(self, word: str, name: str) -> Row | None:
        row = self._rows.row(word, name)
        if row is not None and (word, name) in self._condition.resources:
            self.seen |= 1 << self._condition.resources.index((word, name))
        return row

    def count(self, word: str, test: RowTest | None) -> int:
        return self._rows.count(word, test)
