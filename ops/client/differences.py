"""Differences between the objects of a twin at two points in time, field by field."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ops.client.http_client import Client, rows_path
from schemas.resource_kinds import CLOCK_FIELDS, KINDS, MEAN_FIELDS

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
    """Yield the differences of each kind in turn. Equal times are queried once, and `now` is the time of the
    first answer."""
    clients = {text: client.at_time(text) for text in (before, after)}
    for kind in kinds:
        rows, others = (clients[text].rows(rows_path(KINDS[kind]), "name") for text in (before, after))
        yield list(differences(kind, rows, others))


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
