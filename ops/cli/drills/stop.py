"""`lightwave drill stop` and `release`: stop one drill, or all of them, and let drills start again."""

from typing import TYPE_CHECKING, Annotated

import click
import typer

from ops.cli.common.name_completion import NameParam
from ops.cli.common.options import Comment, OutputOption, RequestKey
from ops.cli.common.output import show
from ops.cli.operate.actions import RequestNote, request_answer
from ops.client.http_client import Client, RequestFailed, escape_path
from ops.drills.running_drill import change_safety
from ops.requests.object_names import expand_name

if TYPE_CHECKING:
    from schemas.api.drills import SafetyReceipt

Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="why, recorded on the log")]


def stop(
    reason: Reason,
    drill: Annotated[
        str | None,
        typer.Argument(click_type=NameParam("drills"), metavar="[DRILL]", help="such as pod-0/drill-3"),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="the kill switch: stop all drills, and end all that they began")
    ] = False,
    hold: Annotated[
        bool, typer.Option("--hold", help="with --all: no drill starts until `drill release`")
    ] = False,
    key: RequestKey = None,
    comment: Comment = None,
    output: OutputOption = "table",
) -> None:
    """Stop a drill, or all drills of the twin.

    The faults, drains and slices of the drill end at once. Its hypothesis is verified afterwards.
    """
    if every == (drill is not None):
        raise click.UsageError("DRILL, --all: must be given, exactly one of them")
    if hold and not every:
        raise click.UsageError("--hold requires --all")
    client = Client()
    if every:
        body: dict[str, object] = {"action": "stop", "reason": reason, "hold": hold}
        receipts = change_safety(client, body, comment, key)
        held = "; no drill starts until `lightwave drill release`" if hold else ""
        show(receipts, output, lambda: _done_text(receipts, "all drills are stopped on") + held)
        return
    name = expand_name(client, str(drill))
    path = f"/v1/drills/{escape_path(name)}/stop"
    answer = request_answer(client, path, RequestNote(key, comment), {"reason": reason}, output)
    show(answer, output, lambda: f"{name} is stopped; `lightwave drill watch {name}` shows its end")


def release(
    reason: Reason, key: RequestKey = None, comment: Comment = None, output: OutputOption = "table"
) -> None:
    """Let drills start again after `drill stop --all --hold`."""
    client = Client()
    receipts = change_safety(client, {"action": "release", "reason": reason}, comment, key)
    show(receipts, output, lambda: _done_text(receipts, "drills can start on"))


def _done_text(receipts: "list[SafetyReceipt]", done: str) -> str:
    """What happened on each site. Raises RequestFailed if a site has only received the request."""
    waiting = [f"{row.site} ({row.receipt.id})" for row in receipts if row.receipt.status == "received"]
    if waiting:
        raise RequestFailed(
            f"{', '.join(waiting)}: received, but not done yet; `lightwave requests` shows what waits"
        )
    return f"{done} {', '.join(row.site for row in receipts) or 'no site'}"
