"""`lightwave link agree`: what two modules run a lane at, or why they do not."""

from typing import Annotated

import typer

from ops.cli.options import Output
from ops.cli.output import show


def link_agree(
    module: Annotated[str, typer.Argument(metavar="MODULE", help="such as cwdm4-bidi-800G")],
    other: Annotated[str, typer.Argument(metavar="OTHER", help="such as cwdm4-bidi-400G")],
    output: Output = "table",
) -> None:
    """Print the best rate of a lane that a MODULE and an OTHER have in common, or why there is none.

    A module is a kind and a generation. Lightwave Fabrics, 2.3, 3.3.1.
    """
    from shared.models.optics.modules import agree, parse_module

    one, two = parse_module(module), parse_module(other)
    found = agree(one, two)
    content = {
        "modules": [one.name, two.name],
        "rate": None if found.rate is None else found.rate.name,
        "lanes": found.lanes,
        "gbps": found.gbps,
        "reason": found.reason,
    }
    show(content, output, lambda: found.reason)
