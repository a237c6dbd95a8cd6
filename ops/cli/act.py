"""Commands that ask the twin for something: one line says what happened, and as which message."""

from collections.abc import Callable
from typing import Any

import click

from ops.cli.client import Client, RequestFailed, escape
from ops.cli.output import columns, output_option, show, watch_option, watched
from ops.cli.tables import brief
from ops.cli.words import Duration, ShapeText, moment, unknown

FAULT_KINDS = ("host", "chip", "link", "connector", "ocs", "port")
key_option = click.option("--key", help="idempotency key: the same key is the same request")


class FaultKindWord(click.ParamType):
    """A kind of fault."""

    name = "fault kind"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value.lower() not in FAULT_KINDS:
            self.fail(unknown("kind of fault", value, FAULT_KINDS), param, ctx)
        return value.lower()


@click.command()
@click.argument("kind", type=FaultKindWord(), metavar="KIND")
@click.argument("target", metavar="TARGET")
@click.option(
    "--for", "duration_s", type=Duration(), metavar="2h", help="simulated time; without it until repaired"
)
@key_option
@output_option
def inject(kind: str, target: str, duration_s: int | None, key: str | None, output: str) -> None:
    """Break something: KIND is host, chip, link, connector, ocs or port."""
    body: dict[str, object] = {"kind": kind, "target": target, "duration_s": _seconds(duration_s)}
    _tell(Client().post("/v1/faults", body, key), output)


@click.command()
@click.argument("fault", metavar="FAULT")
@key_option
@output_option
def clear(fault: str, key: str | None, output: str) -> None:
    """End a fault; harmless if it has ended."""
    _tell(Client().post(f"/v1/faults/{escape(fault)}/clear", None, key), output)


@click.command()
@click.argument("shape", type=ShapeText(), metavar="SHAPE")
@click.option("--twisted", is_flag=True, help="as a twisted torus")
@click.option(
    "--for", "duration_s", type=Duration(), metavar="6h", help="run time; without it until released"
)
@click.option("--priority", type=int, default=0, show_default=True, help="-100 to 100, higher first")
@click.option("--fabric", default="pod-0", show_default=True)
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
    body: dict[str, object] = {
        "fabric": fabric,
        "shape": shape,
        "twisted": twisted,
        "priority": priority,
        "duration_s": _seconds(duration_s),
    }
    _tell(Client().post("/v1/slices", body, key), output)


@click.command()
@click.argument("slice_name", metavar="SLICE")
@key_option
@output_option
def release(slice_name: str, key: str | None, output: str) -> None:
    """Release a slice, or withdraw it while it waits."""
    _tell(Client().post(f"/v1/slices/{escape(slice_name)}/release", None, key), output)


@click.command()
@click.argument("target", metavar="TARGET")
@key_option
@output_option
def drain(target: str, key: str | None, output: str) -> None:
    """Take a cube out of use; what runs there moves if a spare is idle."""
    _tell(Client().post(f"/v1/cubes/{escape(target)}/drain", None, key), output)


@click.command()
@click.argument("target", metavar="TARGET")
@key_option
@output_option
def undrain(target: str, key: str | None, output: str) -> None:
    """Take a drained cube into use again."""
    _tell(Client().post(f"/v1/cubes/{escape(target)}/undrain", None, key), output)


@click.group()
def clock() -> None:
    """Look at the simulated clock, stop it, change its speed."""


@clock.command(name="show")
@output_option
@watch_option
def show_clock(output: str, watch: bool) -> None:
    """Show simulated time and speed."""
    client = Client()
    watched(lambda: _clock(client.get("/v1/clock"), output), watch)


@clock.command()
@output_option
def pause(output: str) -> None:
    """Let simulated time stand still."""
    _clock(Client().post("/v1/clock/pause"), output)


@clock.command()
@output_option
def resume(output: str) -> None:
    """Let simulated time go on."""
    _clock(Client().post("/v1/clock/resume"), output)


@clock.command()
@click.argument("times", type=float, metavar="X")
@output_option
def speed(times: float, output: str) -> None:
    """Run X times as fast as wall time."""
    _clock(Client().put("/v1/clock/speed", {"speed": times}), output)


def _clock(content: dict[str, Any], output: str) -> None:
    row = [
        moment(content["now_us"]),
        f"× {content['speed']:g}",
        content["paused"],
        f"× {content['held_speed']:.0f}" if content["held_speed"] >= 10 else f"× {content['held_speed']:.2f}",
        f"{content['lag_us'] / 1e6:.0f}s",
    ]
    show(content, output, lambda: columns(("TIME", "SPEED", "PAUSED", "HELD", "BEHIND"), [row]))


def _seconds(duration_s: int | None) -> float | None:
    return None if duration_s is None else float(duration_s)


def _tell(answer: dict[str, Any], output: str) -> None:
    """Say what happened; a refusal is the command's failure."""
    refusal = next((m for m in answer["outcome"] if m["type"].endswith("Refused")), None)
    if refusal is not None:
        raise RequestFailed(f"{_why_refused(refusal['body'])} ({answer['id']})")
    show(answer, output, lambda: f"{_outcome(answer)} ({answer['id']})")


def _why_refused(body: dict[str, Any]) -> str:
    subject = next((str(body[f]) for f in ("slice", "subject", "target", "fault") if f in body), "")
    reason = str(body["reason"])
    return reason if subject in reason else f"{subject}: {reason}"


def _outcome(answer: dict[str, Any]) -> str:
    if answer["status"] == "received":
        return "received; it will be taken when simulated time goes on"
    for message in answer["outcome"]:
        if message["type"] in SENTENCES:
            return SENTENCES[message["type"]](message["body"])
    for message in answer["outcome"]:
        return f"{message['type']} {brief(message['body'])}"
    return "done"


def _admitted(body: dict[str, Any]) -> str:
    if body["corner"] is not None:
        return f"{body['slice']} admitted as a mesh in cube {body['cubes'][0]}"
    return f"{body['slice']} admitted on {len(body['cubes'])} cubes"


SENTENCES: dict[str, Callable[[dict[str, Any]], str]] = {
    "SliceAdmitted": _admitted,
    "FaultBegan": lambda body: f"{body['fault']} began: {body['kind']} {body['target']}",
    "FaultEnded": lambda body: f"{body['fault']} ended: {body['how']}",
    "CubeDrained": lambda body: f"cube {body['cube']} drained",
    "CubeUndrained": lambda body: f"cube {body['cube']} in use again",
    "SliceCompleted": lambda body: f"{body['slice']} completed",
    "SliceRequested": lambda body: f"{body['slice']} waits for room",
}
"""What happened, in one sentence, by the first message of the outcome that has one here."""
