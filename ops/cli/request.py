"""Commands that ask the twin for something: one line says what happened, and as which message."""

from typing import Annotated, Any, NamedTuple

import typer

from ops.cli.groups import application
from ops.cli.names import FAULT_KINDS, Name, Site, Target
from ops.cli.options import Comment, Fabric, KindOfFabric, Output, RequestKey, seed_option, settings_option
from ops.cli.outcomes import commissioned, refusal_of, retired, sentence_of
from ops.cli.output import Form, show
from ops.cli.types import Duration, OneOf, ShapeText
from ops.common.client import Client, RequestFailed, escape, waited

ANSWER = ("id", "status", "repeated", "complete", "outcome")
"""Fields of the twin's answer to a request."""


class Said(NamedTuple):
    """What is said with a request: its idempotency key, and why."""

    key: str | None
    comment: str | None


Cube = Annotated[
    str, typer.Argument(click_type=Name("cubes"), metavar="TARGET", help="a cube, such as pod-0/cube-12")
]

app = application()


@app.command()
def commission(
    name: Annotated[str, typer.Argument(metavar="NAME", help="of the new fabric, such as pod-4")],
    site: Annotated[
        str,
        typer.Option(
            click_type=Site(), metavar="SITE", help="that it joins; `lightwave get fabrics` shows them"
        ),
    ],
    kind: KindOfFabric = None,
    settings: Annotated[list[str] | None, settings_option("a parameter of the new fabric")] = None,
    seed: Annotated[int | None, seed_option("seed of the new fabric [default: 0]")] = None,
    key: RequestKey = None,
    comment: Comment = None,
    output: Output = "table",
) -> None:
    """Let a new fabric join a site of the living twin."""
    from ops.common.configuration import DEFAULT_KIND, settings_of

    config = settings_of(kind or DEFAULT_KIND, settings or [], seed=seed)
    given = config.model_dump(mode="json", exclude_unset=True, exclude={"kind"})
    body: dict[str, object] = {"name": name, "site": site, "kind": config.kind, "settings": given}
    client = Client()
    answer = client.post(waited("/v1/fabrics", comment), *ANSWER, "at_us", body=body, key=key)
    with client.reading():
        show(answer, output, lambda: commissioned(name, site, answer))


@app.command()
def retire(
    fabric: Annotated[
        str, typer.Argument(click_type=Name("fabrics"), metavar="FABRIC", help="such as pod-4")
    ],
    key: RequestKey = None,
    comment: Comment = None,
    output: Output = "table",
) -> None:
    """End a fabric for good: all in it stops, and its name is never used again."""
    client = Client()
    answer = client.post(waited(f"/v1/fabrics/{escape(fabric)}/retire", comment), *ANSWER, "at_us", key=key)
    with client.reading():
        show(answer, output, lambda: retired(fabric, answer))


@app.command()
def inject(
    kind: Annotated[
        str,
        typer.Argument(
            click_type=OneOf("kind of fault", FAULT_KINDS), metavar="KIND", help=", ".join(FAULT_KINDS)
        ),
    ],
    target: Annotated[
        str,
        typer.Argument(
            click_type=Target(),
            metavar="TARGET",
            help="its name: pod-0/cube-12/host-3, …/host-3/chip-1, pod-0/cube-12/+y/7 (link, connector), "
            "pod-0/ocs-17 or pod-0/ocs-17/N24",
        ),
    ],
    duration_s: Annotated[
        int | None,
        typer.Option(
            "--for", click_type=Duration(), metavar="2h", help="simulated time; without it until repaired"
        ),
    ] = None,
    key: RequestKey = None,
    comment: Comment = None,
    output: Output = "table",
) -> None:
    """Break something: a host, chip, link, connector, ocs or port."""
    _ask(
        "inject",
        "/v1/faults",
        Said(key, comment),
        output,
        {"kind": kind, "target": target, "duration_s": duration_s},
    )


@app.command()
def clear(
    fault: Annotated[
        str, typer.Argument(click_type=Name("faults"), metavar="FAULT", help="such as pod-0/fault-7")
    ],
    key: RequestKey = None,
    comment: Comment = None,
    output: Output = "table",
) -> None:
    """End a fault."""
    _ask("clear", f"/v1/faults/{escape(fault)}/clear", Said(key, comment), output)


@app.command()
def request(
    shape: Annotated[
        str, typer.Argument(click_type=ShapeText(), metavar="SHAPE", help="in chips, such as 4x4x8")
    ],
    twisted: Annotated[bool, typer.Option("--twisted", help="as a twisted torus")] = False,
    duration_s: Annotated[
        int | None,
        typer.Option(
            "--for", click_type=Duration(), metavar="6h", help="run time; without it until released"
        ),
    ] = None,
    priority: Annotated[int, typer.Option(help="-100 to 100, higher first")] = 0,
    fabric: Fabric = None,
    key: RequestKey = None,
    comment: Comment = None,
    output: Output = "table",
) -> None:
    """Ask for a slice of SHAPE."""
    body = {
        "fabric": fabric,
        "shape": shape,
        "twisted": twisted,
        "priority": priority,
        "duration_s": duration_s,
    }
    _ask("request", "/v1/slices", Said(key, comment), output, body)


@app.command()
def release(
    slice_name: Annotated[
        str, typer.Argument(click_type=Name("slices"), metavar="SLICE", help="such as pod-0/slice-3")
    ],
    key: RequestKey = None,
    comment: Comment = None,
    output: Output = "table",
) -> None:
    """Release a slice, or withdraw it while it waits."""
    _ask("release", f"/v1/slices/{escape(slice_name)}/release", Said(key, comment), output)


@app.command()
def drain(target: Cube, key: RequestKey = None, comment: Comment = None, output: Output = "table") -> None:
    """Take a cube out of use; what runs there moves if a spare is idle."""
    _ask("drain", f"/v1/cubes/{escape(target)}/drain", Said(key, comment), output)


@app.command()
def undrain(target: Cube, key: RequestKey = None, comment: Comment = None, output: Output = "table") -> None:
    """Take a drained cube into use again."""
    _ask("undrain", f"/v1/cubes/{escape(target)}/undrain", Said(key, comment), output)


def _ask(verb: str, path: str, said: Said, output: Form, body: dict[str, Any] | None = None) -> None:
    """Send a request and say what became of it; a refusal is the command's failure."""
    client = Client()
    answer = client.post(waited(path, said.comment), *ANSWER, body=body, key=said.key)
    with client.reading():
        refusal = refusal_of(answer)
        if refusal is None or output != "table":
            show(answer, output, lambda: sentence_of(verb, answer))
    if refusal is not None:
        raise RequestFailed(refusal)
