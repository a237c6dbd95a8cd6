"""`lightwave impact`: what hangs on a part of the running twin."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from ops.cli.groups import application
from ops.cli.kinds import table_of
from ops.cli.names import Part, whole
from ops.cli.options import Output
from ops.cli.output import show
from ops.common.client import Client, escape
from ops.common.tables import columns

FIELDS = ("target", "domain", "cubes", "hosts", "chips", "link_ends", "links", "slices")

app = application()


@app.command()
def impact(
    target: Annotated[
        str,
        typer.Argument(
            click_type=Part(),
            metavar="TARGET",
            help="any part, such as pod-0/ocs-17, pod-0/ocs-17/N24, pod-0/cube-12 or pod-0/cube-12/+y/7",
        ),
    ],
    output: Output = "table",
) -> None:
    """Show which links, cubes and slices hang on a part."""
    client = Client()
    found = client.thing(f"/v1/impact/{escape(whole(client, target))}", *FIELDS)
    now_us = client.thing("/v1/clock", "now_us")["now_us"]
    with client.reading():
        show(found, output, lambda: _table(found, now_us))


def _table(found: Mapping[str, Any], now_us: int) -> str:
    """The counts in a sentence; then the slices, and the links in use."""
    counts = ", ".join(
        _count(len(found[field]), one)
        for field, one in (("links", "link"), ("cubes", "cube"), ("hosts", "host"), ("chips", "chip"))
    )
    target, domain = found["target"], found["domain"]
    lines = [
        f"{target} goes out of use" if target == domain else f"{target} takes {domain} out of use",
        f"concerned: {counts}, {_count(len(found['slices']), 'slice')}",
    ]
    if found["slices"]:
        lines += ["", columns(*table_of("slices", found["slices"], now_us))]
    if found["links"]:
        rows = [[link["end"], link["far_end"]] for link in found["links"]]
        lines += ["", columns(("LINK-END", "FAR-END"), rows)]
    return "\n".join(lines)


def _count(number: int, one: str) -> str:
    return f"{number:,} {one}" if number == 1 else f"{number:,} {one}s"
