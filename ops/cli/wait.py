"""`lightwave wait`: until a thing is as one wants it."""

from typing import Annotated, Any

import click
import typer

from ops.cli.groups import application
from ops.cli.names import Thing, whole
from ops.cli.options import timeout_option
from ops.cli.output import say
from ops.cli.polling import until
from ops.common.client import Client, RequestFailed, escape
from schemas.kinds import kind_of

STATE_FIELD = {"cubes": "health"}
"""Kind → the field that is its state, where it has another name."""
TIMEOUT_S = 30

app = application()


@app.command()
def wait(
    thing: Annotated[
        str, typer.Argument(click_type=Thing(), metavar="KIND/NAME", help="such as slice/pod-0/slice-3")
    ],
    wanted: Annotated[
        str, typer.Option("--for", metavar="STATE", help="a state, or FIELD=VALUE of any field of `get`")
    ],
    timeout_s: Annotated[int, timeout_option(f"{TIMEOUT_S}s")] = TIMEOUT_S,
) -> None:
    """Wait until a thing is in a STATE; exit code 1 if it does not come to it in time."""
    word, _, name = thing.partition("/")
    kind = kind_of(word)
    if kind is None or not name:
        raise click.UsageError(f"{thing!r} is no KIND/NAME, like slice/pod-0/slice-3")
    client = Client()
    name = whole(client, name)
    field, _, value = wanted.rpartition("=") if "=" in wanted else ("", "", wanted)
    field = field or STATE_FIELD.get(kind.word, "state")
    path = f"/v1/{kind.word}/{escape(name)}"
    client.thing(path, "name")  # that there is one, and below that it can ever be so
    client.rows(f"/v1/{kind.word}", "name", **{field: value, "limit": 1})

    def look() -> dict[str, Any] | None:
        row = client.thing(path, field)
        if _text(row[field]) == value:
            return row
        if row.get("ended_us") is not None:
            raise RequestFailed(f"{name} has ended with {field} {_text(row[field])}, and not {value}")
        return None

    if until(look, timeout_s) is None:
        found = _text(client.thing(path, field)[field])
        raise RequestFailed(f"{name}: {field} is {found} and not {value} after {timeout_s} s")
    say(f"{name}: {field} is {value}")


def _text(value: object) -> str:
    """A value as lists are filtered by it."""
    if isinstance(value, bool):
        return str(value).lower()
    return "null" if value is None else str(value)
