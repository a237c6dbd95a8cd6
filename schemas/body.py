"""The root of every message body, and of every document that crosses a border.

A body is frozen, refuses fields it does not know and coerces nothing, so a numpy integer or a number in a
string is an error where it is made and not where it is read. Its type's name is its class name; its one
writer is a class attribute, set once per service by that service's own base class.
"""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from schemas.about import Subject, SubjectReader, subject_reader


class Model(BaseModel):
    """A value that crosses a border: frozen, strict, no extra fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Body(Model):
    """What a message says. `writer` is the only service that may append this type to a log."""

    writer: ClassVar[str]
    version: ClassVar[int] = 1
    subject_readers: ClassVar[Mapping[str, SubjectReader]] = {}
    """Field → how to find what it names, for the fields that name something."""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        found = {
            name: subject_reader(field.annotation, tuple(field.metadata))
            for name, field in cls.model_fields.items()
        }
        cls.subject_readers = {name: reader for name, reader in found.items() if reader is not None}

    def about(self) -> Iterator[Subject]:
        """What the message is about: slices, cubes, OCSes, ends, faults …"""
        return self.about_fields({name: getattr(self, name) for name in self.subject_readers})

    @classmethod
    def about_fields(cls, fields: Mapping[str, Any]) -> Iterator[Subject]:
        """The same of a body's fields as JSON has them: a search need not read every message in full."""
        for name, reader in cls.subject_readers.items():
            yield from reader(fields[name])
