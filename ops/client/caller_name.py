"""The name that this process gives itself in its requests, `--as` or LIGHTWAVE_AS, and the role that it asks
for, LIGHTWAVE_ROLE."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ops.report.safe_text import quoted
from shared.basics.errors import InvalidInput

AS_VARIABLE = "LIGHTWAVE_AS"
AS_HEADER = "Lightwave-As"
"""The header of requests, as `services.gateway.http.access.caller` reads it."""
ROLE_VARIABLE = "LIGHTWAVE_ROLE"
ROLE_HEADER = "Lightwave-Role"
"""The header of requests that asks for a role with fewer rights, as the gateway reads it."""
_ROLE = re.compile(r"[a-z]{1,32}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_given: ContextVar[str | None] = ContextVar("caller_name", default=None)


def caller_name() -> str | None:
    """The name of `--as`, or of LIGHTWAVE_AS; None without one. Raises InvalidInput if it is not valid."""
    if (given := _given.get()) is not None:
        return check_caller_name(given, "--as")
    found = os.environ.get(AS_VARIABLE)
    return check_caller_name(found, AS_VARIABLE) if found else None


def check_caller_name(name: str, word: str) -> str:
    """Return a valid name. Raises InvalidInput, named by `word`, for another."""
    if _NAME.fullmatch(name) is None:
        raise InvalidInput(
            f"{word} {quoted(name)}: must be 1 to 64 letters, digits and . _ @ -, and start with a letter or "
            "a digit"
        )
    return name


def caller_role() -> str | None:
    """The role of LIGHTWAVE_ROLE; None without one. Raises InvalidInput if it cannot be one."""
    found = os.environ.get(ROLE_VARIABLE)
    if found and _ROLE.fullmatch(found) is None:
        raise InvalidInput(f"{ROLE_VARIABLE} {quoted(found)}: must be a role, such as trainee")
    return found or None


@contextmanager
def acting_as(name: str | None) -> Iterator[None]:
    """Let every client that is made meanwhile send its requests under this name."""
    token = _given.set(name)
    try:
        yield
    finally:
        _given.reset(token)
