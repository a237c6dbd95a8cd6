"""Reads this process's tokens from its environment, or from a file named there."""

import os
from pathlib import Path

from shared.basics.errors import InvalidInput
from shared.storage.files.secret_files import read_secret

TOKEN = "LIGHTWAVE_TOKEN"  # noqa: S105 -- the variable's name
TOKEN_FILE = "LIGHTWAVE_TOKEN_FILE"  # noqa: S105 -- as above


def token_from_environment() -> str | None:
    """Return the token in LIGHTWAVE_TOKEN, or in the file LIGHTWAVE_TOKEN_FILE. Raises InvalidInput if both
    are set."""
    token, file = os.environ.get(TOKEN), os.environ.get(TOKEN_FILE)
    if token and file:
        raise InvalidInput(f"{TOKEN} and {TOKEN_FILE}: only one of them is allowed")
    return read_secret(Path(file), TOKEN_FILE).strip() if file else token or None


def tokens_file_from_environment() -> Path | None:
    """Return the value of LIGHTWAVE_TOKENS, a file with the tokens of a gateway."""
    return Path(found) if (found := os.environ.get("LIGHTWAVE_TOKENS")) else None
