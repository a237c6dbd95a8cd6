"""Callers: the name and role of a token, and the rights of each role."""

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated

from fastapi import Depends, Request
from starlette.types import Scope

from shared.basics.errors import InvalidInput
from shared.basics.spelling import truncated

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
    SEE_DRILLS = "to see drills"
    OPERATE = "to request slices and drains"
    STRIKE = "to inject and clear faults, and to run and stop drills"
    REWIRE = "to plan, approve and abort rewirings"
    ADMINISTER = "to administer the clock, fabrics and the twin as a whole"


RIGHTS: dict[Role, frozenset[Right]] = {
    Role.READER: frozenset({Right.READ, Right.SEE_DRILLS}),
    # A trainee repairs faults that others inject, so it may neither inject nor clear them, nor see the plan.
    Role.TRAINEE: frozenset({Right.READ, Right.OPERATE}),
    Role.OPERATOR: frozenset({Right.READ, Right.SEE_DRILLS, Right.OPERATE, Right.STRIKE, Right.REWIRE}),
    Role.ADMINISTRATOR: frozenset(Right),
}
"""The rights of each role."""

WRITES: dict[str, Right] = {
    "/v1/slices": Right.OPERATE,
    "/v1/cubes": Right.OPERATE,
    "/v1/requests": Right.OPERATE,  # to cancel an own one; see `cancel_denial`
    "/v1/faults": Right.STRIKE,
    "/v1/drills": Right.STRIKE,
    "/v1/schedules": Right.STRIKE,
    "/v1/safety": Right.STRIKE,
    "/v1/rewirings": Right.REWIRE,
    "/v1/forecasts": Right.READ,  # they change nothing in the twin
}
"""Path → the right that writes at or below it need; other paths need ADMINISTER."""

ADMIN_READS = frozenset({"/v1/backup"})
"""Reads that reveal the whole twin and need ADMINISTER."""


DRILL_READS = (
    *("/v1/drills", "/v1/schedules", "/v1/safety"),
    *("/v1/describe/drills", "/v1/describe/schedules"),
)
"""Beginnings of the paths of reads that show drills and need SEE_DRILLS."""
AS_HEADER = "Lightwave-As"
"""Header with the name of the person for whom a client sends a request."""
NAME_FORM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
NAME_ALLOWED = "1 to 64 letters, digits and . _ @ -, and start with a letter or a digit"


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
        if path in ADMIN_READS:
            return Right.ADMINISTER
        shows_drills = any(path == start or path.startswith(f"{start}/") for start in DRILL_READS)
        return Right.SEE_DRILLS if shows_drills else Right.READ
    prefix = "/".join(path.split("/", 3)[:3])
    return WRITES.get(prefix, Right.ADMINISTER)


def named_caller(caller: Caller, name: str | None, *, tokens: bool) -> Caller:
    """The caller under the name that it gives itself. Raise InvalidInput for a name that is not valid, and,
    if there are tokens, for another name than that of its token."""
    if name is None:
        return caller
    if NAME_FORM.fullmatch(name) is None:
        raise InvalidInput(f"{AS_HEADER} {truncated(repr(name))}: must be {NAME_ALLOWED}")
    if tokens and name != caller.name:
        raise InvalidInput(
            f"{AS_HEADER} {name!r}: is not the name of this token; must be {caller.name}, or omitted"
        )
    return replace(caller, name=name)


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
