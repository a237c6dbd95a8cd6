"""The root of every message body, and of every document that crosses a border.

A body is frozen, refuses unknown fields and coerces nothing. Input is validated: decoded lines, and requests
of operators (`model_validate`). The type checker checks bodies that a rule creates (`OcsDown(ocs=3)`); at run
time only their field names are checked. Encoding refuses values that are not plain, such as numpy integers,
and numbers that are not finite. The type's name is the class name. The only writer is a class
attribute, set by the base class of each service's messages.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel, ConfigDict

from schemas.subjects import Subject, SubjectReader, subject_reader


class Model(BaseModel):
    """A value that crosses a border: frozen, strict, no extra fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    subject_field: ClassVar[str | None] = None
    """The field that names the subject of such a value inside a body; None if it has no subject."""


def is_none(value: object) -> bool:
    """`exclude_if` of body fields that are left out of the line when unset."""
    return value is None


def is_empty(value: object) -> bool:
    """`exclude_if` of document fields that are left out when empty."""
    return not value


class Body(Model):
    """The body of a message. `writer` is the only service that may append this type to a log."""

    writer: ClassVar[str]
    version: ClassVar[int] = 1
    refuses: ClassVar[tuple[type["Body"], ...]] = ()
    """The requests that this type refuses. Such a type has two fields: the refused subject, and `reason`."""
    field_names: ClassVar[tuple[str, ...]] = ()
    fields_set: ClassVar[set[str]] = set()
    """The same as the set that pydantic needs; shared, because a body is frozen, and copies get their own."""
    subject_readers: ClassVar[Mapping[str, SubjectReader]] = {}
    """Field → the reader that yields its subjects, for fields with subjects."""

    if not TYPE_CHECKING:  # the type checker goes by the fields

        def __init__(self, /, **values: Any) -> None:
            """Take the values as they are, in the order of the fields; TypeError if one is missing or
            unknown."""
            cls = type(self)
            if (*values,) != cls.field_names:
                values = _in_order(cls, values)
            _set(self, "__dict__", values)
            _set(self, "__pydantic_fields_set__", cls.fields_set)
            _set(self, "__pydantic_extra__", None)
            _set(self, "__pydantic_private__", None)

        # Decoding and `model_validate` do not call this: pydantic creates validated objects itself.
        __init__.__pydantic_base_init__ = True

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        cls.field_names = tuple(cls.model_fields)
        cls.fields_set = set(cls.field_names)
        found = {
            name: subject_reader(field.annotation, tuple(field.metadata))
            for name, field in cls.model_fields.items()
        }
        cls.subject_readers = {name: reader for name, reader in found.items() if reader is not None}

    @property
    def addressee(self) -> str | None:
        """The fabric that a request addresses, if it is another than its own. A type that addresses other
        fabrics names the fabric in a field, and returns it here."""
        return None

    def about(self) -> Iterator[Subject]:
        """The subjects of the message: slices, cubes, OCSes, link ends, faults …"""
        return self.subjects_of_fields({name: getattr(self, name) for name in self.subject_readers})

    @classmethod
    def subjects_of_fields(cls, fields: Mapping[str, object]) -> Iterator[Subject]:
        """The subjects of a body's fields in JSON form, so that a search need not decode every message."""
        for name, reader in cls.subject_readers.items():
            if name in fields:  # unset fields are left out of the line
                yield from reader(fields[name])


_set = object.__setattr__


def _in_order(cls: type[Body], values: dict[str, Any]) -> dict[str, Any]:
    """The same values in the order of the fields, with defaults for missing ones."""
    unknown = values.keys() - cls.model_fields.keys()
    if unknown:
        raise TypeError(f"{cls.__name__}: no such field: {', '.join(sorted(unknown))}")
    found = {}
    for name, field in cls.model_fields.items():
        if name not in values and field.is_required():
            raise TypeError(f"{cls.__name__}: {name} is missing")
        found[name] = values[name] if name in values else field.get_default(call_default_factory=True)
    return found
