"""Callers: the name and role of a token, and the rights of each role."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from fastapi import Depends, Request
from starlette.types import Scope

READ_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing."""


class Role(StrEnum):
    """The roles, as written in the token file."""

    READER = "reader"
    TRAINEE = "trainee"
    OPERATOR = "operator"
    ADMINISTRATOR = "administrator"


class Right(StrEnum):
    """The rights, as worded in error messages."""

    READ = "to read"
    OPERATE = "to request slices and drains"
    STRIKE = "to inject and clear faults"
    REWIRE = "to plan, approve and abort rewirings"
    ADMINISTER = "to administer the clock, fabrics and the twin as a whole"


RIGHTS: dict[Role, frozenset[Right]] = {
    Role.READER: frozenset({Right.READ}),
    # A trainee repairs faults that others inject, so it may neither inject nor clear them.
    Role.TRAINEE: frozenset({Right.READ, Right.OPERATE}),
    Role.OPERATOR: frozenset({Right.READ, Right.OPERATE, Right.STRIKE, Right.REWIRE}),
    Role.ADMINISTRATOR: frozenset(Right),
}
"""The rights of each role."""

WRITES: dict[str, Right] = {
    "/v1/slices": Right.OPERATE,
    "/v1/cubes": Right.OPERATE,
    "/v1/requests": Right.OPERATE,  # to cancel an own one; see `cancel_denial`
    "/v1/faults": Right.STRIKE,
    "/v1/rewirings": Right.REWIRE,
    "/v1/forecasts": Right.READ,  # they change nothing in the twin
}
"""Path → the right that writes at or below it need; other paths need ADMINISTER."""

ADMIN_READS = frozenset({"/v1/backup"})
"""Reads that reveal the whole twin and need ADMINISTER."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The client of a request. Without tokens, any client on this machine is an administrator
    without a name."""

    name: str | None
    role: Role


NAMELESS = Caller(None, Role.ADMINISTRATOR)


def right_needed(method: str, path: str) -> Right:
    """The right that a request needs."""
    if method in READ_METHODS:
        return Right.ADMINISTER if path in ADMIN_READS else Right.READ
    prefix = "/".join(path.split("/", 3)[:3])
    return WRITES.get(prefix, Right.ADMINISTER)


def denial(caller: Caller, method: str, path: str) -> str | None:
    """Why the caller may not send this request; None if it may."""
    needed = right_needed(method, path)
    if needed in RIGHTS[caller.role]:
        return None
    roles = " or ".join(role for role in Role if needed in RIGHTS[role])
    return f"{caller.name} is {_article(caller.role)} and has no right {needed}; the role must be {roles}"


def removal_denial(caller: Caller, owner: str | None) -> str | None:
    """Why the caller may not cancel or delete what `owner` started; None if it may."""
    if caller.name == owner or Right.OPERATE in RIGHTS[caller.role]:
        return None
    role = f"a role that may {Right.OPERATE.removeprefix('to ')}"
    if owner is None:
        return f"was started by a client without a name; only {role} can cancel it"
    return f"was started by {owner}; only {owner}, or {role}, can cancel it"


def cancel_denial(caller: Caller, asked_by: str | None) -> str | None:
    """Why the caller may not cancel the pending request of `asked_by`; None if it may."""
    if Right.ADMINISTER in RIGHTS[caller.role] or (caller.name is not None and caller.name == asked_by):
        return None
    owner = "a client without a name" if asked_by is None else asked_by
    only = "an administrator" if asked_by is None else f"{asked_by}, or an administrator,"
    return f"was sent by {owner}; only {only} can cancel it"


def attach_caller(scope: Scope, caller: Caller) -> None:
    """Attach the caller to the request, for the routes behind the guard."""
    scope.setdefault("state", {})["caller"] = caller


def caller_or_none(request: Request) -> Caller | None:
    """The caller; None on a public path without a token."""
    return getattr(request.state, "caller", None)


def current_caller(request: Request) -> Caller:
    """The caller, as attached by the guard."""
    caller: Caller = request.state.caller
    return caller


CurrentCaller = Annotated[Caller, Depends(current_caller)]
"""Type of a route's parameter that receives the caller."""


def _article(role: Role) -> str:
    return f"an {role}" if role[0] in "ao" else f"a {role}"
