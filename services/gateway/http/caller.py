"""Who asks: the name that a token stands for, and the role it gives."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from fastapi import Depends, Request
from starlette.types import Scope


class Role(StrEnum):
    """What somebody may do here, as the file of tokens writes it."""

    READER = "reader"
    TRAINEE = "trainee"
    OPERATOR = "operator"
    ADMINISTRATOR = "administrator"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks; without tokens everybody on this machine is a nameless administrator."""

    name: str | None
    role: Role


NAMELESS = Caller(None, Role.ADMINISTRATOR)


def introduce(scope: Scope, caller: Caller) -> None:
    """Let the routes behind the guard know who asks."""
    scope.setdefault("state", {})["caller"] = caller


def asking(request: Request) -> Caller:
    """Who asks, as the guard found out."""
    caller: Caller = request.state.caller
    return caller


Asking = Annotated[Caller, Depends(asking)]
"""A route's parameter of this type is who asks."""
