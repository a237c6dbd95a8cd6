"""The gateway's token as tests configure it."""

from services.gateway.http.access.caller import Caller, Role
from services.gateway.http.access.tokens import SINGLE_TOKEN_NAME, Tokens


def single_token(token: str | None) -> Tokens:
    """Return the single token with the role administrator; no tokens if None."""
    return Tokens([(token, Caller(SINGLE_TOKEN_NAME, Role.ADMINISTRATOR))] if token else [])
