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
    SEE_TRUTH = "to see faults and drills, or to run copies of the twin, which show them"
    OPERATE = "to request slices and drains"
    STRIKE = "to inject and clear faults, and to run and stop drills"
    REWIRE = "to plan, approve and abort rewirings"
    ADMINISTER = "to administer the clock, fabrics and the twin as a whole"


RIGHTS: dict[Role, frozenset[Right]] = {
    Role.READER: frozenset({Right.READ, Right.SEE_TRUTH}),
    # A trainee finds faults that others inject, so it may neither see them nor inject or clear them.
    Role.TRAINEE: frozenset({Right.READ, Right.OPERATE}),
    Role.OPERATOR: frozenset({Right.READ, Right.SEE_TRUTH, Right.OPERATE, Right.STRIKE, Right.REWIRE}),
    Role.ADMINISTRATOR: frozenset(Right),
}
"""The rights of each role."""

WRITES: dict[str, Right] = {
    "/v1/slices": Right.OPERATE,
    "/v1/cubes": Right.OPERATE,
    "/v1/links": Right.OPERATE,
    "/v1/ocs": Right.OPERATE,
    "/v1/desk": Right.OPERATE,
    "/v1/requests": Right.OPERATE,  # to cancel an own one; see `cancel_denial`
    "/v1/faults": Right.STRIKE,
    "/v1/drills": Right.STRIKE,
    "/v1/schedules": Right.STRIKE,
    "/v1/safety": Right.STRIKE,
    "/v1/rewirings": Right.REWIRE,
    "/v1/forecasts": Right.SEE_TRUTH,  # they change nothing in the twin
}
"""Path → the right that writes at or below it need; other paths need ADMINISTER."""

ADMIN_READS = frozenset({"/v1/backup"})
"""Reads that reveal the whole twin and need ADMINISTER."""

TRUTH_READS = (
    *("/v1/faults", "/v1/describe/faults", "/v1/drills", "/v1/describe/drills", "/v1/safety"),
    *("/v1/schedules", "/v1/describe/schedules"),
    *("/v1/forecasts", "/v1/what-if", "/v1/bisect", "/v1/snapshots", "/v1/dead-letters"),
)
"""Beginnings of the paths of reads that need SEE_TRUTH: of faults and drills, of copies of the twin's states,
which contain both, and of requests that could not be read. All other reads leave the truth out for callers
without this right (`services.gateway.hidden_truth`)."""
ROLE_HEADER = "Lightwave-Role"
"""Header with which a caller asks to be treated as another role, whose rights it has."""
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
        shows_truth = any(path == start or path.startswith(f"{start}/") for start in TRUTH_READS)
        return Right.SEE_TRUTH if shows_truth else Right.READ
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


def in_role(caller: Caller, word: str | None) -> Caller:
    """The caller in the role that it asks for. Raise InvalidInput if there is no such role, or if it has
    rights that the caller lacks."""
    if word is None:
        return caller
    allowed = [role for role in Role if RIGHTS[role] <= RIGHTS[caller.role]]
    if word not in allowed:
        raise InvalidInput(
            f"{ROLE_HEADER} {truncated(repr(word))}: must be {' or '.join(allowed)}, or omitted"
        )
    return replace(caller, role=Role(word))


def hides_truth(caller: Caller | None) -> bool:
    """Whether answers to this caller must leave the truth out."""
    return caller is None or Right.SEE_TRUTH not in RIGHTS[caller.role]


def denial(caller: Caller, method: str, path: str) -> str | None:
    """Why the caller may not send this request; None if it may."""
    needed = right_needed(method, path)
    if needed in RIGHTS[caller.role]:
        return None
    roles = " or ".join(role for role in Role if needed in RIGHTS[role])
    who = "this client" if caller.name is None else caller.name
    return f"{who} is {_article(caller.role)} and has no right {needed}; the role must be {roles}"


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


def caller_of(scope: Scope) -> Caller | None:
    """The caller that the guard attached to a request."""
    caller: Caller | None = scope.get("state", {}).get("caller")
    return caller


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
