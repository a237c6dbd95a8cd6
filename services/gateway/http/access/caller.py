"""Who asks: the name that a token stands for, the role it gives, and what each role may do."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from fastapi import Depends, Request
from starlette.types import Scope

READ_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing."""


class Role(StrEnum):
    """What somebody is here, as the file of tokens writes it."""

    READER = "reader"
    TRAINEE = "trainee"
    OPERATOR = "operator"
    ADMINISTRATOR = "administrator"


class Right(StrEnum):
    """What may be done, as a sentence says it."""

    READ = "to read"
    OPERATE = "to ask for slices and drains"
    STRIKE = "to inject and clear faults"
    REWIRE = "to plan, approve and abort rewirings"
    ADMINISTER = "to administer: clock, fabrics and whatever else concerns everybody"


RIGHTS: dict[Role, frozenset[Right]] = {
    Role.READER: frozenset({Right.READ}),
    # Whoever is drilled mends what others broke: it may not break, nor wish the fault away.
    Role.TRAINEE: frozenset({Right.READ, Right.OPERATE}),
    Role.OPERATOR: frozenset({Right.READ, Right.OPERATE, Right.STRIKE, Right.REWIRE}),
    Role.ADMINISTRATOR: frozenset(Right),
}
"""What each role may do."""

WRITES: dict[str, Right] = {
    "/v1/slices": Right.OPERATE,
    "/v1/cubes": Right.OPERATE,
    "/v1/faults": Right.STRIKE,
    "/v1/rewirings": Right.REWIRE,
}
"""The right that a write at or below a path needs; a path that is not named here is the administrators'."""

ADMIN_READS = frozenset({"/v1/backup"})
"""What tells all of a twin at once, and is the administrators' to read."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks; without tokens everybody on this machine is a nameless administrator."""

    name: str | None
    role: Role


NAMELESS = Caller(None, Role.ADMINISTRATOR)


def right_needed(method: str, path: str) -> Right:
    """The right without which a request is turned away."""
    if method in READ_METHODS:
        return Right.ADMINISTER if path in ADMIN_READS else Right.READ
    below = "/".join(path.split("/", 3)[:3])
    return WRITES.get(below, Right.ADMINISTER)


def denial(caller: Caller, method: str, path: str) -> str | None:
    """Why the caller may not ask this, None if it may."""
    needed = right_needed(method, path)
    if needed in RIGHTS[caller.role]:
        return None
    able = " or ".join(role for role in Role if needed in RIGHTS[role])
    return f"{caller.name} is {_article(caller.role)} and has no right {needed}; this needs the role {able}"


def attach_caller(scope: Scope, caller: Caller) -> None:
    """Let the routes behind the guard know who asks."""
    scope.setdefault("state", {})["caller"] = caller


def caller_or_none(request: Request) -> Caller | None:
    """Who asks; None on an open path, where nobody must say."""
    return getattr(request.state, "caller", None)


def current_caller(request: Request) -> Caller:
    """Who asks, as the guard found out."""
    caller: Caller = request.state.caller
    return caller


CurrentCaller = Annotated[Caller, Depends(current_caller)]
"""A route's parameter of this type is who asks."""


def _article(role: Role) -> str:
    return f"an {role}" if role[0] in "ao" else f"a {role}"
