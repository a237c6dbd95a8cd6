"""Detection: how soon each message came that the document expects."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ops.drills.score.advice import advice_for_message
from ops.drills.score.figures import FULL, Figure, share_of_time
from schemas.drill_plan import ExpectedMessage
from schemas.envelope import Envelope
from services.gateway.explain.drill_record import DrillRecord
from shared.basics.time_format import format_gap


def detection_figures(record: DrillRecord) -> list[Figure]:
    """A figure for each expected message and resource; none if the method did not begin."""
    first_us = record.phase_us("method")
    if first_us is None:
        return []
    by_type: dict[str, list[Envelope]] = {}
    for message in _since_first_order(record):
        if message.at_us >= first_us:
            by_type.setdefault(message.type, []).append(message)
    return [
        _figure(record, expected, name, by_type.get(expected.type, []), first_us)
        if expected.all_of is None
        else _figure_of_all(record, expected, name, by_type, first_us)
        for expected in record.plan.expects
        for name in _subjects(record, expected)
    ]


def _since_first_order(record: DrillRecord) -> Sequence[Envelope]:
    """The messages after the drill's first order: what came before follows from nothing that it did. All
    messages of a drill without orders."""
    orders = {message_id for message_id, order in record.orders.items() if not order.body.is_undo}
    first = next((n for n, message in enumerate(record.messages) if message.id in orders), 0)
    return record.messages[first:]


def _subjects(record: DrillRecord, expected: ExpectedMessage) -> Iterator[str | None]:
    """The subjects that a message is expected of: one for each resource of a target."""
    if expected.of is None:
        yield None
        return
    for target, names in record.targets.items():
        mark = f"{{{target}}}"
        if mark in expected.of:
            yield from (expected.of.replace(mark, name) for name in names)
            return
    yield expected.of


def _figure(
    record: DrillRecord,
    expected: ExpectedMessage,
    subject: str | None,
    messages: list[Envelope],
    first_us: int,
) -> Figure:
    name = expected.type if subject is None else f"{expected.type} of {subject}"
    allowed = format_gap(expected.within_us)
    found = [m for m in messages if subject is None or subject in record.names_in(m)]
    if len(found) >= expected.at_least:
        deciding = found[expected.at_least - 1]
        took_us = deciding.at_us - first_us
        score = share_of_time(took_us, expected.within_us)
        helps = None if took_us <= expected.within_us else advice_for_message(expected.type, record)
        return Figure(name, score, f"after {format_gap(took_us)}, allowed {allowed}", deciding.id, helps)
    count = f"{len(found)} of {expected.at_least}" if expected.at_least > 1 else "none"
    return _missing(record, expected, name, count, first_us)


def _figure_of_all(
    record: DrillRecord,
    expected: ExpectedMessage,
    subject: str | None,
    by_type: Mapping[str, list[Envelope]],
    first_us: int,
) -> Figure:
    """The figure of a message that must follow every message of another type, about the same resource."""
    name = f"{expected.type} after each {expected.all_of}" + ("" if subject is None else f" of {subject}")
    before = by_type.get(expected.all_of or "", [])
    before = [m for m in before if subject is None or subject in record.names_in(m)]
    if not before:
        return Figure(name, None, f"no {expected.all_of}")
    last_of: dict[str, Envelope] = {}
    """Resource → the last message of the expected type about it."""
    for message in by_type.get(expected.type, []):
        last_of |= dict.fromkeys(_subjects_of(record, message), message)
    order = {message.id: place for place, message in enumerate(record.messages)}
    followed = [_after(order, m, [last_of.get(about) for about in _subjects_of(record, m)]) for m in before]
    done = [message for message in followed if message is not None]
    count = f"{len(done)} of {len(before)}"
    if len(done) < len(before):
        figure = _missing(record, expected, name, count, first_us)
        missing = next(m for m, after in zip(before, followed, strict=True) if after is None)
        score = None if figure.score is None else FULL * len(done) / len(before)
        return replace(figure, score=score, message=missing.id)
    last = max(done, key=lambda message: message.at_us)
    took_us = last.at_us - first_us
    text = f"{count}, the last after {format_gap(took_us)}, allowed {format_gap(expected.within_us)}"
    helps = None if took_us <= expected.within_us else advice_for_message(expected.type, record)
    return Figure(name, share_of_time(took_us, expected.within_us), text, last.id, helps)


def _subjects_of(record: DrillRecord, message: Envelope) -> list[str]:
    """The smallest parts that a message is about: a host and not its cube."""
    names = record.names_in(message) - {message.fabric}
    return sorted(one for one in names if not any(other.startswith(f"{one}/") for other in names))


def _after(order: Mapping[str, int], message: Envelope, found: list[Envelope | None]) -> Envelope | None:
    """The first of these messages that is later on the log."""
    return next((one for one in found if one is not None and order[one.id] > order[message.id]), None)


def _missing(record: DrillRecord, expected: ExpectedMessage, name: str, count: str, first_us: int) -> Figure:
    """The figure of messages that did not come; not measured if the drill ended before their time."""
    allowed = format_gap(expected.within_us)
    if record.end_us - first_us < expected.within_us:
        measured = (
            f"{count} when the drill ended after {format_gap(record.end_us - first_us)}, before {allowed}"
        )
        return Figure(name, None, measured)
    return Figure(name, 0.0, f"{count} within {allowed}", None, advice_for_message(expected.type, record))
