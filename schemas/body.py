"""The root of every message body, and of every document that crosses a border.

A body is frozen, refuses fields it does not know and coerces nothing, so a numpy integer or a number in a
string is an error where it is made and not where it is read. Its type's name is its class name; its one
writer is a class attribute, set once per service by that service's own base class.
"""

from typing import ClassVar

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """A value that crosses a border: frozen, strict, no extra fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Body(Model):
    """What a message says. `writer` is the only service that may append this type to a log."""

    writer: ClassVar[str]
    version: ClassVar[int] = 1

    @property
    def addressee(self) -> str | None:
        """The fabric that is asked for something, where that is not the one that speaks. A type that asks
        something of another fabric names it in a field, and answers with it here."""
        return None
