"""Subjects of a message: the objects that its body names, by full name or by hardware number.

The types of names are marked (`schemas.names`), and every body is read by the marks of its fields. So a new
message type is found under all objects that it names, without further code.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

Subject = tuple[str, Any]
"""(kind, value). `name` is a full name; all other kinds are numbers. A number is that of a kind of part of
the fabric's plant (`cube`, `ocs`, `end`, `block`, or one that only another kind of fabric has), with these
exceptions: the number of a `host` counts within the cube that the message names before it; that of a `port`,
`north-port` or `south-port` within the OCS, on the side that the kind or the field `side` gives. A `join` is
(dimension, north cube, south cube). A `trunk` starts with its two blocks."""
SubjectReader = Callable[[Any], Iterator[Subject]]
"""Yields the subjects in a field's value, either decoded or as JSON."""


@dataclass(frozen=True, slots=True)
class SubjectMark:
    """Marks a type whose values name an object of this kind."""

    kind: str


def subject_reader(annotation: Any, metadata: tuple[Any, ...] = ()) -> SubjectReader | None:
    """The reader that finds subjects in values of a type; None if the type names none."""
    mark = next((item for item in metadata if isinstance(item, SubjectMark)), None)
    if mark is not None:
        return _leaf(mark.kind)
    subject_field = getattr(annotation, "subject_field", None)
    if subject_field is not None:
        field = annotation.model_fields[subject_field]
        return _inside(subject_field, subject_reader(field.annotation, tuple(field.metadata)))
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return subject_reader(arguments[0], arguments[1:])
    if origin is tuple and arguments[-1:] == (...,):
        return _each(subject_reader(arguments[0]))
    if origin is tuple:
        return _each_by_position([subject_reader(argument) for argument in arguments])
    if origin in (Union, UnionType):
        return _optional([subject_reader(argument) for argument in arguments if argument is not NoneType])
    return None


def _leaf(kind: str) -> SubjectReader:
    def read(value: Any) -> Iterator[Subject]:
        yield kind, tuple(value) if kind in ("join", "trunk") else value

    return read


def _each(reader: SubjectReader | None) -> SubjectReader | None:
    if reader is None:
        return None

    def read(values: Any) -> Iterator[Subject]:
        for value in values:
            yield from reader(value)

    return read


def _inside(field: str, reader: SubjectReader | None) -> SubjectReader | None:
    """Reads a model in a body by its one subject field."""
    if reader is None:
        return None

    def read(value: Any) -> Iterator[Subject]:
        yield from reader(value[field] if isinstance(value, Mapping) else getattr(value, field))

    return read


def _each_by_position(readers: list[SubjectReader | None]) -> SubjectReader | None:
    if not any(readers):
        return None

    def read(values: Any) -> Iterator[Subject]:
        for reader, value in zip(readers, values, strict=True):
            if reader is not None:
                yield from reader(value)

    return read


def _optional(readers: list[SubjectReader | None]) -> SubjectReader | None:
    found = [reader for reader in readers if reader is not None]
    if not found:
        return None
    if len(readers) > 1:
        raise TypeError("a field with several types of subjects: its value does not show the type")
    (reader,) = found

    def read(value: Any) -> Iterator[Subject]:
        if value is not None:
            yield from reader(value)

    return read
