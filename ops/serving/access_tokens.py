"""The access tokens of a gateway: the token of LIGHTWAVE_TOKEN, and those of a file."""

from collections.abc import Iterator
from pathlib import Path

from ops.report.safe_text import quoted
from services.gateway.http.access.caller import NAME_ALLOWED, NAME_FORM, Caller, Role
from services.gateway.http.access.tokens import SINGLE_TOKEN_NAME, Tokens
from shared.basics.errors import InvalidInput
from shared.storage.files.secret_files import read_secret


def known_tokens(token: str | None, tokens: Path | None) -> Tokens:
    """Return the tokens of a gateway: the administrator's token and those of a file.

    If the file contains the administrator's token too, the file defines its owner, because the commands of
    this shell present it as clients of the twin. Raises InvalidInput that names the invalid line, but never
    the token in it.
    """
    if token is not None and not token:
        raise InvalidInput("--token, LIGHTWAVE_TOKEN_FILE: is empty; must have 16 to 512 characters")
    named = [*_lines(tokens)] if tokens is not None else []
    if tokens is not None and not named:
        raise InvalidInput(f"tokens file {tokens}: has no names; must have one or more lines NAME ROLE TOKEN")
    one = (
        [(token, Caller(SINGLE_TOKEN_NAME, Role.ADMINISTRATOR))] if token and token not in dict(named) else []
    )
    return Tokens([*one, *named])


def _lines(file: Path) -> Iterator[tuple[str, Caller]]:
    """Yield the tokens of a file with a line `NAME ROLE TOKEN` per token. Empty lines and lines that start
    with # are ignored. A name may have several tokens, so that one can be replaced."""
    for number, line in enumerate(read_secret(file, "tokens file").splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        where = f"tokens file {file}, line {number}"
        if len(words) != 3:
            raise InvalidInput(f"{where}: {len(words)} words; must be three: NAME ROLE TOKEN")
        name, role, token = words
        if not NAME_FORM.fullmatch(name):
            raise InvalidInput(f"{where}: {quoted(name)} is not a valid name; must be {NAME_ALLOWED}")
        if role not in [*Role]:
            raise InvalidInput(f"{where}: {quoted(role)} is not a role; must be one of {', '.join(Role)}")
        yield token, Caller(name, Role(role))
