"""Changed copies of records that are copied at every message, ten times as fast as `dataclasses.replace`."""

from typing import TYPE_CHECKING, Any, TypeVar

__all__ = ["record_of", "replace"]

RecordT = TypeVar("RecordT")

if TYPE_CHECKING:
    # Type checkers check the changes field by field.
    from dataclasses import replace
else:

    def replace(record, **changes):
        """Return a copy with these fields changed. Raises KeyError for an unknown field.

        Creating a frozen record sets its fields one by one. The copy instead takes over all fields at once,
        so the record must be a dataclass without slots and without `__post_init__`.
        """
        values = record.__dict__ | changes
        if len(values) != len(record.__dict__):
            raise KeyError(*sorted(changes.keys() - record.__dict__.keys()))
        copy = _new(type(record))
        _set(copy, "__dict__", values)
        return copy


def record_of(kind: type[RecordT], values: dict[str, Any]) -> RecordT:
    """A record with these values of all its fields, in their order. As for `replace`, its kind is a dataclass
    without slots and without `__post_init__`. The record keeps `values` itself."""
    record = _new(kind)
    _set(record, "__dict__", values)
    return record


_new, _set = object.__new__, object.__setattr__
