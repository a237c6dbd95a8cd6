"""Commands that ask the twin for something: one line says what happened, and as which message."""

from typing import Any

import click

from ops.cli.names import Name, Target
from ops.cli.outcomes import refusal_of, sentence_of
from ops.cli.output import output_option, show
from ops.cli.words import FAULT_KINDS, Duration, Key, OneOf, ShapeText
from ops.common.client import WAIT_S, Client, RequestFailed, escape

ANSWER = ("id", "status", "repeated", "outcome")
"""Fields of the twin's answer to a request."""
key_option = click.option(
    "--key", type=Key(), help="idempotency key: the same key is the same request [default: a new one]"
)


@click.command()
@click.argument("kind", type=OneOf("kind of fault", FAULT_KINDS), metavar="KIND")
@click.argument("target", type=Target(), metavar="TARGET")
@click.option(
    "--for", "duration_s", type=Duration(), metavar="2h", help="simulated time; without it until repaired"
)
@key_option
@output_option
def inject(kind: str, target: str, duration_s: int | None, key: str | None, output: str) -> None:
    """Break something: KIND is host, chip, link, connector, ocs or port.

    TARGET is its name: pod-0/cube-12/host-3, …/host-3/chip-1, pod-0/cube-12/+y/7 (link, connector),
    pod-0/ocs-17 or pod-0/ocs-17/N24.
    """
    _ask("inject", "/v1/faults", key, output, {"kind": kind, "target": target, "duration_s": duration_s})


@click.command()
@click.argument("fault", type=Name("faults"), metavar="FAULT")
@key_option
@output_option
def clear(fault: str, key: str | None, output: str) -> None:
    """End a fault, such as pod-0/fault-7."""
    _ask("clear", f"/v1/faults/{escape(fault)}/clear", key, output)


@click.command()
@click.argument("shape", type=ShapeText(), metavar="SHAPE")
@click.option("--twisted", is_flag=True, help="as a twisted torus")
@click.option(
    "--for", "duration_s", type=Duration(), metavar="6h", help="run time; without it until released"
)
@click.option("--priority", type=int, default=0, show_default=True, help="-100 to 100, higher first")
@click.option("--fabric", type=Name("fabrics"), default="pod-0", show_default=True)
@key_option
@output_option
def request(
    shape: str,
    twisted: bool,
    duration_s: int | None,
    priority: int,
    fabric: str,
    key: str | None,
    output: str,
) -> None:
    """Ask for a slice of SHAPE, such as 4x4x8."""
    body = {
        "fabric": fabric,
        "shape": shape,
        "twisted": twisted,
        "priority": priority,
        "duration_s": duration_s,
    }
    _ask("request", "/v1/slices", key, output, body)


@click.command()
@click.argument("slice_name", type=Name("slices"), metavar="SLICE")
@key_option
@output_option
def release(slice_name: str, key: str | None, output: str) -> None:
    """Release a slice, or withdraw it while it waits."""
    _ask("release", f"/v1/slices/{escape(slice_name)}/release", key, output)


@click.command()
@click.argument("target", type=Name("cubes"), metavar="TARGET")
@key_option
@output_option
def drain(target: str, key: str | None, output: str) -> None:
    """Take a cube out of use; what runs there moves if a spare is idle."""
    _ask("drain", f"/v1/cubes/{escape(target)}/drain", key, output)


@click.command()
@click.argument("target", type=Name("cubes"), metavar="TARGET")
@key_option
@output_option
def undrain(target: str, key: str | None, output: str) -> None:
    """Take a drained cube into use again."""
    _ask("undrain", f"/v1/cubes/{escape(target)}/undrain", key, output)


def _ask(verb: str, path: str, key: str | None, output: str, body: dict[str, Any] | None = None) -> None:
    """Send a request and say what became of it; a refusal is the command's failure."""
    client = Client()
    answer = client.post(f"{path}?wait={WAIT_S}", *ANSWER, body=body, key=key)
    with client.reading():
        refusal = refusal_of(verb, answer)
        if refusal is None or output != "table":
            show(answer, output, lambda: sentence_of(verb, answer))
    if refusal is not None:
        raise RequestFailed(refusal)
