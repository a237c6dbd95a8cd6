"""`lightwave wait`: polls until an object reaches a state."""

import time
from collections.abc import Callable
from typing import Annotated, TypeVar

import click
import typer

from ops.cli.common.command_groups import command_app, examples
from ops.cli.common.name_completion import KindAndNameParam, expand_name
from ops.cli.common.options import timeout_option
from ops.cli.common.output import echo
from ops.client.http_client import Client, RequestFailed, row_path, rows_path
from schemas.resource_kinds import find_kind

PolledT = TypeVar("PolledT")
POLL_S = 0.3


def poll_until(look: Callable[[], PolledT | None], timeout_s: float | None) -> PolledT | None:
    """Poll `look` until it returns a value; None if that takes longer than `timeout_s` of wall time."""
    end_s = None if timeout_s is None else time.monotonic() + timeout_s
    while (found := look()) is None:
        if end_s is not None and time.monotonic() >= end_s:
            return None
        time.sleep(POLL_S)
    return found


TIMEOUT_S = 30

app = command_app()


@app.command(
    epilog=examples("wait slice/pod-0/slice-3 --for running", "wait ocs/pod-0/ocs-17 --for up --timeout 10m")
)
def wait(
    resource: Annotated[
        str,
        typer.Argument(
            click_type=KindAndNameParam(), metavar="KIND/NAME", help="such as slice/pod-0/slice-3"
        ),
    ],
    wanted: Annotated[
        str, typer.Option("--for", metavar="STATE", help="a state, or FIELD=VALUE for any field of `get`")
    ],
    timeout_s: Annotated[int, timeout_option(f"{TIMEOUT_S}s")] = TIMEOUT_S,
) -> None:
    """Wait until an object reaches a state.

    The exit code is 1 if it does not reach the state before the timeout.
    """
    word, _, name = resource.partition("/")
    kind = find_kind(word)
    if kind is None or not name:
        raise click.UsageError(f"{resource!r} is not of the form KIND/NAME, such as slice/pod-0/slice-3")
    client = Client()
    name = expand_name(client, name)
    field, _, value = wanted.rpartition("=") if "=" in wanted else ("", "", wanted)
    field = field or kind.state_field
    path = row_path(kind, name)
    client.resource(path, "name")  # check that the object exists, and then that the field can have the value
    client.rows(rows_path(kind), "name", **{field: value, "limit": 1})

    def look() -> bool | None:
        row = client.resource(path, field)
        found = _text(row[field])
        if found == value:
            return True
        if row.get("ended_us") is not None:
            raise RequestFailed(f"{name} ended with {field} {found}, not {value}")
        return None

    if poll_until(look, timeout_s) is None:
        found = _text(client.resource(path, field)[field])
        raise RequestFailed(f"{name}: {field} is still {found}, not {value}, after {timeout_s} s")
    echo(f"{name}: {field} is {value}")


def _text(value: object) -> str:
    """A value in the form of a list filter."""
    if isinstance(value, bool):
        return str(value).lower()
    return "null" if value is None else str(value)
