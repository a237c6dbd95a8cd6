"""Secrets in files that nobody else may read, so that none has to stand in a command line or a variable."""

import os
import stat
from pathlib import Path

from shared.basics.errors import InvalidInput

TOKEN = "LIGHTWAVE_TOKEN"  # noqa: S105 -- the variable's name
TOKEN_FILE = "LIGHTWAVE_TOKEN_FILE"  # noqa: S105 -- as above
SIZE_MAX = 1_000_000
OTHERS = stat.S_IRWXG | stat.S_IRWXO


def read_secret(path: Path, what: str) -> str:
    """The text of a file of up to 1 MB that only its owner may read; InvalidInput if it is anything else.
    `what` is how the sentence calls it."""
    try:
        # Not to wait for ever at a pipe; what was opened is what is judged.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise InvalidInput(f"{what} {path}: no file")
            if found.st_mode & OTHERS:
                mode = stat.S_IMODE(found.st_mode)
                raise InvalidInput(
                    f"{what} {path}: others may use it (mode {mode:o}); allowed is {mode & ~OTHERS:o}: "
                    f"chmod go= {path}"
                )
            content = file.read(SIZE_MAX + 1)
    except OSError as error:
        raise InvalidInput(f"{what} {path}: {error.strerror}") from None
    if len(content) > SIZE_MAX:
        raise InvalidInput(f"{what} {path}: larger than {SIZE_MAX} bytes")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise InvalidInput(f"{what} {path}: not UTF-8 text") from None


def own_token() -> str | None:
    """The token of this process's environment: in LIGHTWAVE_TOKEN, or in the file that LIGHTWAVE_TOKEN_FILE
    names."""
    token, file = os.environ.get(TOKEN), os.environ.get(TOKEN_FILE)
    if token and file:
        raise InvalidInput(f"{TOKEN} and {TOKEN_FILE}: only one of them is allowed")
    return read_secret(Path(file), TOKEN_FILE).strip() if file else token or None


def tokens_file() -> Path | None:
    """The file of tokens that LIGHTWAVE_TOKENS names."""
    return Path(found) if (found := os.environ.get("LIGHTWAVE_TOKENS")) else None
