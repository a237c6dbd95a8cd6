"""Differences between the objects of a twin at two points in time, field by field."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ops.client.answers import CLOCK
from ops.client.http_client import Client, rows_path
from ops.client.time_names import time_named
from ops.report.safe_text import quoted
from schemas.resource_kinds import CLOCK_FIELDS, KINDS, MEAN_FIELDS
from shared.basics.errors import InvalidInput
from shared.basics.time_grammar import NOW, read_time

Row = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """One field of an object that differs. `before` or `after` is None if the object did not exist, and then
    the field is its name."""

    kind: str
    name: str
    field: str
    before: object
    after: object


def compare_times(
    client: Client, before: str, after: str, kinds: Iterable[str]
) -> Iterator[list[FieldDifference]]:
    """The differences of each of the kinds in turn. Equal times are one time, and `now` is that of the first
    answer. InvalidInput if `before` is the later time."""
    clients = {text: client.at_time(text) for text in (before, after)}
    if before != after and _is_later(clients, before, after):
        raise InvalidInput(f"FROM {quoted(before)}: must not be after TO {quoted(after)}")
    for kind in kinds:
        with time_named("FROM", before):
            rows = clients[before].rows(rows_path(KINDS[kind]), "name")
        with time_named("TO", after):
            others = clients[after].rows(rows_path(KINDS[kind]), "name")
        yield list(differences(kind, rows, others))


def _is_later(clients: Mapping[str, Client], before: str, after: str) -> bool:
    """Whether the first of two times is the later one. Only the twin knows that of a message, and of a time
    before now and one since the start."""
    times = [read_time(text) for text in (before, after)]
    first, last = times
    if first is not None and last is not None and first.is_before_now == last.is_before_now:
        return first.at(0)[1] > last.at(0)[1]
    if after == NOW:
        return False
    if any(time is None and "/" not in text for time, text in zip(times, (before, after), strict=True)):
        return False  # not a time: the next query reports that
    now_us: dict[str, int] = {}
    for name, text in (("FROM", before), ("TO", after)):
        with time_named(name, text):
            now_us[text] = clients[text].resource(CLOCK, "now_us").now_us
    return now_us[before] > now_us[after]


def differences(kind: str, before: Sequence[Row], after: Sequence[Row]) -> Iterator[FieldDifference]:
    """Yield the differences of objects of one kind, in the order of the lists; removed objects first."""
    was, is_ = ({str(row["name"]): dict(_flat(row)) for row in rows} for rows in (before, after))
    for name in [one for one in was if one not in is_]:
        yield FieldDifference(kind, name, "name", name, None)
    for name, row in is_.items():
        if name not in was:
            yield FieldDifference(kind, name, "name", None, name)
            continue
        for field in dict.fromkeys([*was[name], *row]):
            if was[name].get(field) != row.get(field):
                yield FieldDifference(kind, name, field, was[name].get(field), row.get(field))


def _flat(row: Row, above: str = "") -> Iterator[tuple[str, object]]:
    """Yield the fields of a row, nested ones by their full names, without the fields that time changes."""
    for field, value in row.items():
        if field in CLOCK_FIELDS or field in MEAN_FIELDS:
            continue
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{field}.")
        else:
            yield f"{above}{field}", value
