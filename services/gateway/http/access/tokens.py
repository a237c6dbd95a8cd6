"""Bearer tokens and their callers. Only digests are stored, so the time of a look-up reveals nothing."""

import hashlib
import re
from collections.abc import Iterable

from services.gateway.http.access.caller import NAMELESS, Caller
from shared.basics.errors import InvalidInput

TOKEN_MIN, TOKEN_MAX = 16, 512
"""Minimum and maximum number of characters of a token. 16 random ones cannot be guessed at the rates that a
gateway answers."""
SINGLE_TOKEN_NAME = "token"  # noqa: S105 -- a name, not a secret
"""Caller name of the single token of LIGHTWAVE_TOKEN."""


class Tokens:
    """The callers known to a gateway. Without tokens, every client on this machine is an administrator."""

    def __init__(self, known: Iterable[tuple[str, Caller]] = ()) -> None:
        """`known` has (token, its caller). Raise InvalidInput for an invalid token, or one that two callers
        share."""
        self._callers: dict[bytes, Caller] = {}
        for token, caller in known:
            check_token(token, "token" if caller.name == SINGLE_TOKEN_NAME else f"token of {caller.name}")
            if (other := self._callers.setdefault(_digest(token), caller)) is not caller:
                raise InvalidInput(f"token of {caller.name}: must differ from the token of {other.name}")

    def __bool__(self) -> bool:
        return bool(self._callers)

    def caller_of(self, authorization: str | None) -> Caller | None:
        """The caller of an Authorization header; None if it is unknown."""
        if not self._callers:
            return NAMELESS
        scheme, _, given = (authorization or "").partition(" ")
        caller = self._callers.get(_digest(given.strip()))
        return caller if scheme.lower() == "bearer" else None


def check_token(token: str, what: str) -> None:
    """Raise InvalidInput unless this is a valid bearer token; the message does not repeat it."""
    if not re.fullmatch(r"[!-~]+", token):
        raise InvalidInput(f"{what}: must consist of visible ASCII characters")
    if not TOKEN_MIN <= len(token) <= TOKEN_MAX:
        raise InvalidInput(f"{what}: has {len(token)} characters; must have {TOKEN_MIN} to {TOKEN_MAX}")


def _digest(token: str) -> bytes:
    # Headers are decoded as Latin-1, for any encoding of the client.
    return hashlib.sha256(token.encode("latin-1", "replace")).digest()
