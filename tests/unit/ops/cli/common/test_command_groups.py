"""Commands name their own options in errors of the twin."""

from typing import Annotated

import pytest
import typer

from ops.cli.common.command_groups import command_app, find_command
from shared.basics.errors import InvalidInput

app = command_app()


@app.command()
def look(
    error: str,
    at: Annotated[str | None, typer.Option("--at")] = None,
    since: Annotated[str | None, typer.Option("--from")] = None,
    limit: Annotated[int, typer.Option("--limit")] = 3,
) -> None:
    """Fail with an error that names a parameter of the API."""
    raise InvalidInput(error)


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["at '9d': is in the future", "--at", "9d"], "--at '9d': is in the future"),
        (["from '9d': is in the future", "--from", "9d"], "--from '9d': is in the future"),
        (["at 'to morrow': is no time", "--at", "to morrow"], "--at 'to morrow': is no time"),
        (["at '9d': is in the future", "--from", "9d"], "at '9d': is in the future"),
        (["at '9d': is in the future"], "at '9d': is in the future"),
        (["limit 3: is too few", "--limit", "3"], "--limit 3: is too few"),
        (["limit: 3 is not allowed", "--limit", "3"], "--limit: 3 is not allowed"),
        (["limit 3: is too few", "--limit", "4"], "limit 3: is too few"),
        (
            ["from '9d': must not be after at '8d'", "--from", "9d", "--at", "8d"],
            "--from '9d': must not be after --at '8d'",
        ),
        (["from '9d': must not be after at '8d'", "--from", "9d"], "--from '9d': must not be after at '8d'"),
        (["at must not be used", "--at", "9d"], "at must not be used"),
    ],
)
def test_an_error_about_an_option_names_it(arguments: list[str], shown: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        find_command(app, "look").main(arguments, standalone_mode=False)
    assert str(raised.value) == shown
