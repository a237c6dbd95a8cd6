"""Bearer tokens: whom each stands for. Kept as digests, so that looking one up tells nothing by its time."""

import hashlib
import re
from collections.abc import Iterable

from services.gateway.http.access.caller import NAMELESS, Caller, Role
from shared.basics.errors import InvalidInput

TOKEN_MIN, TOKEN_MAX = 16, 512
"""Characters of a token; 16 random ones cannot be guessed at any rate that a gateway answers."""
SINGLE_TOKEN_NAME = "token"  # noqa: S105 -- a name, not a secret
"""Name of whoever brings the one token of LIGHTWAVE_TOKEN."""


class Tokens:
    """The callers that a gateway knows; without any, everybody on this machine is one."""

    def __init__(self, known: Iterable[tuple[str, Caller]] = ()) -> None:
        """(token, who brings it). InvalidInput for a token that is none, or that two have."""
        self._callers: dict[bytes, Caller] = {}
        for token, caller in known:
            check_token(token, "token" if caller.name == SINGLE_TOKEN_NAME else f"token of {caller.name}")
            if (other := self._callers.setdefault(_digest(token), caller)) is not caller:
                raise InvalidInput(f"token of {caller.name}: {other.name} has the same; allowed is one each")

    def __bool__(self) -> bool:
        return bool(self._callers)

    def caller_of(self, authorization: str | None) -> Caller | None:
        """Who brings this Authorization header; None if nobody who is known."""
        if not self._callers:
            return NAMELESS
        scheme, _, given = (authorization or "").partition(" ")
        caller = self._callers.get(_digest(given.strip()))
        return caller if scheme.lower() == "bearer" else None


def single_token(token: str | None) -> Tokens:
    """The one token that administers, or none."""
    return Tokens([(token, Caller(SINGLE_TOKEN_NAME, Role.ADMINISTRATOR))] if token else [])


def check_token(token: str, what: str) -> None:
    """InvalidInput unless this can be a bearer token; the sentence does not repeat it."""
    if not re.fullmatch(r"[!-~]+", token):
        raise InvalidInput(f"{what}: not a bearer token; allowed are visible ASCII characters")
    if not TOKEN_MIN <= len(token) <= TOKEN_MAX:
        raise InvalidInput(f"{what}: {len(token)} characters; allowed are {TOKEN_MIN} to {TOKEN_MAX}")


def _digest(token: str) -> bytes:
    # Headers are read as Latin-1, whatever the client meant by its bytes.
    return hashlib.sha256(token.encode("latin-1", "replace")).digest()
