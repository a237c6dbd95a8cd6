"""`lightwave dcn plan --live`, `dcn approve`, `dcn abort`: what is asked of a living network's topology."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click
import typer

from ops.cli.names import Name, names_of, whole
from ops.cli.options import Comment, Output, RequestKey
from ops.cli.outcomes import sentence_of
from ops.cli.output import Form, say, show
from ops.cli.polling import until
from ops.cli.request import Said, answer_of, ask
from ops.cli.types import FILE
from ops.common.client import Client, RequestFailed, escape

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

OF_LIVE = ("wait", "timeout_s", "key", "comment")
"""Parameters of `dcn plan` that go with --live, and with nothing else."""
OF_BOTH = ("file", "live", "fabric", "output")

Rewiring = Annotated[
    str,
    typer.Argument(click_type=Name("rewirings"), metavar="REWIRING", help="such as dcn-0/rewiring-2"),
]


class FileOrNetwork(click.ParamType):
    """The file of a network, or with --live the name of one that lives."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if ctx is not None and ctx.params.get("live"):
            if "/" in value or "." in value:
                raise click.UsageError(
                    f"FILE {value!r} goes without --live, which asks the running twin for a plan of a "
                    "network such as dcn-0"
                )
            return value
        return FILE.convert(value, param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        if not ctx.params.get("live"):
            return FILE.shell_complete(ctx, param, incomplete)
        return [CompletionItem(name) for name in names_of("fabrics") if name.startswith(incomplete)]


def check_plan(ctx: click.Context, file: Path | str | None, live: bool) -> None:
    """UsageError for what does not go with --live, or only with it."""
    for param in ctx.command.params:
        name = str(param.name)
        given = ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
        if not given or name in OF_BOTH:
            continue
        if live and name not in OF_LIVE:
            raise click.UsageError(
                f"{param.opts[0]} goes without --live: a living network has its own demand and state"
            )
        if not live and name in OF_LIVE:
            raise click.UsageError(f"{param.opts[0]} goes with --live")
    if live and file is not None and ctx.params["fabric"] is not None:
        raise click.UsageError("--fabric goes without another name of the network")
    if ctx.params["timeout_s"] is not None and not ctx.params["wait"]:
        raise click.UsageError("--timeout goes with --wait")
    if not live and file is None:
        raise click.UsageError("Missing argument 'FILE'; --live plans for a network of the running twin")


def plan_live(dcn: str | None, said: Said, output: Form, *, wait: bool, timeout_s: int | None) -> None:
    """Ask for a plan now, and with `wait` go on until it has been carried out; RequestFailed where it is
    refused, or ends before it is complete."""
    client = Client()
    answer = answer_of(client, "/v1/rewirings", said, {"dcn": dcn}, output)
    if wait and not answer["complete"]:
        answer = answer | _known(client, str(answer["id"]), timeout_s)
    with client.reading():
        show(answer, output, lambda: sentence_of("plan", answer))
        names = [row["body"]["rewiring"] for row in answer["outcome"] if row["type"] == "RewiringPlanned"]
    for name in names if wait else []:
        _wait_for(client, str(name), timeout_s, output)


def _known(client: Client, request: str, timeout_s: int | None) -> dict[str, Any]:
    """What became of a request, once all of that is known."""

    def look() -> dict[str, Any] | None:
        report = client.thing(f"/v1/requests/{escape(request)}", "complete", "status", "reason", "outcome")
        return report if report["complete"] else None

    report = until(look, timeout_s)
    if report is None:
        raise RequestFailed(f"{request}: nothing is planned after {timeout_s} s")
    if report["status"] == "refused":
        raise RequestFailed(f"{report['reason']} ({request})")
    return report


def _wait_for(client: Client, name: str, timeout_s: int | None, output: Form) -> None:
    def look() -> dict[str, Any] | None:
        about: dict[str, object] = {"for": name, "type": "RewiringEnded"}
        ended = client.rows("/v1/events", "at_us", "body", **about)
        return ended[-1] if ended else None

    found = until(look, timeout_s)
    if found is None:
        raise RequestFailed(f"{name}: has not ended after {timeout_s} s; it goes on")
    with client.reading():
        outcome, reason = found["body"]["outcome"], found["body"]["reason"]
    if outcome != "completed":
        raise RequestFailed(f"{name}: {outcome}: {reason}")
    if output == "table":
        say(f"{name}: {outcome}: {reason}")


def approve(
    name: Rewiring, key: RequestKey = None, comment: Comment = None, output: Output = "table"
) -> None:
    """Carry out a rewiring that was planned and waits for it."""
    _about(name, "approve", Said(key, comment), output)


def abort(name: Rewiring, key: RequestKey = None, comment: Comment = None, output: Output = "table") -> None:
    """Drop a planned rewiring; one that is under way ends after the stage that it is in."""
    _about(name, "abort", Said(key, comment), output)


def _about(name: str, verb: str, said: Said, output: Form) -> None:
    client = Client()
    ask(client, verb, f"/v1/rewirings/{escape(whole(client, name))}/{verb}", said, output)
