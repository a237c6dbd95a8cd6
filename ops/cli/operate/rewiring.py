"""`lightwave dcn plan --live`, `dcn approve` and `dcn abort`: rewires a network of the running twin."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click
import typer

from ops.cli.common.name_completion import NameParam, list_names
from ops.cli.common.options import Comment, OutputOption, RequestKey
from ops.cli.common.output import Form, echo, show
from ops.cli.common.param_types import FILE
from ops.cli.common.waiting import after_text, waiting_terms
from ops.cli.operate.actions import RequestNote, request_answer, send_request
from ops.cli.operate.outcome_text import outcome_text
from ops.client.answers import EVENTS, MessageType, with_fields_of
from ops.client.http_client import Client, RequestFailed, escape_path
from ops.client.waiting import condition_look, wait_for_outcome, wait_until
from ops.requests.object_names import expand_name

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from schemas.api.conditions import ConditionReport
    from schemas.messages.topology import RewiringEnded, RewiringPlanned

PLANNED: "MessageType[RewiringPlanned]" = MessageType("RewiringPlanned")
ENDED: "MessageType[RewiringEnded]" = MessageType("RewiringEnded")
LIVE_PARAMETERS = ("wait", "timeout_s", "key", "comment")
"""Parameters of `dcn plan` that need --live."""
COMMON_PARAMETERS = ("file", "live", "fabric", "output")

Rewiring = Annotated[
    str,
    typer.Argument(click_type=NameParam("rewirings"), metavar="REWIRING", help="such as dcn-0/rewiring-2"),
]


class FileOrNetworkParam(click.ParamType):
    """The file of a network, or with --live the name of a network of the twin."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if ctx is not None and ctx.params.get("live"):
            if "/" in value or "." in value:
                raise click.UsageError(
                    f"FILE {value!r} cannot be combined with --live, which plans for a "
                    "network of the running twin, such as dcn-0"
                )
            return value
        return FILE.convert(value, param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        if not ctx.params.get("live"):
            return FILE.shell_complete(ctx, param, incomplete)
        return [CompletionItem(name) for name in list_names("fabrics") if name.startswith(incomplete)]


def check_plan(ctx: click.Context, file: Path | str | None, live: bool) -> None:
    """Raise UsageError for parameters that cannot be combined with --live, or that need it."""
    for param in ctx.command.params:
        name = str(param.name)
        given = ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
        if not given or name in COMMON_PARAMETERS:
            continue
        if live and name not in LIVE_PARAMETERS:
            raise click.UsageError(
                f"{param.opts[0]} cannot be combined with --live; "
                "a network of the twin has its own demand and state"
            )
        if not live and name in LIVE_PARAMETERS:
            raise click.UsageError(f"{param.opts[0]} requires --live")
    if live and file is not None and ctx.params["fabric"] is not None:
        raise click.UsageError("--fabric cannot be combined with a network's name as FILE")
    if ctx.params["timeout_s"] is not None and not ctx.params["wait"]:
        raise click.UsageError("--timeout requires --wait")
    if not live and file is None:
        raise click.UsageError("Missing argument 'FILE'; --live plans for a network of the running twin")


def plan_live(dcn: str | None, note: RequestNote, output: Form, *, wait: bool, timeout_s: int | None) -> None:
    """Request a plan now. With `wait`, wait until it has been carried out. Raises RequestFailed if it is
    refused, or ends before it is complete."""
    client = Client()
    answer = request_answer(client, "/v1/rewirings", note, {"dcn": dcn}, output)
    if wait and not answer.complete:
        report = wait_for_outcome(client, str(answer.id), waiting_terms(timeout_s))
        if report is None:
            raise RequestFailed(f"{answer.id}: nothing was planned{after_text(timeout_s)}")
        answer = with_fields_of(answer, report)
    with client.reading():
        show(answer, output, lambda: outcome_text("plan", answer))
        planned = map(PLANNED.body, answer.outcome)
        names = [body.rewiring for body in planned if body is not None]
    for name in names if wait else []:
        _wait_until_ended(client, str(name), timeout_s, output)


def _wait_until_ended(client: Client, name: str, timeout_s: int | None, output: Form) -> None:
    """Wait until a rewiring has ended. Raises RequestFailed if it does not complete: another client aborts
    it, or its network retires."""

    def impossible(report: "ConditionReport") -> str:
        return f"{name}: cannot end any more: {'; '.join(report.reasons)}"

    condition = f"rewirings.{name}.ended_us != null"
    ended = wait_until(client, condition_look(client, condition, None, impossible), waiting_terms(timeout_s))
    if ended is None:
        raise RequestFailed(f"{name}: has not ended{after_text(timeout_s)}; it continues")
    about: dict[str, object] = {"for": name, "type": "RewiringEnded"}
    rows = client.rows(EVENTS, "at_us", "type", "body", **about)
    with client.reading():
        found = ENDED.body(rows[-1])
        if found is None:
            raise LookupError("RewiringEnded")
        outcome, reason = found.outcome, found.reason
    if outcome != "completed":
        raise RequestFailed(f"{name}: {outcome}: {reason}")
    if output == "table":
        echo(f"{name}: {outcome}: {reason}")


def approve(
    name: Rewiring, key: RequestKey = None, comment: Comment = None, output: OutputOption = "table"
) -> None:
    """Carry out a planned rewiring that waits for approval."""
    _act_on_rewiring(name, "approve", RequestNote(key, comment), output)


def abort(
    name: Rewiring, key: RequestKey = None, comment: Comment = None, output: OutputOption = "table"
) -> None:
    """Abort a rewiring.

    A rewiring that is under way stops after its current stage.
    """
    _act_on_rewiring(name, "abort", RequestNote(key, comment), output)


def _act_on_rewiring(name: str, verb: str, note: RequestNote, output: Form) -> None:
    client = Client()
    send_request(client, verb, f"/v1/rewirings/{escape_path(expand_name(client, name))}/{verb}", note, output)
