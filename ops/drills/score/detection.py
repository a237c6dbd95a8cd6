"""Detection: how soon each message came that the document expects."""

from collections.abc import Iterator

from ops.drills.score.advice import advice_for_message
from ops.drills.score.drill_record import DrillRecord
from ops.drills.score.figures import Figure, share_of_time
from schemas.drill_plan import ExpectedMessage
from schemas.envelope import Envelope
from shared.basics.time_format import format_gap


def detection_figures(record: DrillRecord) -> list[Figure]:
    """A figure for each expected message and resource; none if the method did not begin."""
    first_us = record.phase_us("method")
    if first_us is None:
        return []
    by_type: dict[str, list[Envelope]] = {}
    for message in record.messages:
        if message.at_us >= first_us:
            by_type.setdefault(message.type, []).append(message)
    return [
        _figure(record, expected, name, by_type.get(expected.type, []), first_us)
        for expected in record.plan.expects
        for name in _subjects(record, expected)
    ]


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
        helps = None if took_us <= expected.within_us else advice_for_message(expected.type)
        return Figure(name, score, f"after {format_gap(took_us)}, allowed {allowed}", deciding.id, helps)
    count = f"{len(found)} of {expected.at_least}" if expected.at_least > 1 else "none"
    if record.end_us - first_us < expected.within_us:
        measured = (
            f"{count} when the drill ended after {format_gap(record.end_us - first_us)}, before {allowed}"
        )
        return Figure(name, None, measured)
    return Figure(name, 0.0, f"{count} within {allowed}", None, advice_for_message(expected.type))
